"""Rigid bodies: a board is tilted slowly until a box on it slides, at the angle that its friction says.

`path` moves a body; contacts push those that are free.
"""

import numpy as np

import vivace as vv
from vivace.collisions import Box

FRICTION = 0.4
SPEED = 0.05  # rad/s


def tilt(time: float) -> tuple[np.ndarray, np.ndarray]:
    """Where the board is at a time: it stays in place, and turns about z."""
    return np.zeros(3), np.array([0.0, 0.0, SPEED * time])


def main() -> float:
    """The angle at which the box slides, in rad."""
    board = vv.Body(Box((0.0, 0.0, 0.0), (1.0, 0.02, 0.5)), friction=FRICTION, path=tilt)
    box = vv.Body(Box((0.0, 0.07, 0.0), (0.05, 0.05, 0.05)), density=500.0, friction=FRICTION)
    sim = vv.RigidSimulation([board, box], time_step=1 / 60, substeps=2)
    while True:
        report = sim.step()
        angle = SPEED * sim.time
        along = np.array([np.cos(angle), np.sin(angle), 0.0])
        place = along @ sim.positions[1]
        if place < -0.0002 or angle > 1.0:
            print(f"slides at {np.degrees(angle):.2f}°, with {len(report.contacts)} contacts")
            return angle


def test_final() -> None:
    """tan θ = μ, within what it turns until the box has slid two tenths of a millimetre."""
    assert abs(np.tan(main()) - FRICTION) < 0.01


if __name__ == "__main__":
    main()
