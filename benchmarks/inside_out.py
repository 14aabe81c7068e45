"""How many bodies come back from a tangle, every vertex anywhere in the box that the body filled.

    python benchmarks/inside_out.py                                  # every material as it comes
    python benchmarks/inside_out.py --pin left                       # held by one side
    python benchmarks/inside_out.py --no-untangle                    # by the materials' own energies alone
    python benchmarks/inside_out.py --strip strip.png                # a picture instead: with it and without it
    python benchmarks/inside_out.py --no-untangle --high 0.8 --low 0.3 --solvers newton-multigrid

"back": every stretch within a hundredth of 1. "free": nothing is inverted, but something is still tangled, as a star
of elements that is wound twice around a vertex: a minimum of the energy, in which any solver stays.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from vivace import Budget, Model, Simulation, State, mesh, neo_hookean
from vivace.hyperelastic import HYPERELASTIC, Conversion, svd
from vivace.model.materials import MATERIALS

NEAR = 0.01
SHOWN, SIZE = (0, 1, 2, 4, 8, 40), (230, 230)  # steps of a strip, of 1/120 s; a picture


def stretches(model: Model, q: np.ndarray) -> np.ndarray:
    """σ (m, 3) of all tetrahedra."""
    term = model.terms[0]
    x = q.astype(np.float64)[term.vertices]
    edges = (x[:, 1:] - x[:, :1]).transpose(0, 2, 1)
    return svd(edges @ term.elements.inverse.reshape(-1, 3, 3))[1]


def outcome(sim: Simulation, rest: State, frames: int, seed: int) -> tuple[str, int]:
    """What became of a tangle, and the frame."""
    model = sim.model
    low, high = model.mesh.bounds
    sim.state = rest
    sim.positions = np.random.default_rng(seed).uniform(low, high, model.mesh.vertices.shape)
    for frame in range(1, frames + 1):
        if not sim.step().finite:
            return "not finite", frame
        sigma = stretches(model, sim.positions)
        if np.abs(sigma - 1).max() < NEAR:
            return "back", frame
        if not sim.velocities.any():
            break
    return ("free" if sigma.min() > 0 else "inverted"), frame


def strip(path: Path, seed: int = 0) -> None:
    """A neo-Hookean box from a tangle to rest; in a second row by its own energy alone."""
    from PIL import Image

    from vivace.pictures.camera import Camera, bounds_of
    from vivace.pictures.opening import open_renderer

    body = mesh.cube(7, side=0.3)
    low, high = body.bounds
    start = np.random.default_rng(seed).uniform(low, high, body.vertices.shape)
    camera = Camera.framing(*bounds_of([1.7 * (body.vertices - body.vertices.mean(axis=0))]), direction=(0.5, 0.4, 1.0))
    out = Image.new("RGB", (SIZE[0] * len(SHOWN), SIZE[1] * 2))
    with open_renderer(body.triangles, camera, size=SIZE) as renderer:
        for row, untangle in enumerate((True, False)):
            material = neo_hookean(young=1e5, conversion=Conversion(untangle=untangle))
            model = Model.of(body, material, gravity=(0, 0, 0), air=2.0)
            sim = Simulation(model, budget=Budget(iterations=32), threads=1, time_step=1 / 120, substeps=1)
            sim.positions = start
            for frame in range(SHOWN[-1] + 1):
                if frame in SHOWN:
                    middle = sim.positions - sim.positions.mean(axis=0)
                    place = SIZE[0] * SHOWN.index(frame), SIZE[1] * row
                    out.paste(Image.fromarray(renderer.draw(middle)), place)
                sim.step()
    out.quantize(128).save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--frames", type=int, default=150)
    parser.add_argument("--vertices", type=int, default=4, help="along a side of the cube")
    parser.add_argument("--solvers", default="descent,newton-multigrid")
    parser.add_argument("--iterations", type=int, default=64)
    parser.add_argument("--materials", default=",".join(HYPERELASTIC))
    parser.add_argument("--low", type=float, help="of Conversion")
    parser.add_argument("--high", type=float, help="of Conversion")
    parser.add_argument("--untangle", action=argparse.BooleanOptionalAction, default=True, help="of Conversion")
    parser.add_argument("--pin", help="a group of the cube's vertices: left, right, top, bottom, front, back")
    parser.add_argument("--strip", type=Path, help="draw this picture (.png), and count nothing")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.strip is not None:
        strip(given.strip)
        return
    body, rows = mesh.cube(given.vertices, side=0.3), []
    for name in given.materials.split(","):
        conversion: bool | Conversion = True
        if HYPERELASTIC[name].high is None:
            conversion = given.untangle  # it has nothing else to convert
        elif given.high is not None or given.low is not None or not given.untangle:
            low = {} if given.low is None else {"low": given.low}
            conversion = Conversion(high=given.high, untangle=given.untangle, **low)
        material = MATERIALS[name](young=1e5, poisson=0.4, conversion=conversion)
        model = Model.of(body, material, gravity=(0, 0, 0), air=2.0)
        model = model if given.pin is None else model.pin(given.pin)
        for solver in given.solvers.split(","):
            budget = Budget(iterations=given.iterations)
            sim = Simulation(model, solver=solver, budget=budget, threads=1, time_step=1 / 30)
            rest = sim.state
            ends = [outcome(sim, rest, given.frames, seed) for seed in range(given.seeds)]
            counts = {what: sum(end == what for end, _ in ends) for what in ("back", "free", "inverted", "not finite")}
            times = [frame for end, frame in ends if end == "back"]
            rows.append({"material": name, "solver": solver, **counts, "frames": float(np.median(times or [np.nan]))})
            if not given.json:
                words = ", ".join(f"{count} {what}" for what, count in counts.items())
                print(f"{name:20s} {solver:18s} of {given.seeds}: {words}; {rows[-1]['frames']:.0f} frames", flush=True)
    if given.json:
        print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
