"""accelerate launch, with every flag explicit and a configuration file of our own.

Without `--config_file` the user's default one leaks into the run: device lists, precision, even another launcher.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accel_tui.jobs.launchers import LaunchSetting
    from accel_tui.jobs.spec import Program

NEEDS_PORT = True
CONFIGURATION = str(Path(__file__).with_name("accelerate.json"))
"""Says what accelerate would assume without any file; a plain file so that the launcher can read it."""


def argv(program: Program, setting: LaunchSetting) -> tuple[str, ...]:
    form = {"module": ("--module",), "program": ("--no_python",), "script": ()}[program.form]
    # One process under `--multi_gpu` is refused; several under `--cpu` would be one.
    several = ("--multi_gpu",) if setting.processes > 1 else ("--cpu",) if setting.on_cpu else ()
    return (
        setting.python,
        "-m",
        "accelerate.commands.launch",
        f"--config_file={CONFIGURATION}",
        *several,
        f"--num_processes={setting.processes}",
        "--num_machines=1",
        "--machine_rank=0",
        "--main_process_ip=127.0.0.1",
        f"--main_process_port={setting.port}",
        # `all` leaves the mask of the environment alone; a list would replace it.
        "--gpu_ids=all",
        "--mixed_precision=no",
        "--dynamo_backend=no",
        "--rdzv_backend=static",
        "--max_restarts=0",
        "--role=rank",
        "--tee=3",
        f"--log_dir={setting.folder}/ranks",
        *form,
        *program.argv,
    )
