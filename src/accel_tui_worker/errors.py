"""What can be wrong with a job, in words for its owner.

WorkerError
├── InvalidJobError            the specification asks for something that does not exist or contradicts itself
│   └── UnknownArgumentError   a library argument that this version does not have; names the nearest
├── BadInputError              a model, data or prompt file that is missing, empty or damaged
├── UnsupportedStackError      the torch stack of this interpreter is missing a part or out of range
├── DeviceMismatchError        what runs is not what was asked for: device, ranks or wrapper
│   └── WrongCardError         a rank holds another card than the one that was planned for it
└── OutputInUseError           another live run writes to the same folder
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class WorkerError(Exception):
    """Something its owner can put right; the message is complete without a traceback."""


class InvalidJobError(WorkerError):
    """The job asks for something that does not exist or contradicts itself."""


class BadInputError(WorkerError):
    """A model, data or prompt file is missing, empty or damaged."""


class UnsupportedStackError(WorkerError):
    """A part of the torch stack is missing or of an unsupported version."""


class DeviceMismatchError(WorkerError):
    """What runs is not what was asked for."""


class WrongCardError(DeviceMismatchError):
    """A rank holds another card than the one that was planned for it."""


class OutputInUseError(WorkerError):
    """Another live run writes to the same folder."""


class UnknownArgumentError(InvalidJobError):
    """A library argument that the installed version does not have."""

    def __init__(self, owner: str, name: str, known: Iterable[str]) -> None:
        near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        super().__init__(f"{owner} has no field {name!r}{hint}")
        self.name = name
        self.nearest = near[0] if near else None
