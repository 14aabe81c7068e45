"""Newton's hanging cloth by its own solvers and by SolverVivace: milliseconds a frame, centimetres from converged runs.

    python benchmarks/newton_cloth.py          # a minute of compiling first, then some minutes of converged runs

Two models of the same sheet, as the example makes them: of springs, for XPBD, and of triangles, for VBD. Damping of
elements is set to zero. In the model of springs so is bending, which XPBD counts in its own way, and particles do not
push each other, as grains would. Springs are the same in both, and are held to one converged run, XPBD's; triangles are
linear in ours and neo-Hookean in Newton's, and each is held to a converged run of its own. That is the same solver in
very small steps.
"""

from __future__ import annotations

import argparse
import json
import time

import newton
import newton.examples
import newton.viewer
import numpy as np
import warp as wp
from newton.examples.cloth.example_cloth_hanging import Example

from vivace.newton import SolverVivace

FRAMES, SEEN = 60, (30, 60)  # at 60 frames a second: after 0.5 and 1 s


class Hanging(Example):
    """The example without damping, with a solver of one's own."""

    def __init__(self, kind: str, width: int, height: int):
        options = ["--viewer", "null", "--solver", kind, "--width", str(width), "--height", str(height)]
        super().__init__(newton.viewer.ViewerNull(num_frames=FRAMES), Example.create_parser().parse_args(options))

    def capture(self) -> None:
        self.graph = None
        for array in (self.model.tri_materials, self.model.edge_bending_properties, self.model.spring_damping):
            if array is not None and array.size:
                array.numpy()[..., 2 if array is self.model.tri_materials else slice(-1, None)] = 0.0
        if self.solver_type == "xpbd":  # whose bending is another energy
            self.model.edge_bending_properties.numpy()[:] = 0.0
            self.model.particle_grid, self.model.particle_max_radius = None, 0.0  # or particles push each other

    def run(self, solver, substeps: int, collide: bool = True) -> tuple[float, list[np.ndarray]]:
        """Median milliseconds of a frame, and positions at the times that are compared."""
        states, places, times = [self.model.state(), self.model.state()], [], []
        for frame in range(FRAMES):
            begun = time.perf_counter()
            for _ in range(substeps):
                states[0].clear_forces()
                if collide:
                    self.collision_pipeline.collide(states[0], self.contacts)
                solver.step(states[0], states[1], self.control, self.contacts, 1 / (60 * substeps))
                states.reverse()
            times.append(1e3 * (time.perf_counter() - begun))
            if frame + 1 in SEEN:
                places.append(states[0].particle_q.numpy().copy())
        return float(np.median(times)), places


def apart(found: list[np.ndarray], reference: list[np.ndarray]) -> list[float]:
    """RMS centimetres at each time."""
    return [100 * float(np.sqrt(np.mean(np.sum((a - b) ** 2, axis=1)))) for a, b in zip(found, reference, strict=True)]


def measure(kind: str, own, width: int, height: int, fine: tuple[int, int]) -> list[dict]:
    """Rows of one model."""
    example = Hanging(kind, width, height)
    ours = {"triangles": kind == "vbd", "springs": kind == "xpbd"}
    theirs = example.run(own(example.model, fine[1]), fine[0])[1]
    if kind == "xpbd":
        reference = theirs
    else:
        fully = SolverVivace(example.model, iterations=16, substeps=1, **ours)
        reference = example.run(fully, fine[0], collide=False)[1]
    rows = [{"model": kind, "solver": "between the two converged runs", "cm": apart(reference, theirs)}]
    for substeps, iterations in ((10, 10), (10, 4), (2, 10)):
        ms, places = example.run(own(example.model, iterations), substeps)
        name = f"Newton's {kind.upper()}, {substeps} steps x {iterations} iterations"
        rows.append({"model": kind, "solver": name, "ms": ms, "cm": apart(places, theirs)})
    for options in ({"substeps": "auto", "iterations": 8}, {}, {"substeps": 10, "iterations": 40}, {"budget_ms": 16}):
        ms, places = example.run(SolverVivace(example.model, **ours, **options), 1, collide=False)
        said = ", ".join(f"{key}={value}" for key, value in options.items())
        rows.append({"model": kind, "solver": f"SolverVivace({said})", "ms": ms, "cm": apart(places, reference)})
    return rows


def vbd(model, iterations: int):
    return newton.solvers.SolverVBD(model=model, iterations=iterations)


def xpbd(model, iterations: int):
    return newton.solvers.SolverXPBD(model=model, iterations=iterations)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--height", type=int, default=16)
    parser.add_argument("--fine", type=int, default=24, help="steps a frame of the converged runs")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    wp.config.log_level = wp.LOG_WARNING
    size = arguments.width, arguments.height
    with wp.ScopedDevice("cpu"):
        rows = measure("xpbd", xpbd, *size, (arguments.fine, 20)) + measure("vbd", vbd, *size, (arguments.fine, 10))
    if arguments.json:
        print(json.dumps(rows))
        return
    print(f"{size[0]} x {size[1]} cells\n{'model':6} {'solver':42} {'ms/frame':>9} {'cm, 0.5 s':>10} {'cm, 1 s':>9}")
    for row in rows:
        ms = f"{row['ms']:9.1f}" if "ms" in row else " " * 9
        print(f"{row['model']:6} {row['solver']:42} {ms} {row['cm'][0]:10.2f} {row['cm'][1]:9.2f}")


if __name__ == "__main__":
    main()
