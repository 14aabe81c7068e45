"""The figures of position based dynamics. Prints a table; takes about ten minutes.

    python benchmarks/position_based.py [--only table,passes,falling-cube,recolouring,stages,chebyshev] [--scale X]
                                        [--frames N] [--threads T] [--out FOLDER] [--json]

table         Table 1 of [fratarcangeli2013]: what `vivace bench pbd` shows
passes        one pass over each type of constraint ÷ a copy of what it reads and writes
falling-cube  Gauss-Seidel against averaged Jacobi, 5 ms a frame [fratarcangeli2013, Fig. 4 and 5]
recolouring   colours kept from frame to frame ÷ colours from scratch, 5 % of the constraints changed
stages        milliseconds of each stage once things touch [fratarcangeli2016, Fig. 8 and 9]
chebyshev     Jacobi with and without Chebyshev's method, a cloth and a body of tetrahedra [fratarcangeli2018, Fig. 7]

`--out`: a folder for figures, such as docs/figures. `--scale`: share of the papers' constraints.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import vivace as vv
from vivace.backends.cpu.executor import check_threads, default_threads
from vivace.bench.pbd import COLOURED, PRINTED, spread, table_1, time_passes
from vivace.bench.run import settle
from vivace.colouring import (
    ContactColours,
    WarmConstraints,
    colour,
    colour_constraints,
    is_valid,
    is_valid_constraint_colouring,
    recolour_constraints,
    recolour_with,
)
from vivace.errors import InputError
from vivace.pictures import Panel, panel_grid
from vivace.pictures.stages import stacked_stages, timelines
from vivace.scenes import Scene, make_scene
from vivace.scenes.papers import check_scale
from vivace.solvers import Budget
from vivace.solvers.projective.vertex_graph import vertex_graph

Rows = list[tuple[str, str]]
Found = tuple[Rows, dict[str, object]]  # a table for people, and all numbers


@dataclass(frozen=True)
class Options:
    """`scale`: share of the papers' constraints; `frames`: None for each part's own; `out`: where figures go."""

    scale: float = 1.0
    frames: int | None = None
    threads: int = 2
    out: Path | None = None

    def __post_init__(self) -> None:
        check_scale(self.scale)
        check_threads(self.threads)
        if self.frames is not None and self.frames < 1:
            raise InputError(f"a part needs at least one frame, not frames={self.frames!r}")

    def settings(self, **more: object) -> dict[str, object]:
        """All that is needed to do it again."""
        return {"version": vv.__version__, "scale": self.scale, "threads": self.threads, **more}


def told(values: Sequence[float] | np.ndarray) -> str:
    low, middle, high = (f"{v:.0f}" if v >= 100 else f"{v:.3g}" for v in np.percentile(values, [10, 50, 90]))
    return f"{middle} ({low}–{high})"


def timed_ms(call: Callable[[], object]) -> tuple[float, object]:
    begin = time.perf_counter()
    result = call()
    return (time.perf_counter() - begin) * 1e3, result


# --- Table 1, and passes against copies -------------------------------------------------------------------------------


def table(options: Options) -> Found:
    rows: Rows = []
    numbers = sorted({1, options.threads})
    found = table_1(scale=options.scale, frames=options.frames or 60, threads=numbers, cold=True)
    for measured in found:
        name, printed = measured.scene.name, PRINTED[measured.scene.name]
        sizes = (f"{kind} {len(g)}/{measured.colourings[kind].count}" for kind, g in measured.groups.items())
        text = f"{measured.scene.model.n} particles, {', '.join(sizes)}, {measured.iterations} iterations"
        rows.append((f"{name}: constraints / colours", text))
        for timed in measured.runs:
            ms = f"{told(timed.ms)} ms; with collisions {told(timed.ms_with_collisions)} ms"
            rows.append(
                (f"{name}, {timed.solver}, {timed.threads} threads", f"{1e3 / np.median(timed.ms):.1f} fps, {ms}")
            )
        rows.append((f"{name}, the paper's 1 core, 12 cores, GPU", f"{', '.join(f'{f:g}' for f in printed.fps)} fps"))
        rows.append((f"{name}: first frame of a new process", f"{measured.cold_start_s:.1f} s"))
    return rows, {"scenes": [measured.row() for measured in found]}


def passes(options: Options) -> Found:
    rows: Rows = []
    found = []
    for name in PRINTED:
        scene = make_scene(name, scale=options.scale)
        for one in time_passes(scene, sorted({1, options.threads})):
            found.append(one.row())
            ratios = f"{told(one.ms / one.copy_ms)}; rows once {told(one.ms / one.copy_once_ms)}"
            text = f"{ratios}; {told(one.ms)} ms, {one.constraints} constraints, {one.colours} colours"
            rows.append((f"{name}, {one.kind}, {one.threads} threads: pass ÷ copy", text))
    return rows, {"passes": found}


# --- the falling cube -------------------------------------------------------------------------------------------------

CUBE_MS, CUBE_FRAMES = 5.0, 210  # 3.5 s, as in Fig. 5
CUBE_SOLVERS = {"Gauss-Seidel": (COLOURED, 8), "averaged Jacobi": ("pbd-jacobi", 24)}  # iterations: the paper's
CUBE_CASES = {  # options, and whether time is the budget
    "stiffness 1, 5 ms": (":stiffness=1", True),
    "stiffness 1, 8 and 24 iterations": (":stiffness=1", False),
    "compliance of the model, 5 ms": ("", True),
}


class Strain:
    """(length - rest) / rest of a model's springs."""

    def __init__(self, scene: Scene):
        spring = next(group for group in scene.model.groups if group.kind.name == "spring")
        self.i, self.j = spring.vertices.T
        self.rest = spring.parameters[:, 0]

    def __call__(self, q: np.ndarray) -> np.ndarray:
        q = q.astype(np.float64)
        return np.linalg.norm(q[self.i] - q[self.j], axis=1) / self.rest - 1.0

    def rms(self, q: np.ndarray) -> float:
        return float(np.sqrt(np.mean(self(q) ** 2)))

    def mean(self, q: np.ndarray) -> float:
        return float(np.mean(np.abs(self(q))))


