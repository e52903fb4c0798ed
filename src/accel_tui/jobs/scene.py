"""What a check of the host may look at."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accel_tui.jobs.planning import environment_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accel_tui.jobs.facts import Facts
    from accel_tui.jobs.interpreters import Interpreter
    from accel_tui.jobs.spec import Job
    from accel_tui.model.plans import Plan


@dataclass(frozen=True)
class Scene:
    """A job, its plan, and the environment that it would get."""

    job: Job
    plan: Plan
    base: Mapping[str, str]
    deep: bool = True
    """Whether there is time to let torch count its devices."""

    @functools.cached_property
    def environment(self) -> dict[str, str]:
        """The environment of the run; it has the secrets only as far as `base` has them."""
        return environment_for(self.plan, self.base, {})

    @functools.cached_property
    def interpreter(self) -> Interpreter:
        """The interpreter that the plan names."""
        from accel_tui.jobs.interpreters import Interpreter

        return Interpreter(str(self.plan.facts["python"]), str(self.plan.facts["python_reason"]))

    @property
    def uses_python(self) -> bool:
        """Whether the plan starts an interpreter of this host at all."""
        return self.job.uses_torch and self.job.launch.image is None and self.interpreter.path in self.plan.argv

    @functools.cached_property
    def facts(self) -> Facts:
        """Executes the interpreter."""
        from accel_tui.jobs.facts import facts

        return facts(self.interpreter.path, self.environment)

    @functools.cached_property
    def deep_facts(self) -> Facts:
        """The same after torch has counted its devices under the planned environment. Executes the interpreter."""
        from accel_tui.jobs.facts import facts

        return facts(self.interpreter.path, self.environment, deep=True, training=self.job.kind == "train")

    def field(self, table: str, name: str) -> Any:
        """A field of one of the job's tables; None where the kind has no such table."""
        return getattr(getattr(self.job, table, None), name, None)
