"""The headless face: one module per verb, text or JSON on standard output."""
