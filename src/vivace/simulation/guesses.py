"""Where solvers begin a step: the first guess q⁽⁰⁾ of its positions, by name.

    inertia        the prediction s, what the body would do if nothing held it
    adaptive       s without what the last steps did not let through of gravity and other forces [chen2024, section 3.7]
    position       q                                       these four are those of [fratarcangeli2018, section 3.2.4]
    velocity       q + h v
    acceleration   q + h v + η h (v - v_before), η = 0.2
    optimised      q + d v, d the minimum of ε along v as far as its slope and curvature at q tell (Eq. 38)

A guess changes how far a number of iterations gets, and not the goal. In all of them pinned vertices are at their
targets, if the solver wants them there. What is needed of the step before is part of a simulation's state.

The default is "inertia", although the paper's is "acceleration": the paper's four know nothing of gravity until a
solver has carried it through the body, so that with too few iterations what should fall hangs in the air
(docs/descent.md has the centimetres).
"""

from __future__ import annotations

import numpy as np

from ..collisions.contacts import Contacts
from ..energy.system import Frame, System
from .motion import GUESSES, Motion, as_points

__all__ = ["GUESSES", "best_share", "take_guess"]

ETA = 0.2  # share of the last acceleration
NEAR = 1e-5  # of the body's size: how far along v the slope of ε is looked at


def take_guess(name: str, motion: Motion, system: System, contacts: Contacts, targets: np.ndarray) -> None:
    """Write a step's first guess to `motion.start`, where the prediction has put s."""
    if name == "adaptive":
        if motion.moving:
            motion.hold_back(contacts)
        return
    if name == "inertia":
        return
    travelled = np.float32(motion.length) / motion.per_velocity  # h, in the units of v
    way = travelled * motion.v
    if name == "position":
        way[:] = 0.0
    elif name == "acceleration" and motion.moving:
        way += np.float32(ETA) * travelled * (motion.v - motion.before)
    elif name == "optimised":
        frame = motion.problem(motion.origin, targets)()
        way *= np.float32(best_share(system, frame, as_points(motion.q), as_points(way)))
    np.copyto(motion.start, motion.q + way, where=~motion.snapped[:, None])


def best_share(system: System, frame: Frame, q: np.ndarray, way: np.ndarray) -> float:
    """d/h of [fratarcangeli2018, Eq. 38], -w·∇ε / w·Hw along the way w = h v; 1 where ε is not convex along it.

    w·Hw is the difference of slopes at both sides of q: exact for what is quadratic, and to second order otherwise.
    """
    longest = float(np.abs(way).max(initial=0.0))
    if longest == 0.0:
        return 1.0
    near = NEAR * float(np.ptp(q, axis=0).max()) / longest
    before, here, after = (float(np.sum(way * system.gradient(q + part * way, frame))) for part in (-near, 0.0, near))
    curvature = (after - before) / (2.0 * near)
    return -here / curvature if curvature > 0.0 and np.isfinite([here, curvature]).all() else 1.0