def deformation(rest: np.ndarray, q: np.ndarray) -> float:
    """Root mean square distance of the vertices from where the best rigid motion takes them, ÷ the body's size."""
    a, b = rest - rest.mean(axis=0), q.astype(np.float64) - q.mean(axis=0)
    u, _, v = np.linalg.svd(a.T @ b)
    u[:, -1] *= np.sign(np.linalg.det(u @ v))
    return float(np.sqrt(np.mean(np.sum((a @ (u @ v) - b) ** 2, axis=1))) / np.ptp(rest, axis=0).max())


def falling_cube(options: Options) -> Found:
    scene = make_scene("falling-cube", scale=options.scale)
    frames = options.frames or CUBE_FRAMES
    strain, rest, tets = Strain(scene), scene.model.mesh.vertices, scene.model.mesh.tets
    rows: Rows = [("falling cube", f"{sum(map(len, scene.model.groups))} constraints, {frames} frames")]
    found: list[dict[str, object]] = []
    errors: dict[str, dict] = {}
    shapes: dict[str, dict] = {}
    for case, (option, by_time) in CUBE_CASES.items():
        for name, (solver, iterations) in CUBE_SOLVERS.items():
            budget = Budget(ms=CUBE_MS) if by_time else Budget(iterations=iterations)
            sim = scene.simulate(solver=solver + option, budget=budget, threads=options.threads)
            sim.prepare(wait=True)
            settle()
            reports = [sim.step() for _ in range(frames)]
            series = {
                "residual_rms": [strain.rms(report.positions) for report in reports],
                "residual_mean": [strain.mean(report.positions) for report in reports],
                "deformation": [deformation(rest, report.positions) for report in reports],
                "height": [float(np.ptp(report.positions[:, 1])) for report in reports],
                "volume": [_volume(report.positions, tets) / _volume(rest, tets) for report in reports],
                "sweeps": [report.sweeps for report in reports],
                "ms": [report.ms for report in reports],
            }
            time_ms = 1e3 * scene.time_step * np.arange(1, frames + 1)
            errors.setdefault(case, {})[name] = (time_ms, series["residual_rms"])
            shapes.setdefault(case, {})[name] = (time_ms, series["deformation"])
            found.append({"solver": solver + option, "name": name, "case": case, **series})
            text = (
                f"{told(series['sweeps'])} iterations, {told(series['ms'])} ms; RMS of C ÷ rest length: mean "
                f"{np.mean(series['residual_rms']):.3g}, largest {np.max(series['residual_rms']):.3g}, last "
                f"{series['residual_rms'][-1]:.3g}; deformation: largest {np.max(series['deformation']):.3g}; "
                f"lowest height {np.min(series['height']):.3g} m, volume {np.min(series['volume']):.3g}"
            )
            rows.append((f"{case}, {name}", text))
    if options.out is not None:
        settings = options.settings(scene="falling-cube", budget_ms=CUBE_MS, frames=frames)
        top = [Panel(curves, title, "time (ms)", "RMS of C ÷ rest length") for title, curves in errors.items()]
        low = [Panel(curves, "", "time (ms)", "RMS deformation ÷ size") for curves in shapes.values()]
        timelines(options.out / "falling-cube.png", [top, low], settings=settings)
    return rows, {"budget_ms": CUBE_MS, "frames": frames, "time_step": scene.time_step, "runs": found}


