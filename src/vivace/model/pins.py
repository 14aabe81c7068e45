"""What is held: pins at their targets, seams to each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..checks import LARGEST, check_within, real_array, shown
from ..constraints import ConstraintGroup, Role
from ..errors import InputError


def pin_targets(target: object, order: np.ndarray) -> np.ndarray:
    """(k, 3) targets of k pins: one position for all, or one for each, taken in this `order`."""
    given = real_array(target)
    if given is None:
        raise InputError(f"pin targets must be numbers, not {shown(target)}")
    each = (len(order), 3)
    if given.shape == each:
        given = given[order]
    if given.shape not in ((3,), each) or not np.isfinite(given).all():
        raise InputError(f"pin targets must be finite, of shape (3,) or {each}, not {given.shape}")
    check_within("pin targets", given, LARGEST)
    return np.broadcast_to(given, each)


def unpinned(groups: Sequence[ConstraintGroup], free: Sequence[int]) -> tuple[ConstraintGroup, ...]:
    """The groups without the pins of some vertices."""
    left = []
    for group in groups:
        stay = group.kind.role is not Role.TARGET or ~np.isin(group.vertices[:, 0], free)
        if np.all(stay):
            left.append(group)
        elif np.any(stay):
            arrays = group.vertices[stay], group.operator[stay], group.weights[stay], group.parameters[stay]
            left.append(ConstraintGroup(group.kind, *arrays))
    return tuple(left)


def pairs_at_one_place(vertices: np.ndarray, index: np.ndarray) -> np.ndarray:
    """(k, 2) of the vertices `index`: each with the next that is at the same place, to be sewn together."""
    _, place = np.unique(vertices[index], axis=0, return_inverse=True)
    order = np.argsort(place.ravel(), kind="stable")
    again = np.flatnonzero(np.diff(place.ravel()[order]) == 0)
    if not len(again):
        raise InputError("there is nothing to sew: no two of the vertices are at the same place")
    return np.column_stack([index[order[again]], index[order[again + 1]]])
