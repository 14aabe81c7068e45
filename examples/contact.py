"""Contact and friction: a body rests on the ground up to the angle of friction, and slides beyond it as Coulomb says.

Instead of the ground, gravity is tilted by θ. A collider is anything of `vivace.collisions`: `Plane`, `Sphere`, `Box`,
`Capsule`, furniture, or a closed mesh (`Sampled.of`). `thickness` is the distance that contacts keep, `friction` is
Coulomb's μ; with `itself=False` the body does not look for contacts with itself.
"""

import numpy as np

import vivace as vv
from vivace.collisions import Plane, penetration

FRICTION, THICKNESS, GRAVITY = 0.4, 0.004, 9.81


def slide(degrees, frames=90):
    """Drop a cube on a slope; its speed down the slope after each frame (m/s), and the simulation."""
    cube = vv.mesh.cube(5, side=0.2).transformed(translate=(0, 0.1 + THICKNESS, 0))
    tilt = np.radians(degrees)
    gravity = GRAVITY * np.array([np.sin(tilt), -np.cos(tilt), 0.0])
    model = vv.Model.of(cube, vv.Solid(density=500, youngs_modulus=1e5), gravity=gravity)
    model = model.collide([Plane()], thickness=THICKNESS, friction=FRICTION, itself=False)
    sim = vv.Simulation(model, budget=vv.Budget(iterations=16), time_step=1 / 60)
    speeds = []
    for _ in range(frames):
        sim.step()
        speeds.append(np.average(sim.velocities[:, 0], weights=model.masses))
    return np.array(speeds), sim


def test_final() -> None:
    """tan 20° < μ < tan 30°: it rests on the one slope, and slides down the other with g (sin θ - μ cos θ)."""
    speeds, sim = slide(20)
    assert np.abs(sim.velocities).max() < 1e-4
    assert penetration([Plane()], sim.positions).max() == 0
    assert abs(sim.positions[:, 1].min() - THICKNESS) < 1e-4  # it lies where contacts begin

    speeds, sim = slide(30)
    found = np.polyfit(np.arange(30, 90) / 60, speeds[30:], 1)[0]
    expected = GRAVITY * (np.sin(np.radians(30)) - FRICTION * np.cos(np.radians(30)))
    print(f"at 30° it accelerates with {found:.4f} m/s², by Coulomb's law with {expected:.4f}")
    assert abs(found / expected - 1) < 0.01


if __name__ == "__main__":
    test_final()
