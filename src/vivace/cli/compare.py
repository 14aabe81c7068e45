"""`vivace compare`: solvers against each other, live or on one frozen frame."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

from .._version import __version__
from ..backends.cpu.executor import check_threads
from ..bench.compare import (
    LARGEST_FOR_FINE,
    LARGEST_FOR_MOTION,
    MEASURES,
    Curve,
    check_comparison,
    compare,
)
from ..bench.frozen import Frozen, compare_frozen, freeze, sweep_counts
from ..bench.motion import TIMES
from ..bench.run import Progress
from ..bench.statistics import median
from ..checks import as_path
from ..errors import InputError
from ..files import check_writable
from ..interrupts import as_far_as_done, finish, keeping
from ..scenes import Scene
from .arguments import (
    add_common,
    add_target,
    list_of,
    positive,
    positive_int,
    scenes_of,
    solver_names,
)
from .console import err, out, progress, show_json, show_table

BUDGETS_MS = (4.0, 8.0, 15.0, 25.0)
LIVE = {
    "frames": 120,
    "samples": 8,
    "times": list(TIMES),
    "motion": None,
    "fine": None,
}  # options of one mode only, with their defaults
FROZEN = {"most": 60, "repeat": 5}
COLUMNS = {
    "relative error": "relative_error_median",
    "largest": "relative_error_max",
    "gradient": "gradient_median",
    "sweeps": "sweeps_per_frame_median",
    "ms a frame": "ms_per_frame_median",
    "p99": "ms_per_frame_p99",
    "finite": "finite",
}

DETAILS = """Compare solvers on the same scenes, in one of two ways.

