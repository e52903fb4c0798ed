"""One made-up log for every failure that the shipped tables know: how it looks, and what must be said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TRACE = 'Traceback (most recent call last):\n  File "/home/user/train.py", line 41, in <module>\n    main()\n'
AGENT = (
    "E1130 11:44:38.046000 13089 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: {code}) "
    "local_rank: 1 (pid: 13123) of binary: /home/user/venv/bin/python3\n"
    "Traceback (most recent call last):\n"
    '  File "/home/user/venv/bin/torchrun", line 6, in <module>\n'
    "    sys.exit(main())\n"
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    "=======================================================\n"
    "train.py FAILED\n"
    "-------------------------------------------------------\n"
    "Failures:\n[1]:\n  time      : 2026-11-30_11:44:38\n  host      : localhost\n  rank      : 0 (local_rank: 0)\n"
    "  exitcode  : -15 (pid: 13122)  (SIGTERM)\n"
    "-------------------------------------------------------\n"
    "Root Cause (first observed failure):\n[0]:\n  time      : 2026-11-30_11:44:37\n  host      : localhost\n"
    "  rank      : 1 (local_rank: 1)\n  exitcode  : {code} (pid: 13123)  ({name})\n  error_file: <N/A>\n"
    "=======================================================\n"
)


@dataclass(frozen=True)
class Case:
    """A log, how the run ended, and what is expected beside the id."""

    log: str
    said: str = ""
    """Stands in the summary."""
    line: int | None = None
    rank: int | None = None
    record: Mapping[str, Any] = field(default_factory=dict)
    vendors: frozenset[str] = frozenset()
    silent_seconds: float | None = None
    processes: int = 2


def raised(words: str, **more: Any) -> Case:
    """A program that ends by this exception."""
    return Case(f"step 1\n{TRACE}{words}\n", line=5, **more)


def printed(words: str, **more: Any) -> Case:
    """A native program that writes this at its end and gives up."""
    return Case(f"loading\n{words}\nbye\n", line=2, **more)


def of_rank(rank: int, text: str) -> str:
    return "".join(f"[rank{rank}]: {line}\n" for line in text.splitlines())


CASES: dict[str, Case] = {
    # Python
    "out-of-memory": raised(
        "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23 GiB",
        said="OutOfMemoryError: XPU out of memory. Tried to allocate 2.00 GiB",
    ),
    "host-out-of-memory": raised(
        "RuntimeError: [enforce fail at alloc_cpu.cpp:119] err == 0. DefaultCPUAllocator: can't allocate memory: you "
        "tried to allocate 68719476736 bytes. Error code 12 (Cannot allocate memory)"
    ),
    "oom-killer": printed("[91022.1] Out of memory: Killed process 4411 (python) total-vm:91022kB, anon-rss:80000kB"),
    "missing-module": raised("ModuleNotFoundError: No module named 'peft'", said="module peft is not installed"),
    "import-failed": raised("ImportError: cannot import name 'Foo' from 'transformers' (/home/user/venv/x.py)"),
    "binary-mismatch": raised("ImportError: /home/user/venv/lib/x.so: undefined symbol: _ZNK3c105Error4whatEv"),
    "missing-model": raised(
        "OSError: Error no file named model.safetensors, or pytorch_model.bin, found in directory ./models/mine."
    ),
    "damaged-model": raised("safetensors_rust.SafetensorError: Error while deserializing header: header too large"),
    "remote-code": raised(
        "ValueError: The repository ./m contains custom code which must be executed to correctly load the model. "
        "Please pass the argument `trust_remote_code=True` to allow custom code to be run."
    ),
    "shape-mismatch": raised("RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x128 and 256x64)"),
    "dtype-mismatch": raised(
        "RuntimeError: expected m1 and m2 to have the same dtype, but got: float != c10::BFloat16"
    ),
    "nan-loss": raised("RuntimeError: Function 'LogSoftmaxBackward0' returned nan values in its 0th output."),
    "port-in-use": raised(
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. "
        "port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
    ),
    "shared-memory-full": raised(
        "RuntimeError: unable to write to file </torch_4411_2205_0>: No space left on device (28)"
    ),
    "disk-full": raised("OSError: [Errno 28] No space left on device: '/home/user/out/checkpoint-30/optimizer.pt'"),
    "too-many-files": raised("OSError: [Errno 24] Too many open files: '/home/user/data/1.jsonl'"),
    "dataloader-worker-killed": raised(
        "RuntimeError: DataLoader worker (pid 5120) is killed by signal: Killed. ", said="DataLoader worker (pid 5120)"
    ),
    "tokenizer-mismatch": raised("IndexError: index out of range in self"),
    "tokenizer-file": raised("Exception: data did not match any variant of untagged enum ModelWrapper at line 9"),
    "no-padding-token": raised(
        "ValueError: Asking to pad but the tokenizer does not have a padding token. Please select a token to use"
    ),
    "no-chat-template": raised(
        "ValueError: Cannot use chat template functions because tokenizer.chat_template is not set and no template "
        "argument was passed!"
    ),
    "hub-unreachable": raised(
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the "
        "cached files."
    ),
    "hub-denied": raised(
        "OSError: You are trying to access a gated repo.\nMake sure to have access to it at https://huggingface.co/x/y.\n"
        "401 Client Error. (Request ID: Root=1-2)"
    ),
    "bf16-unsupported": raised(
        "ValueError: Your setup doesn't support bf16/gpu. You need to assign use_cpu if you want to"
    ),
    "kernels-missing": raised(
        "ImportError: kernels is either not installed or uses an incompatible version (0.18.2 <= version < 0.19.0)."
    ),
    "no-checkpoint": raised("ValueError: Can't find a valid checkpoint at ./out/checkpoint-7"),
    "unsafe-pickle": raised(
        "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so"
    ),
    "main-guard": raised(
        "RuntimeError: \n        An attempt has been made to start a new process before the\n"
        "        current process has finished its bootstrapping phase."
    ),
    "interrupted": raised("KeyboardInterrupt"),
    "file": raised("FileNotFoundError: [Errno 2] No such file or directory: 'data.jsonl'"),
    # Launchers
    "rank-killed": Case(
        of_rank(0, TRACE + "RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:12709. ")
        + AGENT.format(code=-9, name="SIGKILL"),
        said="SIGKILL",
        rank=1,
    ),
    "rank-crashed": Case("step 1\n" + AGENT.format(code=-11, name="SIGSEGV"), said="signal 11", rank=1),
    "rank-aborted": Case("step 1\n" + AGENT.format(code=-6, name="SIGABRT"), rank=1),
    "collective-timeout": raised(
        "torch.distributed.DistStoreError: Timed out after 61 seconds waiting for clients. 1/2 clients joined."
    ),
    "peer-lost": raised("RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:12709. "),
    "wrong-card": raised(
        "accel_tui_worker.errors.WrongCardError: rank 1 holds pci:0000:4c:00.0 (module 2), planned was module 1",
        said="plan gave it: rank 1 holds",
    ),
    "hostname": raised("RuntimeError: Unable to resolve hostname to a (local) address"),
    # Gaudi
    "gaudi-no-devices": raised("RuntimeError: synStatus=8 [Device not found] Device acquire failed. No devices found."),
    "gaudi-server-type": Case(
        "Invalid server type 0x11\n" + TRACE + "RuntimeError: synStatus=26 [Generic failure] Device acquire failed.\n",
        said="Invalid server type 0x11",
    ),
    "gaudi-holder": Case(
        "[SYN_API][error] device 3 failed to acquire, already acquired by PID 41277\n"
        + TRACE
        + "RuntimeError: synStatus=8 [Device not found] Device acquire failed.\n",
        said="process 41277",
        line=1,
    ),
    "gaudi-device-busy": raised(
        "RuntimeError: synStatus=26 [Generic failure] Device acquire failed.", said="synStatus=26 [Generic failure]"
    ),
    "gaudi-card-in-reset": raised("RuntimeError: synStatus=17 [Device in reset] Device acquire failed."),
    "gaudi-other-card": Case(
        "Device acquire failed for hls_mod_id: 5 with status 8. Proceeding without moduleid\nstep 1\n"
        + TRACE
        + "ValueError: bad\n",
        said="module 5",
        line=1,
    ),
    "gaudi-too-few-modules": raised(
        "RuntimeError: There is not enough devices: world size 4 with HABANA_VISIBLE_MODULES=0,1"
    ),
    "gaudi-module-list": raised("RuntimeError: HABANA_VISIBLE_MODULES does not have valid value: 0,1,2,3,4,5,6,7,8"),
    "gaudi-module-range": raised(
        "RuntimeError: Invalid HABANA_VISIBLE_MODULES=5. Module IDs should be between 0 and 0."
    ),
    "gaudi-module-differs": raised(
        "RuntimeError: Requested module_id=3 is different from current_module_id=5", said="asks for module 3"
    ),
    "gaudi-device-index": raised("RuntimeError: the only supported device idx is 0, got 1"),
    "gaudi-out-of-memory": raised(
        "RuntimeError: [Rank:2] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::2147483648 (2048)MB",
        said="2147483648",
        rank=2,
    ),
    "gaudi-host-memory": raised("RuntimeError: synStatus=3 [Out of HOST memory (OOM)] Host memory allocation failed"),
    "gaudi-graph-compile": raised(
        "RuntimeError: FATAL ERROR :: MODULE:PT_BRIDGE Exception in Compile thread...\n"
        "Graph compile failed. synStatus=synStatus 26 [Generic failure]."
    ),
    "gaudi-graph-compile-other": raised("RuntimeError: Graph compile failed. synStatus=1 [Invalid argument]."),
    "gaudi-operator": raised(
        "RuntimeError: synNodeCreateWithId failed for node: cast_i64_to_f32 with synStatus 26 [Generic failure]."
    ),
    "gaudi-device-lost": raised("RuntimeError: synLaunch failed. synStatus=42 [Got timeout notification from Driver]."),
    "gaudi-submit-failed": raised("RuntimeError: synStatus=7 [Failed to submit Command-Submission] synLaunch"),
    "gaudi-hccl": raised("RuntimeError: Collective call returned error: synStatus=40 [Got failure from HCCL]"),
    "gaudi-hccl-setup": raised("RuntimeError: hcclCommInitRank failed on rank 1"),
    "gaudi-device-type": raised("RuntimeError: synStatus=9 [Device-type mismatch] synRecipeDeSerialize"),
    "gaudi-generic": raised("RuntimeError: synStatus=26 [Generic failure] Device Buffer synchronize"),
    "gaudi-lazy-unsupported": raised(
        "RuntimeError: Stock PyTorch version 2.9.0 is not supported in Lazy mode. Set PT_HPU_LAZY_MODE=0"
    ),
    "gaudi-wrong-plugin": raised("RuntimeError: Wrong PT plugin library loaded. PT_HPU_LAZY_MODE was changed"),
    "gaudi-plugin-version": raised("AssertionError: compile-time torch 2.9 differs from run-time torch 2.13"),
    "gaudi-plugin-missing": raised("ModuleNotFoundError: No module named 'habana_frameworks'"),
    "gaudi-container-runtime": printed(
        "docker: Error response from daemon: Unknown runtime specified habana.\nSee 'docker run --help'."
    ),
    "gaudi-container-cards": printed(
        "docker: Error response from daemon: failed creating temporary link on host: invalid argument: unknown."
    ),
    "gaudi-card-dead": printed("[ 12.3] habanalabs 0000:19:00.0: Device is NOT usable !"),
    "gaudi-fp16": raised("ValueError: fp16 is not supported on Gaudi"),
    "gaudi-quantization": raised("ValueError: HPU backend only supports quant_type 'nf4', got fp4"),
    # Intel GPUs
    "xpu-device-lost": printed(
        "terminate called after throwing an instance of 'sycl::_V1::exception'\n"
        "  what():  level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)",
        record={"cause": "signal", "exit_code": None, "signal": "SIGABRT"},
    ),
    "xpu-device-wedged": printed("xe 0000:1a:00.0: [drm] declared device 0000:1a:00.0 as wedged."),
    "xpu-gpu-hang": printed(
        "xe 0000:1a:00.0: [drm] Tile0: GT0: Engine reset: engine_class=ccs, logical_mask: 0x1, guc_id=12"
    ),
    "xpu-page-fault": printed("xe 0000:1a:00.0: [drm] GT0: Engine memory CAT error [18]: class=ccs"),
    "xpu-out-of-memory": raised(
        "RuntimeError: level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)"
    ),
    "xpu-out-of-resources": raised(
        "RuntimeError: level_zero backend failed with error: 40 (UR_RESULT_ERROR_OUT_OF_RESOURCES)"
    ),
    "xpu-no-device": raised("RuntimeError: No XPU devices are available."),
    "xpu-no-driver": printed('{"error": "Level Zero Initialization Error", "errno": 3}'),
    "xpu-permission": raised("PermissionError: [Errno 13] Permission denied: '/dev/dri/renderD128'"),
    "xpu-cpu-build": raised("AssertionError: Torch not compiled with XPU enabled"),
    "xpu-device-index": raised(
        "RuntimeError: The device is out of range, device is 2, total number of device is 2.",
        said="asked for GPU 2 and 2 are visible",
    ),
    "xpu-not-available": raised(
        'ValueError: xpu:1 is not available, you should use device="cpu" instead', said="the program asked for xpu:1"
    ),
    "xpu-fork": raised(
        "RuntimeError: Cannot re-initialize XPU in forked subprocess. To use XPU with multiprocessing, use 'spawn'"
    ),
    "xpu-large-block": raised(
        "RuntimeError: Current platform can NOT allocate memory block with size larger than 4GB! Tried to allocate"
    ),
    "xpu-container-by-path": printed(
        "2026:11:30-11:02:01:(301) |CCL_ERROR| opendir failed: could not open device directory"
    ),
    "xpu-rank-masks": raised("RuntimeError: oneCCL: EXCEPTION: comm_dev_uuids is not sub-vector of node_dev_uuids"),
    "xpu-pidfd": printed("|CCL_ERROR| pidfd_getfd failed: Operation not permitted"),
    "xpu-oneccl": raised("RuntimeError: oneCCL: ze_fd_manager.cpp:144 init_device_fds: EXCEPTION: could not open"),
    "xpu-oneccl-hang": Case(
        "|CCL_WARN| did not find MPI-launcher specific variables, switch to ATL/OFI\ninit\n",
        record={"cause": "time-limit", "exit_code": None, "signal": "SIGTERM", "stopped": True},
        vendors=frozenset({"xpu"}),
        silent_seconds=420.0,
    ),
    "xpu-no-xccl": raised("ValueError: XCCL backend is not available in this build of torch"),
    "xpu-kernels": raised(
        "FileNotFoundError: Cannot find a build variant for this system in kernels-community/flash-attn2 (v4)",
        said="kernel flash-attn2",
    ),
    "xpu-runtime": raised(
        "RuntimeError: level_zero backend failed with error: 2147483646 (UR_RESULT_ERROR_UNKNOWN)",
        said="UR_RESULT_ERROR_UNKNOWN",
    ),
    "xpu-firmware": printed("xe 0000:1a:00.0: [drm] GT0: GuC load failed: status = 0x400000A0"),
}
