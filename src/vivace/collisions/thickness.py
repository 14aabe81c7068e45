"""How thick what touches is: one thickness for all vertices, or one for each.

A sheet of the thickness t has t/2 on either side. So two surfaces keep (t_a + t_b)/2, and a vertex keeps its own t from
what has none: a collider, a rigid body, an animated mesh. Between vertices thickness goes straight and evenly, as
positions do. Kernels read an array of one number for all, or of one for each vertex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import is_number, real_array, shown
from ..errors import InputError


def as_thicknesses(thickness: Any, n: int | None = None) -> np.ndarray:
    """(1,) the thickness of all, or (n,) that of each vertex, in m: positive, checked."""
    if is_number(thickness):
        array: np.ndarray | None = np.array([float(thickness)])
    else:
        array = real_array(thickness) if isinstance(thickness, np.ndarray) and thickness.ndim == 1 else None
        array = None if array is None else np.ascontiguousarray(array, np.float64)
    if array is None or not array.size or not (np.isfinite(array) & (array > 0)).all():
        raise InputError(f"the thickness must be a positive length in metres, not {shown(thickness)}")
    if len(array) > 1 and n is not None and len(array) != n:
        raise InputError(f"there are {len(array)} thicknesses for {n} vertices; give one for all, or one for each")
    return array


def thickness_at(each: np.ndarray, vertices: Any = slice(None)) -> Any:
    """That of some vertices, in their shape; a plain number if all have the same, so that nothing is rounded anew."""
    return float(each[0]) if len(each) == 1 else each[vertices]


def thickness_of_elements(each: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """(m,) the least of the corners of each element (m, k); (1,) if all vertices have the same."""
    return each if len(each) == 1 or not len(elements) else np.ascontiguousarray(each[elements].min(axis=1))


def least_of_pairs(each: np.ndarray, vertices: np.ndarray, vertex_triangle: int, passive: np.ndarray) -> np.ndarray:
    """(c,) the least distance that contacts (c, 4) keep, as far as their corners say: the mean of both sides' least.

    The first so many are of a vertex and a triangle, the others of two edges. Of a side that is passive and another,
    the other's.
    """
    if len(each) == 1:
        return np.full(len(vertices), each[0])
    t = each[vertices]
    edges = np.arange(len(t)) >= vertex_triangle
    first = np.where(edges, np.minimum(t[:, 0], t[:, 1]), t[:, 0])
    second = np.minimum(np.minimum(t[:, 2], t[:, 3]), np.where(edges, np.inf, t[:, 1]))
    first_passive, second_passive = passive[vertices[:, 0]], passive[vertices[:, 2]]
    both = np.where(first_passive, second, np.where(second_passive, first, 0.5 * (first + second)))
    return np.asarray(np.where(first_passive & second_passive, 0.5 * (first + second), both))
