"""Worker processes here: forked from one that has loaded everything, and again as soon as one ends."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait

from ..errors import FileError, InputError
from ..forking import ENDING_S, ForkServer
from .task import Done, Task, lost, portable

STARTS = 3  # times that each process may end before it is ready, one after the other, before nobody tries any longer
GOING_S = 0.5  # in which a server that has let go of a process it should have started ends
TRIES = 10  # times that a run is begun whose processes die
AHEAD = 2  # runs that a process has: the one that it makes, and the next, for which it need not wait
LOOK_S = 0.2  # between two looks at whether somebody wants it to end
WORKER = "vivace.sweeps.worker"


@dataclass
class Worker:
    """A process, and the runs that it has: the first of them is being made.

    Attributes:
        connection: to it.
        pid: its number; 0 until it is ready.
        tasks: in the order in which it makes them.
    """

    connection: Connection
    pid: int = 0
    tasks: deque[Task] = field(default_factory=deque)


class LocalProcesses:
    """So many processes that make runs. Nothing listens anywhere: each has a pipe to this process.

    Args:
        count: processes.

    Attributes:
        workers: that live now.
        server: that forks them.
    """

    def __init__(self, count: int):
        self._failed = 0
        try:
            self.server = ForkServer.of(WORKER)
        except NotImplementedError as error:
            raise InputError(f"{error}: let a Dask scheduler's workers make the runs (--scheduler)") from error
        except OSError as error:
            raise _too_many(count, error) from error
        self.workers: list[Worker] = []
        try:
            for _ in range(count):
                self.workers.append(Worker(self.server.fork()))
        except OSError as error:
            self.close()
            raise _too_many(count, error) from error

    def made(self, tasks: Sequence[Task]) -> Iterator[Done | None]:
        """What runs give, in whatever order they end; None now and then while there is nothing."""
        left, tries = deque(tasks), dict.fromkeys((task.key for task in tasks), 0)
        open_runs = len(left)
        while open_runs:
            for worker in self.workers:
                self._hand_out(worker, left)
            ready = wait([worker.connection for worker in self.workers], LOOK_S)
            found: list[Done] = []
            for k, worker in enumerate(self.workers):
                if worker.connection not in ready:
                    continue
                try:
                    said = worker.connection.recv()
                except (EOFError, OSError):
                    self.workers[k] = self._again(worker)
                    found += _taken_back(worker, left, tries)
                    continue
                self._failed = 0
                if isinstance(said, Done):
                    worker.tasks.popleft()
                    found.append(said)
                else:
                    _, worker.pid = said
            for worker in self.workers:  # before whoever asks writes anything to a disk
                self._hand_out(worker, left)
            open_runs -= len(found)
            yield from found
            if not found:
                yield None

    def close(self) -> None:
        """End all of them, and wait until they have ended, for all together as long as one may take."""
        workers = [worker for worker in self.workers if not worker.connection.closed]
        for worker in workers:
            if worker.pid and not _has_ended(worker.connection):
                with suppress(OSError):
                    os.kill(worker.pid, signal.SIGKILL)
            _say_no_more(worker.connection)  # which ends one whose number is not known yet
        self.server.close()
        latest = time.monotonic() + ENDING_S
        for worker in workers:
            with suppress(EOFError, OSError):  # the end of what it said is that of the process
                while worker.connection.poll(max(0.0, latest - time.monotonic())):
                    worker.connection.recv_bytes()
            worker.connection.close()

    def _hand_out(self, worker: Worker, left: deque[Task]) -> None:
        """Runs for a process, as many as it may have; fewer where others would wait for them at the end."""
        ahead = AHEAD if len(left) >= len(self.workers) else 1
        while worker.pid and left and len(worker.tasks) < ahead:
            task = left.popleft()
            worker.tasks.append(task)
            with suppress(OSError):  # it has ended, and its connection will say so
                worker.connection.send(portable(task))

    def _again(self, worker: Worker) -> Worker:
        """Another process for one that has ended; FileError if they cannot be started at all."""
        worker.connection.close()
        self._failed += not worker.pid
        # A server that is killed lets go of its connections before it has ended, on a busy machine long before.
        code = self.server.ended(0.0 if worker.pid else GOING_S)
        if self._failed > STARTS * len(self.workers):
            words = self.server.last_words() or f"they end with {code}"
            raise FileError(f"worker processes cannot be started: {words}")
        if code is not None:
            self.server.close()
            self.server = ForkServer(WORKER)
        return Worker(self.server.fork())


def _too_many(count: int, error: OSError) -> InputError:
    return InputError(f"{count} processes cannot be started ({error.strerror or error}); choose fewer workers")


def _has_ended(connection: Connection) -> bool:
    """Whether nobody has the other end of a connection any longer, however much of what was said is unread."""
    poll = select.poll()
    poll.register(connection.fileno(), 0)  # the end is told without being asked for
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))


def _say_no_more(connection: Connection) -> None:
    """Whoever reads the other end finds that nothing comes any more; what it says can still be read here."""
    ours = socket.socket(fileno=connection.fileno())
    try:
        with suppress(OSError):  # it has ended
            ours.shutdown(socket.SHUT_WR)
    finally:
        ours.detach()


def _taken_back(worker: Worker, left: deque[Task], tries: dict[str, int]) -> list[Done]:
    """Runs of a process that has ended are the next; not the one that it was making, if that was once too often."""
    given_up = []
    if worker.tasks:
        first = worker.tasks[0]
        tries[first.key] += 1
        if tries[first.key] >= TRIES:
            given_up = [lost(worker.tasks.popleft(), f"its process ended all {TRIES} times")]
    left.extendleft(reversed(worker.tasks))
    return given_up
