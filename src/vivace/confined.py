"""Reading files from strangers in a process of its own, with limits of memory, time and what it may write.

Readers of rich formats are large libraries in C++ that were not written for enemies: what a damaged file does to one is
its process's end, and no more. The process leaves plain arrays in a file. Why it refuses is a line on standard error.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from .errors import FileError, VivaceError

MEMORY = 3 << 30  # bytes of address space, of which the libraries take most
SECONDS = 60  # to read a file
TOLD = "refused: "
UNTOLD = "it is damaged, or needs more memory or time than it may"


def run_confined(module: str, arguments: Sequence[str], target: Path, seconds: float = SECONDS) -> None:
    """Run `python -m MODULE ARGUMENTS`, which reads a file and writes `target`; FileError says why it did not."""
    command = [sys.executable, "-m", module, *arguments]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=2 * seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise FileError(f"reading it took longer than {2 * seconds:.0f} s; simplify it") from None
    if done.returncode != 0 or not target.is_file():
        said = (done.stderr.decode("utf-8", "replace").strip().splitlines() or [""])[-1]
        told = done.returncode == 1 and said.startswith(TOLD)
        raise FileError(said.removeprefix(TOLD) if told else UNTOLD)


def confined(work: Callable[[], None], *, memory: int = MEMORY, seconds: float = SECONDS, written: int = 0) -> int:
    """Do `work` in this process under limits (`written`: bytes of a file, 0: any); the exit code of the process.

    Where the system has no limits for a process there are none.
    """
    with suppress(OSError, AttributeError):
        os.nice(10)
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if written:
            resource.setrlimit(resource.RLIMIT_FSIZE, (written, written))
    try:
        work()
    except (VivaceError, MemoryError) as error:
        text = "it needs more memory than it may" if isinstance(error, MemoryError) else str(error)
        print(TOLD + " ".join(text.split())[:400], file=sys.stderr)
        return 1
    return 0
