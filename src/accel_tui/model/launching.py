"""What a vendor needs to know to plan the environment of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accel_tui.model.devices import Device


@dataclass(frozen=True)
class LaunchShape:
    """The shape of one run, as far as variables depend on it."""

    processes: int
    """Worker processes that the launcher starts."""
    launched: bool
    """Whether a launcher starts the processes (torchrun, accelerate)."""
    uses_torch: bool
    """Whether the run is known to use the torch stack: worker kinds, or a launcher of it."""
    folder: str
    """The run folder, absolute."""
    cores: int
    """Processor cores that the host's jobs may use."""
    inventory: tuple[Device, ...] = ()
    """Every device of the host: numbers count all cards, not only the chosen ones."""
    base: Mapping[str, str] = field(default_factory=dict)
    """The environment of the submitter."""
    own: Mapping[str, str] = field(default_factory=dict)
    """What the job sets itself."""
    container: bool = False
    """Whether it runs inside an image, where a runtime of the vendor mounts its cards."""
