"""The client for an event loop: questions are answered by threads, and the events of the supervisor become facts.

The threads are daemons: whoever ends need not wait for a supervisor that does not answer.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from accel_tui.client.facts import Connected, Fact, Heard, Lost, fact_of
from accel_tui.model.errors import AccelError, SupervisorError

if TYPE_CHECKING:
    from collections.abc import Callable

    from accel_tui.client.connection import Client

T = TypeVar("T")

ANSWER_SECONDS = 30.0
"""The longest that a question waits, a supervisor's start included."""
THREADS = 3
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 6.0


class AsyncClient:
    """Asks without blocking: each thread has a client of its own."""

    def __init__(self, make: Callable[[], Client], threads: int = THREADS) -> None:
        """`make` makes a client that has not connected yet; it is called in the threads."""
        self._make = make
        self._questions: queue.SimpleQueue[_Question | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._limit = threads

    async def ask(self, question: Callable[[Client], T], *, seconds: float = ANSWER_SECONDS) -> T:
        """What `question` returns of a client.

        Raises:
            SupervisorError: there was no answer within `seconds`.
            AccelError: as the client raises.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._start_thread()
        self._questions.put(_Question(question, future, loop))
        try:
            return await asyncio.wait_for(future, seconds)
        except asyncio.TimeoutError:
            raise SupervisorError(f"the supervisor did not answer for {seconds:.0f} s") from None

    def close(self) -> None:
        """Answer what was asked already, and nothing more."""
        for _ in self._threads:
            self._questions.put(None)

    def _start_thread(self) -> None:
        """One more thread per question until there are enough."""
        if len(self._threads) < self._limit:
            thread = threading.Thread(target=self._answer, name="accel-tui asks", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _answer(self) -> None:
        client: Client | None = None
        while (question := self._questions.get()) is not None:
            if not question.future.cancelled():  # nobody waits any more: it must not be done behind their back
                client = client or self._make()
                question.answer(client)
        if client is not None:
            client.close()


class _Question:
    def __init__(
        self, question: Callable[[Client], Any], future: asyncio.Future[Any], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.question, self.future, self.loop = question, future, loop

    def answer(self, client: Client) -> None:
        try:
            value = self.question(client)
        except BaseException as error:
            self._post(self.future.set_exception, error)
        else:
            self._post(self.future.set_result, value)

    def _post(self, setter: Callable[[Any], None], value: object) -> None:
        def settle() -> None:
            if not self.future.done():
                setter(value)

        post(self.loop, settle)


class Feed:
    """Follows the events of the supervisor and says how the link stands; connects again by itself."""

    def __init__(self, client: Client, deliver: Callable[[list[Fact]], None]) -> None:
        """`deliver` is called in the loop with what has arrived since it was called last."""
        self._client = client
        self._deliver = deliver
        self._loop: asyncio.AbstractEventLoop | None = None
        self._facts: list[Fact] = []
        self._lock = threading.Lock()
        self._closed = False
        self._wake = threading.Event()

    def start(self) -> None:
        """Begin, in the running loop."""
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._follow, name="accel-tui listens", daemon=True).start()

    def try_now(self) -> None:
        """Do not wait for the end of the pause."""
        self._wake.set()

    def close(self) -> None:
        """Tell nothing more; the thread ends as soon as it can."""
        self._closed = True
        self._wake.set()
        self._client.hang_up()

    def _follow(self) -> None:
        pause = FIRST_PAUSE
        while not self._closed:
            lost = Lost("the link to the supervisor broke", None, pause)
            try:
                self._tell(Connected(self._client.connect()))
                for event in self._client.listen():
                    if self._closed:
                        break
                    pause = FIRST_PAUSE
                    self._tell(Heard() if event is None else fact_of(event))
            except AccelError as error:
                lost = Lost(error.message, error.remedy, pause)
            except (KeyError, TypeError, ValueError) as error:
                lost = Lost(f"the supervisor told something that cannot be understood: {error!r}", None, pause)
            if self._closed:
                break
            self._tell(lost)
            self._wake.clear()
            self._wake.wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        self._client.close()

    def _tell(self, fact: Fact) -> None:
        with self._lock:
            first = not self._facts
            self._facts.append(fact)
        if first and self._loop is not None:
            post(self._loop, self._hand_over)

    def _hand_over(self) -> None:
        with self._lock:
            facts, self._facts = self._facts, []
        if not self._closed:
            self._deliver(facts)


def post(loop: asyncio.AbstractEventLoop, work: Callable[[], None]) -> None:
    """Have `work` done in `loop`, unless that has ended: then nobody cares."""
    try:
        loop.call_soon_threadsafe(work)
    except RuntimeError:
        if not loop.is_closed():
            raise
