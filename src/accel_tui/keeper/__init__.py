"""Owns one run: its process tree, locks, stop and exit record; standard library only."""
