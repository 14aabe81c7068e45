"""Runs as tasks of Dask: by a scheduler at an address, or by jobs of SLURM.

Dask is loaded when a sweep begins that wants it, and not before.
"""

from __future__ import annotations

import logging
import queue
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from threading import current_thread, main_thread
from typing import Any

from ..errors import FileError, InputError
from ..forking import ONE_THREAD
from .task import Done, Task, lost, portable, run_task

STARTING_S = 60  # for a scheduler to answer
AGAIN = 3  # times that a run is handed in whose processes have died as often as the scheduler allows
LOOK_S = 0.2  # between two looks at whether somebody wants it to end
SUBMIT_S = 2  # between two looks at whether jobs have ended
LOST_S = 5  # after which a worker that has gone is one whose job has ended
STARTS = 3  # times that each job may be submitted without a worker of any having come, before nobody tries any longer
ASK_S = 10  # between two questions to SLURM whether such jobs are still there


class Cluster:
    """Workers of a Dask scheduler.

    Args:
        place: its address, or jobs that it works by.
    """

    def __init__(self, place: str | Jobs):
        import dask
        import distributed

        self._jobs = place if isinstance(place, Jobs) else None
        with ExitStack() as stack:
            stack.enter_context(_quiet())
            stack.enter_context(dask.config.set({"distributed.comm.timeouts.connect": f"{STARTING_S}s"}))
            stack.enter_context(dask.config.set({"distributed.deploy.lost-worker-timeout": f"{LOST_S}s"}))
            address = place.cluster if isinstance(place, Jobs) else place
            try:
                client = distributed.Client(address, set_as_default=False, timeout=f"{STARTING_S}s")
            except (OSError, ValueError, ImportError, TimeoutError) as error:
                where = "for the jobs of SLURM" if isinstance(place, Jobs) else f"at {place}"
                raise FileError(f"there is no Dask scheduler {where}: {error}") from error
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
            future = self._client.submit(run_task, portable(task), key=name, pure=False, priority=-task.number)
            future.add_done_callback(ended.put)
            held[task.key] = future  # which nobody else holds: it would be forgotten

        for task in tasks:
            hand_in(task, 1)
        while waiting:
            if self._jobs is not None:
                self._jobs.look()
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


class Jobs:
    """So many jobs of SLURM, of one process and one run at a time each; jobs that end are submitted again.

    Args:
        options: of `dask_jobqueue.SLURMCluster`.
        count: jobs.
        threads: cores of each.
        folder: that jobs see, too: for what they say and, where `cryptography` is there, for keys of this sweep alone,
            without which the scheduler takes no work from anybody.
    """

    def __init__(self, options: Mapping[str, Any], count: int, threads: int, folder: Path):
        if which("sbatch") is None:
            raise FileError("there is no sbatch here: jobs of SLURM are submitted from a machine that has it")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"cannot write {folder}: {error.strerror or error}; choose another place") from error
        place = str(folder.resolve())
        own = {"security": True, "shared_temp_directory": place} if find_spec("cryptography") else {}
        alone = [f"export {name}={value}" for name, value in ONE_THREAD.items()]
        given = {
            "cores": 1, "processes": 1, "job_cpu": threads, "memory": "4GB", "log_directory": place,
            "job_script_prologue": alone, **own, **options,
        }  # fmt: skip
        try:
            self.cluster: Any = _jobqueue().SLURMCluster(**given)
        except (TypeError, ValueError) as error:
            first = str(error).splitlines()[0].split(". ")[0]
            raise InputError(f"SLURM's options are those of dask_jobqueue.SLURMCluster: {first}") from error
        self._count, self._folder = count, folder
        self._next = self._next_question = 0.0
        self._without: list[Any] = []  # jobs submitted since a worker was there
        self._before: list[Any] = []  # that were there when one was
        try:
            _check_job(self.cluster.job_script(), folder)
            self.look()
        except BaseException:
            self.cluster.close()
            raise

    def look(self) -> None:
        """Submit again what has ended: by itself, by its time limit, or by somebody who cancelled it.

        Raises:
            FileError: jobs were submitted again and again, and none had a worker.
        """
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + SUBMIT_S
        jobs = list(self.cluster.workers.values())
        if self.cluster.scheduler_info["workers"]:
            self._without, self._before = [], jobs
        self._without += [job for job in jobs if job not in self._without and job not in self._before]
        failed = bool(jobs) and self._have_ended(jobs)
        if len(self._without) >= STARTS * self._count and (failed or len(self._without) > STARTS * self._count):
            words = _last_words(self._folder, self._without) or "they say nothing"
            raise FileError(
                f"jobs of SLURM end before their workers begin: {words} (what they say is in {self._folder})"
            )
        self.cluster.scale(jobs=0 if failed else self._count)  # which Dask counts without a worker: forgotten first

    def _have_ended(self, jobs: Sequence[Any]) -> bool:
        """Whether none of these jobs, whose workers have not come, is waiting or running; False where nobody knows."""
        if time.monotonic() < self._next_question or any(job in self._before for job in jobs):
            return False
        self._next_question = time.monotonic() + ASK_S
        numbers = {str(job.job_id) for job in jobs if getattr(job, "job_id", None)}  # none: it was not taken
        try:
            asked = subprocess.run(
                ["squeue", "--me", "--noheader", "--format=%A"], capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.SubprocessError):
            return not numbers
        return numbers.isdisjoint(asked.stdout.split())

    def close(self) -> None:
        """Cancel all of them."""
        self.cluster.close()


def _last_words(folder: Path, jobs: Sequence[Any]) -> str:
    """The last line that any of some jobs has written, the newest first."""
    for job in reversed(jobs):
        for kind in ("err", "out"):
            for path in folder.glob(f"*-{getattr(job, 'job_id', None)}.{kind}"):
                lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
                if lines:
                    return lines[-1]
    return ""


def _jobqueue() -> Any:
    """The library, which takes Ctrl-C for itself when it is loaded: that stays what it was."""
    if current_thread() is not main_thread():
        return import_module("dask_jobqueue")
    before = signal.getsignal(signal.SIGINT)
    try:
        return import_module("dask_jobqueue")
    finally:
        signal.signal(signal.SIGINT, before)


def _check_job(script: str, folder: Path) -> None:
    """Ask SLURM whether it would take a job: a queue that is not there would be told to nobody."""
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".sh") as file:
        file.write(script)
        file.flush()
        asked = subprocess.run(["sbatch", "--test-only", file.name], capture_output=True, text=True, check=False)
    if asked.returncode:
        words = [line.removeprefix("sbatch: error: ") for line in asked.stderr.splitlines() if line.strip()]
        raise InputError(f"SLURM takes no such job: {'; '.join(words) or f'sbatch ended with {asked.returncode}'}")


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
