"""Several meshes as one, so that a model can hold many bodies that touch each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ..checks import NUMBERED, as_list, many, shown
from ..errors import InputError
from .mesh import Mesh
from .polygons import Polygons
from .surface import Numbered, Surface
from .surface import joined as joined_surfaces

_KINDS = (("tets", "tetrahedra"), ("triangles", "triangles"), ("lines", "edges alone"))


def join(meshes: Iterable[Mesh], *, name: str = "bodies") -> Mesh:
    """Put meshes side by side: the vertices of the first, then of the second, and so on. Nothing is welded.

    All must be of one kind: bodies of tetrahedra, surfaces, or wires. Group "left" of part 3 becomes "3:left", and
    "body-3" is all of its vertices; parts count from 0. Edges and hinges of copies that share their elements, as those
    of `Mesh.transformed` do, are found once.

    Args:
        meshes: one or more.
        name: of the whole.
    """
    parts: list[Mesh] = as_list("meshes to join", meshes)
    if not parts:
        raise InputError("there is nothing to join: give at least one mesh")
    for k, part in enumerate(parts):
        if not isinstance(part, Mesh):
            raise InputError(f"only meshes can be joined; part {k} is {shown(part)}")
        if _kind(part) != _kind(parts[0]):
            raise InputError(
                f"part {k}, {part.name!r}, is made of {_kind(part)}, and part 0, {parts[0].name!r}, of "
                f"{_kind(parts[0])}: a mesh has one kind of element; join them apart"
            )
    offsets = np.concatenate([[0], np.cumsum([part.n_vertices for part in parts])])
    if offsets[-1] >= NUMBERED:
        raise InputError(f"{many(int(offsets[-1]))} vertices are too many for one mesh; join fewer")
    groups: dict[str, np.ndarray] = {}
    for k, part in enumerate(parts):
        groups |= {f"{k}:{group}": members + offsets[k] for group, members in part.groups.items()}
        groups[f"body-{k}"] = np.arange(offsets[k], offsets[k + 1])
    joined = Mesh(
        np.concatenate([part.vertices for part in parts]),
        _shifted([part.triangles for part in parts], offsets),
        _shifted([part.tets for part in parts], offsets),
        name,
        groups,
        _shifted([part.lines for part in parts], offsets),
        tuple(f"{k}: {repair}" for k, part in enumerate(parts) for repair in part.repairs),
        _surface(parts, offsets[1:], name),
    )
    # Both are sorted by vertex number, and later parts have higher numbers: one after the other they stay sorted.
    joined.__dict__["edges"] = _shifted(_each_once(parts, lambda part: part.edges), offsets)
    joined.__dict__["hinges"] = _shifted(_each_once(parts, lambda part: part.hinges), offsets)
    return joined


def _surface(parts: list[Mesh], ends: np.ndarray, name: str) -> Surface | None:
    """What is shown of the parts; None: their own triangles."""
    if all(part.surface is None for part in parts):
        return None
    return joined_surfaces([part.surface or _own(part) for part in parts], ends, name)


def _own(part: Mesh) -> Surface:
    used, numbers = np.unique(part.triangles, return_inverse=True)
    polygons = Polygons.of(numbers.reshape(-1, 3))
    return Surface(Numbered(used), polygons, name=part.name)


def _kind(mesh: Mesh) -> str:
    return next((words for attribute, words in _KINDS if len(getattr(mesh, attribute))), "no elements")


def _shifted(arrays: list[np.ndarray], offsets: np.ndarray) -> np.ndarray:
    """Return the arrays of vertex numbers one after the other, each counted on from its offset; read-only."""
    out = np.concatenate([array + offset for array, offset in zip(arrays, offsets[:-1], strict=True)]).astype(np.int32)
    out.flags.writeable = False
    return out


def _each_once(parts: list[Mesh], of: Callable[[Mesh], np.ndarray]) -> list[np.ndarray]:
    """Return `of` every part, found once for all parts that share their element arrays."""
    known: dict[tuple[object, ...], np.ndarray] = {}
    out = []
    for part in parts:
        arrays = part.triangles, part.tets, part.lines  # copies hold views of one array: its address is the same
        key = tuple((array.ctypes.data, array.shape, array.strides) for array in arrays)
        if key not in known:
            known[key] = of(part)
        out.append(known[key])
    return out
