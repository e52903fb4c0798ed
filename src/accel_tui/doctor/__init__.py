"""Read-only examination of the host that works when no supervisor can start."""
