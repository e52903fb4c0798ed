"""Whatever goes wrong becomes words, a document and an exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from accel_tui.cli.failure import guarded
from accel_tui.cli.output import Output
from accel_tui.model import errors
from accel_tui.model.plans import Check, CheckLevel


def raising(error: BaseException) -> Callable[[], int]:
    def verb() -> int:
        raise error

    return verb


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UsageError("x"), 2),
        (errors.FileError("x"), 3),
        (errors.DeviceAbsentError("x"), 4),
        (errors.SupervisorError("x"), 5),
        (errors.CheckRefusedError("x"), 6),
        (errors.RunNotFoundError("x"), 7),
        (errors.NotPossibleError("x"), 8),
        (errors.StateFolderError("x"), 9),
        (KeyboardInterrupt(), 130),
        (RuntimeError("x"), 70),
    ],
)
def test_exit_codes(error: BaseException, code: int, tmp_path: Path) -> None:
    assert guarded(raising(error), Output({}), lambda: tmp_path) == code


def test_words_go_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check = Check("model-folder", CheckLevel.REFUSAL, "there is no model", "make one")
    error = errors.CheckRefusedError("refused", checks=[check], remedy="--override ID")
    guarded(raising(error), Output({}), lambda: tmp_path)
    said = capsys.readouterr()
    assert said.out == ""
    for words in ("error: refused", "refusal model-folder: there is no model", "make one", "--override ID"):
        assert words in said.err


def test_with_json_the_error_is_the_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guarded(raising(errors.FileError("no such file", remedy="check")), Output({}, json_wanted=True), lambda: tmp_path)
    said = capsys.readouterr()
    assert said.err == ""
    assert json.loads(said.out) == {
        "schema": 1,
        "error": {"code": "file", "message": "no such file", "remedy": "check"},
    }


def test_an_internal_error_leaves_a_report_and_no_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(raising(ZeroDivisionError("boom")), Output({}), lambda: tmp_path) == 70
    said = capsys.readouterr()
    (report,) = tmp_path.iterdir()
    assert str(report) in said.err
    assert "Traceback" not in said.err
    assert "ZeroDivisionError: boom" in report.read_text()
    assert report.stat().st_mode & 0o077 == 0


def test_a_report_finds_another_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def unusable() -> Path:
        raise errors.StateFolderError("not ours")

    assert guarded(raising(ValueError()), Output({}), unusable) == 70
    assert len(list(tmp_path.iterdir())) == 1
