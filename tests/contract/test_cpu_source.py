"""The host as a device, on the real host and on stand-in trees for what this host does not have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from accel_tui.model.devices import Device, Reading, ReadingStatus
from accel_tui.vendors.cpu.probe import KEY, CpuSource
from contract.provider_suite import check_source
from support.trees import write_tree

MIB = 1 << 20
RAPL = "class/powercap/intel-rapl:0"


def block(number: int, socket: int, core: int) -> str:
    return (
        f"processor\t: {number}\nmodel name\t: Intel(R)  Xeon(R) Test\nphysical id\t: {socket}\n"
        f"core id\t: {core}\ncpu MHz\t: 2000.0\n"
    )


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Two sockets with two cores of two threads each, 1 GiB of memory, one CPU withheld from us."""
    blocks = [block(cpu, cpu // 2 % 2, cpu % 2) for cpu in range(8)]
    return write_tree(
        tmp_path / "proc",
        {
            "cpuinfo": "\n".join(blocks),
            "meminfo": "MemTotal: 1048576 kB\nMemFree: 100 kB\nMemAvailable: 786432 kB\n",
            "stat": stat(100, 800),
            "self/status": "Name:\tprobe\nCpus_allowed_list:\t0-6\n",
            "self/cgroup": "0::/user.slice/job\n",
        },
    )


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    return write_tree(
        tmp_path / "sys",
        {"devices/system/cpu/online": "0-7\n", "devices/system/node/online": "0-1\n", "fs/cgroup/cgroup.procs": ""},
    )


def stat(busy: int, idle: int, cpus: int = 8) -> str:
    lines = [f"cpu{cpu} {busy} 0 0 {idle} 0 0 0 0 {busy} 0" for cpu in range(cpus)]
    return "\n".join(["cpu 1 2 3 4", *lines, "intr 0"])


def clocked(proc: Path, sysfs: Path, *moments: float) -> CpuSource:
    return CpuSource(proc, sysfs, time=iter(moments).__next__)


def device(source: CpuSource) -> Device:
    return source.inventory()[0][0]


def reading(source: CpuSource, name: str) -> Reading:
    return source.read()[KEY][name]


def test_the_real_host_keeps_the_contract() -> None:
    devices, readings = check_source(lambda: CpuSource(Path("/proc"), Path("/sys")))
    assert devices[0].details["cores"] > 0
    assert readings[KEY]["memory_used_bytes"].status is ReadingStatus.OK


def test_a_stand_in_tree_keeps_the_contract(proc: Path, sysfs: Path) -> None:
    check_source(lambda: CpuSource(proc, sysfs))


def test_empty_trees_keep_the_contract(tmp_path: Path) -> None:
    devices, readings = check_source(lambda: CpuSource(tmp_path / "no", tmp_path / "neither"))
    assert devices[0].memory_total_bytes is None
    assert readings[KEY]["utilization_percent"].status is ReadingStatus.FAILED
    problems = CpuSource(tmp_path / "no", tmp_path / "neither").inventory()[1]
    assert [problem.code for problem in problems] == ["memory-unknown"]


def test_the_facts_of_the_host(proc: Path, sysfs: Path) -> None:
    found = device(CpuSource(proc, sysfs))
    assert (found.name, found.memory_total_bytes, found.numa_node) == ("Intel(R) Xeon(R) Test", 1024 * MIB, None)
    assert found.details["cores"] == 7
    assert found.details["physical_cores"] == 4
    assert found.details["sockets"] == 2
    assert found.details["threads"] == 8
    assert found.details["affinity"] == "0-6"
    assert found.details["numa_nodes"] == [0, 1]


def test_version_2_limits_count_from_any_level(proc: Path, sysfs: Path) -> None:
    write_tree(
        sysfs / "fs/cgroup",
        {
            "user.slice/cpu.max": "250000 100000\n",
            "user.slice/memory.max": f"{512 * MIB}\n",
            "user.slice/memory.current": f"{300 * MIB}\n",
            "user.slice/memory.stat": f"anon 1\ninactive_file {44 * MIB}\n",
            "user.slice/job/cpu.max": "max 100000\n",
            "user.slice/job/memory.max": "max\n",
        },
    )
    source = CpuSource(proc, sysfs)
    found = device(source)
    assert (found.details["cores"], found.details["quota_cores"]) == (2.5, 2.5)
    assert found.memory_total_bytes == 512 * MIB
    used = reading(source, "memory_used_bytes")
    assert (used.value, used.source) == (256 * MIB, "cgroup")


def test_version_1_limits_count_and_its_no_limit_does_not(proc: Path, sysfs: Path) -> None:
    (proc / "self/cgroup").write_text("5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n1:name=systemd:/x\n")
    write_tree(
        sysfs / "fs/cgroup",
        {
            # The path of the host does not exist inside the container: its own limits stand at the root.
            "cpu,cpuacct/cpu.cfs_quota_us": "150000\n",
            "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    found = device(CpuSource(proc, sysfs))
    assert found.details["quota_cores"] == 1.5
    assert found.memory_total_bytes == 1024 * MIB


def test_utilization_needs_two_samples_and_counts_our_cpus(proc: Path, sysfs: Path) -> None:
    source = CpuSource(proc, sysfs)
    assert reading(source, "utilization_percent").status is ReadingStatus.PENDING
    (proc / "stat").write_text(stat(130, 870))
    assert reading(source, "utilization_percent").value == 30.0
    (proc / "stat").write_text(stat(10, 20))
    assert reading(source, "utilization_percent").status is ReadingStatus.PENDING, "counters went back"


def test_memory_used_is_what_is_not_available(proc: Path, sysfs: Path) -> None:
    assert reading(CpuSource(proc, sysfs), "memory_used_bytes").value == 256 * MIB


def test_power_is_a_rate_over_packages_and_survives_a_wrap(proc: Path, sysfs: Path) -> None:
    write_tree(
        sysfs,
        {
            f"{RAPL}/name": "package-0\n",
            f"{RAPL}/energy_uj": "9000000\n",
            f"{RAPL}/max_energy_range_uj": "10000000\n",
            f"{RAPL}/constraint_0_power_limit_uw": "205000000\n",
            f"{RAPL}:0/name": "core\n",
            f"{RAPL}:0/energy_uj": "1\n",
            "class/powercap/intel-rapl:1/name": "psys\n",
            "class/powercap/intel-rapl:1/energy_uj": "1\n",
        },
    )
    source = clocked(proc, sysfs, 10.0, 12.0, 12.5)
    assert reading(source, "power_watts").status is ReadingStatus.PENDING
    (sysfs / RAPL / "energy_uj").write_text("1000000\n")
    second = source.read()[KEY]
    assert second["power_watts"].value == 1.0
    assert second["power_limit_watts"].value == 205.0
    (sysfs / RAPL / "max_energy_range_uj").unlink()
    (sysfs / RAPL / "energy_uj").write_text("0\n")
    assert reading(source, "power_watts").status is ReadingStatus.PENDING, "a wrap of unknown size"


def test_power_and_temperature_are_absent_where_the_kernel_has_none(proc: Path, sysfs: Path) -> None:
    named = CpuSource(proc, sysfs).read()[KEY]
    assert named["power_watts"].status is ReadingStatus.ABSENT
    assert named["temperature_celsius"].status is ReadingStatus.ABSENT
    assert "power_limit_watts" not in named


def test_the_hottest_sensor_of_the_processor_counts(proc: Path, sysfs: Path) -> None:
    write_tree(
        sysfs,
        {
            "class/hwmon/hwmon0/name": "nvme\n",
            "class/hwmon/hwmon0/temp1_input": "90000\n",
            "class/hwmon/hwmon1/name": "coretemp\n",
            "class/hwmon/hwmon1/temp1_input": "45000\n",
            "class/hwmon/hwmon1/temp2_input": "52500\n",
            "class/hwmon/hwmon1/temp3_input": "-128000\n",
        },
    )
    assert reading(CpuSource(proc, sysfs), "temperature_celsius").value == 52.5


def test_thermal_zones_stand_in_for_hwmon(proc: Path, sysfs: Path) -> None:
    write_tree(
        sysfs,
        {
            "class/thermal/thermal_zone0/type": "acpitz\n",
            "class/thermal/thermal_zone0/temp": "99000\n",
            "class/thermal/thermal_zone1/type": "x86_pkg_temp\n",
            "class/thermal/thermal_zone1/temp": "61000\n",
        },
    )
    assert reading(CpuSource(proc, sysfs), "temperature_celsius").value == 61.0


def test_the_clock_is_a_mean(proc: Path, sysfs: Path) -> None:
    assert reading(CpuSource(proc, sysfs), "clock_mhz").value == 2000.0
    for cpu, kilohertz in ((0, 1_000_000), (1, 3_000_000), (7, 9_000_000)):
        write_tree(sysfs, {f"devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq": f"{kilohertz}\n"})
    assert reading(CpuSource(proc, sysfs), "clock_mhz").value == 2000.0


def test_a_file_that_this_account_may_not_read_is_denied_and_named(proc: Path, sysfs: Path) -> None:
    write_tree(
        sysfs,
        {
            f"{RAPL}/name": "package-0\n",
            f"{RAPL}/energy_uj": "1\n",
            "class/hwmon/hwmon1/name": "k10temp\n",
            "class/hwmon/hwmon1/temp1_input": "1\n",
        },
    )
    (sysfs / RAPL / "energy_uj").chmod(0)
    (sysfs / "class/hwmon/hwmon1/temp1_input").chmod(0)
    named = _read_as_other(proc, sysfs)
    assert named["power_watts"]["status"] == "denied"
    assert f"{RAPL}/energy_uj" in named["power_watts"]["reason"]
    assert "read right" in named["power_watts"]["reason"]
    assert named["temperature_celsius"]["status"] == "denied"


def _read_as_other(proc: Path, sysfs: Path) -> dict[str, dict[str, str]]:
    """What an account without rights reads: this one, or `nobody` when this one is root, whom no mode stops.

    Relative paths, since the folders above the tree are closed to `nobody`.
    """
    top = Path(os.path.commonpath([proc, sysfs]))
    for folder in (top, *(path for path in top.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    code = (
        "import json, os, sys; from pathlib import Path\n"
        "from accel_tui.vendors.cpu.probe import CpuSource\n"
        "if os.getuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "named = CpuSource(Path(sys.argv[1]), Path(sys.argv[2])).read()['cpu']\n"
        "print(json.dumps({name: reading.to_json() for name, reading in named.items()}))\n"
    )
    source = Path(sys.modules["accel_tui"].__path__[0]).parent
    done = subprocess.run(
        [sys.executable, "-c", code, str(proc.relative_to(top)), str(sysfs.relative_to(top))],
        cwd=top,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    named: dict[str, dict[str, str]] = json.loads(done.stdout)
    return named
