"""Reserving devices: between processes, between users, and against a hostile folder."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from accel_tui.keeper import locks
from accel_tui.keeper.locks import Busy, LockFolderError

NOBODY, OTHER = 65534, 65533
CLAIM = {"run": "20260101-000000-aaaa", "user": "0", "since": "2026-01-01T00:00:00.000Z"}

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to act as other users")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(locks.lock_folder(str(tmp_path / "locks")))


def as_user(uid: int, act: Callable[[], str]) -> str:
    """What `act` returns, in a child process of another user."""
    receiver, sender = os.pipe()
    pid = os.fork()
    if not pid:
        text = "nothing"
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            text = act()
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        finally:
            os.write(sender, text.encode())
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(pid, 0)
    return text


def open_to_all(path: Path) -> None:
    """Let other users reach a folder of the test."""
    while path != Path("/tmp"):
        path.chmod(path.stat().st_mode | 0o055)
        path = path.parent


def take_and_close(paths: list[str]) -> str:
    for descriptor in locks.take(paths, CLAIM):
        os.close(descriptor)
    return "taken"


def test_a_folder_is_made_open_and_sticky(folder: Path) -> None:
    assert folder.stat().st_mode & 0o7777 == 0o1777
    path = locks.lock_path(str(folder), "pci:0000:17:00.0#1")
    assert Path(path).name == "pci:0000:17:00.0#1.lock"
    take_and_close([path])
    assert Path(path).stat().st_mode & 0o777 == 0o666, "whatever the umask says"


def test_names_cannot_leave_the_folder() -> None:
    assert locks.lock_path("/locks", "../../etc/x\n") == "/locks/.._.._etc_x_.lock"


def test_the_first_folder_that_can_be_made_is_taken(tmp_path: Path) -> None:
    wanted = [str(tmp_path / "missing" / "locks"), str(tmp_path / "locks")]
    assert locks.lock_folder(None, folders=wanted) == wanted[1]
    assert locks.lock_folder(str(tmp_path / "chosen" / "locks"), folders=wanted) == str(tmp_path / "chosen" / "locks")
    with pytest.raises(LockFolderError, match="no folder for device locks"):
        locks.lock_folder(None, folders=wanted[:1])


def test_a_relative_folder_is_the_same_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert locks.lock_folder("locks") == str(tmp_path / "locks")


def test_all_or_none_and_the_holder_is_named(folder: Path) -> None:
    first, second = (locks.lock_path(str(folder), key) for key in "ab")
    held = locks.take([second, second], CLAIM)
    assert len(held) == 1
    with pytest.raises(Busy) as busy:
        locks.take([second, first], CLAIM)
    assert busy.value.path == second
    holder = busy.value.holder
    assert holder is not None
    assert holder.pid == os.getpid()
    assert holder.claim["run"] == CLAIM["run"]
    assert locks.holder(first) is None, "given back"
    found = locks.holder(second)
    assert found is not None
    assert found.command is not None
    os.close(held[0])
    assert locks.holder(second) is None
    assert Path(second).exists(), "never unlinked"


def test_an_inherited_descriptor_keeps_the_lock(folder: Path) -> None:
    path = locks.lock_path(str(folder), "a")
    (descriptor,) = locks.take([path], CLAIM)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[descriptor])
    os.close(descriptor)
    with pytest.raises(Busy):
        locks.take([path], CLAIM)
    child.communicate(b"\n")
    take_and_close([path])


@pytest.mark.parametrize("deep", [False, True])
def test_a_link_in_place_of_the_folder_is_refused(folder: Path, tmp_path: Path, *, deep: bool) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder if deep else tmp_path / "nowhere")
    with pytest.raises(LockFolderError, match="symbolic link"):
        locks.lock_folder(str(link))
    with pytest.raises(LockFolderError, match="symbolic link"):
        locks.take([str(link / "a.lock")], CLAIM)


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_a_planted_lock_is_refused(folder: Path, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    path = folder / "a.lock"
    if kind == "link":
        path.symlink_to(target)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(LockFolderError):
        locks.take([str(path)], CLAIM)
    assert locks.holder(str(path)) is None
    assert target.read_text() == "precious"


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff\xfe", b"[" * 4000, b'{"run": {"deep": 1}, "user": 7}', b'"text"', b'{"run": "' + b"x" * 3000 + b'"}',
     b'{"user": "99999999999999999999"}', b"NaN", b"\0" * 100],
)  # fmt: skip
def test_hostile_claims_are_claims(folder: Path, text: bytes) -> None:
    path = folder / "a.lock"
    path.write_bytes(text)
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = locks.holder(str(path))
        assert found is not None
        assert found.pid == os.getpid()
        assert all(isinstance(value, str) and len(value) <= 200 for value in found.claim.values())
        assert len(str(found)) < 1000


def test_a_replaced_lock_is_found_and_taken_anew(folder: Path) -> None:
    path = locks.lock_path(str(folder), "a")
    held = locks.take([path], CLAIM)
    os.utime(path, (0, 0))
    assert locks.refresh([path], held, CLAIM) == []
    assert Path(path).stat().st_mtime > 0, "touched"
    Path(path).unlink()
    assert "removed" in locks.refresh([path], held, CLAIM)[0]
    with pytest.raises(Busy):
        locks.take([path], CLAIM)
    Path(path).unlink()
    (rival,) = locks.take([path], CLAIM)
    assert "cannot be taken again" in locks.refresh([path], held, CLAIM)[0]
    os.close(rival)


@needs_root
def test_two_users_share_the_locks(folder: Path) -> None:
    open_to_all(folder)
    path = locks.lock_path(str(folder), "a")
    assert as_user(NOBODY, lambda: take_and_close([path])) == "taken"
    assert Path(path).stat().st_uid == NOBODY
    assert as_user(OTHER, lambda: take_and_close([path])) == "taken"
    (descriptor,) = locks.take([path], CLAIM)
    answer = as_user(OTHER, lambda: take_and_close([path]))
    assert answer.startswith("Busy: ")
    assert f"process {os.getpid()} of root" in answer
    os.close(descriptor)


@needs_root
def test_a_lock_that_others_may_only_read_is_shared_too(folder: Path) -> None:
    open_to_all(folder)
    path = Path(locks.lock_path(str(folder), "a"))
    path.write_text(json.dumps(CLAIM))
    path.chmod(0o644)
    assert as_user(OTHER, lambda: take_and_close([str(path)])) == "taken"
    path.chmod(0o600)
    assert as_user(OTHER, lambda: take_and_close([str(path)])).startswith("LockFolderError")


@needs_root
@pytest.mark.parametrize(
    ("owner", "mode", "parent_mode", "accepted"),
    [
        (0, 0o777, 0o755, True),  # the administrator's own choice
        (OTHER, 0o1777, 0o1777, True),  # another user came first, in a folder such as /run/lock
        (OTHER, 0o777, 0o1777, False),
        (OTHER, 0o1777, 0o755, False),
        (NOBODY, 0o700, 0o755, True),  # ours
    ],
)
def test_whose_folder_is_accepted(tmp_path: Path, owner: int, mode: int, parent_mode: int, *, accepted: bool) -> None:
    place = tmp_path / "place"
    (place / "locks").mkdir(parents=True)
    open_to_all(place)
    os.chown(place / "locks", owner, owner)
    (place / "locks").chmod(mode)
    place.chmod(parent_mode)
    answer = as_user(NOBODY, lambda: locks.lock_folder(str(place / "locks")))
    assert (answer == str(place / "locks")) == accepted, answer
    if not accepted:
        assert f"belongs to user {OTHER}" in answer


def test_long_paths_work(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 200) / ("e" * 200)
    folder = locks.lock_folder(str(deep / "locks"))
    take_and_close([locks.lock_path(folder, "pci:0000:17:00.0")])
