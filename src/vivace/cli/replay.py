"""`vivace replay`: what people did in the live app, again."""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path
from typing import Any

from ..checks import as_path
from ..errors import InputError
from ..files import check_writable, replacing
from ..interrupts import finish, stoppable
from ..solvers import make_solver
from ..solvers.rigid import CONTACT_SOLVERS, make_contact_solver
from .arguments import add_common, budget_of, parameter, positive, positive_int, share
from .console import out, progress, show_written

DETAILS = """Make a recording of the live app again from its input log: the same scene, grabs, pins, cuts, settings.

  vivace view tablecloth                     press record, do something, stop, save as "input log"
  vivace replay tablecloth-240.jsonl --out film.mp4
  vivace replay tablecloth-240.jsonl --solver newton --iterations 20 --out converged.mp4

Every frame has as many sweeps as it had, unless a budget is given, so that two replays have the same bits. The log is
text, a line for everything that was done, and may be edited. See docs/runs.md."""

SUFFIXES = (".mp4", ".gif", ".npz")


def add_arguments(sub: argparse.ArgumentParser) -> None:
    """The options of the command."""
    sub.add_argument("log", metavar="LOG", help="an input log (.jsonl) that the live app has saved")
    sub.add_argument("--out", metavar="FILE", help="a film (.mp4, .gif) or the positions of all frames (.npz)")
    sub.add_argument("--solver", metavar="NAME", help="for all frames, instead of those that people chose")
    sub.add_argument("--budget-ms", type=positive, metavar="B", help="milliseconds of every step")
    sub.add_argument("--iterations", type=positive_int, metavar="K", help="sweeps of every step")
    sub.add_argument("--tolerance", type=share, metavar="T", help="relative residual of every step")
    sub.add_argument("--frames", type=positive_int, metavar="N", help="the first so many steps only")
    sub.add_argument("--from-start", action="store_true", help="film the time before the record button, too")
    sub.add_argument(
        "--scene", metavar="FILE", help="the scene or mesh file that the log is of: logs name it, and nobody opens that"
    )
    sub.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        dest="parameters",
        help="of the scene, e.g. resolution",
    )
    add_common(sub)


def replay(arguments: argparse.Namespace) -> None:
    """Make the steps of a log, and write what was recorded: `vivace replay`."""
    from ..viewer.choices import Target
    from ..viewer.input_log import read_input
    from ..viewer.input_replay import Replay, bits

    target = None if arguments.out is None else as_path(arguments.out, "--out")
    if target is not None:
        if target.suffix.lower() not in SUFFIXES:
            raise InputError(f"--out must end in one of {', '.join(SUFFIXES)}, not {target.name!r}")
        check_writable(target)
    log = read_input(as_path(arguments.log, "a log"))
    if arguments.solver is not None and arguments.solver.partition(":")[0] not in CONTACT_SOLVERS:
        make_solver(arguments.solver)
    elif arguments.solver is not None:
        make_contact_solver(arguments.solver)
    given = dict(map(parameter, arguments.parameters))
    scene = None
    if arguments.scene is not None or given:
        name = log.scene if arguments.scene is None else arguments.scene
        scene = Target(name, {**(log.parameters if log.named else {}), **given})
    budget = budget_of(arguments)
    again = Replay(log, target=scene, solver=arguments.solver, budget=budget, threads=arguments.threads)
    begin = 0 if arguments.from_start else log.recorded[0]
    total = min(log.frames, arguments.frames or log.frames)
    made, recording = 0, again.recording
    with progress(arguments.quiet or arguments.json) as tell, stoppable() as stop:
        for _ in again.frames(total, begin=begin):
            made += 1
            tell("simulating", made, total)
            if stop():
                break
        stop.over()
        written = [] if target is None else [_written(recording, target, tell)]
    digest = hashlib.sha256(b"".join(part for both in bits(again) for part in both)).hexdigest()
    summary = {"frames": made, "recorded": recording.frames, "scene": again.scene.name, "bits": digest}
    notes = list(dict.fromkeys(again.notes))
    if arguments.json or not stop.number:
        if not arguments.json:
            out.print(f"{again.scene.name}: {made} frames; bits {digest[:16]}", soft_wrap=True)
        show_written([(written, notes)], summary if arguments.json else None)
    if stop.number:
        finish(stop.interrupt(f"{made} of {total} frames were made"))


def _written(recording: Any, target: Path, tell: Any) -> Path:
    import numpy as np

    if target.suffix.lower() == ".npz":
        with replacing(target) as temporary:
            np.savez_compressed(temporary, **recording.numbers())
    else:
        recording.film(None).write(target, lambda done, total: tell("drawing", done, total))
    return target
