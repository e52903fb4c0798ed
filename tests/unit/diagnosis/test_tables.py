"""Every shipped entry recognises its made-up log, and nothing else is taken for a failure that it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from accel_tui.diagnosis.recognise import short
from accel_tui.diagnosis.scan import of_text
from accel_tui.diagnosis.table import shipped
from accel_tui.model.runs import Diagnosis
from accel_tui.store.outcome import Facts, outcome_of
from unit.diagnosis.made_up import AGENT, CASES, TRACE, Case, of_rank

LOGS = Path(__file__).parents[2] / "data" / "logs"


def diagnosed(case: Case, kind: str = "command") -> Diagnosis | None:
    facts = Facts(
        "20261130-120000-abcd", False, case.processes, {}, log=lambda: of_text(case.log), kind=kind,
        vendors=case.vendors, silent_seconds=case.silent_seconds,
    )  # fmt: skip
    record = {"cause": "exit", "exit_code": 1, "signal": None, "stopped": False, **case.record}
    return outcome_of(record, facts).diagnosis


def test_there_is_one_case_for_every_entry() -> None:
    assert {entry.id for entry in shipped()} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_an_entry_recognises_its_log(name: str) -> None:
    case = CASES[name]
    found = diagnosed(case)
    assert found
    assert found.id == name
    assert case.said in found.summary
    assert found.rank == case.rank
    if case.line is not None:
        assert found.line is not None
        assert found.line >= case.line
        quoted = short(case.log.split("\n")[found.line - 1].strip())
        assert found.summary.endswith(quoted), "the untouched line stands beside the words"
    assert "{" not in str(found.next_step)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.record and case.rank is None])
def test_it_does_so_for_a_rank_among_others(name: str) -> None:
    case = CASES[name]
    found = diagnosed(Case(of_rank(1, case.log) + AGENT.format(code=1, name="") if TRACE in case.log else case.log))
    assert found
    assert (found.id, found.rank) == (name, 1 if TRACE in case.log else None)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if TRACE in case.log and case.rank is None])
def test_a_run_that_succeeded_has_no_diagnosis_whatever_its_log_says(name: str) -> None:
    assert diagnosed(Case(CASES[name].log, record={"exit_code": 0})) is None


GOOD = [
    "|CCL_WARN| did not find MPI-launcher specific variables, switch to ATL/OFI",
    "UserWarning: pyzes is required; install it with pip",
    "Can't initialize Level Zero Sysman",
    "Failed to enumerate devices via Level Zero Sysman",
    "pidfd is not supported, fallbacks to drmfd exchange mode",
    "============================= HABANA PT BRIDGE CONFIGURATION ===========================",
    " PT_HPU_LAZY_MODE = 0",
    " PT_HPU_RECIPE_CACHE_CONFIG = ,false,1024,false",
    "Calling torch.compile with backend=inductor is not supported on HPU",
    "{'loss': '7.477', 'grad_norm': '0.81', 'learning_rate': '1.8e-05', 'epoch': 1.62}",
    "[transformers] Token indices sequence length is longer than the specified maximum sequence length (128709 > 512)",
    "Failed to load CPU gemm_4bit_forward from kernels-community. Use pip install kernels",
    "[0] AIP (accel0) 0000:17:00.0",
    "Retrying: connection reset by peer, attempt 1 of 5",
    "warning: 3 files skipped (Permission denied)",
    "oom handling enabled, out of memory batches are split",
    "epoch 1: nan values in column age were replaced",
    "[SYN_API][info] HCCL error handling is on",
    "NCCL backend is not available, using gloo",
    "BrokenPipeError was ignored",
    "wandb: 401 Client Error: Unauthorized for url: https://api.example.org/graphql",
]


@pytest.mark.parametrize("words", ["BrokenPipeError: [Errno 32] Broken pipe", "OSError: [Errno 101] unreachable"])
def test_one_process_has_no_peer_that_it_could_lose(words: str) -> None:
    found = diagnosed(Case(TRACE + words + "\n", processes=1))
    assert found
    assert found.id == "python-exception"


@pytest.mark.parametrize(
    "words",
    [
        "NameResolutionError: api.example.org: Name or service not known",
        "HTTPError: 403 Client Error: Forbidden for url: https://api.example.org/x",
        "ValueError: the label 7 is unknown",
        "KeyError: 'loss'",
        "AssertionError",
        "ZeroDivisionError: division by zero",
        "mypkg.errors.ConfigError: no field x",
    ],
)
def test_an_unrelated_failure_after_an_ordinary_log_is_told_as_what_it_is(words: str) -> None:
    log = [*GOOD, "HCCL: 21 internal links up, 0 failed; hcclSetMode failed once and was repeated"]
    found = diagnosed(Case("\n".join(log) + "\n" + TRACE + words + "\n"))
    assert found
    assert found.id == "python-exception"
    assert found.summary == words.removeprefix("mypkg.errors.")
    assert found.line == len(log) + 4


@pytest.mark.parametrize(("words", "name"), [
    ("RuntimeError: Distributed package doesn't have XCCL built in", "xpu-no-xccl"),
    ("ValueError: Invalid backend: 'xccl'", "xpu-no-xccl"),
    ("RuntimeError: Native API failed. Native API returns: 20 (UR_RESULT_ERROR_DEVICE_LOST)", "xpu-device-lost"),
    ("RuntimeError: Native API failed. Native API returns: -20 (PI_ERROR_X)", "xpu-device-lost"),
    ("[ 1.2] xe 0000:1a:00.0: [drm] *ERROR* GT0: load failed: status = 0x400000A0, time = 100ms", "xpu-firmware"),
    ("[ 1.2] i915 0000:1a:00.0: [drm] *ERROR* GT0: GuC firmware fetch failed", "xpu-firmware"),
    ("ValueError: the table returns: 20 rows, 40 columns", "python-exception"),
    ("ValueError: checkpoint load failed: status unknown", "python-exception"),
    ("UserWarning: Can't initialize Level Zero Sysman\nValueError: no such label", "python-exception"),
    ("UserWarning: Failed to enumerate devices via Level Zero Sysman\nValueError: no such label", "python-exception"),
    ("|CCL_WARN| pidfd is not supported, fallbacks to drmfd exchange mode\nValueError: no label", "python-exception"),
])  # fmt: skip
def test_what_intel_gpus_write_is_told_from_what_looks_like_it(words: str, name: str) -> None:
    before, _, error = words.rpartition("\n")
    found = diagnosed(Case(f"{before}\n{TRACE}{error}\n"))
    assert found
    assert found.id == name


def test_an_ordinary_log_and_a_bare_exit_code_give_the_exit_code() -> None:
    found = diagnosed(Case("\n".join(GOOD) + "\n", processes=1))
    assert found
    assert (found.id, found.line) == ("exit-code", None)


@pytest.mark.parametrize(("file", "name"), [
    ("trainer_stderr_single_raw_cr.log", "exit-code"), ("torchrun_tee_stdout_2rank.log", "exit-code"),
    ("transformers_serve_stderr.log", "exit-code"), ("trainer_bf16_without_use_cpu_error.log", "bf16-unsupported"),
    ("torchrun_rank1_sigkill_childfailed.log", "rank-killed"), ("torchrun_sigterm_stderr.log", "exit-code"),
    ("torchrun_python_exception_tee3.log", "out-of-memory"),
])  # fmt: skip
def test_what_programs_really_write(file: str, name: str) -> None:
    found = diagnosed(Case((LOGS / file).read_text("utf-8")))
    assert found
    assert found.id == name


def test_the_first_rank_that_failed_is_named_and_not_the_one_that_lost_its_peer() -> None:
    log = of_rank(1, TRACE + "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 1 GiB") + of_rank(
        0, TRACE + "RuntimeError: Connection closed by peer [127.0.0.1]:1"
    )
    found = diagnosed(Case(log + AGENT.format(code=1, name="")))
    assert found
    assert (found.id, found.rank, found.line) == ("out-of-memory", 1, 4)


def test_an_error_that_came_from_another_is_told_by_its_root() -> None:
    log = (
        TRACE + "OSError: [Errno 28] No space left on device\n\n"
        "The above exception was the direct cause of the following exception:\n\n" + TRACE
        + "RuntimeError: cannot write the checkpoint\n"
    )  # fmt: skip
    found = diagnosed(Case(log))
    assert found
    assert (found.id, found.line) == ("disk-full", 4)


def test_an_error_behind_a_progress_bar_is_seen() -> None:
    bar = "".join(f"\r {n}%|####      | {n}/100" for n in range(40))
    found = diagnosed(Case(f"start\n{bar}{TRACE}RuntimeError: expected scalar type Float but found BFloat16\n"))
    assert found
    assert (found.id, found.line) == ("dtype-mismatch", 5)


def test_a_hang_is_one_only_with_the_vendor_and_the_silence() -> None:
    case = CASES["xpu-oneccl-hang"]
    for other in (Case(case.log, record=case.record, silent_seconds=420.0),
                  Case(case.log, record=case.record, vendors=frozenset({"gaudi"}), silent_seconds=420.0),
                  Case(case.log, record=case.record, vendors=case.vendors, silent_seconds=2.0)):  # fmt: skip
        found = diagnosed(other)
        assert found
        assert found.id == "time-limit"


def test_text_of_a_log_cannot_steer_a_terminal() -> None:
    found = diagnosed(Case(TRACE + "OSError: [Errno 28] No space left on device: '\x1b]52;c;eA==\x07\x1b[31mred'\n"))
    assert found
    assert found.id == "disk-full"
    assert "\x1b" not in found.summary
    assert "\x07" not in found.summary


def test_what_only_the_gaudi_software_wrote_beside_the_log_is_found_too() -> None:
    beside = of_text("10:01 [SYN_API][error] device 3 failed to acquire, already acquired by PID 41277", None)
    case = CASES["gaudi-device-busy"]
    facts = Facts("x", False, 1, {}, log=lambda: of_text(case.log), beside=lambda: beside)
    found = outcome_of({"cause": "exit", "exit_code": 1, "signal": None, "stopped": False}, facts).diagnosis
    assert found
    assert (found.id, found.line) == ("gaudi-holder", None)
    assert "process 41277" in found.summary


def test_the_workers_own_words_stand_without_the_name_of_a_class() -> None:
    told = "BadInputError: the tokenizer of x cannot be loaded: We couldn't connect to 'https://huggingface.co' to load"
    found = diagnosed(Case(TRACE + f"accel_tui_worker.errors.{told}\n"))
    assert found
    assert found.id == "hub-unreachable"
    assert "BadInputError" not in found.summary


def test_lost_cards_are_not_tried_again() -> None:
    lost = {entry.id for entry in shipped() if not entry.retry}
    assert {
        "xpu-device-lost",
        "xpu-device-wedged",
        "xpu-gpu-hang",
        "gaudi-device-lost",
        "gaudi-card-dead",
        "wrong-card",
    } == lost
    assert all("not tried again" in entry.next_step for entry in shipped() if not entry.retry)
