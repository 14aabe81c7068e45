"""Runs as tasks of Dask: by a scheduler at an address, or by jobs of SLURM.

Dask is loaded when a sweep begins that wants it, and not before.
"""

from __future__ import annotations

import logging
import queue
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

from ..errors import FileError, InputError
from .task import Done, Task, lost, run_task

STARTING_S = 60  # for a scheduler to answer
AGAIN = 3  # times that a run is handed in whose processes have died as often as the scheduler allows
LOOK_S = 0.2  # between two looks at whether somebody wants it to end


class Cluster:
    """Workers of a Dask scheduler.

    Args:
        place: its address, or a cluster of Dask.
    """

    def __init__(self, place: Any):
        import dask
        import distributed

        self._stack = ExitStack()
        with ExitStack() as stack:
            stack.enter_context(_quiet())
            stack.enter_context(dask.config.set({"distributed.comm.timeouts.connect": f"{STARTING_S}s"}))
            try:
                client = distributed.Client(place, set_as_default=False, timeout=f"{STARTING_S}s")
            except (OSError, ValueError, ImportError, TimeoutError) as error:
                raise FileError(f"there is no Dask scheduler at {place}: {error}") from error
            self._client = stack.enter_context(client)
            self._stack = stack.pop_all()

    def made(self, tasks: Sequence[Task]) -> Iterator[Done | None]:
        """What runs give, in whatever order they end; None now and then while there is nothing."""
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        waiting: dict[str, tuple[Task, int]] = {}
        held: dict[str, Any] = {}

        def hand_in(task: Task, tries: int) -> None:
            waiting[task.key] = task, tries
            name = f"vivace-{task.key}-{tries}"
            future = self._client.submit(run_task, task, key=name, pure=False, priority=-task.number)
            future.add_done_callback(ended.put)
            held[task.key] = future  # which nobody else holds: it would be forgotten

        for task in tasks:
            hand_in(task, 1)
        while waiting:
            try:
                future = ended.get(timeout=LOOK_S)
            except queue.Empty:
                yield None
                continue
            key = future.key.split("-")[1]
            if key not in waiting:
                continue
            task, tries = waiting.pop(key)
            if future.status != "finished" and tries < AGAIN:
                hand_in(task, tries + 1)
                continue
            del held[key]
            yield future.result() if future.status == "finished" else lost(task, _why(future))

    def close(self) -> None:
        """Leave the scheduler, which goes on."""
        self._stack.close()


def _why(future: Any) -> str:
    if future.status != "error":
        return "it was cancelled"
    return f"its process ended every time ({type(future.exception()).__name__})"


@contextmanager
def jobs_of_slurm(options: Mapping[str, Any], count: int, threads: int) -> Iterator[Any]:
    """So many jobs of one process and one run at a time, with so many cores each."""
    jobs: Any = import_module("dask_jobqueue")
    given = {"cores": 1, "processes": 1, "job_cpu": threads, "memory": "4GB", **options}
    try:
        cluster: Any = jobs.SLURMCluster(**given)
    except (TypeError, ValueError) as error:
        raise InputError(f"SLURM's options are those of dask_jobqueue.SLURMCluster: {error}") from error
    with cluster:
        cluster.scale(jobs=count)
        yield cluster


@contextmanager
def _quiet() -> Iterator[None]:
    """Workers that were killed are started again: that is no news."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.nanny", "distributed.scheduler")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="distributed")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