def _volume(q: np.ndarray, tets: np.ndarray) -> float:
    corners = q.astype(np.float64)[tets]
    return float(np.linalg.det(corners[:, 1:] - corners[:, :1]).sum() / 6.0)


# --- recolouring ------------------------------------------------------------------------------------------------------

CHANGED, RECOLOURED_FRAMES, SCRATCH_EVERY = 0.05, 200, 5


def recolouring(options: Options) -> Found:
    """Every frame is checked; from scratch, every fifth, because it takes so much longer."""
    rows: Rows = []
    found: dict[str, object] = {}
    frames = options.frames or RECOLOURED_FRAMES
    lines = {}
    for name in ("s0", "s1"):
        scene = make_scene(name, scale=options.scale)
        for what, part in (("exchanged", exchanged), ("contacts", new_contacts), ("vertices", new_pairs)):
            ratios, counts, times, valid = part(scene, frames, options.threads)
            label = f"{name}, {what}"
            for method, values in ratios.items():
                rows.append((f"{label}: {method} ÷ from scratch", f"{told(values)}; {told(times[method])} ms"))
            for method, values in counts.items():
                text = f"{values[0]} at first, {min(values)} to {max(values)}, {values[-1]} at last"
                rows.append((f"{label}: colours by {method}, {frames} frames", text))
            rows.append((f"{label}: valid every time", "yes" if valid else "NO"))
            every = {"from scratch": SCRATCH_EVERY}
            lines[label] = {
                method: (1 + every.get(method, 1) * np.arange(len(values)), values) for method, values in counts.items()
            }
            found[label] = {
                "valid": valid,
                "colours": counts,
                **{method: {**spread("ratio", ratios[method]), **spread("ms", times[method])} for method in ratios},
                "from scratch": spread("ms", times["from scratch"]),
            }
    if options.out is not None:
        panels = [Panel(curves, title, "frame", "colours") for title, curves in lines.items()]
        grid = [panels[k : k + 3] for k in range(0, len(panels), 3)]
        timelines(options.out / "recolouring.png", grid, settings=options.settings(frames=frames, changed=CHANGED))
    return rows, {"changed": CHANGED, "frames": frames, **found}


class Recoloured:
    """What the ways to recolour took, in turns, and how many colours they had."""

    def __init__(self, names: Sequence[str]):
        self.times: dict[str, list[float]] = {name: [] for name in (*names, "from scratch")}
        self.ratios: dict[str, list[float]] = {name: [] for name in names}
        self.counts: dict[str, list[int]] = {name: [] for name in (*names, "from scratch")}
        self.valid = True

    def add(self, name: str, ms: float, count: int, valid: bool) -> None:
        self.times[name].append(ms)
        self.counts[name].append(int(count))
        self.valid = self.valid and valid

    def compare(self) -> None:
        """After a turn from scratch."""
        for name, ratios in self.ratios.items():
            ratios.append(self.times[name][-1] / self.times["from scratch"][-1])

    def __iter__(self):
        return iter((self.ratios, self.counts, self.times, self.valid))


