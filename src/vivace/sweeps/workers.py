"""Where runs are made: processes here, a Dask scheduler by its address, or jobs of SLURM."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from ..checks import check_count
from ..errors import InputError, MissingExtraError
from .functions import EXTRA
from .processes import LocalProcesses
from .task import Done, Task

JOBS = "jobs"  # where jobs of SLURM write what they say


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
        if self.scheduler is not None and find_spec("distributed") is None:
            raise MissingExtraError("a sweep on a Dask cluster", EXTRA)
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


class Crew(Protocol):
    """Who makes runs."""

    def made(self, tasks: Sequence[Task]) -> Iterator[Done | None]:
        """What runs give, in whatever order they end; None now and then while there is nothing."""
        ...


@contextmanager
def connected(workers: Workers, runs: int, folder: Path) -> Iterator[Crew]:
    """Who makes so many runs; all that was started for it ends with the block. Jobs of SLURM write to the folder."""
    count, threads = workers.shared(runs)
    if workers.scheduler is None and workers.slurm is None:
        with closing(LocalProcesses(count)) as here:
            yield here
        return
    from .cluster import Cluster, Jobs

    with ExitStack() as stack:
        place: Any = workers.scheduler
        if workers.slurm is not None:
            place = stack.enter_context(closing(Jobs(workers.slurm, count, threads, folder / JOBS)))
        yield stack.enter_context(closing(Cluster(place)))
