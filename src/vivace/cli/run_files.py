"""What `vivace run` keeps of a run: checkpoints, a table of its frames, and what it says at the end."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..bench.checkpoints import SUFFIX, RunCheckpoints
from ..bench.rigid_run import RigidRun
from ..bench.run import Run
from ..bench.tables import TABLES, table_format
from ..checks import as_path
from ..errors import InputError
from ..files import check_writable
from ..interrupts import Wish, finish
from .console import show_written

Written = tuple[Sequence[Path], Sequence[str]]


class Kept:
    """Where the checkpoints and the table of a run go, checked before it begins.

    Args:
        arguments: of the command.
        scene: its name.
        targets: the other files that it writes.
    """

    def __init__(self, arguments: argparse.Namespace, scene: str, targets: Sequence[Path]):
        self._json = arguments.json
        self.trace = None if arguments.trace is None else as_path(arguments.trace, "--trace")
        if self.trace is not None:
            table_format(self.trace).check()
        self.checkpoints = _checkpoints(arguments, scene, targets)
        kept = [] if self.checkpoints is None else [self.checkpoints.path]
        for target in [*targets, *kept, *([] if self.trace is None else [self.trace])]:
            check_writable(target)

    def finish(self, run: Run | RigidRun, files: Sequence[Written], summary: dict[str, Any], stop: Wish) -> None:
        """Write the table, say what was written, and end as an interrupted command does if it was."""
        done = list(files)
        if self.trace is not None:
            TABLES[self.trace.suffix.lower()].write(self.trace, run.rows)
            done.append(([self.trace], []))
        if self.checkpoints is not None:
            done.append(([self.checkpoints.path], []))
        written = [str(path) for paths, _ in done for path in paths]
        if self._json or not stop.number:
            show_written(done, summary if self._json else None)
        if stop.number:
            kept = f"wrote {', '.join(dict.fromkeys(written))}" if written else "nothing was to be written"
            finish(stop.interrupt(f"{len(run.ms)} of {run.wanted} frames were made; {kept}"))


def _checkpoints(arguments: argparse.Namespace, scene: str, targets: Sequence[Path]) -> RunCheckpoints | None:
    every, path = arguments.checkpoint_every, arguments.checkpoint
    if every is None and path is None and not arguments.resume:
        return None
    if every is None and path is None:
        raise InputError("--resume goes on from a checkpoint; say --checkpoint-every N, so that there will be one")
    if path is not None:
        place = as_path(path, "--checkpoint")
        if place.suffix != SUFFIX:
            raise InputError(f"--checkpoint must end in {SUFFIX}, not {place.name!r}")
    else:
        place = targets[0].with_suffix(SUFFIX) if targets else Path(f"{Path(scene).stem}{SUFFIX}")
    return RunCheckpoints(place, every, resume=arguments.resume)
