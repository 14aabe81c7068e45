"""A film drawn in a process of its own: `python -m vivace.viewer.film_process FILM OUT`, FILM being pickled.

The renderer has one context for a process, and drawing would hold up the physics thread. The process tells how far it
is by lines "done total" on standard output.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..errors import FileError, VivaceError
from ..pictures import Film


def write_in_process(film: Film, target: Path, progress: Callable[[int, int], None]) -> None:
    """Write a film in another process, at a lower priority than the simulation that goes on here."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "film"
        source.write_bytes(pickle.dumps(film.thinned(target.suffix)))
        process = subprocess.Popen(
            [sys.executable, "-m", "vivace.viewer.film_process", str(source), str(target)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            for line in process.stdout:
                with suppress(ValueError):
                    done, total = map(int, line.split())
                    progress(done, total)
            trouble = process.stderr.read().strip()
        finally:
            process.kill()
        if process.wait() != 0 or not target.is_file():
            raise FileError(trouble.splitlines()[-1] if trouble else "the film could not be made")


def main(source: str, target: str) -> int:
    """Draw the pickled film of file `source` and write it to `target`; the exit code of the process."""
    with suppress(OSError, AttributeError):
        os.nice(10)
    film: Film = pickle.loads(Path(source).read_bytes())
    try:
        film.write(Path(target), lambda done, total: print(done, total, flush=True))
    except VivaceError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
