"""What our own code is worth where a library does the same: measured once, so that it is known and not believed.

    python benchmarks/choices.py [--only colouring,threads,boxes,convex]

colouring      sweeps over the colours of Brooks-Vizing against greedy ones: colours, cost, what is left of the residual
threads        the executor against Numba's prange: many short phases, as the colours of a sweep are
boxes          the hash grid against the bounding volume hierarchy of python-fcl (pip install python-fcl), which goes
               on to test triangles; both build what they walk
convex         contacts of pairs of boxes, capsules and hulls against distances by coal (pip install coal): one of ours
               finds up to eight points with names that stay, all pairs in a call; coal the distance, pair by pair

Back-substitution against cholespy and SuperLU is in solvers.py (--only substitution).

Both sides of a ratio take turns; medians, with quartiles in brackets.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numba import njit, prange, set_num_threads
from scipy.spatial.transform import Rotation

from vivace import Budget, Simulation, State
from vivace.backends.cpu.arguments import doubles, ints, phase_kernel
from vivace.backends.cpu.executor import Plan, default_threads
from vivace.collisions import Box, Capsule
from vivace.collisions.convex import ConvexMesh
from vivace.collisions.kernels.box_pairs import broad_phase_pairs
from vivace.rigid.contacts import ContactPoints
from vivace.rigid.detection import BodyDetector
from vivace.rigid.geometry import mass_properties
from vivace.scenes import make_scene


def in_turn(first: Callable[[], object], second: Callable[[], object], turns: int = 60) -> str:
    """Medians of both in µs, and of first ÷ second with its quartiles."""
    took = np.empty((turns, 2))
    for turn in range(-3, turns):
        for k, work in enumerate((first, second)):
            begin = time.perf_counter()
            work()
            took[turn, k] = time.perf_counter() - begin
    low, middle, high = np.percentile(took[:, 0] / took[:, 1], [25, 50, 75])
    a, b = 1e6 * np.median(took, axis=0)
    return f"{a:.0f} µs ÷ {b:.0f} µs = {middle:.2f} ({low:.2f} to {high:.2f})"


def colouring() -> None:
    for name, size in (("tablecloth", 100), ("tablecloth", 200), ("bar", 10)):
        scene = make_scene(name, resolution=size)
        for solver in ("vivace", "block-descent"):
            sims = []
            for algorithm in ("brooks-vizing", "greedy", "greedy-smallest-last"):
                options = {"budget": Budget(iterations=20), "substeps": 1}
                sims.append(scene.simulate(solver=f"{solver}:colouring_algorithm={algorithm}", **options))
                sims[-1].prepare(wait=True)
            for _ in range(20):
                sims[0].step()
            state = sims[0].state

            def step(sim: Simulation, state: State = state) -> float:
                sim.state = state  # everybody makes the same step
                return sim.step().residual

            for sim in sims:
                cost = in_turn(lambda s=sim: step(s), lambda s=sims[0]: step(s), 30)
                algorithm = sim.solver.colouring_algorithm
                print(f"{name} {size}, {solver}, {algorithm}: {sim.solver.colours} colours; {cost}; {step(sim):.5g}")


@phase_kernel(items="x")
def smooth(begin, end, iteration, x: doubles, y: doubles, other: ints):
    """Some arithmetic on each item and three others, as a vertex update has."""
    for i in range(begin, end):
        y[i] = 0.5 * y[i] + 0.25 * (x[other[3 * i]] + x[other[3 * i + 1]]) * x[other[3 * i + 2]]


@njit(parallel=True, cache=False, error_model="numpy")
def smooth_all(x, y, other, pointers, sweeps):
    for _ in range(sweeps):
        for colour in range(pointers.shape[0] - 1):
            for i in prange(pointers[colour], pointers[colour + 1]):
                y[i] = 0.5 * y[i] + 0.25 * (x[other[3 * i]] + x[other[3 * i + 1]]) * x[other[3 * i + 2]]


def threads() -> None:
    set_num_threads(default_threads())
    for items in (250, 2_500, 25_000):
        colours, sweeps = 4, 20
        rng = np.random.default_rng(0)
        x, y = rng.random((2, colours * items))
        other = rng.integers(0, len(x), 3 * len(x)).astype(np.int32)
        pointers = np.arange(colours + 1) * items
        phases = [smooth.over(int(a), int(b), x=x, y=y, other=other) for a, b in pairwise(pointers)]
        plan = Plan(phases, default_threads())
        found = in_turn(lambda p=plan: p.run(20), lambda a=x, b=y, c=other, at=pointers: smooth_all(a, b, c, at, 20))
        print(f"{sweeps} sweeps over {colours} colours of {items} items, executor ÷ prange: {found}")


def boxes() -> None:
    try:
        import fcl
    except ImportError:
        print("boxes: pip install python-fcl")
        return
    for size in (50, 100, 200):
        mesh = make_scene("tablecloth", resolution=size).model.mesh
        rng = np.random.default_rng(0)
        corners = mesh.vertices[mesh.triangles] + 0.002 * rng.standard_normal((1, 1, 3))
        upper = mesh.vertices.copy() + 0.001 * rng.standard_normal(mesh.vertices.shape)
        sheets = [corners, upper[mesh.triangles]]
        low, high = ([sheet.min(axis=1) for sheet in sheets], [sheet.max(axis=1) for sheet in sheets])

        def ours(threads: int, low=low, high=high) -> int:
            return len(broad_phase_pairs(low[0], high[0], (low[1], high[1]), threads))

        def theirs(a=mesh.vertices, b=upper, triangles=mesh.triangles) -> int:
            models = []
            for vertices in (a, b):
                model = fcl.BVHModel()
                model.beginModel(len(vertices), len(triangles))
                model.addSubModel(vertices, triangles)
                model.endModel()
                models.append(fcl.CollisionObject(model, fcl.Transform()))
            result = fcl.CollisionResult()
            return fcl.collide(*models, fcl.CollisionRequest(num_max_contacts=10_000_000), result)

        print(f"{len(mesh.triangles)} triangles: {ours(1)} pairs of boxes, {theirs()} pairs of triangles")
        for count in (1, default_threads()):
            print(f"  {count} threads, hash grid ÷ BVH (build and walk): {in_turn(lambda c=count: ours(c), theirs, 7)}")


def convex(pairs: int = 2000) -> None:
    try:
        import coal
    except ImportError:
        print("convex: pip install coal")
        return
    rng = np.random.default_rng(0)
    cloud = rng.standard_normal((40, 3))
    hull = ConvexMesh(0.1 * cloud / np.linalg.norm(cloud, axis=1, keepdims=True))
    hulled = coal.StdVec_Vec3s()
    hulled.extend(np.asarray(hull.vertices, float))
    shapes = {
        "box": (Box((0, 0, 0), (0.1, 0.08, 0.06)), coal.Box(0.2, 0.16, 0.12)),
        "capsule": (Capsule((0, 0, -0.1), (0, 0, 0.1), 0.05), coal.Capsule(0.05, 0.2)),
        "hull": (hull, coal.Convex.convexHull(hulled, False, "")),
    }
    for name, (mine, theirs) in shapes.items():
        apart = rng.standard_normal((pairs, 3))
        places = np.zeros((pairs, 2, 3))
        places[:, :, 0] = 10.0 * np.arange(pairs)[:, None]  # a pair meets none but its own
        places[:, 1] += 0.25 * apart / np.linalg.norm(apart, axis=1, keepdims=True)
        places, turns = places.reshape(-1, 3), Rotation.random(2 * pairs, rng).as_matrix()
        detector = BodyDetector([mine] * (2 * pairs), [True] * (2 * pairs))
        made = mass_properties([mine])  # bodies turn about their principal axes, coal's shapes about their own
        whole = turns @ made.rotations[0].T
        poses = [coal.Transform3s(turn, x) for turn, x in zip(whole, places - whole @ made.positions[0], strict=True)]
        request, gaps = coal.DistanceRequest(), np.empty(pairs)

        def by_coal(poses=poses, theirs=theirs, gaps=gaps, request=request) -> None:
            for k in range(pairs):
                gaps[k] = coal.distance(theirs, poses[2 * k], theirs, poses[2 * k + 1], request, coal.DistanceResult())

        def ours(detector=detector, places=places, turns=turns) -> ContactPoints:
            return detector.find(places, turns, 1.0, 1)

        by_coal()
        found, least = ours(), np.full(pairs, np.inf)
        np.minimum.at(least, found.bodies[:, 0] // 2, found.gaps)
        off = np.abs(least - gaps)[gaps > 0].max()
        print(
            f"{pairs} pairs of {name}, {np.mean(gaps > 0):.0%} apart: ours ÷ coal {in_turn(ours, by_coal, 15)}; "
            f"distances differ by {off:.1e} m at most"
        )


def main() -> None:
    parts = {part.__name__: part for part in (colouring, threads, boxes, convex)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(parts), help="parts, with commas between them")
    for name in parser.parse_args().only.split(","):
        parts[name]()


if __name__ == "__main__":
    main()
