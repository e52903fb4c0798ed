"""Simulated servers, for a look at the product without the cards."""

from accel_tui.vendors.demo.servers import check_demo, demo_names

__all__ = ["check_demo", "demo_names"]
