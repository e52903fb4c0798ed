"""Where the parts of a vendor lie on this host, as settings name them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Places:
    """Roots, libraries and tools that sources read; the fields bear the names of the settings."""

    sysfs_root: str = "/sys"
    proc_root: str = "/proc"
    dev_root: str = "/dev"
    hlml_library: str | None = None
    """A path that is asked even when no device is visible; None means: look in the usual places."""
    hl_smi: str | None = None
    level_zero_loader: str | None = None
    xpu_smi: str | None = None
    gaudi_source: str = "auto"
    """Which source answers readings of Gaudi cards."""
    xpu_source: str = "auto"
    demo: str | None = None
    """Name of the simulated server; None on a real host."""
    demo_locks: str | None = None
    """Folder with the locks of simulated cards, so that a card on which a run runs looks like one; no setting."""

    @classmethod
    def of(cls, settings: object, demo: str | None = None) -> Places:
        """The places that `settings` (any object with attributes of these names) states; unset ones stay default."""
        names = [field.name for field in fields(cls) if not field.name.startswith("demo")]
        stated = {name: getattr(settings, name, None) for name in names}
        return cls(**{name: str(value) for name, value in stated.items() if value not in (None, "")}, demo=demo)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Places:
        return cls(**{field.name: document[field.name] for field in fields(cls) if field.name in document})
