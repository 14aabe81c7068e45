"""How solvers move hyperelastic bodies beside converged runs: an armadillo that hangs by a hand, or a bar by one end.

    python benchmarks/hyperelastic_motion.py [--body bar] [--armadillo FILE] [--ms 33] [--frames 60] [--out strip.png]

Prints milliseconds a step and the mean distance from the converged run after 0.25, 0.5, 1 and 2 s, in centimetres and
in per cent of the mean length of all vertices' paths, and draws a strip of pictures: a row for each solver. Without a
file a generated body stands in for the armadillo.
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
CONVERGED = vv.Budget(iterations=48)  # twelve Hessians a step
SHOWN = (0.25, 0.5, 1.0, 2.0)  # s
TIMED = (  # each of them has the milliseconds that are asked for
    *("newton-multigrid", "descent", "descent:momentum=nesterov", "descent:direction=l-bfgs"),
    *("descent:direction=nonlinear-cg", "descent:direction=gauss-seidel"),
)
COUNTED = (("newton-multigrid", 8), ("descent", 96))  # iterations
SIZE = (300, 300)


def hung(given: argparse.Namespace) -> vv.Model:
    """The body, neo-Hookean."""
    if given.body == "bar":
        n = given.resolution or 14
        bar = vv.mesh.bar(4 * n - 1, n, n, size=(1.0, 0.2, 0.2))
        return vv.Model.of(bar, vv.neo_hookean(young=given.young or 1e5, poisson=0.4, density=1000)).pin("left")
    own = {"path": given.armadillo} if given.armadillo else {"resolution": given.resolution or 43}
    young = given.young or 2e5
    return make_scene("armadillo", material="neo-hookean", youngs_modulus=young, poisson_ratio=0.4, **own).model


def moved(model: vv.Model, solver: str, budget: vv.Budget, frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions after every step, and milliseconds of each; compiled and warm before."""
    vv.Simulation(model, solver=solver, time_step=H, budget=budget).step()
    sim, steps, spent = vv.Simulation(model, solver=solver, time_step=H, budget=budget), [], []
    for _ in range(frames):
        spent.append(sim.step().ms)
        steps.append(sim.positions.astype(np.float64))
    return np.array(steps), np.array(spent)


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
    parser.add_argument("--body", choices=("armadillo", "bar"), default="armadillo")
    parser.add_argument("--armadillo", default="", help="a mesh of tetrahedra")
    parser.add_argument("--resolution", type=int, default=0, help="of the body that stands in for it, or of the bar")
    parser.add_argument("--young", type=float, default=0.0, help="Young's modulus (Pa; default 2e5, of the bar 1e5)")
    parser.add_argument("--ms", type=float, default=33.0, help="a step (default 33)")
    parser.add_argument("--frames", type=int, default=60, help=f"of {H:.3g} s each (default 60)")
    parser.add_argument("--out", type=Path, help="a picture (.png)")
    given = parser.parse_args()
    model = hung(given)
    frames = [min(round(time / H), given.frames) - 1 for time in SHOWN]
    frames = sorted({max(frame, 0) for frame in frames})
    print(
        f"{given.body}: {model.n} vertices, {len(model.mesh.tets)} tetrahedra; converged", file=sys.stderr, flush=True
    )
    wanted, _ = moved(model, "newton-multigrid", CONVERGED, given.frames)
    steps = np.diff(wanted, axis=0, prepend=model.mesh.vertices[None])
    way = np.linalg.norm(steps, axis=2).mean(axis=1).cumsum()
    runs = [(solver, vv.Budget(ms=given.ms)) for solver in TIMED]
    runs += [(solver, vv.Budget(iterations=count)) for solver, count in COUNTED]
    rows = [wanted]
    for solver, budget in runs:
        asked = f"{budget.iterations} iterations" if budget.ms is None else f"{budget.ms:g} ms"
        print(f"{solver}, {asked}", file=sys.stderr, flush=True)
        found, ms = moved(model, solver, budget, given.frames)
        off = np.linalg.norm(found - wanted, axis=2).mean(axis=1)
        told = ", ".join(f"{100 * off[k]:.2f} cm ({100 * off[k] / way[k]:.1f} %)" for k in frames)
        times = ", ".join(f"{(k + 1) * H:.2f}" for k in frames)
        median, low, high = np.percentile(ms, [50, 10, 90])
        spent = f"{median:6.1f} ({low:.1f} to {high:.1f}) ms a step"
        print(f"{solver:32} {asked:13} {spent}; after {times} s: {told}", flush=True)
        rows.append(found)
    if given.out is not None:
        strip(given.out, model, rows, frames)


if __name__ == "__main__":
    main()
