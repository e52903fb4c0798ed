"""The Textual face: board, panes, screens; fed only by the client."""
