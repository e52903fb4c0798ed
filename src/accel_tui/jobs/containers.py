"""A job in a container: the `docker run` around its command line, what is mounted, and the rules of the image. Pure.

Planned and printed here; the local executor does not run it. The container shares the host's network and memory, as the
vendors' own examples do; it gets variables by name and value, secrets by name alone.
"""

from __future__ import annotations

import csv
import io
import os
import re
from typing import TYPE_CHECKING

from accel_tui.jobs.launchers.accelerate import CONFIGURATION
from accel_tui.jobs.paths import is_hub_name
from accel_tui.model.plans import Check, CheckLevel, EnvironmentAction
from accel_tui.vendors.gaudi import launch as gaudi

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accel_tui.jobs.spec import Job
    from accel_tui.model.devices import Device
    from accel_tui.model.plans import EnvironmentChange

PYTHON = "python3"
"""The interpreter inside an image, where the job names none."""
RUNS_NOT = "image"
"""Id of the check that refuses to run one; nobody can override it."""

_OPTIONS = {"gaudi": gaudi.container_options}
"""What each vendor's cards need of docker; a vendor without an entry is not planned yet."""
_READ = (("model", "path"), ("model", "tokenizer"), ("data", "path"), ("data", "eval_path"), ("train", "resume_from"),
         ("generate", "prompts_file"))  # fmt: skip
_WRITTEN = (("train", "output"), ("generate", "output"))
_RELEASE = re.compile(r"(?<![\w.])(1\.\d{2})\.\d+(?![\w.]*\.\d)")
_VENDOR_IMAGE = re.compile(r"gaudi|habana", re.I)


def wrap(
    job: Job, argv: Sequence[str], changes: Sequence[EnvironmentChange], devices: Sequence[Device], *, cwd: str,
    folder: str, base: Mapping[str, str], docker: str | None, identifier: str,
) -> tuple[str, ...]:  # fmt: skip
    """The command line that runs `argv` inside the job's image.

    Args:
        cwd: The working folder, which is mounted and stays the working folder.
        folder: The run folder, mounted at its own path, so that paths in `argv` hold.
        base: The submitter's environment: where the hub's cache is.
    """
    vendors = sorted({device.vendor for device in devices if device.vendor in _OPTIONS})
    hub = _hub_cache(job, base)
    words = [docker or "docker", "run", "--rm", "--init", f"--name=accel-tui-{identifier}"]
    words += [option for vendor in vendors for option in _OPTIONS[vendor]()]
    words += ["--net=host", "--ipc=host"]
    for name, value in _variables(changes, folder, hub):
        words += ["-e", name if value is None else f"{name}={value}"]
    words += [f"--mount={_mount(place, writable)}" for place, writable in _mounts(job, argv, cwd, folder, hub)]
    return (*words, f"--workdir={cwd}", str(job.launch.image), *argv)


def _variables(changes: Sequence[EnvironmentChange], folder: str, hub: str | None) -> Iterator[tuple[str, str | None]]:
    """Name and value of what the container gets; None: docker takes the value from its own environment."""
    for change in changes:
        if change.secret:
            yield change.name, None
        elif change.name == "PYTHONPATH" and change.value is not None:
            # What else stood there are packages of the host.
            kept = [part for part in change.value.split(":") if part.startswith(folder)]
            yield change.name, ":".join(kept) or change.value
        elif change.action is not EnvironmentAction.UNSET and change.value is not None:
            yield change.name, change.value
    if hub is not None:
        yield "HF_HOME", hub


def _hub_cache(job: Job, base: Mapping[str, str]) -> str | None:
    """The cache of the hub, where the job names a model of the hub."""
    names = [getattr(getattr(job, "model", None), name, None) for name in ("path", "tokenizer")]
    if not any(name is not None and is_hub_name(name) for name in names):
        return None
    home = base.get("HOME")
    return base.get("HF_HOME") or (f"{home}/.cache/huggingface" if home else None)


def _mounts(job: Job, argv: Sequence[str], cwd: str, folder: str, hub: str | None) -> list[tuple[str, bool]]:
    """Every folder or file that the job reads or writes, and whether it writes there; none twice."""
    # The root folder over the image's own would leave nothing of the image.
    wanted = [*([(cwd, True)] if cwd != "/" else []), (folder, True)]
    wanted += [(os.path.dirname(place) if table == "generate" else place, True)  # noqa: PTH120 - a text path
               for table, place in _places(job, _WRITTEN)]  # fmt: skip
    if hub is not None:
        wanted.append((hub, True))
    wanted += [(place, False) for _, place in _places(job, _READ)]
    if any(CONFIGURATION in argument for argument in argv):
        wanted.append((CONFIGURATION, False))
    found: list[tuple[str, bool]] = []
    for place, writable in wanted:
        if not any(_inside(place, other) for other, _ in found):
            found.append((place, writable))
    return found


def _places(job: Job, fields: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for table, name in fields:
        place = getattr(getattr(job, table, None), name, None)
        if place is not None and os.path.isabs(place):  # noqa: PTH117 - else a name on the hub
            yield table, place


def _inside(place: str, other: str) -> bool:
    return place == other or place.startswith(other.rstrip("/") + "/")


def _mount(place: str, writable: bool) -> str:
    """The value of `--mount`, which docker reads as one line of CSV; unlike `--volume` it makes no missing folder."""
    parts = ["type=bind", f"source={place}", f"target={place}", *([] if writable else ["readonly"])]
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(parts)
    return line.getvalue()


MOUNTED_CONFIGURATION = f"--mount={_mount(CONFIGURATION, False)}"
"""The argument that mounts the configuration of accelerate."""


def checks(job: Job, devices: Sequence[Device]) -> Iterator[Check]:
    """What is to be said of a job with an image."""
    if job.launch.image is None:
        return
    message = "running containers is not supported yet: `plan --shell` prints the script that does it by hand"
    yield Check(RUNS_NOT, CheckLevel.REFUSAL, message, "run that script, or remove `image`")
    vendors = {device.vendor for device in devices if device.vendor != "cpu"}
    if vendors - set(_OPTIONS):
        message = f"the options that a container needs for cards of {', '.join(sorted(vendors))} are not planned"
        yield Check("image-devices", CheckLevel.REFUSAL, message, "remove `image`")
    cards = [device for device in devices if device.vendor == "gaudi"]
    unknown = [card.key for card in cards if card.index is None]
    if unknown:
        message = f"the index of {', '.join(unknown)} is not known: older container runtimes mount by index alone"
        yield Check("image-devices", CheckLevel.REFUSAL, message, "plan on the host that has the cards")
    if cards:
        yield _fits(job.launch.image, {card.driver_version for card in cards if card.driver_version})


def _fits(image: str, drivers: set[str]) -> Check:
    """The rule of Gaudi: software in the image and driver of the host are of one release, by major and minor."""
    host = {match[1] for driver in drivers if (match := re.match(r"(1\.\d{2})\.\d+", driver))}
    found = _RELEASE.search(image) if _VENDOR_IMAGE.search(image) else None
    if found is None or len(host) != 1:
        what = "its Gaudi release is not in its name" if found is None else "the driver's release is not known"
        return Check("image-driver", CheckLevel.UNKNOWN, f"whether {image} fits the driver: {what}")
    driver = next(iter(host))
    if found[1] != driver:
        message = f"{image} is of release {found[1]}, the driver of this host of {driver}: even small programs fail"
        return Check("image-driver", CheckLevel.REFUSAL, message, f"take an image of release {driver}")
    return Check("image-driver", CheckLevel.PASS, f"image and driver are of release {driver}")
