"""Whether this process lives in a container, where it may see the nodes of some of the host's cards alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

VARIABLES = ("KUBERNETES_SERVICE_HOST", "container")
"""Kubernetes sets the first in every pod, podman and systemd-nspawn the second."""
FILES = ("/.dockerenv", "/run/.containerenv")


def in_container(environment: Mapping[str, str], dev_root: str, *more: str) -> bool:
    """Told by variables (`more` beside the usual ones), and by marks of this machine where `/dev` is its own."""
    told = any(environment.get(name) for name in (*VARIABLES, *more))
    return told or (dev_root == "/dev" and any(Path(mark).exists() for mark in FILES))
