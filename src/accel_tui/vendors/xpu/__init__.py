"""Intel GPUs: torch device type `xpu`, selected by an affinity mask over the cards in PCI order."""
