"""Friction by pairs: what a contact has depends on the two that touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..storage import storable
from .contacts import ContactList


@storable("friction-between")
@dataclass(frozen=True, eq=False)
class Between:
    """The friction between some vertices and other vertices, or a collider or rigid body.

    Attributes:
        first: numbers of vertices, sorted.
        second: likewise, or None.
        number: of a collider, or of a rigid body counted on from these; -1 where `second` is given.
        friction: static and kinetic coefficient.
    """

    first: np.ndarray
    second: np.ndarray | None
    number: int
    friction: tuple[float, float]


class Pairing:
    """Looks the friction of contacts up, for a mesh of n vertices; where several hold, the last does."""

    def __init__(self, n: int, between: Sequence[Between]):
        self._rows = list[tuple[np.ndarray, np.ndarray | None, int, np.ndarray]]()
        for row in between:
            masks = [np.zeros(n, bool), None if row.second is None else np.zeros(n, bool)]
            for mask, members in zip(masks, (row.first, row.second), strict=True):
                if mask is not None and members is not None:
                    if len(members) and members.max() >= n:
                        raise InputError(f"friction between vertices up to {members.max()}, but there are {n} only")
                    mask[members] = True
            assert masks[0] is not None
            self._rows.append((masks[0], masks[1], row.number, np.array(row.friction, np.float32)))

    def of_things(self, contacts: ContactList) -> None:
        """Vertices, or triangles, against colliders and rigid bodies."""
        for mask, other, number, friction in self._rows if len(contacts) else ():
            if other is None:
                contacts.friction[mask[contacts.vertices[:, 0]] & (contacts.second == number)] = friction

    def of_surfaces(self, contacts: ContactList) -> None:
        """Surfaces against surfaces: the first vertex is of one side, the last of the other."""
        for mask, other, _, friction in self._rows if len(contacts) else ():
            if other is not None:
                a, b = contacts.vertices[:, 0], contacts.vertices[:, 3]
                contacts.friction[(mask[a] & other[b]) | (mask[b] & other[a])] = friction
