"""torchrun: N ranks on this host, with a rendezvous on a loopback port that the run owns.

Only flags that every release from 2.6 on knows; the time-out of a stop, which is younger, goes by variable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accel_tui.jobs.launchers import LaunchSetting
    from accel_tui.jobs.spec import Program

NEEDS_PORT = True


def argv(program: Program, setting: LaunchSetting) -> tuple[str, ...]:
    form = {"module": ("-m",), "program": ("--no-python",), "script": ()}[program.form]
    return (
        setting.python,
        "-m",
        "torch.distributed.run",
        "--nnodes=1",
        f"--nproc-per-node={setting.processes}",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint=127.0.0.1:{setting.port}",
        f"--rdzv-id={setting.identifier}",
        # The host's own name may resolve to an address that it does not listen on.
        "--local-addr=127.0.0.1",
        # The console prefix becomes `[rank0]:`.
        "--role=rank",
        "--tee=3",
        f"--log-dir={setting.folder}/ranks",
        "--max-restarts=0",
        *form,
        *program.argv,
    )
