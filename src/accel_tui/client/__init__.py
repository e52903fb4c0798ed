"""Talks to a supervisor: connects, starts one when needed, asks, subscribes, follows a log."""