def constraint_table(scene: Scene) -> np.ndarray:
    """All constraints of a scene in one table of four vertices, -1 where there are fewer."""
    found = []
    for group in scene.model.groups:
        if group.kind.vertices > 1:
            wide = np.full((len(group), 4), -1, np.int32)
            wide[:, : group.kind.vertices] = group.vertices
            found.append(wide)
    return np.concatenate(found)


def exchanged(scene: Scene, frames: int, threads: int) -> Recoloured:
    """Of all constraints 5 % are missing; in every frame others, chosen at random, take their place."""
    table, n, random = constraint_table(scene), scene.model.n, np.random.default_rng(0)
    out = max(1, round(CHANGED * len(table)))
    shuffled = random.permutation(len(table))
    live, missing = shuffled[out:].copy(), shuffled[:out].copy()
    first = colour_constraints(table[live], n)
    warm, colours = WarmConstraints(table[live], n, first.colours), first.colours.copy()
    result = Recoloured(("WarmConstraints", "recolour_constraints"))
    for frame in range(-2, frames):  # two that are not counted
        places = random.choice(len(live), out, replace=False)
        came, missing = missing, live[places].copy()
        added = table[came]
        ms, numbers = timed_ms(lambda places=places, added=added: warm.update(places, added))
        live[numbers] = came  # numbers are given out again in an order of their own
        now, previous = table[live], _without(colours, numbers)
        again_ms, again = timed_ms(lambda now=now, previous=previous: recolour_constraints(now, n, previous))
        colours = again.colours
        if frame < 0:
            continue
        result.add("WarmConstraints", ms, warm.count, _holds(now, n, warm.colours))
        result.add("recolour_constraints", again_ms, again.count, _holds(now, n, colours))
        if frame % SCRATCH_EVERY == 0:
            ms, scratch = timed_ms(lambda now=now: colour_constraints(now, n))
            result.add("from scratch", ms, scratch.count, _holds(now, n, scratch.colours))
            result.compare()
    return result


def _without(colours: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    colours = colours.copy()
    colours[numbers] = -1
    return colours


def _holds(table: np.ndarray, n: int, colours: np.ndarray) -> bool:
    return is_valid_constraint_colouring(table, n, colours)


def new_contacts(scene: Scene, frames: int, threads: int) -> Recoloured:
    """All constraints stay, and 5 % as many contacts (a vertex and a triangle, at random) are new in every frame."""
    own, n, random = constraint_table(scene), scene.model.n, np.random.default_rng(0)
    count = max(1, round(CHANGED * len(own)))
    first = colour_constraints(own, n)
    warm, contact_colours = WarmConstraints(own, n, first.colours), ContactColours(own, n, first.colours)
    numbers = np.zeros(0, np.int32)
    result = Recoloured(("WarmConstraints", "ContactColours"))
    for frame in range(-2, frames):
        contacts = random_contacts(scene, count, random)
        everything = np.concatenate([own, contacts])
        ms, numbers = timed_ms(lambda old=numbers, contacts=contacts: warm.update(old, contacts))
        brief_ms, brief = timed_ms(lambda contacts=contacts: contact_colours.colour(contacts))
        if frame < 0:
            continue
        held = np.concatenate([warm.colours[: len(own)], warm.colours[numbers]])
        result.add("WarmConstraints", ms, warm.count, _holds(everything, n, held))
        both = np.concatenate([first.colours, brief])
        result.add("ContactColours", brief_ms, both.max() + 1, _holds(everything, n, both))
        if frame % SCRATCH_EVERY == 0:
            ms, scratch = timed_ms(lambda everything=everything: colour_constraints(everything, n))
            result.add("from scratch", ms, scratch.count, _holds(everything, n, scratch.colours))
            result.compare()
    return result


def random_contacts(scene: Scene, count: int, random: np.random.Generator) -> np.ndarray:
    """(count, 4) a triangle of the surface and a vertex that is not one of its own."""
    triangles = scene.model.mesh.triangles
    contacts = np.empty((count, 4), np.int32)
    contacts[:, :3] = triangles[random.integers(len(triangles), size=count)]
    contacts[:, 3] = random.integers(scene.model.n, size=count)
    own = (contacts[:, :3] == contacts[:, 3:]).any(axis=1)
    while own.any():
        contacts[own, 3] = random.integers(scene.model.n, size=int(own.sum()))
        own = (contacts[:, :3] == contacts[:, 3:]).any(axis=1)
    return contacts


def new_pairs(scene: Scene, frames: int, threads: int) -> Recoloured:
    """The graph of the vertices and, in every frame, new pairs: those of 5 % as many contacts as constraints.

    From scratch, the graph has to be built with the contacts in it; `recolour_with` takes them as they are.
    """
    own, n, random = constraint_table(scene), scene.model.n, np.random.default_rng(0)
    tables = [group.vertices for group in scene.model.groups if group.kind.vertices > 1]
    graph = vertex_graph(n, tables)
    colours = colour(*graph, seed=0, threads=threads).colours
    result = Recoloured(("recolour_with",))
    for frame in range(-2, frames):
        contacts = random_contacts(scene, max(1, round(CHANGED * len(own))), random)
        pairs = np.concatenate([contacts[:, ends] for ends in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))])
        kept = {"previous": colours, "check": False, "trust": True}
        ms, again = timed_ms(lambda pairs=pairs, kept=kept: recolour_with(*graph, pairs, **kept))
        colours = again.colours
        if frame < 0:
            continue
        apart = bool((colours[pairs[:, 0]] != colours[pairs[:, 1]]).all())
        result.add("recolour_with", ms, again.count, apart and is_valid(*graph, colours))
        if frame % SCRATCH_EVERY == 0:
            building_ms, merged = timed_ms(lambda contacts=contacts: vertex_graph(n, [*tables, contacts]))
            ms, scratch = timed_ms(lambda merged=merged: colour(*merged, seed=0, threads=threads, check=False))
            result.add("from scratch", building_ms + ms, scratch.count, is_valid(*merged, scratch.colours))
            result.compare()
    return result


