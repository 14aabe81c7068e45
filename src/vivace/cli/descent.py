"""`vivace bench descent`: tables of descent methods, ours and the paper's."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from .._version import __version__
from ..bench import descent
from ..bench.compare import Curve
from ..bench.descent import CURVES, DRAWN, FULL, PARTS, PRINTED, QUICK, REPEATS, TITLES, Measured
from ..bench.guesses import PAPER, Guessed, compare_guesses, guess_rows
from ..bench.run import Progress
from ..checks import as_path
from ..errors import InputError
from ..interrupts import as_far_as_done, finish, keeping
from ..scenes.hyperelastic import ITERATIONS
from .arguments import positive_int
from .console import out, progress, show_json, show_table

DETAILS = f"""descent: Table 2 of [fratarcangeli2018], seconds of a step of {ITERATIONS} iterations of descent methods
on hyperelastic bodies, and of eight substeps of 40 on a dress, the paper's beside ours (table); and relative error by
iterations and by milliseconds on one frame of the armadillo: of all directions (convergence, figure 11), of M (every,
figure 12), of momentum (figure 14); and of first guesses on the frames of a converged run, with how far each leads
from it (guesses, figure 15). Medians, and in brackets what 10 and 90 % of the steps stay below.

  vivace bench descent --armadillo armadillo.msh --out descent.png"""

OPTIONS: dict[str, object] = {
    "armadillo": "", "dragon": "", "dress": "", "quick": False, "only": list(PARTS), "repeats": REPEATS, "frame": None,
    "out": None,
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `vivace bench descent` that others do not have."""
    group = parser.add_argument_group("with descent", f"also --repeats, --out, and --only among {','.join(PARTS)}")
    group.add_argument("--armadillo", metavar="FILE", help="its tetrahedra (default: a generated body)")
    group.add_argument("--dragon", metavar="FILE", help="its tetrahedra (default: a generated one)")
    group.add_argument("--dress", metavar="FILE", help="its surface (default: a generated one)")
    group.add_argument("--frame", type=positive_int, metavar="N", help=f"of the curves (default {FULL.frame})")
    group.add_argument("--quick", action="store_true", default=None, help="small bodies and few iterations")


def bench(arguments: argparse.Namespace) -> None:
    """Measure, then print and draw."""
    parts, sizes = arguments.only, QUICK if arguments.quick else FULL
    descent.check_benchmark(parts, arguments.threads, arguments.repeats)
    if arguments.out is not None:
        if not set(parts) & set(DRAWN):
            raise InputError(f"--out draws {', '.join(DRAWN)}, which --only {','.join(parts)} leaves out")
        if as_path(arguments.out).suffix.lower() not in (".png", ".pdf", ".svg"):
            raise InputError(f"--out must end in .png, .pdf or .svg, not {arguments.out!r}")
    names = ("armadillo", "dragon", "dress", "quick", "only", "threads", "repeats")
    frame = arguments.frame or sizes.frame
    settings = {"version": __version__, **{name: getattr(arguments, name) for name in names}, "frame": frame}
    found: list[Measured] = []
    curves: dict[str, list[Curve]] = {}
    guessed: list[Guessed] = []

    def measure(tell: Progress) -> None:
        if "table" in parts:
            path, threads, repeats = arguments.armadillo, arguments.threads, arguments.repeats
            own = {"dragon": arguments.dragon, "dress": arguments.dress}
            found.extend(descent.table_2(sizes, threads, repeats, path=path, **own, progress=tell))
        drawn = [part for part in CURVES if part in parts]
        if drawn:
            frozen = descent.frozen_frame(descent.armadillo(sizes, arguments.armadillo), frame, progress=tell)
            for part in drawn:
                curves[part] = descent.convergence(frozen, part, sizes, threads=max(arguments.threads), progress=tell)
        if "guesses" in parts:
            scene, threads = descent.armadillo(sizes, arguments.armadillo), max(arguments.threads)
            guessed.extend(compare_guesses(scene, sizes.frames, sizes.guessed, threads=threads, progress=tell))

    with progress(arguments.quiet or arguments.json) as tell:
        _, ended = as_far_as_done(partial(_keeping, measure, tell, found, curves))
    if arguments.out is not None:
        descent.plot(arguments.out, curves, guessed, settings)
    if arguments.json:
        rows = {"table": [one.row() for one in found], "linearity": descent.linearity(found)} if found else {}
        rows |= {part: descent.curve_rows(some) for part, some in curves.items()}
        show_json(
            {"settings": settings, **rows, **({"guesses": guess_rows(guessed, sizes.guessed)} if guessed else {})}
        )
        return finish(ended)
    if found:
        _show_times(found)
    for part, some in curves.items():
        _show_curves(part, descent.curve_rows(some))
    if guessed:
        _show_guesses(guess_rows(guessed, sizes.guessed))
    if arguments.out is not None:
        out.print(f"drawn: {arguments.out}")
    return finish(ended)


