"""One file for a bug report: findings, versions, settings and the supervisor's last words, without secrets."""

from __future__ import annotations

import contextlib
import io
import json
import os
import platform
import tarfile
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accel_tui.doctor.supervisor import log_tail
from accel_tui.model.errors import FileError
from accel_tui.model.secrets import MASK, is_secret, is_secret_name, mask
from accel_tui.protocol.version import PROTOCOL, VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accel_tui.config.settings import Settings
    from accel_tui.model.plans import Check

_LOG_LINES = 400


def write_bundle(
    path: str | Path,
    checks: Sequence[Check],
    *,
    settings: Settings,
    state: Path,
    environment: Mapping[str, str] | None = None,
) -> Path:
    """Write the report as tar.gz, readable by its owner alone, and return its absolute path.

    Of the environment only the names of variables are in it. Every text passes the mask for secrets, which also knows
    the values of secret variables of `environment` (default: this process's).

    Raises:
        FileError: it cannot be written there.
    """
    environment = os.environ if environment is None else environment
    secrets = [value for name, value in environment.items() if is_secret(name, value)]
    contents = {
        "checks.json": _json({"schema": 1, "checks": [check.to_json() for check in checks]}),
        "versions.json": _json(_versions()),
        "settings.json": _json(_without_secrets(settings.to_json())),
        "environment-names.json": _json(sorted(environment)),
        "supervisor.log": "\n".join(log_tail(state, _LOG_LINES)) + "\n",
    }
    target = Path(path).absolute()
    try:
        _write(target, {name: mask(text, secrets) for name, text in contents.items()})
    except OSError as error:
        raise FileError(f"{target}: the report cannot be written: {error.strerror}") from error
    return target


def _write(target: Path, contents: Mapping[str, str]) -> None:
    """Through a temporary file (mode 0600) beside it: a full disk leaves no half report."""
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
            for name, text in contents.items():
                data = text.encode()
                entry = tarfile.TarInfo(f"accel-tui-report/{name}")
                entry.size, entry.mode, entry.mtime = len(data), 0o600, int(time.time())
                archive.addfile(entry, io.BytesIO(data))
        Path(temporary).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def _versions() -> dict[str, Any]:
    return {
        "accel_tui": VERSION,
        "protocol": list(PROTOCOL),
        "python": platform.python_version(),
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
    }


def _without_secrets(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: MASK if is_secret_name(name) else value for name, value in settings.items()}


def _json(document: object) -> str:
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
