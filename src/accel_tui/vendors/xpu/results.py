"""The result codes of Level Zero in words, and what each makes of a reading."""

from __future__ import annotations

import os

from accel_tui.model.devices import Reading, absent, denied, failed
from accel_tui.vendors.xpu.rates import pending

SOURCE = "sysman"
SUCCESS = 0
DEVICE_LOST = 0x70000001
REQUIRES_RESET = 0x70000006
LOW_POWER = 0x70000007
NO_PERMISSION = 0x70010000
NOT_AVAILABLE = 0x70010001
NO_DEPENDENCY = 0x70020000
UNINITIALIZED = 0x78000001
WRONG_VERSION = 0x78000002
UNSUPPORTED = 0x78000003
RECOVERY = 0x78000020

_WORDS = {
    DEVICE_LOST: "the card is lost: it fell off the bus or is wedged (see the kernel log); it needs a reset or reboot",
    REQUIRES_RESET: "the card needs a reset",
    LOW_POWER: "the card sleeps",
    NO_PERMISSION: "this account may not read it",
    NOT_AVAILABLE: "there is no value at this moment",
    NO_DEPENDENCY: "the kernel's telemetry (PMT) is missing, or descriptors have run out",
    UNINITIALIZED: "no driver with a usable card was found",
    WRONG_VERSION: "loader and driver are too far apart in version",
    UNSUPPORTED: "this card or its driver does not offer it",
    RECOVERY: "the card is in the firmware's recovery (survivability) mode and must be flashed anew",
}

NEEDS_ROOT = "needs root: the driver gives it to effective user 0 alone"
NEEDS_ROOT_ENGINES = "needs root: engine counters are given to effective user 0 alone (older drivers: with CAP_PERFMON)"
NEEDS_PMT = "needs root or CAP_DAC_READ_SEARCH: the telemetry (PMT) under /sys/class/intel_pmt is not readable"
NEEDS_PERFMON = "needs root or CAP_PERFMON: without it the kernel answers that nothing is used, which is not known"


def is_root() -> bool:
    """Whether the driver's check of the effective user passes in this process."""
    return os.geteuid() == 0


def words(code: int) -> str:
    """What a result code means, with its number."""
    return f"{_WORDS.get(code & 0xFFFFFFFF, 'Level Zero gives no reason')} (0x{code & 0xFFFFFFFF:08x})"


def unread(code: int, right: str = NEEDS_ROOT) -> Reading:
    """The reading that a call without success makes; `right` is what it needs where rights are the cause."""
    code &= 0xFFFFFFFF
    if code == NO_PERMISSION:
        return denied(right, SOURCE)
    if code == UNSUPPORTED:
        return absent(words(code), SOURCE)
    if code in (LOW_POWER, NOT_AVAILABLE):
        return pending(words(code), SOURCE)
    if code == NO_DEPENDENCY and not is_root():
        return denied(f"{NEEDS_PMT}; or the modules intel_vsec and pmt_telemetry are not loaded", SOURCE)
    return failed(words(code), SOURCE)
