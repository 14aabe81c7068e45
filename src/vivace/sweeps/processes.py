"""Worker processes here, and a scheduler for them; one that ends is started again."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from typing import IO, Any

from ..errors import FileError

STARTS = 3  # times that a process may fail by itself, one after the other, before nobody tries any longer
WORKER = "vivace.sweeps.worker"
BLAS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class LocalProcesses:
    """A scheduler in this process, and so many processes that work for it.

    They are started first: they load what they need while the scheduler is made ready.

    Args:
        count: processes.
        threads: that a run of each may use.
    """

    def __init__(self, count: int, threads: int):
        self._threads, self._failed, self._number = threads, 0, 0
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  as long as this
        self._all: list[subprocess.Popen[bytes]] = []
        self._where: dict[str, Any] | None = None
        try:
            self._all = [self._started() for _ in range(count)]
            self.scheduler = self._scheduler()
            security = self.scheduler.security
            self._where = {"address": self.scheduler.scheduler_address, "security": _as_text(security)}
            for process in self._all:
                self._tell(process)
        except BaseException:
            self.close()
            raise

    def look(self) -> None:
        """Start again what has ended; FileError if processes cannot be started at all."""
        for k, process in enumerate(self._all):
            code = process.poll()
            if code is None:
                continue
            self._failed = self._failed + 1 if code > 0 else 0
            if self._failed > STARTS * len(self._all):
                raise FileError(f"worker processes cannot be started: {self._last_words() or f'they end with {code}'}")
            _closed(process)
            self._all[k] = self._started()
            self._tell(self._all[k])

    def worked(self) -> None:
        """A run was made: processes can be started."""
        self._failed = 0

    def close(self) -> None:
        """End all of them."""
        for process in self._all:
            process.kill()
        for process in self._all:
            process.wait()
            _closed(process)
        with suppress(AttributeError):  # not made yet
            self.scheduler.close()
        self._said.close()

    def _scheduler(self) -> Any:
        import distributed

        secure = True if find_spec("cryptography") else None
        return distributed.LocalCluster(
            n_workers=0, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=logging.CRITICAL,
            security=secure,
        )  # fmt: skip

    def _started(self) -> subprocess.Popen[bytes]:
        share = dict.fromkeys(BLAS, "1")  # threads of ours are an argument of each run
        paths = [path for path in sys.path if path]
        environment = {**os.environ, **share, "PYTHONPATH": os.pathsep.join(paths)}
        return subprocess.Popen(
            [sys.executable, "-m", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            env=environment,
        )

    def _tell(self, process: subprocess.Popen[bytes]) -> None:
        self._number += 1
        assert process.stdin is not None
        with suppress(OSError):  # it has ended already
            process.stdin.write(json.dumps({**(self._where or {}), "name": f"vivace-{self._number}"}).encode() + b"\n")
            process.stdin.flush()

    def _last_words(self) -> str:
        self._said.seek(0)
        lines = [line for line in self._said.read().decode(errors="replace").splitlines() if line.strip()]
        return lines[-1] if lines else ""


def _as_text(security: Any) -> dict[str, str]:
    """Keys of this sweep alone, which are in nobody's file; empty where there is no library for them."""
    if security is None or not security.tls_worker_cert:
        return {}
    names = ("tls_ca_file", "tls_worker_cert", "tls_worker_key")
    return {"require_encryption": True, **{name: getattr(security, name) for name in names}}


def _closed(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
