"""A job in a container: what docker is told, and what is said of the image."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from accel_tui.config.settings import Settings
from accel_tui.jobs.containers import RUNS_NOT
from accel_tui.jobs.shell import script
from accel_tui.jobs.spec import parse_job
from accel_tui.model.plans import CheckLevel, Plan
from accel_tui.supervisor.submitter import unanswered
from support import hosts
from support.planning import FOLDER, job, planned

IMAGE = "vault.example/gaudi-docker/1.23.0/ubuntu22.04/habanalabs/pytorch-installer-2.9.0:latest"


def server(driver: str | None = "1.23.0-0a1b2c3") -> Any:
    return hosts.gaudi_server(driver_version=driver)


def in_image(kind: str = "command", **launch: Any) -> Any:
    return job(kind, image=IMAGE, **{"python": None, **launch})


def given(plan: Plan) -> dict[str, str | None]:
    """The variables that docker is told; None: by name alone."""
    pairs = [plan.argv[place + 1] for place, word in enumerate(plan.argv) if word == "-e"]
    return {name: value if sign else None for name, sign, value in (pair.partition("=") for pair in pairs)}


def mounts(plan: Plan) -> dict[str, bool]:
    """Path to whether the container writes there."""
    values = [word.removeprefix("--mount=") for word in plan.argv if word.startswith("--mount=")]
    return {value.split(",")[1].removeprefix("source="): not value.endswith(",readonly") for value in values}


def levels(plan: Plan) -> dict[str, CheckLevel]:
    return {check.id: check.level for check in plan.checks}


def test_one_process_gets_its_card_by_index_by_module_and_by_name() -> None:
    made = planned(in_image("train"), "gaudi:5", server())
    assert made.argv[:2] == ("docker", "run")
    assert {"--rm", "--runtime=habana", "--cap-add=sys_nice", "--net=host", "--ipc=host"} <= set(made.argv)
    found = given(made)
    assert found["HABANA_VISIBLE_DEVICES"] == str(hosts.gaudi(5).index)
    assert (found["HABANA_VISIBLE_MODULES"], found["HLS_MODULE_ID"]) == ("5", "5")
    assert found["OMPI_MCA_btl_vader_single_copy_mechanism"] == "none"
    after = made.argv[made.argv.index(IMAGE) + 1 :]
    assert after == ("python3", "-m", "accel_tui_worker", "run", "--folder", FOLDER, "--device", "hpu")
    assert found["PYTHONPATH"] == f"{FOLDER}/worker.pyz"


def test_ranks_share_lists_in_one_order_and_no_module() -> None:
    made = planned(in_image("train", launcher="torchrun"), "gaudi:3,2", server(), port=29501)
    found = given(made)
    assert found["HABANA_VISIBLE_MODULES"] == "2,3"
    assert found["HABANA_VISIBLE_DEVICES"] == f"{hosts.gaudi(2).index},{hosts.gaudi(3).index}"
    assert "HLS_MODULE_ID" not in found
    assert {change.name: change.reason for change in made.environment}["HABANA_VISIBLE_DEVICES"]


def test_what_the_job_needs_is_mounted_at_its_own_place() -> None:
    base = {"PATH": "/bin", "HOME": "/home/test", "PYTHONPATH": "/host/packages", "HLS_MODULE_ID": "3"}
    made = planned(in_image("train"), "gaudi:5", server(), base)
    assert mounts(made) == {
        "/home/test": True, FOLDER: True, "/data/text.txt": False,
    }, "the cache of the hub lies inside the working folder"  # fmt: skip
    assert given(made)["HF_HOME"] == "/home/test/.cache/huggingface"
    assert "/host/packages" not in str(made.argv)
    model = {"path": "/models/a, b"}
    local = parse_job({"name": "x", "kind": "generate", "model": model, "launch": {"image": IMAGE, "cwd": "/"},
                       "generate": {"prompts": ["Hello"], "output": "/out/of/it.jsonl"}})  # fmt: skip
    made = planned(local, "gaudi:5", server())
    values = [word for word in made.argv if word.startswith("--mount=")]
    assert '--mount=type=bind,"source=/models/a, b","target=/models/a, b",readonly' in values
    assert "--mount=type=bind,source=/out/of,target=/out/of" in values
    assert not any("source=/," in value for value in values), "the image's own files stay"
    assert "--workdir=/" in made.argv


def test_secrets_go_by_name_alone() -> None:
    made = planned(in_image(env_from=["HF_TOKEN"], env={"MINE": "1"}), "gaudi:5", server(), secrets=["HF_TOKEN"])
    assert given(made)["HF_TOKEN"] is None
    assert given(made)["MINE"] == "1"


@pytest.mark.parametrize(
    ("image", "driver", "level"),
    [
        (IMAGE, "1.23.1-abc", CheckLevel.PASS),
        (IMAGE, "1.24.0-abc", CheckLevel.REFUSAL),
        (IMAGE.replace("1.23.0", "1.22.0"), "1.23.0-abc", CheckLevel.REFUSAL),
        (IMAGE, "6.17.0", CheckLevel.UNKNOWN),
        (IMAGE, None, CheckLevel.UNKNOWN),
        ("mine:1.23.0", "1.24.0-abc", CheckLevel.UNKNOWN),
        ("mine/gaudi:latest", "1.23.0-abc", CheckLevel.UNKNOWN),
    ],
)
def test_image_and_driver_are_of_one_release(image: str, driver: str | None, level: CheckLevel) -> None:
    made = planned(job(image=image), "gaudi:5", server(driver))
    assert levels(made)["image-driver"] is level


def test_a_container_is_planned_and_never_run() -> None:
    made = planned(in_image(), "gaudi:5", server())
    assert levels(made)[RUNS_NOT] is CheckLevel.REFUSAL
    left = unanswered(made.checks, yes=True, overrides=[RUNS_NOT])
    assert [check.id for check in left] == [RUNS_NOT]
    absent = planned(in_image(), "gaudi:0", hosts.inventory())
    assert levels(absent)["image-devices"] is CheckLevel.REFUSAL, "nobody knows its index"
    assert levels(planned(in_image(), "xpu:0", hosts.xpu_server()))["image-devices"] is CheckLevel.REFUSAL


def test_the_script_tells_docker_the_same(tmp_path: Path) -> None:
    """With a program in place of docker that writes down what it is told."""
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    docker.chmod(0o755)
    given_job = job("train", image=IMAGE, python=None, launcher="accelerate", cwd=str(tmp_path))
    made = planned(given_job, "gaudi:4,5", server(), settings=Settings(docker=str(docker)), port=29501)
    text = script(made, {"PATH": os.environ["PATH"]}, job=given_job, folder=str(tmp_path / "beside"), worker=b"x")
    ran = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True, timeout=60)
    told = ran.stdout.splitlines()
    assert told[:3] == ["run", "--rm", "--init"]
    assert told[told.index(IMAGE) + 1] == "python3"
    assert f"--config_file={tmp_path}/beside/accelerate.json" in told
    assert not any("launchers" in word for word in told), "nothing of accel-tui is mounted"
    assert (tmp_path / "beside/accelerate.json").is_file()