# --- stages -----------------------------------------------------------------------------------------------------------

STAGED, STAGED_FRAMES, FLIGHT = ("noodles", "cloth-heap"), 120, 240


def stages(options: Options) -> Found:
    """Milliseconds of each stage in the frames after the first contact."""
    rows: Rows = []
    found: dict[str, object] = {}
    areas, budget_ms = {}, 0.0
    frames = options.frames or STAGED_FRAMES
    for name in STAGED:
        scene = make_scene(name, scale=options.scale)
        budget_ms = 1e3 * scene.time_step
        sim = scene.simulate(threads=options.threads)
        sim.prepare(wait=True)
        settle()
        flight = 1
        while sim.step().contacts == 0 and flight < FLIGHT:
            flight += 1
        reports = [sim.step() for _ in range(frames)]
        ms = {stage: [report.stages[stage] for report in reports] for stage in reports[0].stages}
        whole, contacts = [report.ms for report in reports], [report.contacts for report in reports]
        colours = [report.colours or 0 for report in reports]
        late = np.mean(np.array(whole) > budget_ms)
        title = (
            f"{name}: {sum(map(len, scene.model.groups)) / 1e3:.0f}K constraints, {max(contacts) / 1e3:.1f}K contacts"
        )
        areas[title] = ms
        rows.append((f"{title}, first contact", f"frame {flight}; {sim.solver.name}, {options.threads} threads"))
        rows += [(f"{name}, {stage}", f"{told(values)} ms") for stage, values in ms.items()]
        rows.append((f"{name}, whole step", f"{told(whole)} ms; {100 * late:.0f} % take more than {budget_ms:.1f} ms"))
        rows.append((f"{name}, contacts", told(contacts)))
        rows.append((f"{name}, colours", told(colours)))
        share = np.array(ms["colour"]) / np.array(whole)
        rows.append((f"{name}, recolouring: share of a step", f"{100 * np.median(share):.1f} %"))
        found[name] = {
            "vertices": scene.model.n,
            "constraints": {group.kind.name: len(group) for group in scene.model.groups},
            "solver": sim.solver.name,
            "first_contact": flight,
            "budget_ms": budget_ms,
            "finite": all(report.finite for report in reports),
            "ms": {stage: {**spread("ms", values), "frames": values} for stage, values in ms.items()},
            "whole": {**spread("ms", whole), "late": float(late)},
            "contacts": contacts,
            "colours": colours,
        }
    if options.out is not None:
        labels = {"budget_ms": budget_ms, "xlabel": "frame after the first contact"}
        settings = options.settings(scenes=STAGED, frames=frames)
        stacked_stages(options.out / "stages.png", areas, **labels, settings=settings)  # type: ignore[arg-type]
    return rows, {"frames": frames, "scenes": found}


