"""`vivace bench`: time a sweep, position based dynamics as the paper's table has it, rigid contact, or descent."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

from .._version import __version__
from ..backends.cpu.executor import check_threads, default_threads
from ..bench import pbd as pbd_bench
from ..bench import sweep as sweep_bench
from ..bench.pbd import COLOURED, PRINTED, TYPES, Measured, Pass
from ..errors import InputError
from ..interrupts import as_far_as_done, finish
from ..scenes import load_scene, soft
from ..solvers import make_solver
from . import contact, descent
from .arguments import list_of, positive, positive_int
from .console import out, progress, show_json, show_table

DETAILS = f"""sweep: milliseconds of one sweep, and seconds from a new process to its first frame.

  vivace bench sweep --threads 1,2

pbd: Table 1 of [fratarcangeli2013]: particles, constraints and colours of its scenes, and frames a second of position
based dynamics, one constraint after the other (pbd) and coloured (pbd-coloured); the paper's numbers beside them. As
there, frames a second leave out collision handling; milliseconds of a step with it are beside them. Medians, and in
brackets what 10 and 90 % of the frames stay below. "bound": the colours that always suffice (Eq. 14).

  vivace bench pbd --scenes s0,s1 --scale 0.1 --balance --passes

{contact.DETAILS}

{descent.DETAILS}"""

SWEEP: dict[str, object] = {"target": "tablecloth", "solver": "vivace"}  # options of one kind only, with their defaults
PBD: dict[str, object] = {
    "scenes": list(PRINTED),
    "scale": 1.0,
    "frames": pbd_bench.FRAMES,
    "balance": False,
    "passes": False,
}
KINDS = {"sweep": SWEEP, "pbd": PBD, "contact": contact.OPTIONS, "descent": descent.OPTIONS}
SWEEP_COLUMNS = (
    "threads",
    "ms_per_sweep_best",
    "ms_per_sweep_median",
    "ms_per_sweep_p90",
    "cold_start_s",
    "first_start_s",
)
PAPERS_MACHINES = {"cpu_st": "paper: cpu, 1 core", "cpu_mt": "paper: cpu, 12 cores", "gpu": "paper: gpu"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `vivace bench`."""
    parser.add_argument("what", choices=list(KINDS), help="what to time")
    parser.add_argument("--threads", type=list_of(positive_int), metavar="1,2", help="default: 1 and all")
    parser.add_argument("--no-cold-start", action="store_true", help="skip the runs in new processes")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    sweep = parser.add_argument_group("with sweep")
    sweep.add_argument("--target", help="a scene (default tablecloth)")
    sweep.add_argument("--solver", metavar="NAME", help="e.g. vivace:refresh=0 (default vivace)")
    pbd = parser.add_argument_group("with pbd")
    pbd.add_argument("--scenes", type=list_of(str), metavar="A,B", help=f"default: {','.join(PRINTED)}")
    pbd.add_argument("--scale", type=positive, metavar="X", help="share of the paper's constraints (default 1)")
    pbd.add_argument("--frames", type=positive_int, metavar="N", help=f"frames to time (default {pbd_bench.FRAMES})")
    pbd.add_argument("--balance", action="store_true", default=None, help="also tell how large the colours are")
    pbd.add_argument(
        "--passes", action="store_true", default=None, help="also time one pass over each type against a copy"
    )
    contact.add_arguments(parser)
    descent.add_arguments(parser)


def bench(arguments: argparse.Namespace) -> None:
    """Refuse what would be ignored, then time."""
    own = KINDS[arguments.what]
    for other, options in KINDS.items():
        for name in options:
            if name not in own and getattr(arguments, name) is not None:
                raise InputError(f"--{name} belongs to {other} and does nothing with {arguments.what}; leave it out")
    for name, default in own.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, default)
    if arguments.what in ("contact", "descent") and arguments.no_cold_start:
        raise InputError(f"--no-cold-start does nothing with {arguments.what}; leave it out")
    if arguments.threads is None:
        arguments.threads = sorted({1, default_threads()})
    for count in arguments.threads:
        check_threads(count)
    if not arguments.threads:
        raise InputError("--threads needs at least one number, e.g. --threads 1,2")
    {"sweep": _sweep, "pbd": _pbd, "contact": contact.bench, "descent": descent.bench}[arguments.what](arguments)


def _sweep(arguments: argparse.Namespace) -> None:
    soft(load_scene(arguments.target)), make_solver(arguments.solver)  # complain before the progress bar
    with progress(arguments.quiet or arguments.json) as tell:
        measure = partial(sweep_bench.time_sweeps, arguments.target, arguments.threads, solver=arguments.solver)
        rows, ended = as_far_as_done(partial(measure, cold=not arguments.no_cold_start, progress=tell))
    if arguments.json:
        show_json(rows)
        return finish(ended)
    show_table(
        f"one sweep of {arguments.target}",
        [c.replace("_", " ") for c in SWEEP_COLUMNS],
        [[row.get(c) for c in SWEEP_COLUMNS] for row in rows],
    )
    return finish(ended)


# --- position based dynamics ------------------------------------------------------------------------------------------


