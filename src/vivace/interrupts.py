"""Ctrl-C as a wish to end: what has been done so far is worth something.

A long loop asks after each of its rounds whether somebody wants it to stop, and then ends with what it has:

    with stoppable() as wanted:
        for frame in range(frames):
            ...
            if wanted():
                break

The second Ctrl-C does not wait for the end of a round: it raises KeyboardInterrupt, as everywhere else. SIGTERM, which
schedulers send before they kill, counts as Ctrl-C. Where rounds are long, `keeping` lets the interrupt come at once and
carry what was done before.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


class Terminated(KeyboardInterrupt):
    """SIGTERM came: as Ctrl-C, with another exit code."""


class Wish:
    """Whether somebody wants a loop to end; `number` is the signal, 0 for none.

    Until the loop asks for the first time, and once it is `over`, nothing waits to be asked: a signal raises at once.
    """

    def __init__(self) -> None:
        self.number, self._asked = 0, False

    def __call__(self) -> bool:
        """Whether to end."""
        self._asked = True
        return bool(self.number)

    def over(self) -> None:
        """The loop has ended, and asks no more."""
        self._asked = False

    def take(self, number: int, frame: FrameType | None = None) -> None:
        """A signal has come: the first is a wish, the second an order."""
        if self.number or not self._asked:
            raise_for(number)
        self.number = number

    def interrupt(self, told: str) -> Interrupted:
        """What a command ends with that has done so much of what it was asked for."""
        return Interrupted(told=told, terminated=self.number == signal.SIGTERM)


def raise_for(number: int, frame: FrameType | None = None) -> None:
    """KeyboardInterrupt, or `Terminated`, for a signal: a handler."""
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


@contextmanager
def stoppable() -> Iterator[Wish]:
    """Within, Ctrl-C and SIGTERM are wishes; in threads other than the main one nothing changes."""
    wish = Wish()
    if current_thread() is not main_thread():
        yield wish
        return
    numbers = [
        n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) not in (signal.SIG_IGN, signal.SIG_DFL)
    ]
    before = {number: signal.signal(number, wish.take) for number in numbers}
    try:
        yield wish
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Interrupted(KeyboardInterrupt):
    """Somebody has ended a computation, and this is what was done until then.

    Attributes:
        done: results, as far as there are.
        told: for people: what has become of them.
        code: the exit code of a command that ends so.
    """

    def __init__(self, done: Any = None, told: str = "", *, terminated: bool = False):
        super().__init__(told)
        self.done, self.told, self.code = done, told, 143 if terminated else 130


@contextmanager
def keeping(done: Sized, result: Callable[[], Any] | None = None) -> Iterator[None]:
    """Within, an interrupt is raised as one that has what is done; nothing changes while that is empty.

    Args:
        done: results that come one after the other.
        result: what to make of them; by default they are it.
    """
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt as error:
        if not len(done):
            raise
        made = done if result is None else result()
        raise Interrupted(made, terminated=isinstance(error, Terminated)) from error


def finish(ended: Interrupted | None, told: str = "what was done until then is shown") -> None:
    """End a command that was ended early, after it has shown what there is; nothing for one that was not."""
    if ended is not None:
        ended.told = ended.told or told
        raise ended


def as_far_as_done(make: Callable[[], T]) -> tuple[T, Interrupted | None]:
    """What `make` makes, or what was done of it when somebody ended it, and that interrupt: raise it at the end."""
    try:
        return make(), None
    except Interrupted as error:
        return error.done, error
