"""Processes that are forked from one that has loaded what they need: such a process begins within milliseconds.

    with ForkServer("package.module") as server:
        connection = server.fork()  # another process calls `work(connection)` of that module

The server is a process of its own, without threads, which does nothing but load the module and fork: whatever threads
the process has that asks, none of them is copied. It ends with that process, however that ends; so do the forked ones
if they read their connection.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from multiprocessing.connection import Connection, Pipe
from typing import IO

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ENDING_S = 5  # for a process to end that has nobody to work for

_begun: dict[str, ForkServer] = {}


@contextmanager
def begun_early(module: str) -> Iterator[None]:
    """Begin to load a module in a server that somebody will want soon; within, `ForkServer.of` finds it."""
    if hasattr(os, "fork"):
        _begun[module] = ForkServer(module)
    try:
        yield
    finally:
        unused = _begun.pop(module, None)
        if unused is not None:
            unused.close()


class ForkServer:
    """A process that has loaded a module, and forks others that call its `work(connection)`.

    Args:
        module: by its dotted name.
    """

    def __init__(self, module: str):
        if not hasattr(os, "fork"):
            raise NotImplementedError("this system has no fork")
        self.module = module
        paths = [path for path in sys.path if path]
        with ExitStack() as stack:  # for what there is when something cannot be had
            self._said: IO[bytes] = stack.enter_context(tempfile.TemporaryFile())
            self._control, theirs = socket.socketpair()
            stack.enter_context(self._control)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", __name__, module, str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._said,
                    pass_fds=[theirs.fileno()],
                    env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(paths)},
                )
            stack.pop_all()

    @classmethod
    def of(cls, module: str) -> ForkServer:
        """A server for a module: the one that was begun early, if it was."""
        return _begun.pop(module, None) or cls(module)

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def fork(self) -> Connection:
        """Another process, by a connection to it. Its end says that the process has ended, or could not be made."""
        ours, theirs = Pipe()
        with theirs, suppress(OSError):  # the server has ended: so has the connection
            socket.send_fds(self._control, [b"+"], [theirs.fileno()])
        return ours

    def ended(self, within: float = 0.0) -> int | None:
        """The exit code of the server; None if it lives, and goes on living for so many seconds."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(within) if within else self._process.poll()
        return None

    def last_words(self) -> str:
        """The last line that it, or a forked process, wrote to standard error."""
        self._said.seek(0)
        lines = [line for line in self._said.read().decode(errors="replace").splitlines() if line.strip()]
        return lines[-1] if lines else ""

    def close(self) -> None:
        """End it. Forked processes end by themselves when their connections are closed."""
        self._control.close()
        self._process.kill()
        self._process.wait(ENDING_S)
        self._said.close()

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serve(module: str, control: socket.socket) -> None:
    """Load, and fork for every byte that comes with a connection, until there is nobody to ask for it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    work = import_module(module).work
    gc.collect()
    gc.freeze()  # what is loaded stays, and its pages are shared
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whoever holds the other end of a connection sees that one ended
    while True:
        asked, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not asked:
            return
        if os.fork() == 0:
            code = 1
            try:
                control.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                work(Connection(descriptors[0]))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(descriptors[0])


if __name__ == "__main__":
    _serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
