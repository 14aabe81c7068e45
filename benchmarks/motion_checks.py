"""What must hold whatever the budget: stability, determinism, constraints that come and go. Parts of `motion.py`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from motion_common import Options, Row, spread

from vivace import Budget, Cloth, Model, Report, Simulation, mesh
from vivace.bench.converged import DRIFT, is_solvable
from vivace.bench.motion import Trajectory, angular_momenta, energies
from vivace.energy.system import Frame, System
from vivace.scenes import SCENES, Scene, is_rigid, make_scene, parameters_of
from vivace.solvers.reference import polish

BUDGETS = [Budget(ms=ms) for ms in (1.0, 2.0, 4.0, 8.0, 16.0)] + [Budget(iterations=k) for k in (1, 2, 5, 40)]
FRAMES = 300
ROUNDING = 2.0**-24


def stability(options: Options) -> Iterator[Row]:
    for name in SCENES:
        if is_rigid(name):
            continue
        scene = replace(sized(name, options.resolution), time_step=0.033)
        for budget in BUDGETS:
            yield lived(scene, budget, options)
    yield from free(options)


def sized(name: str, resolution: int) -> Scene:
    """A scene at the size asked for: 100 is its own."""
    known, share = parameters_of(name), resolution / 100
    if "resolution" in known:
        own = known["resolution"]
        return make_scene(name, resolution=max(own if own < 8 else min(own, 16), round(own * share)))  # type: ignore
    if "scale" in known:
        return make_scene(name, scale=max(0.02, share**2 * known["scale"]))  # type: ignore[operator]
    return make_scene(name)


def label(budget: Budget) -> str:
    return f"{budget.ms:g} ms" if budget.ms is not None else f"{budget.iterations} iterations"


def lived(scene: Scene, budget: Budget, options: Options) -> Row:
    solver = None if options.solver == "auto" else options.solver  # a scene's own: some are position based
    sim = scene.simulate(solver=solver, budget=budget, threads=options.threads)
    sim.prepare(wait=True)
    finite, risen, ms, late = True, 0, [], []
    minimum = is_solvable(scene)
    for _ in range(FRAMES):
        report = sim.step()
        ms.append(report.ms)
        late.append(getattr(report, "late_ms", 0.0))
        finite = finite and report.finite
        if minimum and finite:
            risen += rises(report)
    reach = float(np.ptp(sim.positions, axis=0).max() / np.ptp(scene.model.mesh.vertices, axis=0).max())
    told = f"energy rose in {risen} steps" if minimum else "contacts: no energy to tell"
    text = f"finite: {finite}; {told}; size ÷ rest {reach:.2f}; {np.median(ms):.2f} ms, p99 {np.percentile(ms, 99):.2f}"
    values = {"finite": finite, "risen": risen if minimum else None, "size": reach, "ms": float(np.median(ms))}
    values |= {"ms_p99": float(np.percentile(ms, 99)), "late_ms_median": float(np.median(late))}
    return Row(f"{scene.name}, {scene.model.n} vertices, {FRAMES} frames, {label(budget)}", text, values)


def rises(report: Report) -> bool:
    """Whether ε of the result lies above that of the first guess by more than float32's rounding of the result."""
    system, frame = report.system, report.frame
    first = system.energy(frame.start, frame)
    size = ROUNDING * np.abs(report.positions).max(axis=1)
    slope = np.linalg.norm(system.gradient(report.positions.astype(np.float64), frame), axis=1)
    return report.energy > first + float(slope @ size + 0.5 * system.diagonal @ size**2) + 1e-12 * abs(first)


def free(options: Options, frames: int = 120) -> Iterator[Row]:
    """A cloth that spins in empty space, drawn out a little: no energy comes from anywhere, and nothing stops it."""
    n = max(8, options.resolution)
    sheet = mesh.cloth(n, n)
    scene = Scene("free cloth", Model.of(sheet, Cloth(0.2, 1e4, 1e-4), gravity=(0, 0, 0)), 0.033)
    spin = np.cross([0.5, 3.0, 0.2], sheet.vertices - sheet.vertices.mean(axis=0))
    start = 1.01 * sheet.vertices
    references: dict[int, np.ndarray] = {}
    for budget in BUDGETS:
        sim = scene.simulate(solver=options.solver, budget=budget, threads=options.threads)
        sim.positions, sim.velocities = start, spin
        sim.prepare(wait=True)
        mine = recorded(sim, frames)
        if mine.steps not in references:
            references[mine.steps] = angular_momenta(scene.model, spun(scene, start, spin, frames, mine.steps))
        total, noise = energies(scene.model, mine), rounding(scene, mine)
        grown = float(np.diff(total).max())
        kept, best = (share(found) for found in (angular_momenta(scene.model, mine), references[mine.steps]))
        text = f"largest growth of the energy {grown:.2g} J of {total[0]:.3g} (rounding {noise:.1g}); "
        text += f"angular momentum kept {100 * kept:.3g} %, converged {100 * best:.3g} % ({mine.label})"
        values = {"grown_j": grown, "rounding_j": noise, "energy_j": total[[0, -1]].tolist()}
        values |= {"kept": kept, "kept_converged": best}
        yield Row(f"free spinning cloth, {frames} frames, {label(budget)}", text, values)


