"""A client whose supervisor is a list: for screens that must look the same every time."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from accel_tui.client.connection import Client
from accel_tui.model.devices import Inventory
from accel_tui.model.errors import SupervisorError
from accel_tui.model.runs import Run
from accel_tui.protocol.sse import Event

SETTINGS = {"save_seconds": 120.0, "grace_seconds": 10.0}


class FakeSupervisor:
    """What the clients of one screen see; tests change it and push events."""

    def __init__(self, inventory: Inventory, runs: tuple[Run, ...] = ()) -> None:
        self.inventory, self.runs = inventory, list(runs)
        self.events: queue.SimpleQueue[Event | str | None] = queue.SimpleQueue()
        self.silent: str | None = None
        """Why nobody answers; None when somebody does."""
        self.asked: list[tuple[str, Any]] = []
        """What was asked, in order: the method and its arguments."""
        self.history: dict[str, dict[str, list[list[float | None]]]] = {}
        self.series: dict[str, list[dict[str, Any]]] = {}
        """The curves of runs by id."""

    def tell(self, name: str, data: Mapping[str, Any]) -> None:
        self.events.put(Event(name, dict(data)))

    def break_link(self, message: str) -> None:
        """Nobody answers any more."""
        self.silent = message
        self.events.put("broken")

    def client(self) -> Client:
        return FakeClient(self)


class FakeClient(Client):
    """Answers from a FakeSupervisor."""

    def __init__(self, supervisor: FakeSupervisor) -> None:
        super().__init__("/nowhere")
        self.supervisor = supervisor
        self._hung_up = False

    def connect(self, start: bool | None = None) -> dict[str, Any]:
        if self.supervisor.silent is not None:
            raise SupervisorError(self.supervisor.silent)
        return {"version": "0", "pid": 1, "settings": SETTINGS}

    def listen(self) -> Iterator[Event | None]:
        seen = self.supervisor
        document = {"inventory": seen.inventory.to_json(), "runs": [run.to_json() for run in seen.runs]}
        yield Event("snapshot", document)
        while not self._hung_up:
            event = seen.events.get()
            if event == "broken" or isinstance(event, str):
                return
            yield event

    def hang_up(self) -> None:
        self._hung_up = True
        self.supervisor.events.put("broken")

    def devices_history(self, seconds: float, **chosen: Any) -> dict[str, dict[str, list[list[float | None]]]]:
        self.supervisor.asked.append(("devices_history", (seconds, chosen)))
        return self.supervisor.history

    def run_metrics(self, ref: str, **chosen: Any) -> dict[str, Any]:
        self.supervisor.asked.append(("run_metrics", ref))
        return {"schema": 1, "series": self.supervisor.series.get(ref, []), "devices": {}}

    def stop(self, ref: str, *, now: bool = False) -> dict[str, Any]:
        self.supervisor.asked.append(("stop", (ref, now)))
        return {}

    def remove(self, ref: str) -> dict[str, Any]:
        self.supervisor.asked.append(("remove", ref))
        return {}

    def exchange(self, *arguments: Any, **options: Any) -> Any:
        raise SupervisorError(f"the fake does not answer {arguments[:2]}")


Maker = Callable[[], Client]
