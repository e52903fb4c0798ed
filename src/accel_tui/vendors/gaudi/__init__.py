"""Intel Gaudi cards: torch device type `hpu`, selected by module ID."""
