"""Reading logs of any size over a byte source: line index, ranks, progress frames."""
