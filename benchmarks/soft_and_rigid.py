"""Soft and rigid bodies in one step: how far from the converged run, what presses on what, and where the time goes.

python benchmarks/soft_and_rigid.py                 # all of it, some minutes
python benchmarks/soft_and_rigid.py --only balls    # balls of 200 g and 1 g on a cloth that is held at its corners
python benchmarks/soft_and_rigid.py --only rest     # boxes on a soft cube and on a tablecloth
python benchmarks/soft_and_rigid.py --only solvers  # which solvers push a box on a soft cube with its weight
python benchmarks/soft_and_rigid.py --only bodies   # 200 bodies on the tablecloth: stages of a frame
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import vivace as vv
from vivace.collisions import Box, Plane, Sphere
from vivace.simulation.rigid_part import TURNS

SUBSTEPS = 2  # of 1/60 s
CONVERGED = 100  # iterations a turn


def ball(mass: float, iterations: int, frames: int) -> np.ndarray:
    """Where a ball goes that falls on a cloth, (frames, 3); so many iterations a turn, eight turns a substep."""
    cloth = vv.mesh.cloth(40, 40, width=1.0, height=1.0, plane="horizontal")
    model = vv.Model.of(cloth, vv.Cloth(density=0.2, stretch=1e3, bend=1e-4), air=0.2).pin("corners")
    model = model.collide([vv.Body(Sphere((0.03, 0.15, 0.01), 0.1), mass=mass)], thickness=0.005, itself=False)
    budget = vv.Budget(iterations=iterations * TURNS * SUBSTEPS)
    sim = vv.Simulation(model, time_step=1 / 60, budget=budget, substeps=SUBSTEPS)
    out = []
    for _ in range(frames):
        sim.step()
        out.append(sim.bodies.positions[0])
    return np.array(out)


def balls(frames: int) -> None:
    """Centimetres from the converged run."""
    print(f"a ball falls on a cloth of 40 x 40; largest distance from {CONVERGED} iterations a turn")
    for mass in (0.2, 0.001):
        converged = ball(mass, CONVERGED, frames)
        for iterations in (2, 4, 8):
            away = 100 * np.linalg.norm(ball(mass, iterations, frames) - converged, axis=1)
            print(
                f"  {1e3 * mass:5.0f} g, {iterations} iterations a turn: {away[: frames // 2].max():5.1f} cm in the "
                f"first half, {away.max():5.1f} cm in {frames / 60:.1f} s"
            )


def resting(sim: vv.Simulation, weight: float, frames: int) -> str:
    """How steadily a body is carried at the end."""
    pressed, speeds = [], []
    for frame in range(frames):
        sim.step()
        if frame >= frames - 30:
            forces = sim.solver.contact_forces()
            mine = (forces.ids & (2**31 - 1)) == sim.bodies.first
            pressed.append(-forces.forces[mine, 1].sum() / weight)
            speeds.append(np.linalg.norm(sim.bodies.velocities[0]))
    share = np.array(pressed)
    return f"force ÷ weight {share.mean():.3f} ± {share.std():.3f}, {1e3 * np.mean(speeds):.1f} mm/s"


def on_jelly(mass: float, substeps: int, solver: str = "auto") -> vv.Simulation:
    """A box on a soft cube of 8 kg."""
    cube = vv.mesh.cube(6, side=0.2)
    model = vv.Model.of(cube, vv.Solid(density=1000, youngs_modulus=3e4))
    box = vv.Body(Box((0.0, 0.155, 0.0), (0.05, 0.05, 0.05)), mass=mass)
    model = model.collide([Plane((0, -0.105, 0)), box], thickness=0.005, itself=False)
    budget = vv.Budget(iterations=2 * TURNS * substeps)
    return vv.Simulation(model, time_step=1 / 60, substeps=substeps, budget=budget, solver=solver)


def rest(frames: int) -> None:
    """Boxes that lie."""
    for mass, substeps in ((1.0, 1), (1.0, 4), (0.01, 1), (0.01, 4)):
        said = resting(on_jelly(mass, substeps), 9.81 * mass, frames)
        print(f"  a box of {mass:g} kg on a soft cube of 8 kg, {60 * substeps} substeps/s: {said}")
    scene = vv.make_scene("falling-bodies", bodies=1, resolution=60, body_density=1000)
    budget = vv.Budget(iterations=64)
    sim = vv.Simulation(scene.model, time_step=1 / 30, substeps=4, budget=budget)
    print(f"  a box on a tablecloth on its table: {resting(sim, 9.81 * float(sim.bodies.masses[0]), frames // 2)}")


def solvers(frames: int) -> None:
    """Every solver that tells what presses on bodies."""
    for solver in ("auto", "multigrid", "lbfgs(multigrid)", "newton-multigrid"):
        try:
            said = resting(on_jelly(1.0, 4, solver), 9.81, frames)
        except vv.VivaceError as error:
            said = str(error)
        print(f"  {solver}: {said}")


def bodies(frames: int) -> None:
    """200 bodies on the tablecloth of 10,000 vertices."""
    sim = vv.make_scene("falling-bodies").simulate(budget=33.0)
    reports, cores = [], []
    for _ in range(frames):
        before = time.process_time()
        reports.append(sim.step())
        cores.append(1e3 * (time.process_time() - before))
    reports, cores = reports[frames // 2 :], cores[frames // 2 :]
    took = np.array([report.ms for report in reports])
    print(f"  a frame takes {np.median(took):.0f} ms ({took.min():.0f} to {took.max():.0f}) of 33")
    print(f"  of all cores together {np.median(cores):.0f} ms ({min(cores):.0f} to {max(cores):.0f})")
    for name in reports[0].stages:
        print(f"    {name:8} {np.median([report.stages.get(name, 0.0) for report in reports]):6.1f} ms")
    last = reports[-1]
    x, places = sim.positions.astype(np.float64), sim.bodies.positions
    print(
        f"  contacts {last.contacts} of vertices, {last.bodies.contacts} of bodies; overlap of bodies "
        f"{1e3 * last.bodies.depth:.1f} mm; {int((places[:, 1] < 0).sum())} bodies below the floor; "
        f"lowest vertex {1e3 * x[:, 1].min():.1f} mm above it"
    )


PARTS = {"balls": (balls, 90), "rest": (rest, 240), "solvers": (solvers, 120), "bodies": (bodies, 60)}


def main(arguments: list[str] | None = None) -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, help="one part; by default all")
    parser.add_argument("--frames", type=int, help="of each run; by default as many as the docs say")
    asked = parser.parse_args(arguments)
    for name, (part, frames) in PARTS.items():
        if asked.only in (None, name):
            print(f"== {name}")
            part(asked.frames or frames)


if __name__ == "__main__":
    main()