# --- Chebyshev --------------------------------------------------------------------------------------------------------

COUNTS = (1, 2, 3, 5, 8, 10, 12, 15, 20, 30, 45, 60, 90, 120, 200)
# The course's α and ρ for cloth and for tetrahedra; how the body is stretched at the start.
BODIES = {"s0": (0.3, 0.9999, (1.2, 1.2, 1.2)), "falling-cube": (0.045, 0.9992, (1.0, 0.7, 1.0))}


def chebyshev(options: Options) -> Found:
    """The violation that is left in one step, after so many iterations: a cloth let go stretched, a pressed body."""
    rows: Rows = []
    found: dict[str, object] = {}
    panels = []
    for name, (alpha, rho, stretched) in BODIES.items():
        scene = make_scene(name, scale=options.scale, **({"bend": 0.0} if name == "s0" else {}))
        scene = replace(scene, model=replace(scene.model, collisions=None))
        strain, rest = Strain(scene), scene.model.mesh.vertices
        start = rest.mean(axis=0) + stretched * (rest - rest.mean(axis=0))
        inner = f"pbd-jacobi:stiffness=1,alpha={alpha}"
        solvers = {
            "averaged": "pbd-jacobi:stiffness=1",
            "relaxed by α": inner,
            "averaged, with Chebyshev": "chebyshev(pbd-jacobi:stiffness=1):rho=auto",
            "relaxed by α, with Chebyshev": f"chebyshev({inner}):rho={rho},watch=false",
        }
        first, curves = strain.rms(start), {}
        for label, solver in solvers.items():
            sim = scene.simulate(solver=solver, threads=options.threads)
            left = []
            for count in COUNTS:
                sim.positions, sim.velocities = start, np.zeros_like(start)
                left.append(strain.rms(sim.step(Budget(iterations=count)).positions) / first)
            curves[label] = (np.array(COUNTS), np.where(np.isfinite(left), left, np.inf))
            shown = ", ".join(f"{left[COUNTS.index(count)]:.3g} after {count}" for count in (10, 30, 60, 200))
            rows.append((f"{name}, {label}: RMS of C ÷ first", shown))
        panels.append(Panel(curves, f"{name}, α = {alpha:g}, ρ = {rho:g}", "iterations", "RMS strain ÷ first"))
        found[name] = {"alpha": alpha, "rho": rho, "iterations": COUNTS, "violation": _plain(curves)}
    if options.out is not None:
        panel_grid(options.out / "chebyshev-pbd.png", [panels], settings=options.settings(scenes=list(BODIES)))
    return rows, found


def _plain(curves: dict[str, tuple[np.ndarray, np.ndarray]]) -> dict[str, list[float | None]]:
    return {name: [float(y) if np.isfinite(y) else None for y in values] for name, (_, values) in curves.items()}


# --- the command ------------------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[Options], Found]] = {
    "table": table,
    "passes": passes,
    "falling-cube": falling_cube,
    "recolouring": recolouring,
    "stages": stages,
    "chebyshev": chebyshev,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the papers' constraints (default 1)")
    parser.add_argument("--frames", type=int, help="of each part (default: its own)")
    parser.add_argument("--threads", type=int, default=default_threads(), help="default: one for each core")
    parser.add_argument("--out", type=Path, help="folder for figures, such as docs/figures")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    given = parser.parse_args(arguments)
    chosen = given.only.split(",")
    for name in chosen:
        if name not in PARTS:
            parser.error(f"there is no part {name!r}; the parts: {', '.join(PARTS)}")
    try:
        options = Options(given.scale, given.frames, given.threads, given.out)
    except InputError as error:
        parser.error(str(error))
    everything: dict[str, object] = {"settings": options.settings(frames=options.frames)}
    for name in chosen:
        rows, everything[name] = PARTS[name](options)
        for what, value in rows if not given.json else ():
            print(f"{what:60s} {value}", flush=True)
    if given.json:
        print(json.dumps(everything, indent=2, ensure_ascii=False, default=_number))


def _number(value: object) -> object:
    """NumPy's numbers as JSON has them."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no part of the results")


if __name__ == "__main__":
    main()
