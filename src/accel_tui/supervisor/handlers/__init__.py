"""One module per group of requests that the supervisor answers."""
