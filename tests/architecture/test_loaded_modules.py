"""What a fresh interpreter really loads: deferred imports and `__init__` files are invisible to static contracts."""

from __future__ import annotations

import subprocess
import sys

from support.world import SOURCE

TORCH_STACK = {"torch", "transformers", "accelerate", "numpy", "habana_frameworks"}
SCREEN = {"textual", "rich"}
SERVER = {"starlette", "uvicorn", "anyio"}


def loaded(statement: str) -> set[str]:
    """The modules that are loaded after `statement` in an interpreter without site packages' start-up files."""
    code = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def top_level(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def test_command_line_starts_without_anything_heavy() -> None:
    found = top_level(loaded("import accel_tui.__main__, accel_tui.cli"))
    assert not found & (TORCH_STACK | SCREEN | SERVER | {"pydantic", "tomlkit", "psutil"})


def test_asking_for_devices_loads_no_more_than_it_needs() -> None:
    """Each of these once took as long as the answer of the supervisor."""
    found = loaded(
        "from accel_tui.cli import context, main, parser; import accel_tui.client.connection;"
        "parser.parse(['devices', '--json'])[0].load()"
    )
    assert not found & {"shutil", "lzma", "traceback", "accel_tui.model.plans", "accel_tui.model.runs"}


def test_supervisor_never_loads_screen_or_torch_stack() -> None:
    found = loaded("import accel_tui.supervisor.main")
    assert not top_level(found) & (TORCH_STACK | SCREEN)
    assert not {module for module in found if module.startswith(("accel_tui.cli", "accel_tui.tui", "accel_tui.client"))}


def test_keeper_loads_the_standard_library_and_itself_alone() -> None:
    found = loaded("import accel_tui.keeper.nursery")
    before = loaded("pass")
    ours = {module for module in found if module.startswith("accel_tui")}
    assert all(module == "accel_tui" or module.startswith("accel_tui.keeper") for module in ours)
    assert top_level(found - before - ours) <= sys.stdlib_module_names


def test_importing_the_package_itself_loads_nothing_else() -> None:
    assert {module for module in loaded("import accel_tui") if module.startswith("accel_tui")} == {"accel_tui"}
