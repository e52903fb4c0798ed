"""Names of runs: the time they were asked for, and four letters that keep them apart."""

from __future__ import annotations

import datetime
import re
import secrets

# Crockford's letters: none of them is taken for another when it is read aloud or typed.
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})-([0-9]{2})([0-9]{2})([0-9]{2})-")
_SHAPE = re.compile(rf"[0-9]{{8}}-[0-9]{{6}}-[{_LETTERS}]{{4}}")


def new_id(now: float | None = None) -> str:
    """`YYYYMMDD-HHMMSS-xxxx` for `now` (seconds since the epoch; default: this moment) in UTC."""
    utc = datetime.timezone.utc
    moment = datetime.datetime.now(utc) if now is None else datetime.datetime.fromtimestamp(now, utc)
    return f"{moment:%Y%m%d-%H%M%S}-{''.join(secrets.choice(_LETTERS) for _ in range(4))}"


def is_id(name: str) -> bool:
    """Whether a folder of this name can be a run's."""
    return _SHAPE.fullmatch(name) is not None and created_seconds(name) is not None


def created_seconds(identifier: str) -> float | None:
    """When a run of this id was asked for, in seconds since the epoch; None when it is no id."""
    match = _TIME.match(identifier)
    if match is None:
        return None
    try:
        year, month, day, hour, minute, second = map(int, match.groups())
        moment = datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.timezone.utc)
    except ValueError:  # the 31st of February
        return None
    return moment.timestamp()
