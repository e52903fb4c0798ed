"""One module per job kind: its fields and how its arguments are built."""