def share(momenta: np.ndarray) -> float:
    """Of the angular momentum that is left at the end."""
    return float(np.linalg.norm(momenta[-1]) / np.linalg.norm(momenta[0]))


def rounding(scene: Scene, mine: Trajectory) -> float:
    """What float32 positions leave of an energy (J): a force times an ulp, and momentum times an ulp a time step."""
    h, model = mine.time_step / mine.steps, scene.model
    system = System(model, h)
    found = 0.0
    for q, v in zip(mine.positions[::10].astype(np.float64), mine.velocities[::10], strict=True):
        ulp = ROUNDING * np.abs(q).max(axis=1)
        force = np.linalg.norm(system.gradient(q, Frame(q, q, q, model.targets)), axis=1)
        found = max(found, float(2 * (force + model.masses * np.linalg.norm(v, axis=1) / h) @ ulp))
    return found


def recorded(sim: Simulation, frames: int) -> Trajectory:
    positions, velocities = [sim.positions], [sim.velocities]
    for _ in range(frames):
        sim.step()
        positions.append(sim.positions)
        velocities.append(sim.velocities)
    return Trajectory(np.array(positions), np.array(velocities), sim.time_step, sim.substeps)


def spun(scene: Scene, q: np.ndarray, v: np.ndarray, frames: int, steps: int) -> Trajectory:
    """The converged motion from a start with a velocity."""
    h = scene.time_step / steps
    system = System(scene.model, h)
    positions, velocities = [q], [v]
    for _ in range(frames):
        for _ in range(steps):
            new = polish(system, system.frame(q, v, np.zeros(q.shape), scene.model.targets), within=DRIFT * h).q
            q, v = new, (new - q) / h
        positions.append(q)
        velocities.append(v)
    return Trajectory(np.array(positions), np.array(velocities), scene.time_step, steps)


def threads(options: Options, frames: int = 100) -> Iterator[Row]:
    for name in ("tablecloth", "bar"):
        scene = sized(name, options.resolution)
        for iterations in (1, 5):
            ends = []
            for count in (1, 2):
                sim = scene.simulate(solver=options.solver, budget=Budget(iterations=iterations), threads=count)
                sim.prepare(wait=True)
                for _ in range(frames):
                    sim.step()
                ends.append(sim.positions)
            same = bool(np.array_equal(*ends))
            text = "the same bits" if same else f"differ by up to {np.abs(ends[0] - ends[1]).max():.2g} m"
            yield Row(f"{name}, 1 and 2 threads, {frames} frames, {iterations} iterations", text, {"same": same})


def pins(options: Options, frames: int = 120) -> Iterator[Row]:
    """1,000 pins that hold other vertices in every frame: what the exchange takes, and the step after it."""
    scene = make_scene("tablecloth", resolution=options.resolution)
    base = scene.model
    count = min(1000, base.n // 4)
    for iterations in (2, 8):
        sim = scene.simulate(solver=options.solver, budget=Budget(iterations=iterations), threads=options.threads)
        sim.prepare(wait=True)
        plain = [sim.step().ms for _ in range(10)][2:]
        random, free_ = np.random.default_rng(0), np.setdiff1d(np.arange(base.n), base.pinned)
        stiffness = float(np.median(sim.system.diagonal))
        exchange, steps, finite, notes = [], [], True, set()
        for _ in range(frames):
            which = np.sort(random.choice(free_, count, replace=False))
            begin = time.perf_counter()
            sim.replace_model(base.pin(which, target=sim.positions[which], stiffness=stiffness))
            exchange.append((time.perf_counter() - begin) * 1e3)
            report = sim.step()
            steps.append(report.ms)
            finite = finite and report.finite
            notes |= {report.note} - {""}
        text = f"exchange {spread(exchange)} ms, step {spread(steps)} ms, without them {spread(plain)} ms; "
        text += f"finite: {finite}; notes: {'; '.join(sorted(notes)) or 'none'}"
        values = {"exchange_ms": float(np.median(exchange)), "step_ms": float(np.median(steps)), "finite": finite}
        values |= {"plain_ms": float(np.median(plain)), "exchange_ms_p99": float(np.percentile(exchange, 99))}
        yield Row(f"{count} pins coming and going, {iterations} iterations", text, values)
