"""What a mesh must satisfy, and what can be put right: each check names the offender and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..checks import LARGEST, check_within, real_array, shown, whole_array
from ..errors import InputError
from . import measure, topology
from .surface import Surface

# An element is flat when its area or volume is below this share of its longest edge squared or cubed. Rounding alone
# leaves about 1e-16; the worst slivers of real meshes are about 1e-6.
FLAT = 1e-12

_NAMES = {2: ("edge", "edges"), 3: ("triangle", "triangles"), 4: ("tetrahedron", "tetrahedra")}


def some(indices: np.ndarray, limit: int = 5) -> str:
    """Write the first few of `indices`."""
    listed = ", ".join(str(i) for i in indices[:limit].tolist())
    return listed + (", ..." if len(indices) > limit else "")


def checked_vertices(vertices: Any, most: float = LARGEST) -> np.ndarray:
    """Return `vertices` as a (n, 3) float64 array of finite numbers that float32 has room for (m)."""
    array = real_array(vertices)
    if array is None:
        raise InputError(f"vertices must be an (n, 3) array of numbers, not {shown(vertices)}")
    if array.size == 0:
        raise InputError("the mesh is empty: it has no vertices; give at least one element")
    if array.ndim != 2 or array.shape[1] != 3:
        raise InputError(f"vertices must have the shape (n, 3), not {array.shape}; add z = 0 to flat points")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        raise InputError(
            f"{len(bad)} of {len(array)} vertices are not finite (first: vertex {bad[0]} at "
            f"{array[bad[0]].tolist()}); remove them or fix the file they came from"
        )
    check_within("vertices", array, most)
    return array


def checked_elements(given: Any, corners: int, n: int) -> np.ndarray:
    """Return `given` as an (m, corners) int32 array of vertex numbers below n."""
    one, many = _NAMES[corners]
    elements = whole_array(given, many)
    if elements.size == 0:
        raise InputError(f"the mesh is empty: it has no {many}; give at least one")
    if elements.ndim != 2 or elements.shape[1] != corners:
        raise InputError(f"{many} must have the shape (m, {corners}), not {elements.shape}")
    if elements.dtype == bool:
        raise InputError(f"{many} must hold whole vertex numbers (integers), not truth values")
    bad = np.flatnonzero(((elements < 0) | (elements >= n)).any(axis=1))
    if len(bad):
        raise InputError(
            f"{one} {bad[0]} is {elements[bad[0]].tolist()}, but vertices are numbered 0 to {n - 1}; "
            "check whether the indices start at 1"
        )
    return elements.astype(np.int32, copy=False)


def repeated(elements: np.ndarray) -> np.ndarray:
    """Return the indices of elements that use a vertex twice."""
    ordered = np.sort(elements, axis=1)
    return np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))


def require_distinct(elements: np.ndarray, remedy: str) -> None:
    """Raise if an element uses a vertex twice."""
    bad = repeated(elements)
    if len(bad):
        one, many = _NAMES[elements.shape[1]]
        raise InputError(
            f"{one} {bad[0]} is {elements[bad[0]].tolist()}: it uses a vertex twice "
            f"({len(bad)} of {len(elements)} {many} do); {remedy}"
        )


def flat(vertices: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Return the indices of triangles without area, or tetrahedra without volume."""
    size = measure.triangle_areas if elements.shape[1] == 3 else measure.tet_volumes
    scale = measure.longest_edges(vertices, elements) ** (elements.shape[1] - 1)
    return np.flatnonzero(np.abs(size(vertices, elements)) <= FLAT * scale)


def without_duplicates(elements: np.ndarray, repair: bool, repairs: list[str]) -> np.ndarray:
    """Return the elements, each once; raise if there are copies and they may not be removed."""
    copies = topology.duplicates(elements)
    if not len(copies):
        return elements
    one, many = _NAMES[elements.shape[1]]
    if not repair:
        raise InputError(
            f"{len(copies)} {many} are copies of others (first: {one} {copies[0]}, "
            f"{elements[copies[0]].tolist()}); pass repair=True to remove them"
        )
    repairs.append(f"removed {len(copies)} duplicate {many}")
    return np.delete(elements, copies, axis=0)


def without_unused(
    vertices: np.ndarray,
    elements: np.ndarray,
    groups: Mapping[str, np.ndarray],
    repair: bool,
    repairs: list[str],
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return vertices, elements and groups without the vertices no element uses; raise if they may not be removed."""
    used = np.zeros(len(vertices), bool)
    used[elements] = True
    if used.all():
        return vertices, elements, dict(groups)
    unused = np.flatnonzero(~used)
    if not repair:
        raise InputError(
            f"{len(unused)} of {len(vertices)} vertices belong to no element (first: {some(unused)}); "
            "pass repair=True to remove them, which renumbers the others"
        )
    repairs.append(f"removed {len(unused)} vertices that no element used")
    number = np.cumsum(used, dtype=np.int32) - 1
    kept = {name: number[members[used[members]]] for name, members in groups.items()}
    return vertices[used], number[elements], kept


def checked_indices(given: Any, n: int, what: str) -> np.ndarray:
    """Return `given` as sorted, unique int32 vertex numbers below n."""
    indices = whole_array(given, what)
    if indices.size == 0:
        return np.zeros(0, np.int32)
    if indices.dtype == bool:
        if indices.shape != (n,):
            raise InputError(f"{what}: a mask must have one entry a vertex, ({n},), not {indices.shape}")
        return np.flatnonzero(indices).astype(np.int32)
    indices = np.unique(indices)
    bad = indices[(indices < 0) | (indices >= n)]
    if len(bad):
        raise InputError(f"{what} holds vertex {bad[0]}, but vertices are numbered 0 to {n - 1}")
    return indices.astype(np.int32)


def checked_groups(groups: Any, n: int) -> dict[str, np.ndarray]:
    """Return `groups` with each set of vertices sorted, unique and in range."""
    if not isinstance(groups, Mapping | None):
        raise InputError(f"groups must be a mapping from names to vertex numbers, not {shown(groups)}")
    return {str(name): checked_indices(members, n, f"group {name!r}") for name, members in (groups or {}).items()}


def checked_surface(surface: Any, n: int) -> Surface:
    """Return what is shown of a mesh of n vertices, if it follows no others."""
    if not isinstance(surface, Surface):
        raise InputError(f"what is shown of a mesh is a Surface (vivace.embed makes one), not {shown(surface)}")
    if surface.carrier.needs > n:
        raise InputError(f"the surface follows vertex {surface.carrier.needs - 1}, and the mesh has {n}")
    return surface
