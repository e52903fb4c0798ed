"""The host itself as a device: torch device type `cpu`."""
