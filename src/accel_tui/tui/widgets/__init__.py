"""Drawing parts that know nothing of devices or jobs; they get text with roles, and numbers."""