--live (the default): every solver runs its own simulation under every budget. It shows what an audience would see, so
motion comes first: the RMS distance from the trajectory whose every step is converged (float64, Newton's method, the
run's own time step), the stretch of the springs, and the height of the vertex that is lowest in the end. With --fine
also the distance from converged steps of 1 ms, which hardly damp. Then the error of the energy at some frames.
Converged trajectories take seconds to hours, and are kept in a cache folder (VIVACE_CACHE). Where things touch there
are none: each solver is then measured against itself with 30 times as many sweeps.

  vivace compare tablecloth --solvers vivace,jacobi --budgets-ms 4,8,15,25 --frames 60 --out study

--frame K: one frame is frozen, and every solver starts from the same state: frame K of a trajectory whose earlier
frames are all converged. It is solved with 1, 2, 3, 5, 8 ... sweeps and timed, which gives the error a sweep and the
error a millisecond, and once for each budget. It shows how fast a solver converges, and nothing else.

  vivace compare tablecloth armadillo --solvers "vivace,vivace:refresh=1,ramp=0,jacobi" --frame 10 --out study

Errors are told in two ways, 1 at the first guess and 0 at the minimum: of the energy, against a converged float64
solution of the frame, and as the norm of the energy's gradient. They need not agree: what is stiff weighs more in the
gradient. Solvers take options after a colon, and some take another solver in parentheses.

Without --out a table is printed. --out makes a folder with errors.csv (every error), summary.png, settings.json (all
that is needed to do it again, and the rows of --json) and errors.png, motion.csv and motion.png (--live) or
convergence.csv and convergence.png (--frame)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `vivace compare`."""
    add_target(parser, several=True)
    parser.add_argument(
        "--solvers",
        type=solver_names,
        required=True,
        metavar="A,B",
        help="e.g. vivace,jacobi,gauss-seidel, or vivace:omega=1.5,ramp=0,jacobi; see 'vivace list solvers'",
    )
    budgets = parser.add_argument_group("budgets (either or both; default: --budgets-ms 4,8,15,25)")
    budgets.add_argument("--budgets-ms", type=list_of(positive), metavar="B,B", help="milliseconds a step")
    budgets.add_argument("--iterations", type=list_of(positive_int), metavar="K,K", help="sweeps a step")
    mode = parser.add_argument_group("mode").add_mutually_exclusive_group()
    mode.add_argument("--live", action="store_true", help="every solver runs its own simulation (default)")
    mode.add_argument("--frame", type=positive_int, metavar="K", help="freeze frame K (from 1); all start from there")
    live = parser.add_argument_group("with --live")
    live.add_argument("--frames", type=positive_int, metavar="N", help="steps of each run (default 120)")
    live.add_argument("--samples", type=positive_int, metavar="E", help="frames whose error is measured (default 8)")
    live.add_argument(
        "--times",
        type=list_of(positive),
        metavar="T,T",
        help="seconds at which distances are told (default 0.25,0.5,0.75,1, as far as the run lasts)",
    )
    live.add_argument(
        "--motion",
        action=argparse.BooleanOptionalAction,
        help=f"measure motion against converged trajectories (default: up to {LARGEST_FOR_MOTION:,} vertices)",
    )
    live.add_argument(
        "--fine",
        action=argparse.BooleanOptionalAction,
        help=f"against converged steps of 1 ms too, which is slow (default: up to {LARGEST_FOR_FINE:,} vertices)",
    )
    frozen = parser.add_argument_group("with --frame")
    frozen.add_argument("--most", type=positive_int, metavar="K", help="longest solve, in sweeps (default 60)")
    frozen.add_argument(
        "--repeat", type=positive_int, metavar="R", help="solves, of which the median counts (default 5)"
    )
    parser.add_argument("--measure", choices=list(MEASURES), default="energy", help="what plots show (default energy)")
    parser.add_argument("--out", metavar="DIR", help="folder for tables and plots")
    add_common(parser)


def compare_solvers(arguments: argparse.Namespace) -> None:
    """Run solvers beside each other, print tables and write a study: `vivace compare`."""
    _settle(arguments)
    scenes = scenes_of(arguments)
    check_comparison(arguments.solvers, arguments.budgets_ms, arguments.iterations)
    threads = check_threads(arguments.threads)
    folder = as_path(arguments.out, "--out") if arguments.out else None
    if folder is not None:
        from ..bench.study import FRAME_FILES, LIVE_FILES, MOTION_FILES, write_study

        for name in FRAME_FILES if arguments.frame else (*LIVE_FILES, *MOTION_FILES):
            check_writable(folder / name)
    settings = _settings(arguments, scenes, threads)
    with progress(arguments.quiet or arguments.json) as tell:
        measure = partial(_frozen if arguments.frame else _live, arguments, scenes, tell)
        (curves, frozen), ended = as_far_as_done(measure)
    if frozen:
        settings["references"] = {state.scene.name: _reference(state) for state in frozen}
    written = write_study(folder, curves, settings, measure=arguments.measure) if folder else []
    if arguments.json:
        show_json([curve.row() for curve in curves])
        return finish(ended)
    for scene in scenes if ended is None else ():
        _show(arguments, scene, [curve for curve in curves if curve.scene == scene.name])
    for path in written:
        out.print(f"wrote {path}", soft_wrap=True)
    for state in frozen:
        if not state.telling:
            err.print(f"note: {_note(state)}", soft_wrap=True)
    runs = f"{len(curves)} runs are done" + ("" if folder is None else f" and written to {folder}")
    return finish(ended, runs)


def _settle(arguments: argparse.Namespace) -> None:
    """Defaults that depend on the mode and on each other; refuses what would be ignored."""
    if not arguments.solvers or arguments.budgets_ms == [] or arguments.iterations == []:
        raise InputError("compare needs at least one solver and one budget")
    if arguments.times == []:
        raise InputError("--times needs at least one time in seconds")
    if arguments.fine and arguments.motion is False:
        raise InputError("--fine is a measure of motion and does nothing with --no-motion; leave one of them out")
    if arguments.budgets_ms is None:
        arguments.budgets_ms = [] if arguments.iterations else list(BUDGETS_MS)
    arguments.iterations = arguments.iterations or []
    others = LIVE if arguments.frame else FROZEN
    for name in others:
        if getattr(arguments, name) is not None:
            this, that = ("--frame", "--live") if arguments.frame else ("--live", "--frame")
            raise InputError(f"--{name} belongs to {that} and does nothing with {this}; leave one of them out")
    for name, default in (FROZEN if arguments.frame else LIVE).items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, default)


def _live(arguments: argparse.Namespace, scenes: Sequence[Scene], tell: Progress) -> tuple[list[Curve], list[Frozen]]:
    curves: list[Curve] = []
    with keeping(curves, lambda: (curves, [])):
        for scene in scenes:
            compared = partial(
                compare,
                *(scene, arguments.solvers, arguments.budgets_ms),
                iterations=arguments.iterations,
                frames=arguments.frames,
                samples=arguments.samples,
                times=arguments.times,
                motion=arguments.motion if not arguments.fine else True,
                fine=arguments.fine,
                threads=arguments.threads,
                seed=arguments.seed,
                progress=tell,
            )
            found, ended = as_far_as_done(compared)
            curves += found
            if ended is not None:
                ended.done = curves, []
                raise ended
    return curves, []


def _frozen(arguments: argparse.Namespace, scenes: Sequence[Scene], tell: Progress) -> tuple[list[Curve], list[Frozen]]:
    curves: list[Curve] = []
    states: list[Frozen] = []
    with keeping(curves, lambda: (curves, states)):
        for scene in scenes:
            state = freeze(scene, arguments.frame, progress=tell)
            curves += compare_frozen(
                *(state, arguments.solvers, arguments.budgets_ms),
                iterations=sorted({*sweep_counts(arguments.most), *arguments.iterations}),
                repeat=arguments.repeat,
                threads=arguments.threads,
                seed=arguments.seed,
                progress=tell,
            )
            states.append(state)
    return curves, states


def _reference(frozen: Frozen) -> dict[str, object]:
    return {key: getattr(frozen.reference, key) for key in ("energy", "gradient", "iterations", "converged")}


def _note(frozen: Frozen) -> str:
    why = "the first guess is already the answer" if frozen.reference.converged else "the reference did not converge"
    return f"{frozen.scene.name}, frame {frozen.number}: there is no relative error, because {why}"


def _settings(arguments: argparse.Namespace, scenes: Sequence[Scene], threads: int) -> dict[str, object]:
    """All that is needed to make this comparison again. Of one scene, its own settings stand on the first level."""
    one = {"target": arguments.targets[0], **scenes[0].settings} if len(scenes) == 1 else {}
    options = {"frame": arguments.frame, **{name: getattr(arguments, name) for name in FROZEN}}
    if not arguments.frame:
        options = {name: getattr(arguments, name) for name in LIVE}
    return {
        "version": __version__,
        "mode": "frame" if arguments.frame else "live",
        **one,
        "targets": arguments.targets,
        "scenes": {scene.name: scene.settings for scene in scenes},
        **{name: getattr(arguments, name) for name in ("solvers", "budgets_ms", "iterations", "measure", "seed")},
        **options,
        "threads": threads,
    }


def _show(arguments: argparse.Namespace, scene: Scene, curves: Sequence[Curve]) -> None:
    asked = [c for c in curves if c.budget.ms is not None or c.budget.iterations in arguments.iterations]
    what = f"frame {arguments.frame}" if arguments.frame else f"{arguments.frames} frames"
    title = f"{scene.name}: {scene.model.n} vertices, {what}, h = {scene.time_step * 1e3:.3g} ms"
    _show_motion(title, [curve for curve in asked if curve.motion])
    if asked:
        rows = [curve.row() for curve in asked]
        show_table(
            title,
            ["solver", "budget", *COLUMNS],
            [[c.solver, c.label, *(row[k] for k in COLUMNS.values())] for c, row in zip(asked, rows, strict=True)],
        )
    if arguments.frame:
        _show_convergence(title, curves, arguments.measure)


def _show_motion(title: str, curves: Sequence[Curve]) -> None:
    """Distances in centimetres, stretch in percent; what each run was measured against, below."""
    if not curves:
        return
    rows = [curve.row() for curve in curves]
    seconds = ", ".join(f"{time:.3g}" for time in rows[0]["motion_times_s"])  # type: ignore[attr-defined]
    columns = [f"cm after {seconds} s", "median"]
    if any(curve.motion and curve.motion.fine is not None for curve in curves):
        columns += ["from steps of 1 ms", "median"]
    columns += ["stretch %", "RMS", "largest", "lowest m", "reference", "substeps"]
    lines = []
    for curve, row in zip(curves, rows, strict=True):
        line: list[object] = [curve.solver, curve.label, _cm(row["distance_m"]), _cm([row["distance_median_m"]])]
        if len(columns) > 8:
            line += [_cm(row["fine_distance_m"]), _cm([row["fine_distance_median_m"]])]
        line += [_scaled(row[f"stretch_{name}"]) for name in ("mean", "rms", "max")]
        lines.append([*line, row["lowest_m"], row["lowest_reference_m"], row["substeps"]])
    show_table(f"{title}: motion", ["solver", "budget", *columns], lines)
    for words in dict.fromkeys(str(row["motion_reference"]) for row in rows):
        out.print(f"measured against: {words}", soft_wrap=True)


def _cm(metres: object) -> str:
    """Lengths in centimetres; a dash where there is none."""
    values = metres if isinstance(metres, list) else []
    return ", ".join("–" if v is None else f"{100 * v:.{3 if v >= 0.995 else 2}g}" for v in values) or "–"


def _scaled(value: object) -> float | None:
    return 100 * value if isinstance(value, float) else None


def _show_convergence(title: str, curves: Sequence[Curve], measure: str) -> None:
    counts = sorted({curve.budget.iterations for curve in curves if curve.budget.iterations is not None})
    lines: dict[str, list[str]] = {}
    for count in counts:
        for curve in curves:
            if curve.budget.iterations == count:
                lines.setdefault(curve.solver, []).append(f"{median(curve.measured(measure)):.2g}")
    show_table(
        f"{title}: {MEASURES[measure]} after so many sweeps",
        ["solver", *map(str, counts)],
        [[solver, *errors] for solver, errors in lines.items()],
    )