def _keeping(
    measure: Callable[[Progress], None], tell: Progress, found: list[Measured], curves: dict[str, Any]
) -> None:
    """Measure, part by part; what is whole is kept."""
    try:
        measure(tell)
    except KeyboardInterrupt:
        with keeping([*found, *curves]):
            raise


def _show_times(found: Sequence[Measured]) -> None:
    lines: list[list[object]] = []
    rows = {one.name: one.row() for one in found}
    threads = list(found[0].seconds)
    for name in dict.fromkeys([*PRINTED, *rows]):
        row, printed = rows.get(name), PRINTED.get(name)
        ours: list[object] = [None] * (2 + len(threads))
        if row is not None:
            runs: Any = row["runs"]
            ours = [row["vertices"], row["elements"], *map(_spread, runs)]
        theirs: list[object] = [None] * 4
        if printed is not None:
            theirs = [f"{printed.vertices // 1000}K", f"{printed.elements // 1000}K", printed.cpu_s, printed.gpu_s]
        lines.append([name, *ours, *theirs])
    show_table(
        f"seconds of a step of {ITERATIONS} iterations (dress: 8 x 40), after Table 2 of [fratarcangeli2018]",
        [
            *("body", "vertices", "elements", *(f"s, {_words(count)}" for count in threads)),
            *("paper: vertices", "elements", "s, cpu", "s, gpu"),
        ],
        lines,
    )
    for count, each in descent.linearity(found).items():
        values, more = ", ".join(f"{one:.3g}" for one in each), 100 * (max(each) / min(each) - 1)
        out.print(f"double helices, {_words(count)}: {values} µs for each tetrahedron, {more:.1f} % apart")
    for one in found:
        if not one.finite:
            out.print(f"{one.name}: positions are not finite")


def _show_curves(part: str, rows: Sequence[Mapping[str, Any]]) -> None:
    counts = sorted({row["iterations"] for row in rows})
    lines: list[list[object]] = []
    for name in dict.fromkeys(row["solver"] for row in rows):
        mine = {row["iterations"]: row for row in rows if row["solver"] == name}
        last = mine[max(mine)]
        errors = [
            f"{mine[k]['relative_error_median']:.2g}" if k in mine and mine[k]["finite"] else None for k in counts
        ]
        lines.append([name, *errors, f"{last['ms_per_frame_median'] / last['iterations']:.3g}"])
    show_table(f"relative error, {TITLES[part]}", ["iterations", *map(str, counts), "ms an iteration"], lines)


def _show_guesses(rows: Sequence[Mapping[str, Any]]) -> None:
    """Figure 15: medians over the frames, and what becomes of a run."""
    counts, frames = rows[0]["iterations"], rows[0]["frames"]
    shown = sorted({max(1, frames // 4), max(1, frames // 2), frames})
    lines = [
        [
            *(row["guess"], *(f"{error:.2g}" for error in row["relative_error_median"]), row["best_in_frames"]),
            *(f"{row['away_cm'][frame - 1]:.3g}" for frame in shown),
        ]
        for row in rows
    ]
    show_table(
        f"first guesses (figure 15): relative error of a frame, medians of {frames}; cm from the converged run",
        [
            *("guess", *(f"{count} iterations" for count in counts), f"best of {frames}"),
            *(f"cm, frame {frame}" for frame in shown),
        ],
        lines,
    )
    out.print(PAPER, markup=False)


def _spread(run: Mapping[str, float]) -> str:
    return f"{run['seconds_median']:.3g} ({run['seconds_p10']:.3g}–{run['seconds_p90']:.3g})"


def _words(threads: int) -> str:
    return f"{threads} thread{'s' * (threads > 1)}"
