"""Who touches whom with what friction, from names to numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import is_whole, shown
from ..collisions.pairing import Between
from ..collisions.settings import as_friction
from ..errors import InputError
from ..mesh import Mesh


def friction_between(mesh: Mesh, still: Sequence[Any], bodies: Sequence[Any], row: Any) -> Between:
    """One of `Model.collide(between=...)`, checked.

    Args:
        mesh: whose groups it may name.
        still: colliders.
        bodies: rigid bodies.
        row: (one, other, friction).
    """
    if not isinstance(row, (tuple, list)) or len(row) != 3:
        raise InputError(f"friction between two is (one, other, friction), not {shown(row)}")
    one, other, friction = row
    things = [*still, *bodies]
    found = _thing(things, one)
    if found is not None:
        one, other = other, one
    else:
        found = _thing(things, other)
    first = _vertices(mesh, things, one)
    if found is not None:
        return Between(first, None, found, as_friction(friction))
    return Between(first, _vertices(mesh, things, other), -1, as_friction(friction))


def _thing(things: Sequence[Any], one: Any) -> int | None:
    """The number of a collider or rigid body; None of what is none."""
    if is_whole(one):
        if not 0 <= one < len(things):
            raise InputError(f"friction with collider {one}, but there are {len(things)}, counted from 0")
        return int(one)
    if isinstance(one, str):
        names = [getattr(thing, "name", None) for thing in things]
        return names.index(one) if one in names else None
    return next((k for k, thing in enumerate(things) if thing is one), None)


def _vertices(mesh: Mesh, things: Sequence[Any], one: Any) -> np.ndarray:
    if not isinstance(one, (str, list, tuple, np.ndarray)):
        raise InputError(
            f"friction is between groups of vertices and what they touch; {shown(one)} is neither a group of the mesh "
            f"nor one of the {len(things)} colliders"
        )
    return mesh.select(one)
