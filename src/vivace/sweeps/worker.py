"""A process that makes runs: it is forked from one that has loaded this, and told by a connection what to make."""

from __future__ import annotations

import os
import queue
import threading
import traceback
from multiprocessing.connection import Connection

from .task import Task, run_task

READY = "ready"


def work(connection: Connection) -> None:
    """Make the runs that come, one after the other, and say what each gave, until there is nobody to work for."""
    tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
    connection.send((READY, os.getpid()))
    threading.Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    while True:
        connection.send(run_task(tasks.get()))


def _receive(connection: Connection, tasks: queue.SimpleQueue[Task]) -> None:
    """The next run waits while one is made; the process ends with the one that asks, whatever it is doing."""
    try:
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)
    except BaseException:  # of something that this process cannot read: it would wait for ever
        traceback.print_exc()
        os._exit(1)
