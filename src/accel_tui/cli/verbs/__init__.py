"""One module per verb of the command line: what it takes, and what it does."""
