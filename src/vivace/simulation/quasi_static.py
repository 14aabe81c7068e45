"""Steps without inertia: what holds a body, and when it has come to rest.

A step of integrator="quasi-static" minimises what is stored, less the work of gravity and other forces, from where the
last step ended (`System` with `static`). How near it comes is the solver's affair, as in every step: `settle` goes on
until nothing moves any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse.csgraph

from ..checks import is_number, is_whole, shown
from ..energy.system import System
from ..errors import InputError
from ..hyperelastic.term import Hyperelastic
from .report import Report

BALANCED = 0.05  # of the load: what may be left of it
ROUNDING = 2.0**-24  # of a coordinate


@dataclass(frozen=True)
class Equilibrium:
    """How a search for equilibrium ended.

    Attributes:
        arrived: whether the last step moved no vertex by more than was asked for, and forces are in balance to BALANCED
            of the load, or as far as float32 positions can tell.
        steps: how many were made.
        moved: the largest way of a vertex in the last one (m).
        unbalanced: norm of the forces that are left at vertices that no pin holds (N).
        load: norm of the external forces (N), gravity and what pins pull with among them, which is what to compare it
            with.
    """

    arrived: bool
    steps: int
    moved: float
    unbalanced: float
    load: float


def check_held(system: System) -> None:
    """Refuse a model of which a part could go away without limit: without inertia nothing else holds it.

    A part is what constraints and elements connect. Whether a term of a user's own, or a constraint known by its value,
    holds one cannot be told, so a model that has some is taken as it is.
    """
    model = system.model
    if system.positional or not all(isinstance(term, Hyperelastic) for term in model.terms):
        return
    count, part = scipy.sparse.csgraph.connected_components(system.off, directed=False)
    held = np.zeros(count, bool)
    held[part[(system.pin_weight > 0) | (system.stiffness_tie > 1e-6 * system.stiffness_diagonal)]] = True
    if held.all():
        return
    free = np.flatnonzero(~held[part])
    which = "nothing holds the model" if not held.any() else f"nothing holds {len(free)} vertices, {free[0]} among them"
    raise InputError(
        f'{which}: with integrator="quasi-static" a body that is free has no equilibrium; pin or grab one of its '
        'vertices, or take integrator="euler"'
    )


def settle(step: Callable[[], Report], start: np.ndarray, within: float, most: int) -> Equilibrium:
    """Make steps from positions `start` (n, 3) until nothing moves: what `Simulation.equilibrium` does."""
    if not is_number(within) or not within > 0:
        raise InputError(f"within must be a positive length in m, not {shown(within)}")
    if not is_whole(most) or most < 1:
        raise InputError(f"most must be a whole number of steps, at least 1, not {shown(most)}")
    moved, steps, before = np.inf, 0, start
    while steps < most and not moved <= within:  # a step that moves nothing would be followed by others like it
        report = step()
        steps += 1
        moved = float(np.linalg.norm(report.positions - before, axis=1).max(initial=0.0))
        before = report.positions
    free, frame, q = report.system.pin_weight == 0, report.frame, report.positions.astype(np.float64)
    load = np.zeros(q.shape) if frame.load is None else frame.load.copy()
    firm = np.concatenate([np.zeros(0), *(group.weights for group in report.system.pins)])
    np.add.at(load, report.system.model.pinned, firm[:, None] * (frame.targets - q[report.system.model.pinned]))
    left, whole = float(np.linalg.norm(report.forces()[free])), float(np.linalg.norm(load))
    rounding = ROUNDING * float(np.linalg.norm(report.system.diagonal[free, None] * q[free]))
    balanced = bool(left <= max(BALANCED * whole, rounding))
    return Equilibrium(moved <= within and balanced, steps, moved, left, whole)
