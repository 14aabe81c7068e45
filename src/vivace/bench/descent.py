"""Descent methods as [fratarcangeli2018, section 3] measures them: Table 2, and convergence (figures 11, 12, 14, 15).

Steps have 96 iterations of `descent`; those of the dress eight substeps of 40, with contacts. What stands in for the
paper's dragon, armadillo and dress is generated, unless they are given as files.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..backends.cpu.executor import check_threads
from ..checks import check_name, is_whole
from ..errors import InputError
from ..pictures.plots import Panel, panel_grid
from ..scenes import Scene, make_scene, soft
from ..scenes.dress import ITERATIONS as DRESS_ITERATIONS
from ..scenes.dress import SUBSTEPS
from ..scenes.hyperelastic import ITERATIONS
from ..solvers import Budget
from ..solvers.descent.descent import Descent
from ..solvers.descent.tuning import tuned_phases
from .compare import Curve
from .frozen import Frozen, compare_frozen, freeze
from .guesses import Guessed
from .pbd import spread
from .run import Progress, settle
from .statistics import median

REPEATS = 10
WARM_UP = 2
FRAME = 4  # of the convergence study: in mid-fall
COUNTS = (1, 2, 4, 8, 16, 32, 48, 64, 96)
NEWTON = (1, 2, 4)  # iterations of what factorises a matrix in each
MATERIAL = "neo-hookean"


class Printed(NamedTuple):
    """A row of Table 2: K vertices, K elements, and seconds of a step."""

    vertices: int
    elements: int
    cpu_s: float
    gpu_s: float


PRINTED = {
    "dragon": Printed(16_000, 58_000, 1.35, 0.0328),
    "armadillo": Printed(15_000, 55_000, 1.28, 0.0314),
    "box": Printed(14_000, 72_000, 1.47, 0.0376),
    "dress": Printed(15_000, 44_000, 0.29, 0.0266),
    "double helix 41K": Printed(13_000, 41_000, 0.98, 0.0275),
    "double helix 82K": Printed(24_000, 82_000, 1.91, 0.0385),
    "double helix 158K": Printed(48_000, 158_000, 3.86, 0.0654),
    "double helix 316K": Printed(96_000, 316_000, 7.78, 0.122),
}

# Curves of the convergence study, by part: what they are called, and the solver.
CURVES = {
    "convergence": {
        "gradient": "descent:direction=gradient,momentum=none",
        "Jacobi": "descent:momentum=none",
        "Jacobi + Nesterov": "descent:momentum=nesterov",
        "Jacobi + Chebyshev": "descent",
        "nonlinear CG": "descent:direction=nonlinear-cg",
        "L-BFGS": "descent:direction=l-bfgs",
        "Gauss-Seidel": "descent:direction=gauss-seidel",
        "Newton": "descent:direction=newton",
        "newton-multigrid": "newton-multigrid",
    },
    "every": {f"M = {m}": f"descent:every={m}" for m in (1, 8, 32, 96)},
    "momentum": {
        "none": "descent:momentum=none",
        "Nesterov": "descent:momentum=nesterov",
        "Chebyshev, ρ = 0.9": "descent:rho=0.9",
        "Chebyshev, ρ found": "descent",
    },
}
TUNED = {"Chebyshev, ρ tuned": 1, "Chebyshev, two phases tuned": 2, "Chebyshev, four phases tuned": 4}  # of momentum
TITLES = {
    "convergence": "directions (figure 11)",
    "every": "iterations for each preconditioner (figure 12)",
    "momentum": "momentum (figure 14)",
}
DRAWN = (*CURVES, "guesses")
PARTS = ("table", *DRAWN)


@dataclass(frozen=True)
class Sizes:
    """How large the bodies are, and how much is tried."""

    armadillo: int = 43
    dragon: int = 64
    box: int = 24
    dress: int = 160
    helices: tuple[int, ...] = (40, 51, 63, 80)
    counts: tuple[int, ...] = COUNTS
    newton: tuple[int, ...] = NEWTON
    frame: int = FRAME
    repeat: int = 3
    frames: int = 30  # of the sequence for first guesses
    guessed: tuple[int, ...] = (8, 32, 96)
    trials: int = 60  # of phases, for each of them


FULL = Sizes()
QUICK = Sizes(16, 24, 5, 16, (24, 27), (1, 4, 16), (1, 2), 2, 1, 6, (4, 16), 12)


@dataclass(eq=False)
class Measured:
    """A row of the table: seconds of steps on each number of threads."""

    name: str
    scene: Scene
    seconds: dict[int, list[float]] = field(default_factory=dict)
    sweeps: list[int] = field(default_factory=list)
    finite: bool = True

    @property
    def elements(self) -> int:
        """Its tetrahedra; of cloth its edges, of which the paper's dress has as many as it has elements."""
        mesh = self.scene.model.mesh
        return len(mesh.tets) if mesh.is_volumetric else len(mesh.edges)

    def row(self) -> dict[str, object]:
        """The figures under the names that scripts rely on."""
        printed = PRINTED.get(self.name)
        return {
            "name": self.name,
            "vertices": self.scene.model.n,
            "elements": self.elements,
            "iterations": median(self.sweeps),
            "finite": self.finite,
            "runs": [
                {
                    "threads": threads,
                    **spread("seconds", seconds),
                    "microseconds_per_element": 1e6 * (median(seconds) or 0.0) / self.elements,
                }
                for threads, seconds in self.seconds.items()
            ],
            "paper": printed._asdict() if printed else None,
        }


