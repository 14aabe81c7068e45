"""The trajectories whose bits are written down in data/golden.json, and the program that writes them.

    python tests/golden.py            what has changed, case by case
    python tests/golden.py --write    record this tree's results; a commit of its own says why they changed

Bits depend on the processor (vector widths, fused operations) and on the versions of the libraries, so each machine has
an entry of its own under a fingerprint of both. On a machine without an entry the centres of mass are compared, which
hardly depend on either.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path

import llvmlite.binding as llvm

from vivace import Budget, InputError, Simulation
from vivace.collisions import Plane, Sphere
from vivace.scenes import Scene, make_scene

FILE = Path(__file__).parent / "data" / "golden.json"
FRAMES, ITERATIONS = 60, 4
SAME_MOTION = 0.05  # m: how far other roundings may move a centre of mass where things touch and slide
LIBRARIES = ("numba", "llvmlite", "numpy", "scipy", "cholespy", "pyamg")

SCENES: dict[str, Callable[[], Scene]] = {
    "tablecloth": lambda: make_scene("tablecloth", resolution=24),
    "table": lambda: make_scene("tablecloth", resolution=16, table=True),
    "armadillo": lambda: make_scene("armadillo", resolution=16),
    "bar": lambda: make_scene("bar", resolution=3),
    "fold": lambda: _fold(),
    "s1": lambda: make_scene("s1", scale=0.02),
    "cloth-heap": lambda: make_scene("cloth-heap", scale=0.01),
}

# What else a simulation can do, on the tablecloth: options of the constructor, and what is set before a frame.
WAYS: dict[str, tuple[dict, Callable[[Simulation, int], None]]] = {
    "bdf2": ({"integrator": "bdf2", "substeps": 2}, lambda sim, frame: None),
    "verlet": ({"form": "verlet"}, lambda sim, frame: None),
    "adaptive": ({"guess": "adaptive", "solver": "vivace", "substeps": 1}, lambda sim, frame: None),
    "substeps": ({"substeps": 3}, lambda sim, frame: None),
    "wind": ({}, lambda sim, frame: setattr(sim, "wind", (0.0, 0.0, 5.0 * (frame % 20 < 10)))),
    "grab": ({}, lambda sim, frame: _grab(sim, frame)),
    "stiffness": ({}, lambda sim, frame: sim.replace_model(sim.model.stiffened(2.0)) if frame == 20 else None),
}

PROJECTIVE = [
    "auto", "vivace", "vivace:relaxation=printed,omega=1.2", "vivace:refresh=0", "block-descent", "gauss-seidel",
    "jacobi", "weighted-jacobi", "chebyshev(jacobi)", "chebyshev(vivace)", "pcg(jacobi)", "lbfgs(direct)", "direct",
    "multigrid", "chebyshev(multigrid)", "lbfgs(multigrid)", "lattice", "newton", "newton-multigrid", "descent",
]  # fmt: skip
POSITION_BASED = [
    "pbd",
    "pbd-coloured",
    "pbd-jacobi",
    "pbd-vivace",
    "chebyshev(pbd-jacobi)",
    "pbd-coloured:stiffness=0.8",
]


def _fold() -> Scene:
    """A cloth that folds over a ball on the floor, and touches itself."""
    scene = make_scene("tablecloth", resolution=16)
    cloth = replace(scene.model, groups=tuple(group for group in scene.model.groups if group.kind.name != "pin"))
    balls = [Plane((0.0, -0.6, 0.0)), Sphere(centre=(0.1, -0.3, 0.05), radius=0.25)]
    return replace(scene, model=cloth.collide(balls, thickness=0.02, friction=(0.4, 0.3)))


@cache
def made(scene: str) -> Scene:
    """The scene of that name, for all trajectories in it: simulations do not change scenes."""
    return SCENES[scene]()


def _simulate(scene: Scene, **options) -> Simulation:
    sim = Simulation(scene.model, time_step=scene.time_step, **options)
    if scene.start is not None:
        sim.positions = scene.start
    return sim


def _grab(sim: Simulation, frame: int) -> None:
    """Take a vertex at frame 10, move it, and let go at frame 30."""
    if 10 <= frame < 30:
        sim.grab(5, (0.3, 0.02 * (frame - 10), 0.4))
    elif frame == 30:
        sim.release()


def cases() -> list[tuple[str, str]]:
    """Scene and solver of every trajectory."""
    own = {"s1": POSITION_BASED}
    ways = [("tablecloth", way) for way in WAYS]
    found = [(scene, solver) for scene in SCENES for solver in own.get(scene, PROJECTIVE + POSITION_BASED)]
    return ways + [case for case in found if case != ("armadillo", "newton")]  # 20 s; the bar has tetrahedra, too


def trajectory(scene: str, solver: str, threads: int) -> tuple[str, list[float]]:
    """A digest of positions and velocities over the frames, and the centre of mass at their end (m)."""
    options, set_before = WAYS.get(solver, ({"solver": solver}, lambda sim, frame: None))
    sim = _simulate(made(scene), budget=Budget(iterations=ITERATIONS), threads=threads, seed=0, **options)
    digest = hashlib.sha256()
    try:
        for frame in range(FRAMES):
            set_before(sim, frame)
            sim.step()
            if frame % 10 == 9:
                digest.update(sim.positions.tobytes() + sim.velocities.tobytes())
    except InputError:  # a solver that does not know contacts, or some constraint: that must stay so, too
        return "refused", []
    masses = sim.model.masses
    return digest.hexdigest()[:16], [round(float(x), 4) for x in masses @ sim.positions / masses.sum()]


def fingerprint() -> str:
    """Everything that bits depend on beside this package."""
    features = llvm.get_host_cpu_features().flatten()
    parts = [
        platform.machine(),
        platform.system(),
        llvm.get_host_cpu_name(),
        hashlib.md5(features.encode()).hexdigest(),
    ]
    return " ".join([*parts, *(f"{name}-{version(name)}" for name in LIBRARIES)])


def recorded() -> dict[str, dict]:
    return json.loads(FILE.read_text()) if FILE.exists() else {"machines": {}, "centres": {}}


def main() -> None:
    old = recorded()
    hashes, centres, changed = {}, {}, 0
    known = old["machines"].get(fingerprint(), {})
    for scene, solver in cases():
        key = f"{scene} {solver}"
        hashes[key], centres[key] = trajectory(scene, solver, 2)
        same = hashes[key] == known.get(key)
        changed += not same
        print(f"{'same   ' if same else 'CHANGED'} {key:50s} {hashes[key]} {centres[key]}", flush=True)
    print(f"{changed} of {len(hashes)} differ from what is recorded")
    if "--write" in sys.argv:
        FILE.write_text(json.dumps({"machines": {fingerprint(): hashes}, "centres": centres}, indent=1) + "\n")


if __name__ == "__main__":
    main()
