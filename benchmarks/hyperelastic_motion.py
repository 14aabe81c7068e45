"""How solvers move a hyperelastic armadillo that hangs by one hand, beside the converged run.

    python benchmarks/hyperelastic_motion.py [--armadillo FILE] [--young 2e5] [--ms 33] [--frames 30] [--out strip.png]

Prints the mean distance from the converged run, in centimetres and in per cent of the mean way of all vertices, and
draws a strip of pictures: a row for each solver. Without a file a generated body stands in for the armadillo.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import vivace as vv
from vivace.pictures.camera import Camera, bounds_of
from vivace.pictures.opening import open_renderer
from vivace.scenes import make_scene

H = 1 / 30  # s
CONVERGED = vv.Budget(iterations=48)  # six Hessians a step
SHOWN = (0.25, 0.5, 1.0)  # parts of the run
SIZE = (300, 300)


def moved(model: vv.Model, solver: str, budget: vv.Budget, frames: int) -> tuple[np.ndarray, float]:
    """Positions after every step, and the median of milliseconds a step; compiled and warm before."""
    vv.Simulation(model, solver=solver, time_step=H, budget=budget).step()
    sim, steps, spent = vv.Simulation(model, solver=solver, time_step=H, budget=budget), [], []
    for _ in range(frames):
        spent.append(sim.step().ms)
        steps.append(sim.positions.astype(np.float64))
    return np.array(steps), float(np.median(spent))


def strip(path: Path, model: vv.Model, rows: list[np.ndarray], frames: list[int]) -> None:
    """A row of pictures for each run, seen from where the first one is seen whole."""
    from PIL import Image

    low, high = bounds_of([rows[0].reshape(-1, 3)])
    camera = Camera.framing(low, high, direction=(0.3, 0.15, 1.0))
    out = Image.new("RGB", (SIZE[0] * len(frames), SIZE[1] * len(rows)))
    with open_renderer(model.mesh.triangles, camera, size=SIZE) as renderer:
        for i, run in enumerate(rows):
            for k, frame in enumerate(frames):
                out.paste(Image.fromarray(renderer.draw(run[frame])), (SIZE[0] * k, SIZE[1] * i))
    out.save(path, optimize=True)


def main() -> None:
    """Run all, print, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--armadillo", default="", help="a mesh of tetrahedra")
    parser.add_argument("--resolution", type=int, default=43, help="of the body that stands in for it")
    parser.add_argument("--young", type=float, default=2e5, help="Young's modulus (Pa)")
    parser.add_argument("--ms", type=float, default=33.0, help="a step")
    parser.add_argument("--frames", type=int, default=30, help=f"of {H:.3g} s each")
    parser.add_argument("--out", type=Path, help="a picture (.png)")
    given = parser.parse_args()
    own = {"path": given.armadillo} if given.armadillo else {"resolution": given.resolution}
    model = make_scene("armadillo", material="neo-hookean", youngs_modulus=given.young, poisson_ratio=0.4, **own).model
    frames = [max(0, round(part * given.frames) - 1) for part in SHOWN]
    print("converged", file=sys.stderr, flush=True)
    wanted, _ = moved(model, "newton-multigrid", CONVERGED, given.frames)
    steps = np.diff(wanted, axis=0, prepend=model.mesh.vertices[None])
    way = np.linalg.norm(steps, axis=2).mean(axis=1).cumsum()
    timed, few = vv.Budget(ms=given.ms), vv.Budget(iterations=8)
    runs = [("newton-multigrid", few), ("newton-multigrid", timed), ("descent", timed)]
    runs += [("descent:momentum=nesterov", timed), ("descent", vv.Budget(iterations=96))]
    rows = [wanted]
    for solver, budget in runs:
        asked = f"{budget.iterations} iterations" if budget.ms is None else f"{budget.ms:g} ms"
        print(f"{solver}, {asked}", file=sys.stderr, flush=True)
        found, ms = moved(model, solver, budget, given.frames)
        off = np.linalg.norm(found - wanted, axis=2).mean(axis=1)
        told = ", ".join(f"{100 * off[k]:.2f} cm ({100 * off[k] / way[k]:.1f} %)" for k in frames)
        times = ", ".join(f"{(k + 1) * H:.2f}" for k in frames)
        print(f"{solver:28} {asked:14} {ms:7.1f} ms a step; after {times} s: {told}", flush=True)
        rows.append(found)
    if given.out is not None:
        strip(given.out, model, rows, frames)


if __name__ == "__main__":
    main()
