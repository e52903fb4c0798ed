"""One package per vendor: probe, launch environment, checks and known failures."""
