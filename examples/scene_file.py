"""A scene as a file: what is simulated, by whom and under which budget, in TOML.

`load_scene` reads a scene file, the name of a scene (`vivace list scenes`) or a mesh file, and tells what is wrong
with it before anything runs. `vivace run FILE` and `vivace view FILE` take the same file. docs/scenes.md has all
tables.
"""

import tempfile
from pathlib import Path

import numpy as np

import vivace as vv

TEXT = """
[mesh]
generator = "ball"            # or file = "bunny.obj", beside this file
n = 6
radius = 0.1                  # m
translate = [0.0, 0.6, 0.0]
[material]
kind = "solid"
density = 200.0               # kg/m³
youngs_modulus = 5e4          # Pa
[world]
time_step = 0.01              # s
substeps = 1
[collisions]
thickness = 0.005             # m
[[collisions.colliders]]
kind = "plane"                # the ground, y = 0
[budget]
iterations = 16
"""


def test_final() -> None:
    """It falls by implicit Euler's g h² n (n + 1) / 2, bounces lower than it was, and comes to lie on the ground."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ball.toml"
        file.write_text(TEXT, encoding="utf-8")
        scene = vv.load_scene(file)
    sim, heights, flight = scene.simulate(), [], True
    for n in range(1, 201):
        flight = sim.step().contacts == 0 and flight
        heights.append(np.average(sim.positions[:, 1], weights=scene.model.masses))
        assert not flight or abs(heights[-1] - (0.6 - 9.81 * 0.01**2 * n * (n + 1) / 2)) < 1e-4
    landed = int(np.argmin(heights))
    print(f"lands after {landed / 100:.2f} s, bounces to {max(heights[landed:]):.3f} m, lies at {heights[-1]:.3f} m")
    assert 30 < landed < 40  # √(2 · 0.5 m / g) = 0.32 s
    assert 0.11 < max(heights[landed:]) < 0.6
    assert abs(sim.positions[:, 1].min() - 0.005) < 1e-3
    assert 0.095 < heights[-1] < 0.105  # its radius and the thickness, less what its weight presses together


if __name__ == "__main__":
    test_final()
