"""Where runs are made: processes here, a Dask scheduler by its address, or jobs of SLURM.

Dask is loaded when a sweep begins, and not before.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from ..checks import check_count
from ..errors import FileError, InputError, MissingExtraError
from .functions import EXTRA
from .processes import LocalProcesses

STARTING_S = 60  # for a scheduler to answer


@dataclass(frozen=True)
class Workers:
    """Which processes make the runs.

    Attributes:
        count: processes; None: one for each core here, and at most one a run. For SLURM: jobs.
        threads: of each run; None: this machine's cores shared by the processes, and elsewhere one.
        scheduler: the address of a Dask scheduler to use instead.
        slurm: options of `dask_jobqueue.SLURMCluster`, such as queue, walltime and memory, to have jobs instead.
    """

    count: int | None = None
    threads: int | None = None
    scheduler: str | None = None
    slurm: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name in ("count", "threads"):
            if getattr(self, name) is not None:
                check_count("workers" if name == "count" else name, getattr(self, name), 1)
        if self.scheduler is not None and self.slurm is not None:
            raise InputError("runs are made by a scheduler at an address, or by jobs of SLURM; give one of them")
        if self.scheduler is not None and not isinstance(self.scheduler, str):
            raise InputError(f"a scheduler is an address, such as tcp://host:8786, not {self.scheduler!r}")
        if self.scheduler is not None and self.count is not None:
            raise InputError("a scheduler that runs already has its own workers: leave their number out")
        if find_spec("distributed") is None:
            raise MissingExtraError("a sweep", EXTRA)
        if self.slurm is not None and find_spec("dask_jobqueue") is None:
            raise MissingExtraError("a sweep by jobs of SLURM", "slurm")

    def shared(self, runs: int) -> tuple[int, int]:
        """How many processes there are for so many runs, and how many threads each run has."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if self.scheduler is not None:
            return 0, self.threads or 1
        if self.slurm is not None:
            return min(self.count or 1, max(runs, 1)), self.threads or 1
        count = max(1, min(self.count or max(1, cores // (self.threads or 1)), runs))
        return count, self.threads or max(1, cores // count)


@dataclass(frozen=True)
class Connected:
    """A Dask client, and the processes that work for it, where they are ours."""

    client: Any
    here: LocalProcesses | None

    def look(self) -> None:
        """Start again what has ended."""
        if self.here is not None:
            self.here.look()

    def worked(self) -> None:
        """A run was made."""
        if self.here is not None:
            self.here.worked()


@contextmanager
def connected(workers: Workers, runs: int) -> Iterator[Connected]:
    """A Dask client with workers for so many runs; all that was started for it ends with the block."""
    import dask
    import distributed

    count, threads = workers.shared(runs)
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        stack.enter_context(dask.config.set({"distributed.comm.timeouts.connect": f"{STARTING_S}s"}))
        cluster: Any
        here: LocalProcesses | None = None
        if workers.scheduler is not None:
            cluster = workers.scheduler
        elif workers.slurm is not None:
            cluster = stack.enter_context(_slurm(workers.slurm, threads))
            cluster.scale(jobs=count)
        else:
            here = stack.enter_context(closing(LocalProcesses(count, threads)))
            cluster = here.scheduler
        try:
            client = distributed.Client(cluster, set_as_default=False, timeout=f"{STARTING_S}s")
        except (OSError, ValueError, ImportError, TimeoutError) as error:
            raise FileError(f"there is no Dask scheduler at {workers.scheduler}: {error}") from error
        yield Connected(stack.enter_context(client), here)


def _slurm(options: Mapping[str, Any], threads: int) -> Any:
    """Jobs of one process and one run at a time, with so many cores."""
    import dask_jobqueue

    given = {"cores": 1, "processes": 1, "job_cpu": threads, "memory": "4GB", **options}
    try:
        return dask_jobqueue.SLURMCluster(**given)
    except (TypeError, ValueError) as error:
        raise InputError(f"SLURM's options are those of dask_jobqueue.SLURMCluster: {error}") from error


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
