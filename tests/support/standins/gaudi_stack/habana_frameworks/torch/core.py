"""Stand-in: importing it is all that is done with it."""
