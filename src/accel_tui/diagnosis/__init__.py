"""Recognises failures in logs and in what workers tell, by declarative tables."""
