"""The figures that the solvers are held to. Prints a table; takes about half an hour.

    python benchmarks/solvers.py [--armadillo FILE] [--only budgets,changing,big,live,stretch,cycle,scaling,contacts,
                                  divergence,substitution,coarsening,model] [--json]

`--armadillo`: a tetrahedral mesh of about 55K elements for the rows that ask for one (default: a generated body).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import scipy.sparse.linalg as spl

import vivace as vv
from vivace.backends.cpu.executor import default_threads
from vivace.bench.frozen import Frozen, compare_frozen, freeze
from vivace.bench.run import settle
from vivace.scenes import Scene, make_scene
from vivace.solvers import Budget, Reference, make_solver, minimise
from vivace.solvers.projective.direct import Factors
from vivace.solvers.projective.hierarchy import COARSENINGS

Rows = list[tuple[str, str]]
BUDGETS = (4.0, 8.0, 15.0, 25.0)
SEEDS = ("jacobi", "gauss-seidel", "vivace", "chebyshev(jacobi)", "pcg")
EXACT = ("direct", "chebyshev(direct):delay=1")
FRAME = 15


def bodies(armadillo: str | None) -> list[Scene]:
    tets = make_scene("armadillo", path=armadillo) if armadillo else make_scene("armadillo")
    return [make_scene("tablecloth"), tets]


def tuned(solver: str, scene: Scene, ms: float) -> str:
    """For a Chebyshev solver, ρ tuned for as many iterations as the budget has room for."""
    if not solver.startswith("chebyshev"):
        return solver
    head, _, options = solver.partition(":")
    plain = scene.simulate(solver=f"{head}:rho=0,{options}".rstrip(","))
    for _ in range(3):
        iterations = plain.step(ms).sweeps
    return f"{solver}{',' if options else ':'}horizon={iterations}"


def against(frozen: Frozen, solvers: Sequence[str], budgets: Sequence[float] = BUDGETS, repeats: int = 9) -> Rows:
    """`auto` and the others at every budget, taking turns: errors, iterations, times, and the ratio of the errors."""
    rows: Rows = []
    for ms in budgets:
        names = [tuned(solver, frozen.scene, ms) for solver in ("auto", *solvers)]
        curves = compare_frozen(frozen, names, [ms], iterations=(), repeat=repeats)
        ours = np.median(curves[0].errors)
        for curve in curves:
            low, middle, high = np.percentile(curve.errors, [10, 50, 90])
            ratio = "" if curve.solver == "auto" else f"auto ÷ it {ours / middle:.3g}; "
            text = f"{ratio}{middle:.3g} ({low:.3g} to {high:.3g}), {np.median(curve.sweeps):g} iterations"
            rows.append((f"{frozen.scene.name}, {ms:g} ms: {curve.solver}", f"{text}, {np.median(curve.ms):.2f} ms"))
    return rows


def budgets(armadillo: str | None) -> Rows:
    rows: Rows = []
    for scene in bodies(armadillo):
        frozen = freeze(scene, FRAME)
        rows += against(frozen, (*SEEDS, *EXACT))
    return rows


def changing(armadillo: str | None, draws: int = 3, count: int = 1000) -> Rows:
    """As `budgets`, with other pins in every step. Their exchange counts: it is part of the frame."""
    rows: Rows = []
    solvers = ("auto", *SEEDS, *EXACT, "multigrid")
    for scene in bodies(armadillo):
        frozen = freeze(scene, FRAME)
        problems = [_with_pins(frozen, count, draw) for draw in range(draws)]
        for ms in BUDGETS:
            found = {}
            for solver in solvers:
                sim = scene.simulate(solver=tuned(solver, scene, ms))
                sim.prepare(wait=True)
                reports, times = [], []
                settle()
                for problem in (problems[-1], *problems):
                    sim.positions, sim.velocities = frozen.positions, frozen.velocities
                    begin = time.perf_counter()
                    sim.model = problem.scene.model
                    reports.append(sim.step(ms))
                    times.append((time.perf_counter() - begin) * 1e3)
                errors = []
                for problem, report in zip((problems[-1], *problems), reports, strict=True):
                    q = report.positions.astype(np.float64)
                    energy = problem.system.energy(q, problem.frame) if report.finite else np.inf
                    errors.append(problem.errors(np.array([energy]))[0])
                found[solver] = np.median(errors[1:]), np.median(times[1:])
            for solver, (error, took) in found.items():
                ratio = "" if solver == "auto" else f"auto ÷ it {found['auto'][0] / error:.3g}; "
                text = f"{ratio}{error:.3g}, {took:.1f} ms a frame with the exchange"
                rows.append((f"{scene.name}, {count} pins changing, {ms:g} ms: {solver}", text))
    return rows


def _with_pins(frozen: Frozen, count: int, seed: int) -> Frozen:
    """The frozen frame with more pins: random vertices held a little away from where they are, as contacts would."""
    scene, model = frozen.scene, frozen.scene.model
    random = np.random.default_rng(seed)
    free = np.setdiff1d(np.arange(model.n), model.pinned)
    which = np.sort(random.choice(free, count, replace=False))
    away = 0.2 * np.ptp(model.mesh.vertices, axis=0).max() / np.sqrt(model.n)
    target = frozen.frame.s[which] + away * random.standard_normal((count, 3))
    stiffness = float(np.median(frozen.system.diagonal))
    changed = replace(scene, model=model.pin(which, target=target, stiffness=stiffness))
    sim = changed.simulate(solver="jacobi")
    problem = frozen.step(sim, Budget(iterations=1)).frame
    reference = minimise(sim.system, problem, accuracy=1e-6, most=1500)
    return Frozen(changed, frozen.number, frozen.positions, frozen.velocities, sim.system, problem, reference)


def big(armadillo: str | None) -> Rows:
    """A tetrahedral body of 100K vertices.

    Its minimum: our own solver after 400 iterations (a factorisation for the float64 reference would take minutes and
    gigabytes).
    """
    scene = make_scene("armadillo", resolution=BIG_RESOLUTION)
    sim = scene.simulate(solver="lbfgs(multigrid)")
    for _ in range(FRAME):
        start = sim.positions, sim.velocities
        report = sim.step(Budget(iterations=20))
    frame = report.frame
    sim.positions, sim.velocities = start
    best = sim.step(Budget(iterations=400)).positions.astype(np.float64)
    energy, gradient = sim.system.evaluate(best, frame)
    reference = Reference(best, energy, float(np.linalg.norm(gradient)), 400, True)
    frozen = Frozen(scene, FRAME, *start, sim.system, frame, reference)
    rows = against(frozen, (*SEEDS, "multigrid"), repeats=3)
    return [("big body", f"{scene.model.n} vertices, {len(scene.model.mesh.tets)} tetrahedra"), *rows]


BIG_RESOLUTION = 91


def live(armadillo: str | None, frames: int = 300) -> Rows:
    rows: Rows = []
    for scene in bodies(armadillo):
        for ms in (1.0, 2.0, *BUDGETS):
            sim = replace(scene, time_step=0.033).simulate(budget=ms)
            sim.prepare(wait=True)
            reports = [sim.step() for _ in range(frames)]
            took = np.array([report.ms for report in reports])
            finite = all(report.finite for report in reports)
            notes = {report.note for report in reports if report.note}
            reach = np.ptp(sim.positions, axis=0).max() / np.ptp(scene.model.mesh.vertices, axis=0).max()
            text = (
                f"finite: {finite}; p99 {np.percentile(took, 99):.2f} ms; size ÷ rest {reach:.2f}; {len(notes)} notes"
            )
            rows.append((f"{scene.name}, {frames} live frames, h = 33 ms, {ms:g} ms", text))
    return rows


def stretch(armadillo: str | None) -> Rows:
    """Of a cloth that swings, with as many sweeps for all: one that only hangs says little about what moves."""
    scene = make_scene("tablecloth")
    rows: Rows = []
    for solver in ("auto", "vivace", "vivace:refresh=0", "block-descent", "gauss-seidel", "jacobi"):
        result = vv.bench.run.run(scene, solver=solver, budget=Budget(iterations=60), frames=90, error_samples=0)
        summary = result.summary()
        text = ", ".join(f"{name} {100 * summary[f'stretch_{name}']:.3g} %" for name in ("mean", "rms", "max"))
        rows.append((f"tablecloth, 90 frames of 60 sweeps, stretch: {solver}", text))
    return rows


def cycle(armadillo: str | None) -> Rows:
    """One iteration of multigrid, projections included, against one sweep of vivace, likewise; interleaved."""
    rows: Rows = []
    for scene in bodies(armadillo):
        sims = {name: scene.simulate(solver=name) for name in ("multigrid:cycles=1", "lbfgs(multigrid)", "vivace")}
        samples: dict[str, list[float]] = {name: [] for name in sims}
        for _ in range(25):
            for name, sim in sims.items():
                samples[name].append(sim.step(Budget(iterations=24)).ms_per_sweep)
        ms = {name: float(np.median(values[2:])) for name, values in samples.items()}
        for name in list(sims)[:2]:
            text = f"{ms[name] / ms['vivace']:.2f} ({ms[name]:.3f} ms ÷ {ms['vivace']:.3f} ms)"
            rows.append((f"{scene.name}: one iteration of {name} ÷ one vivace sweep", text))
    return rows


def scaling(armadillo: str | None) -> Rows:
    """One frame of the tablecloth at growing resolution: how far ten iterations get."""
    rows: Rows = []
    for resolution in (100, 200, 400, 800):
        scene = make_scene("tablecloth", resolution=resolution)
        sim = scene.simulate(solver="lbfgs(multigrid)")
        begin = time.perf_counter()
        sim.prepare(wait=True)
        setup = time.perf_counter() - begin
        for _ in range(FRAME):
            start = sim.positions, sim.velocities
            report = sim.step(Budget(iterations=30))
        frame, system = report.frame, sim.system
        sim.positions, sim.velocities = start
        best = system.energy(sim.step(Budget(iterations=300)).positions.astype(np.float64), frame)
        first = system.energy(frame.start, frame)
        found = []
        for solver in ("multigrid", "lbfgs(multigrid)", "direct", "vivace", "jacobi"):
            if solver == "direct" and resolution > 400:
                continue
            other = scene.simulate(solver=solver)
            other.positions, other.velocities = start
            after = other.step(Budget(iterations=10))
            error = (system.energy(after.positions.astype(np.float64), frame) - best) / (first - best)
            found.append(f"{solver} {error:.3g} ({after.ms_per_sweep:.2f} ms)")
        rows.append((f"{system.n} vertices, after 10 iterations (set-up {setup:.1f} s)", "; ".join(found)))
    return rows


def contacts(armadillo: str | None, frames: int = 300, count: int = 1000) -> Rows:
    """1,000 pins added in one frame and removed in the next; what a frame takes, exchange included."""
    rows: Rows = []
    for scene in bodies(armadillo):
        for ms in (8.0, 15.0):
            sim = scene.simulate(budget=ms)
            sim.prepare(wait=True)
            for _ in range(5):
                sim.step()
            random, base = np.random.default_rng(0), scene.model
            free = np.setdiff1d(np.arange(base.n), base.pinned)
            stiffness = float(np.median(sim.system.diagonal))
            took, exchange, finite, notes = [], [], True, set()
            for k in range(frames):
                which = np.sort(random.choice(free, count, replace=False))
                begin = time.perf_counter()
                target = sim.positions[which]
                sim.model = base if k % 2 else base.pin(which, target=target, stiffness=stiffness)
                exchange.append((time.perf_counter() - begin) * 1e3)
                report = sim.step()
                took.append((time.perf_counter() - begin) * 1e3)
                finite = finite and report.finite
                notes |= {report.note} - {""}
            reach = np.ptp(sim.positions, axis=0).max() / np.ptp(base.mesh.vertices, axis=0).max()
            text = (
                f"finite: {finite}; frame median {np.median(took):.2f}, p99 {np.percentile(took, 99):.2f}, "
                f"most {max(took):.2f} ms, of that exchanging {np.median(exchange):.2f}; "
                f"size ÷ rest size {reach:.2f}; notes: {'; '.join(sorted(notes)) or 'none'}"
            )
            rows.append((f"{scene.name}: {count} pins on and off, {frames} frames, {ms:g} ms", text))
    return rows


def divergence(armadillo: str | None, frames: int = 120) -> Rows:
    """The course's ρ at small budgets, as printed and with the automatic one, live."""
    rows: Rows = []
    cloth, tets = bodies(armadillo)
    for scene, rho in ((cloth, 0.9999), (tets, 0.9992)):
        specs = (f"chebyshev(jacobi):rho={rho},watch=False", f"chebyshev(jacobi):rho={rho}", "chebyshev(jacobi)")
        for ms in (4.0, 8.0, 25.0):
            for spec in specs:
                sim = scene.simulate(solver=tuned(spec, scene, ms) if "rho" not in spec else spec, budget=ms)
                sim.prepare(wait=True)
                counts, lost = [], 0
                size = np.ptp(scene.model.mesh.vertices, axis=0).max()
                for k in range(frames):
                    report = sim.step()
                    counts.append(report.sweeps)
                    with np.errstate(all="ignore"):
                        fallen = 9.81 * (k * scene.time_step) ** 2  # twice as far as anything falls freely
                        if not lost and not (np.abs(report.positions).max() < 5 * size + fallen):
                            lost = k + 1
                    if not report.finite:
                        break
                state = f"lost at frame {lost}" if lost else f"stays for {frames} frames"
                used = sim.solver.used_rho  # type: ignore[attr-defined]
                text = f"{state}; {np.median(counts):g} iterations a frame; ρ = {used:.6g}"
                rows.append((f"{scene.name}, {ms:g} ms: {spec}", text))
    return rows


