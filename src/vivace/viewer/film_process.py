"""A film drawn in a process of its own: `python -m vivace.viewer.film_process FILM OUT RENDERER`, FILM being pickled.

A renderer may have one context for a process, and drawing would hold up the physics thread. The process tells how far
it is by lines "done total" on standard output. It gives way to the simulation a little and no more: at a much lower
priority a film took minutes on a busy machine.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sized
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from ..errors import FileError, VivaceError

NICE = 2
LOOK_S = 0.5  # how often somebody who waits hears that it goes on


class Writable(Protocol):
    """A film, or what else is written frame by frame. It can be pickled."""

    @property
    def frames(self) -> Sized:
        """As many as there will be steps of progress."""

    def thinned(self, suffix: str) -> Writable:
        """With the frames that a format shows."""

    def write(self, target: Path, progress: Callable[[int, int | None], None] | None = None, *, backend: str) -> str:
        """To a file."""


def write_in_process(
    film: Writable,
    target: Path,
    progress: Callable[[int, int], None],
    cancelled: threading.Event | None = None,
    renderer: str = "raster",
) -> None:
    """Write a film, or a cache, in another process.

    `progress` is called at once, with every frame, and while nothing is drawn yet. What it raises, and `cancelled`, end
    the process.
    """
    stop = cancelled or threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        shown = film.thinned(target.suffix)
        progress(0, len(shown.frames))
        source = Path(folder) / "film"
        source.write_bytes(pickle.dumps(shown, pickle.HIGHEST_PROTOCOL))
        process = subprocess.Popen(
            [sys.executable, "-m", "vivace.viewer.film_process", str(source), str(target), renderer],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        said = _Said(process, len(shown.frames))
        try:
            while said.reader.is_alive():
                said.reader.join(LOOK_S)
                progress(*said.newest)
                if stop.is_set():
                    raise FileError("cancelled")
        finally:
            process.kill()
            process.wait()
            said.reader.join()
        trouble = said.trouble.strip()
        if process.returncode != 0 or not target.is_file():
            raise FileError(trouble.splitlines()[-1] if trouble else "the file could not be made")


class _Said:
    """What a process says, read by a thread, so that whoever waits for it can look up now and then."""

    def __init__(self, process: subprocess.Popen[str], total: int):
        self._process, self.newest, self.trouble = process, (0, total), ""
        self.reader = threading.Thread(target=self._read, name="vivace-film", daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        for line in self._process.stdout:
            with suppress(ValueError):
                done, total = map(int, line.split())
                self.newest = done, total
        self.trouble = self._process.stderr.read()
        self._process.wait()


def main(source: str, target: str, renderer: str = "auto") -> int:
    """Draw the pickled film of file `source` and write it to `target`; the exit code of the process."""
    with suppress(OSError, AttributeError):
        os.nice(NICE)
    film: Writable = pickle.loads(Path(source).read_bytes())
    try:
        film.write(Path(target), lambda done, total: print(done, total, flush=True), backend=renderer)
    except VivaceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
