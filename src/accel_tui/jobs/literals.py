"""Secrets that somebody wrote into a file or a flag: found, so that they can be refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from accel_tui.model.secrets import MASK, has_url_password, is_secret_name, looks_secret

# Texts that reach the process as arguments or as a model's input have a check of their own, or are no setting.
_LEFT_ALONE = (("command", "argv"), ("generate", "prompts"), ("generate", "system"))


@dataclass(frozen=True)
class LiteralSecret:
    """Where a secret stands; its value is not repeated."""

    path: tuple[str | int, ...]
    reason: str
    remedy: str


def find_secret(table: Any, path: tuple[str | int, ...] = ()) -> LiteralSecret | None:
    """The first literal secret in a job's table, by the name of a variable or by the look of a value."""
    if path in _LEFT_ALONE:
        return None
    if isinstance(table, dict):
        items: list[tuple[str | int, Any]] = list(table.items())
    elif isinstance(table, list):
        items = list(enumerate(table))
    else:
        return _judge(table, path)
    return next((found for key, item in items if (found := find_secret(item, (*path, key))) is not None), None)


def _judge(value: Any, path: tuple[str | int, ...]) -> LiteralSecret | None:
    variable = str(path[-1]) if path[:2] == ("launch", "env") and len(path) == 3 else None
    if variable is not None and is_secret_name(variable):
        return LiteralSecret(path, "a secret is written out here", f'take it from the shell: env_from = ["{variable}"]')
    if not isinstance(value, str) or value == MASK or not looks_secret(value):
        return None
    what = "a URL with a password" if has_url_password(value) else "a token"
    name = variable or "HF_TOKEN"
    return LiteralSecret(path, f"{what} is written out here", f'take it from the shell: env_from = ["{name}"]')
