"""Grabbing by program, as a hand does it in the live app: pick with a ray, drag, fling, let go.

`sim.grab(ray)` holds the vertex that a ray points at; `sim.grab(vertex, target)` moves it; `sim.grab([3, 4], targets)`
holds several; `sim.release()` lets go. What is grabbed is a pin that moves, a spring of stiffness
`model.pin_stiffness` between vertex and hand: what it is stretched by tells the force on the hand.
"""

import numpy as np

import vivace as vv

GRAVITY, AIR, STEP, SUBSTEPS = np.array([0.0, -9.81, 0.0]), 3.0, 1 / 60, 2


def test_final() -> None:
    """Held still, the hand carries the ball's weight; let go of, its centre flies through the air as a point would."""
    ball = vv.mesh.ball(5, radius=0.1).transformed(translate=(0, 1, 0))
    model = vv.Model.of(ball, vv.Solid(density=300, youngs_modulus=3e4), gravity=GRAVITY, air=AIR)
    sim = vv.Simulation(model, budget=vv.Budget(iterations=12), time_step=STEP, substeps=SUBSTEPS)

    assert sim.grab(((0.5, 3.0, 0.0), (0.0, -1.0, 0.0))) is None  # a ray, origin and direction, that misses
    vertex = sim.grab(((0.01, 3.0, 0.01), (0.0, -1.0, 0.0)))
    hand = sim.positions[vertex].astype(float)
    for _ in range(180):  # hold it until it hangs still
        sim.step()
    force = model.pin_stiffness * (hand - sim.positions[vertex])
    print(f"the hand carries {force[1]:.2f} N, the ball weighs {-GRAVITY[1] * model.masses.sum():.2f} N")
    assert np.linalg.norm(force + GRAVITY * model.masses.sum()) < 0.01 * np.linalg.norm(force)

    for _ in range(20):  # fling it: 2 m/s to the right
        hand[0] += 2.0 * STEP
        sim.grab(vertex, hand)
        sim.step()
    sim.release()
    assert sim.grabbed == ()
    flight, h = np.average(sim.velocities, axis=0, weights=model.masses), STEP / SUBSTEPS
    print(f"let go of at {np.linalg.norm(flight):.2f} m/s")
    assert flight[0] > 1.5
    for _ in range(30):
        sim.step()
        for _ in range(SUBSTEPS):  # implicit Euler of v' = g - air v
            flight = (flight + h * GRAVITY) / (1 + AIR * h)
        assert np.abs(np.average(sim.velocities, axis=0, weights=model.masses) - flight).max() < 1e-4


if __name__ == "__main__":
    test_final()
