"""A thread for what takes longer than a frame; the newest job wins."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable

from ..errors import VivaceError

Done = Callable[[], None]


class BackgroundWorker:
    """Does jobs one after the other. `deliver` gets what a job returns, to call it; `tell` is called as `busy` changes.

    A job that another one has overtaken before it was begun is not done, and the result of one that was overtaken while
    it was done is not delivered.
    """

    def __init__(self, deliver: Callable[[Done], None], tell: Done):
        self._deliver, self._tell = deliver, tell
        self._wanted: tuple[str, Callable[[], Done], Callable[[Exception], None]] | None = None
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self.busy = ""

    def submit(self, label: str, make: Callable[[], Done], failed: Callable[[Exception], None]) -> None:
        """Have `make` run instead of what is still waiting, `busy` being `label`; `failed` gets its exception."""
        with self._condition:
            self._wanted = label, make, failed
            self.busy = label
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="vivace-background", daemon=True)
                self._thread.start()
            self._condition.notify()
        self._tell()

    def stop(self) -> None:
        """Drop what is waiting and let the thread end."""
        with self._condition:
            thread, self._thread, self._wanted = self._thread, None, None
            self._condition.notify()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5)

    def _work(self) -> None:
        while True:
            with self._condition:
                while self._wanted is None:
                    if self._thread is not threading.current_thread():
                        return
                    self._condition.wait()
                _, make, failed = self._wanted
                self._wanted = None
            try:
                done: Done | None = make()
            except Exception as error:
                if not isinstance(error, VivaceError):
                    traceback.print_exc()
                failed(error)
                done = None
            with self._condition:
                newest = self._wanted is None
                if newest:
                    self.busy = ""
            if newest and done is not None:
                self._deliver(done)
            self._tell()
