"""One pure module per launcher: wraps a program into the command line that starts it."""
