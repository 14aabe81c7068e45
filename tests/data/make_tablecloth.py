"""Makes tablecloth.npz, which tests/test_motion.py holds `auto` to: two minutes.

    python tests/data/make_tablecloth.py

The tablecloth of 30 x 30 vertices let go from the horizontal, h = 33 ms in eight substeps, each solved by "newton"
(float64, 8 iterations; the gradient that is left is what rounding positions to float32 makes, some u |q| Y_ii √(3n)):
positions (m) at the end of some frames. The substeps are those that `auto` takes for 16 iterations, so that what lies
between the two is what `auto` has not solved.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vivace import Budget
from vivace.scenes import make_scene

RESOLUTION, TIME_STEP, SUBSTEPS, ITERATIONS = 30, 0.033, 8, 8
FRAMES = (8, 15, 23, 30)  # 0.26, 0.5, 0.76 and 1 s


def main() -> None:
    scene = make_scene("tablecloth", resolution=RESOLUTION, time_step=TIME_STEP)
    budget = Budget(iterations=ITERATIONS * SUBSTEPS)
    sim = scene.simulate(solver="newton", budget=budget, substeps=SUBSTEPS, threads=1)
    kept, last = [], np.inf
    for frame in range(1, max(FRAMES) + 1):
        last = sim.step().gradient
        if frame in FRAMES:
            kept.append(sim.positions)
            print(f"frame {frame}: gradient {last:.2e} N")
    out = Path(__file__).with_name("tablecloth.npz")
    np.savez_compressed(out, frames=FRAMES, positions=np.array(kept, np.float32))
    print(f"{out}: {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
