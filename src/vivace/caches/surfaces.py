"""What a cache holds the vertices of: a surface that follows what is simulated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..checks import shown
from ..errors import InputError
from ..mesh import Polygons, Surface
from .animation import checked_triangles, checked_uvs


@dataclass(frozen=True, eq=False)
class Drawn:
    """A surface over time: triangles that stay, vertices that follow.

    Attributes:
        name: what to call it.
        triangles: (m, 3) of its own vertices.
        n_vertices: how many these are.
        uvs: (k, 2), or None.
        at: where its vertices are, (k, 3), when those that are simulated are at (n, 3).
        polygons: the faces that the triangles are cut from, with UVs of corners and names; None: there are only these.
        unit: of the file that it came from.
        up: the axis that points up there.
    """

    name: str
    triangles: np.ndarray
    n_vertices: int
    uvs: np.ndarray | None
    at: Callable[[np.ndarray], np.ndarray]
    polygons: Polygons | None = None
    unit: str = "m"
    up: str = "y"


def drawn(thing: Any, vertices: int | None = None) -> Drawn:
    """The surface of a mesh; what is one, with `triangles` and `at`; or triangles of so many `vertices`."""
    if isinstance(thing, Drawn):
        return thing
    shown_as = getattr(thing, "surface", None)
    thing = thing if shown_as is None else shown_as
    if hasattr(thing, "triangles") and callable(getattr(thing, "at", None)):
        return _following(thing)
    if hasattr(thing, "triangles") and hasattr(thing, "vertices"):
        return _of_mesh(thing)
    if vertices is None or hasattr(thing, "triangles") or isinstance(thing, str):
        raise InputError(f"a mesh is needed, or a surface with `triangles` and `at(positions)`, not {shown(thing)}")
    return Drawn("mesh", checked_triangles(thing, vertices), vertices, None, _themselves)


def _following(thing: Any) -> Drawn:
    uvs = getattr(thing, "uvs", None)
    triangles = np.asarray(thing.triangles)
    n = getattr(thing, "n_vertices", None)
    if n is None:
        n = len(uvs) if uvs is not None else int(triangles.max(initial=-1)) + 1
    own = Drawn(getattr(thing, "name", "mesh"), checked_triangles(triangles, n), n, checked_uvs(uvs, n), thing.at)
    if not isinstance(thing, Surface):
        return own
    polygons = None if thing.polygons.plain else thing.polygons
    return replace(own, polygons=polygons, unit=thing.unit, up=thing.up)


def _of_mesh(mesh: Any) -> Drawn:
    """The vertices that its triangles use; all, where it has none."""
    name, n = getattr(mesh, "name", "mesh"), len(mesh.vertices)
    triangles, uvs = checked_triangles(mesh.triangles, n), checked_uvs(getattr(mesh, "uvs", None), n)
    used, numbers = np.unique(triangles, return_inverse=True)
    if not len(triangles) or len(used) == n:
        return Drawn(name, triangles, n, uvs, _themselves)
    own = numbers.reshape(-1, 3).astype(np.int32)
    return Drawn(name, own, len(used), None if uvs is None else uvs[used], lambda positions: positions[used])


def _themselves(positions: np.ndarray) -> np.ndarray:
    return positions