def substitution(armadillo: str | None) -> Rows:
    """Back-substitution for three right-hand sides: ours, SuperLU's own, and CHOLMOD's by cholespy; interleaved."""
    from cholespy import CholeskySolverF, MatrixType

    rows: Rows = []
    for scene in bodies(armadillo):
        matrix = vv.System(scene.model, scene.time_step).matrix.tocsc()
        n = matrix.shape[0]
        ours = Factors(matrix, default_threads())
        best = spl.splu(matrix, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
        default = spl.splu(matrix)
        arrays = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data
        cholmod = CholeskySolverF(n, *arrays, MatrixType.CSC)
        b = np.random.default_rng(0).standard_normal((n, 3))
        single, x = b.astype(np.float32), np.zeros((n, 3), np.float32)
        wide, y = (np.zeros((n, 4), np.float32) for _ in range(2))
        wide[:, :3] = b
        calls: dict[str, Callable[[], object]] = {
            "ours": partial(ours.solve, wide, y),
            "SuperLU, minimum degree": partial(best.solve, b),
            "SuperLU, default": partial(default.solve, b),
            "cholespy": partial(cholmod.solve, single, x),
        }
        samples: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(40):
            for name, call in calls.items():
                begin = time.perf_counter()
                call()
                samples[name].append((time.perf_counter() - begin) * 1e3)
        ms = {name: float(np.median(values)) for name, values in samples.items()}
        others = [f"{name} {ms[name]:.2f} ms ({ms[name] / ms['ours']:.2f} x)" for name in list(calls)[1:]]
        rows.append((f"{scene.name}: back-substitution, ours {ms['ours']:.2f} ms", "; ".join(others)))
    return rows


def coarsening(armadillo: str | None) -> Rows:
    """What PyAMG is asked for: levels, entries, and how far L-BFGS over one cycle gets on the frozen frame."""
    rows: Rows = []
    for scene in bodies(armadillo):
        frozen = freeze(scene, FRAME)
        for name in COARSENINGS:
            solver = make_solver(f"lbfgs(multigrid:coarsening={name},cycles=1)")
            sim = scene.simulate(solver=solver)
            sim.prepare()
            hierarchy = solver.corrector.hierarchy  # type: ignore[attr-defined]
            found = []
            for k in (1, 3, 8, 20):
                q = frozen.step(sim, Budget(iterations=k)).positions.astype(np.float64)
                found.append(f"{k}: {frozen.errors(np.array([frozen.system.energy(q, frozen.frame)]))[0]:.3g}")
            text = f"levels {hierarchy.sizes}, operator complexity {hierarchy.operator_complexity:.2f}; error after "
            rows.append((f"{scene.name}, coarsening {name}", text + ", ".join(found)))
    return rows


def model(armadillo: str | None) -> Rows:
    """What a round of `auto` takes, by size, beside what its coefficients say."""
    from vivace.solvers.auto import round_ms

    rows: Rows = []
    scenes = [make_scene("tablecloth", resolution=r) for r in (10, 20, 40, 70, 100, 200)]
    scenes += [make_scene("armadillo", resolution=r) for r in (16, 24, 32)]
    for scene in scenes:
        sim = scene.simulate(solver="auto")
        ms = [sim.step(Budget(iterations=8)).ms_per_sweep for _ in range(12)]
        text = f"{np.median(ms[2:]):.3f} ms (expected {round_ms(scene.model):.3f})"
        rows.append((f"{scene.name}, {scene.model.n} vertices: a round", text))
    return rows


PARTS: dict[str, Callable[[str | None], Rows]] = {
    part.__name__: part
    for part in (
        *(budgets, changing, big, live, stretch, cycle, scaling, contacts),
        *(divergence, substitution, coarsening, model),
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--armadillo", metavar="FILE", help="a tetrahedral mesh file")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    arguments = parser.parse_args()
    rows: Rows = []
    for name in arguments.only.split(","):
        for row in PARTS[name](arguments.armadillo):
            rows.append(row)
            if not arguments.json:
                print(f"{row[0]:64s} {row[1]}", flush=True)
    if arguments.json:
        print(json.dumps(dict(rows), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