def _pbd(arguments: argparse.Namespace) -> None:
    pbd_bench.check_table(arguments.scenes, arguments.scale, arguments.frames, arguments.threads)
    passes: list[Pass] = []
    with progress(arguments.quiet or arguments.json) as tell:
        measure = partial(pbd_bench.table_1, arguments.scenes, scale=arguments.scale, frames=arguments.frames)
        how = {"threads": arguments.threads, "cold": not arguments.no_cold_start}
        found, ended = as_far_as_done(partial(measure, progress=tell, **how))
        for measured in found if arguments.passes and ended is None else ():
            passes += pbd_bench.time_passes(measured.scene, arguments.threads, progress=tell)
    if arguments.json:
        show_json(_as_json(arguments, found, passes))
        return finish(ended)
    _show_sizes(found)
    _show_speeds(found)
    if arguments.balance:
        _show_balance(found)
    if passes:
        _show_passes(passes)
    return finish(ended)


def _as_json(arguments: argparse.Namespace, found: Sequence[Measured], passes: Sequence[Pass]) -> dict[str, object]:
    settings = {name: getattr(arguments, name) for name in ("scenes", "scale", "frames", "threads")}
    everything: dict[str, object] = {
        "settings": {"version": __version__, **settings},
        "scenes": [measured.row() for measured in found],
    }
    if arguments.balance:
        everything["balance"] = [
            {"scene": measured.scene.name, "kind": kind, **vars(report)}
            for measured in found
            for kind, report in measured.balance.items()
        ]
    if arguments.passes:
        everything["passes"] = [one.row() for one in passes]
    return everything


def _show_sizes(found: Sequence[Measured]) -> None:
    lines = []
    for measured in found:
        row, printed = measured.row(), PRINTED.get(measured.scene.name)
        own = {kind: (len(g), measured.colourings[kind].count) for kind, g in measured.groups.items()}
        counts = [f"{own[kind][0]} / {own[kind][1]}" if kind in own else None for kind in TYPES]
        bounds = [measured.bounds.get(kind) for kind in TYPES]
        lines.append([row["scene"], row["particles"], *counts, *bounds, measured.iterations])
        if printed:
            pairs = zip(printed.constraints, printed.colours, strict=True)
            theirs = [f"{count // 1000}K / {colours}" if count else None for count, colours in pairs]
            lines.append(["  paper", f"{printed.particles // 1000}K", *theirs, *(None,) * 3, printed.iterations])
    show_table(
        "constraints / colours, after Table 1 of [fratarcangeli2013]",
        ["scene", "particles", *TYPES, *(f"{kind} bound" for kind in TYPES), "iterations"],
        lines,
    )


def _show_speeds(found: Sequence[Measured]) -> None:
    lines = []
    for measured in found:
        name = measured.scene.name
        for timed in measured.runs:
            row = timed.row(measured.runs[0])
            times: list[str | None] = [_spread(row, key) for key in ("fps", "ms", "times_serial", "ms_with_collisions")]
            if timed is measured.runs[0]:
                times[2] = None
            lines.append([name, timed.solver, timed.threads, *times, row["contacts_median"]])
        printed = PRINTED.get(name)
        for key, fps in zip(PAPERS_MACHINES, printed.fps if printed else (), strict=False):
            lines.append([name, PAPERS_MACHINES[key], None, f"{fps:g}", f"{1e3 / fps:.3g}", *(None,) * 3])
    show_table(
        f"{found[0].frames} frames: predict + solve + update, and the whole step with collisions",
        ["scene", "solver", "threads", "frames a second", "ms", "x serial", "ms with collisions", "contacts"],
        lines,
    )
    for measured in found:
        cold = "" if measured.cold_start_s is None else f"; first frame of a new process {measured.cold_start_s:.1f} s"
        out.print(f"{measured.scene.name}: scene and colouring {measured.setup_s:.2f} s{cold}")
        if not all(timed.finite for timed in measured.runs):
            out.print(f"{measured.scene.name}: positions are not finite; try more iterations or a smaller time step")


def _show_balance(found: Sequence[Measured]) -> None:
    show_table(
        f"sizes of the colours of {COLOURED}",
        [
            "scene",
            "type",
            "colours",
            "largest",
            "smallest",
            "mean",
            "mean ÷ largest",
            "too small to share",
            "% in them",
        ],
        [
            [
                *(measured.scene.name, kind, report.count, report.largest, report.smallest, report.mean),
                *(report.balance, report.small, 100 * report.share_in_small),
            ]
            for measured in found
            for kind, report in measured.balance.items()
        ],
    )


def _show_passes(passes: Sequence[Pass]) -> None:
    lines = []
    for one in passes:
        row = one.row()
        kilobytes = f"{one.bytes_read / 1e3:.0f} + {one.bytes_written / 1e3:.0f}"
        ratios = [_spread(row, key) for key in ("ms", "pass_over_copy", "pass_over_copy_once")]
        lines.append([one.scene, one.kind, one.threads, one.constraints, one.colours, kilobytes, *ratios])
    copied = ["pass ÷ copy", "pass ÷ copy, rows once"]
    show_table(
        f"one pass of {COLOURED} over all colours of a type ÷ a copy of what it reads and writes",
        ["scene", "type", "threads", "constraints", "colours", "kB read + written", "ms", *copied],
        lines,
    )


def _spread(row: dict[str, object], name: str) -> str:
    middle, low, high = (_short(row[f"{name}_{which}"]) for which in ("median", "p10", "p90"))
    return f"{middle} ({low}–{high})"


def _short(value: object) -> str:
    return f"{value:.0f}" if isinstance(value, float) and value >= 100 else f"{value:.3g}"
