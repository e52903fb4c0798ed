"""Work that may take long, away from the event loop: a daemon thread, so that leaving never waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from accel_tui.client.asynchronous import post

T = TypeVar("T")


async def in_thread(name: str, work: Callable[[], T]) -> T:
    """What `work` returns or raises; `name` is the thread's."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(setter: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            setter(value)

    def run() -> None:
        try:
            value = work()
        except BaseException as error:
            post(loop, lambda error=error: settle(future.set_exception, error))  # type: ignore[misc]  # one argument
        else:
            post(loop, lambda: settle(future.set_result, value))

    threading.Thread(target=run, name=name, daemon=True).start()
    return await future
