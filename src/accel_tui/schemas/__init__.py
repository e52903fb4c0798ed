"""JSON Schemas of everything that the command line prints with --json."""
