"""Read-only examination of the host that works when no supervisor can start."""

from accel_tui.doctor.bundle import write_bundle
from accel_tui.doctor.examination import examine

__all__ = ["examine", "write_bundle"]
