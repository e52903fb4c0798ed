"""Which functions of HLML give which reading, in which unit and how often. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """One function for one reading."""

    reading: str
    function: str
    symbol: str
    arguments: tuple[int, ...] = ()
    value: Callable[[Any], float | str] = float
    low: float = 0.0
    high: float = float(1 << 63)


def _throttle(bits: Any) -> str:
    named = [name for bit, name in ((1, "power"), (2, "thermal")) if int(bits) & bit]
    return ", ".join(named) or "none"


_D = "hlmlDevice"
# Each call of a sensor is a firmware message of some milliseconds, which the driver handles one at a time.
QUICK: tuple[Call, ...] = (
    Call("utilization_percent", f"{_D}GetUtilizationRates", "hlml_device_get_utilization_rates",
         value=lambda rates: float(rates.aip), high=100),
    Call("temperature_celsius", f"{_D}GetTemperature", "hlml_device_get_temperature", (0,), high=150),
    Call("power_watts", f"{_D}GetPowerUsage", "hlml_device_get_power_usage", value=lambda mw: mw / 1e3, high=5000),
)  # fmt: skip
"""Besides memory: every round."""
MIDDLE: tuple[Call, ...] = (
    Call("clock_mhz", f"{_D}GetClockInfo", "hlml_device_get_clock_info", (0,), high=10_000),
    Call("throttle_reasons", f"{_D}GetCurrentClocksThrottleReasons", "hlml_device_get_current_clocks_throttle_reasons",
         value=_throttle),
    Call("energy_joules", f"{_D}GetTotalEnergyConsumption", "hlml_device_get_total_energy_consumption",
         value=lambda mj: mj / 1e3),
    Call("temperature_memory_celsius", f"{_D}GetTemperature", "hlml_device_get_temperature", (3,), high=150),
)  # fmt: skip
SLOW: tuple[Call, ...] = (
    Call("power_limit_watts", f"{_D}GetPowerManagementLimit", "hlml_device_get_power_management_limit",
         value=lambda mw: mw / 1e3, low=1, high=5000),
    Call("ecc_corrected", f"{_D}GetTotalECCErrors", "hlml_device_get_total_ecc_errors", (0, 1), int),
    Call("ecc_uncorrected", f"{_D}GetTotalECCErrors", "hlml_device_get_total_ecc_errors", (1, 1), int),
    Call("pcie_gen", f"{_D}GetCurrPCIELinkGeneration", "hlml_device_get_curr_pcie_link_generation", (), int, 1, 8),
    Call("pcie_width", f"{_D}GetCurrPCIELinkWidth", "hlml_device_get_curr_pcie_link_width", (), int, 1, 32),
)  # fmt: skip

DETAILS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("replaced_rows_single_bit", f"{_D}GetReplacedRowsCount", (0,)),
    ("replaced_rows_double_bit", f"{_D}GetReplacedRowsCount", (1,)),
    ("replaced_rows_pending", f"{_D}GetReplacedRowsPendingStatus", ()),
    ("pcie_replays", f"{_D}GetPCIEReplayCounter", ()),
)
"""Slow as well; shown among the details of a card, as no reading has their name."""

CODES = {
    1: "not initialised",
    2: "invalid argument",
    3: "not supported",
    5: "already initialised",
    6: "not found",
    7: "insufficient size",
    9: "driver not loaded",
    10: "timeout",
    15: "the card is lost",
    20: "out of memory",
    21: "no data",
    49: "unknown error",
}
UNINITIALISED, INVALID, NOT_SUPPORTED, NOT_FOUND, NO_DRIVER, LOST = 1, 2, 3, 6, 9, 15


def code_of(error: BaseException) -> int | None:
    """The code of an error of the binding; its classes are made anew at every init, so they are never compared."""
    value = getattr(error, "value", None)
    return int(value) if isinstance(value, int) else None


def words(code: int | None, error: BaseException) -> str:
    if code is None:
        return f"{type(error).__name__}: {error}"[:300]
    return f"HLML: {CODES.get(code, 'error')} (code {code})"
