"""What client and supervisor say to each other: versions, paths, messages."""