def check_benchmark(parts: Sequence[str], threads: Sequence[int], repeats: int) -> None:
    """Complain about names and numbers before anything is made."""
    for part in parts:
        check_name("part", part, PARTS)
    if not len(parts) or not len(threads):
        raise InputError("a benchmark needs at least one part and one number of threads")
    for count in threads:
        check_threads(count)
    if not is_whole(repeats) or repeats < 1:
        raise InputError(f"a benchmark needs at least one step to time, not repeats={repeats!r}")


def armadillo(sizes: Sizes = FULL, path: str = "") -> Scene:
    """The body of figure 11, from a file or generated."""
    shape = {"path": path} if path else {"resolution": sizes.armadillo}
    return soft(make_scene("armadillo", material=MATERIAL, poisson_ratio=0.4, time_step=1 / 30, **shape))


def table_2(
    sizes: Sizes = FULL,
    threads: Sequence[int] = (1,),
    repeats: int = REPEATS,
    *,
    path: str = "",
    dragon: str = "",
    dress: str = "",
    progress: Progress | None = None,
) -> list[Measured]:
    """Time the bodies of Table 2, one after the other; `path`, `dragon`, `dress`: files of the paper's own bodies."""
    named = [name for name in PRINTED if name.startswith("double helix")]
    if sizes is not FULL:
        named = [f"double helix, resolution {n}" for n in sizes.helices]
    soft_body: dict[str, object] = {"material": MATERIAL}
    of: dict[str, tuple[str, dict[str, object]]] = {
        "dragon": ("dragon", {**soft_body, **({"path": dragon} if dragon else {"resolution": sizes.dragon})}),
        "armadillo": ("armadillo", {}),
        "box": ("box", {**soft_body, "resolution": sizes.box, "mode": "twist"}),
        "dress": ("dress", {"path": dress} if dress else {"resolution": sizes.dress}),
        **{
            name: ("double-helix", {**soft_body, "resolution": n}) for name, n in zip(named, sizes.helices, strict=True)
        },
    }
    tell = progress or (lambda what, done, total: None)
    found = []
    for name, (kind, parameters) in of.items():
        tell(f"{name}: making the scene", 0, 1)
        scene = armadillo(sizes, path) if name == "armadillo" else soft(make_scene(kind, **parameters))
        tell(f"{name}: making the scene", 1, 1)
        found.append(time_steps(name, scene, threads, repeats, progress=tell))
    return found


def time_steps(
    name: str, scene: Scene, threads: Sequence[int], repeats: int, *, progress: Progress | None = None
) -> Measured:
    """Seconds of whole steps; the numbers of threads take turns, so that what else the machine does meets all alike."""
    tell = progress or (lambda what, done, total: None)
    measured = Measured(name, scene, {count: [] for count in threads})
    substeps = 1 if scene.model.terms else SUBSTEPS
    budget = Budget(iterations=ITERATIONS if scene.model.terms else SUBSTEPS * DRESS_ITERATIONS)
    how: dict[str, Any] = {"solver": "descent", "budget": budget, "substeps": substeps}
    sims = {count: scene.simulate(threads=count, **how) for count in threads}
    for done, sim in enumerate(sims.values()):
        tell(f"{name}: preparing", done, len(sims))
        sim.prepare(wait=True)
    tell(f"{name}: preparing", len(sims), len(sims))
    for step in range(-WARM_UP, repeats):
        tell(f"{name}: simulating", max(step, 0), repeats)
        for count, sim in sims.items():
            settle()
            report = sim.step()
            measured.finite = measured.finite and report.finite
            if step >= 0:
                measured.seconds[count].append(report.ms / 1e3)
                measured.sweeps.append(report.sweeps)
    tell(f"{name}: simulating", repeats, repeats)
    return measured


