"""Which names and texts are secret: they reach a process by pipe and nothing else."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

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
