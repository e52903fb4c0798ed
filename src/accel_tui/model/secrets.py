"""Which names and texts are secret: they reach a process by pipe and nothing else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable

MASK = "********"
"""What stands in a record or on a screen in place of a secret."""

_NAME = re.compile(r"token|secret|passw|api_?key|credential|private", re.IGNORECASE)
# Names that hold one of those words and are settings, not secrets.
_HARMLESS = frozenset({"TOKENIZERS_PARALLELISM"})
# Prefixes that the issuers document for their tokens: Hugging Face, GitHub, GitLab, OpenAI, AWS, Slack.
_TOKEN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|sk-[A-Za-z0-9_-]{20,}|AKIA[A-Z0-9]{16}|xox[abpr]-[\w-]{10,})"
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"]+")
# NAME=VALUE, NAME: VALUE, "NAME": "VALUE"
_ASSIGNMENT = re.compile(
    r"""(?P<name>[A-Za-z_][\w.-]*)(?P<sign>["']?\s*[=:]\s*)(?P<value>"[^"]*"|'[^']*'|[^\s,;"']+)"""
)
_SHORTEST = 6  # shorter values would blot out ordinary words


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name is treated as a secret."""
    return name not in _HARMLESS and _NAME.search(name) is not None


def has_url_password(text: str) -> bool:
    """Whether `text` holds a URL with a password in it."""
    for match in _URL.finditer(text):
        try:
            if urlsplit(match.group()).password:
                return True
        except ValueError:  # not a URL after all
            continue
    return False


def looks_secret(text: str) -> bool:
    """Whether an argument or a value looks like a token or a URL with a password."""
    return _TOKEN.search(text) is not None or has_url_password(text)


def is_secret(name: str, value: str) -> bool:
    """Whether this variable is secret, by its name or by a password in its value."""
    return is_secret_name(name) or has_url_password(value)


def mask(text: str, values: Iterable[str] = ()) -> str:
    """`text` with everything that looks secret replaced: tokens, passwords in URLs, values of secret names, `values`.

    For texts that leave the host, such as a report. It may hide too much; what it lets through has no known shape.
    """
    for value in sorted({value for value in values if len(value) >= _SHORTEST}, key=len, reverse=True):
        text = text.replace(value, MASK)
    text = _TOKEN.sub(MASK, text)
    text = _URL.sub(lambda match: _without_password(match.group()), text)
    return _ASSIGNMENT.sub(_masked_assignment, text)


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    credentials, at, host = rest.rpartition("@")
    return f"{scheme}://{MASK}@{host}" if at and ":" in credentials else url


def _masked_assignment(match: re.Match[str]) -> str:
    return f"{match['name']}{match['sign']}{MASK}" if is_secret_name(match["name"]) else match.group()