def linearity(found: Sequence[Measured]) -> dict[int, list[float]]:
    """By threads: microseconds of a step for each tetrahedron of the helices, from the smallest to the largest."""
    helices = [one for one in found if one.name.startswith("double helix")]
    return {
        threads: [1e6 * (median(one.seconds[threads]) or np.nan) / one.elements for one in helices]
        for threads in (helices[0].seconds if helices else ())
    }


# --- how they converge ------------------------------------------------------------------------------------------------


def convergence(
    frozen: Frozen,
    part: str,
    sizes: Sizes = FULL,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[Curve]:
    """The curves of a part on a frozen frame, under the names that they are drawn with."""
    names = {solver: name for name, solver in CURVES[part].items()}
    if part == "momentum":
        names |= tuned(frozen, max(sizes.counts), most=sizes.trials, threads=threads, progress=progress)
    slow = [solver for solver in names if "newton" in solver and solver != "newton-multigrid"]
    found: list[Curve] = []
    fast = [one for one in names if one not in slow]
    for solvers, counts, repeat in ((fast, sizes.counts, sizes.repeat), (slow, sizes.newton, 1)):
        if solvers:
            how = {"iterations": counts, "repeat": repeat, "threads": threads, "progress": progress}
            found += compare_frozen(frozen, solvers, **how)  # type: ignore[arg-type]
    return [replace(curve, solver=names[curve.solver]) for curve in found]


def tuned(
    frozen: Frozen, iterations: int, *, most: int, threads: int | None = None, progress: Progress | None = None
) -> dict[str, str]:
    """Solvers whose phases were tuned in a pre-simulation of the frame's scene, with what they are called."""
    tell, found = progress or (lambda what, done, total: None), {}
    solver = Descent()
    sim = frozen.scene.simulate(solver=solver, threads=threads)
    sim.substeps = 1
    sim.prepare()
    for done, (name, phases) in enumerate(TUNED.items()):
        tell(f"{frozen.scene.name}: tuning phases", done, len(TUNED))
        rho = tuned_phases(solver, sim.system, phases=phases, iterations=iterations, most=most)
        found[f"descent:rho={rho}"] = name
    tell(f"{frozen.scene.name}: tuning phases", len(TUNED), len(TUNED))
    return found


def frozen_frame(scene: Scene, frame: int, *, progress: Progress | None = None) -> Frozen:
    """The frame that all curves are measured on, with the minimum of its energy in float64."""
    return freeze(scene, frame, progress=progress)


def curve_rows(curves: Sequence[Curve]) -> list[dict[str, object]]:
    """Relative error by iterations and milliseconds, under the names that scripts rely on."""
    names = ("solver", "iterations", "relative_error_median", "gradient_median", "ms_per_frame_median", "finite")
    rows = [curve.row() for curve in curves]
    return [{name: row[name] for name in names} for row in rows]


def plot(
    path: str | os.PathLike[str],
    curves: dict[str, list[Curve]],
    guessed: Sequence[Guessed] = (),
    settings: dict[str, object] | None = None,
) -> None:
    """A row of panels for each part: relative error by iterations, and by milliseconds; of guesses, by frames."""
    rows = []
    for part, some in curves.items():
        by: dict[str, list[tuple[float, float, float]]] = {}
        for curve in some:
            point = (float(curve.budget.iterations or 0), median(curve.ms) or np.nan, median(curve.errors) or np.nan)
            by.setdefault(curve.solver, []).append(point)
        columns = {name: np.array(points).T for name, points in by.items()}
        panels = []
        for x, label in enumerate(("iterations", "milliseconds")):
            lines = {name: (values[x], values[2]) for name, values in columns.items()}
            panels.append(Panel(lines, TITLES[part], label, "relative error", log_x=True, floor=1e-6))
        rows.append(panels)
    if guessed:
        frames = np.arange(1, len(guessed[0].away) + 1)
        errors: dict[str, Any] = {one.name: (frames, one.errors[:, -1]) for one in guessed}
        away: dict[str, Any] = {one.name: (frames, 100 * one.away) for one in guessed}
        title = "first guesses (figure 15)"
        rows.append(
            [
                Panel(errors, title, "frame of the converged run", "relative error", floor=1e-6),
                Panel(away, title, "frame of its own run", "cm from the converged run", floor=1e-3),
            ]
        )
    panel_grid(path, rows, settings=settings)
