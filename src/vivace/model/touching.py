"""Who touches whom with what friction, and how thick it is, from names to numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..checks import check_size, is_number, is_whole, shown
from ..collisions.pairing import Between
from ..collisions.settings import Collisions, as_friction
from ..errors import InputError
from ..mesh import Mesh

ELSE = "else"  # the key of the vertices that are in none of the groups that thickness names


def check_collisions(collisions: Any, n: int) -> None:
    """Refuse what `Model.collide` has not made, or has made for another mesh than one of n vertices."""
    if not isinstance(collisions, Collisions | None):
        raise InputError(f"collisions are made by Model.collide, not {shown(collisions)}")
    if collisions is not None and collisions.thicknesses is not None and len(collisions.thicknesses) != n:
        raise InputError(
            f"collisions have a thickness for each of {len(collisions.thicknesses)} vertices, and the mesh has {n}; "
            "call Model.collide again"
        )


def thickness_of(mesh: Mesh, thickness: Any) -> tuple[Any, np.ndarray | None]:
    """Of `Model.collide(thickness=...)`: the largest (m), and those of the vertices, None if one is for all.

    Args:
        mesh: whose groups it may name.
        thickness: a number, or {group: thickness}, the later ones before the earlier; a thickness is a number or a
            fabric, which has one. "else" is what is in none of these groups.
    """
    if not isinstance(thickness, Mapping):
        return thickness, None
    each, rest = np.full(mesh.n_vertices, np.nan), np.nan
    value: Any
    for name, given in thickness.items():
        value = getattr(given, "thickness", given)
        if not is_number(value) or not value > 0:
            raise InputError(f"the thickness of {name!r} must be positive (m), not {shown(given)}")
        check_size(f"the thickness of {name!r}", value)
        if name == ELSE and ELSE not in mesh.groups:
            rest = float(value)
            continue
        if not isinstance(name, str):
            raise InputError(f"thickness is by names of groups, such as {{'coat': 0.008}}, not by {shown(name)}")
        each[mesh.select(name)] = float(value)
    left = np.isnan(each)
    each[left] = rest
    if np.isnan(each).any():
        raise InputError(_left_out(mesh, left))
    return float(each.max()), None if (each == each[0]).all() else each


def _left_out(mesh: Mesh, left: np.ndarray) -> str:
    """Which vertices have no thickness: by the parts that are wholly without, or by number."""
    groups = mesh.groups.items()
    whole = [name for name, some in groups if len(some) and left[some].all() and not name.startswith("body-")]
    parts = [name for name in whole if ":" not in name] or whole
    which = f"those of {parts[0]!r} for example" if parts else f"vertex {np.argmax(left)} for example"
    return (
        f"{np.count_nonzero(left)} of {len(left)} vertices have no thickness, {which}; "
        f'give their groups one, too, or all of them as "{ELSE}"'
    )


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
