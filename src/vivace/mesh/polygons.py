"""Faces of any number of corners: as a file has them, with UVs at their corners and names; and cut into triangles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from ..checks import real_array, shown, whole_array
from ..errors import InputError
from ..storage import storable

KINDS = ("objects", "groups", "materials")  # of names


@storable("polygons")
@dataclass(frozen=True, eq=False)
class Polygons:
    """Faces as a modelling program has them.

    Attributes:
        counts: (p,) int32 numbers of corners, three or more.
        corners: (c,) int32 vertices at the corners of all faces, one face after the other.
        uvs: (c, 2) float32 texture coordinates of the corners, v up; None: vertices have theirs, or there are none.
        objects: names of things, and the faces of each.
        groups: names of groups of faces, which may overlap.
        materials: names of materials, and the faces made of each.
        cuts: (m, 3) int32 numbers of corners: the triangles that the faces are cut into, in their order.
    """

    counts: np.ndarray
    corners: np.ndarray
    uvs: np.ndarray | None = None
    objects: Mapping[str, np.ndarray] = field(default_factory=dict)
    groups: Mapping[str, np.ndarray] = field(default_factory=dict)
    materials: Mapping[str, np.ndarray] = field(default_factory=dict)
    cuts: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int32))

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        counts, corners = (whole_array(getattr(self, name), name).ravel() for name in ("counts", "corners"))
        if (len(counts) and (counts.min() < 3 or counts.sum() != len(corners))) or (not len(counts) and len(corners)):
            raise InputError(
                f"polygons have three corners or more each, {int(counts.sum())} in all, and {len(corners)} are given"
            )
        if len(corners) and corners.min() < 0:
            raise InputError(f"polygons name vertex {corners.min()}; vertices count from 0")
        set_(self, "counts", _frozen(counts.astype(np.int32)))
        set_(self, "corners", _frozen(corners.astype(np.int32)))
        if self.uvs is not None:
            uvs = real_array(self.uvs)
            if uvs is None or uvs.shape != (len(corners), 2) or not np.isfinite(uvs).all():
                raise InputError(f"UVs of {len(corners)} corners are as many finite pairs, not {shown(self.uvs)}")
            set_(self, "uvs", _frozen(uvs.astype(np.float32)))
        cuts = triangulated(None, counts, corners) if not len(self.cuts) else whole_array(self.cuts, "cuts")
        if cuts.shape != ((counts - 2).sum(), 3) or (cuts.size and not 0 <= cuts.min() <= cuts.max() < len(corners)):
            raise InputError(
                f"{len(counts)} polygons are cut into {int((counts - 2).sum())} triangles of their corners"
            )
        set_(self, "cuts", _frozen(cuts.astype(np.int32)))
        for kind in KINDS:
            set_(self, kind, MappingProxyType(_named(getattr(self, kind), len(counts), kind)))

    @classmethod
    def of(cls, triangles: np.ndarray) -> Polygons:
        """Triangles (m, 3), without names."""
        return cls(np.full(len(triangles), 3, np.int32), np.ascontiguousarray(triangles).ravel())

    def cut_at(self, vertices: np.ndarray) -> Polygons:
        """The same, cut into triangles that do not fold where its vertices (n, 3) are."""
        return replace(self, cuts=triangulated(vertices, self.counts, self.corners))

    @cached_property
    def triangles(self) -> np.ndarray:
        """(m, 3) int32 vertices of the triangles that the faces are cut into."""
        return _frozen(self.corners[self.cuts].reshape(-1, 3))

    @cached_property
    def plain(self) -> bool:
        """Whether it is triangles alone, without names and UVs of corners."""
        return self.uvs is None and not any(getattr(self, kind) for kind in KINDS) and bool((self.counts == 3).all())

    @property
    def owners(self) -> np.ndarray:
        """(m,) the face that each triangle is cut from."""
        return np.repeat(np.arange(len(self.counts)), self.counts - 2)

    @property
    def starts(self) -> np.ndarray:
        """(p,) where the corners of each face begin."""
        starts: np.ndarray = np.cumsum(self.counts, dtype=np.int64) - self.counts
        return starts

    @property
    def n_vertices(self) -> int:
        """How many vertices it needs at least."""
        return int(self.corners.max(initial=-1)) + 1

    def vertices_by_name(self) -> dict[str, np.ndarray]:
        """Vertices of every object, group and material; what has one name is taken together."""
        starts, found = self.starts, dict[str, list[np.ndarray]]()
        for kind in KINDS:
            for name, faces in getattr(self, kind).items():
                found.setdefault(name, []).append(self.corners[ranges(starts[faces], self.counts[faces])])
        return {name: np.unique(np.concatenate(parts)) for name, parts in found.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        named = (dict(getattr(self, kind)) for kind in KINDS)
        return Polygons, (self.counts, self.corners, self.uvs, *named, self.cuts)


def _frozen(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def _named(given: Mapping[str, Any], faces: int, kind: str) -> dict[str, np.ndarray]:
    found = {}
    for name, members in given.items():
        numbers = np.unique(whole_array(members, f"{kind} {name!r}")).astype(np.int32)
        if len(numbers) and not 0 <= numbers[0] <= numbers[-1] < faces:
            raise InputError(f"{kind} {name!r} names face {numbers[-1]}, and there are {faces}")
        found[str(name)] = _frozen(numbers)
    return found


def ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Whole numbers from each start on, as many as its count, one range after the other."""
    counts = np.asarray(counts, np.int64)
    ends = np.cumsum(counts)
    found: np.ndarray = np.arange(ends[-1] if len(ends) else 0) + np.repeat(np.asarray(starts) - ends + counts, counts)
    return found


def triangulated(vertices: np.ndarray | None, counts: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """(t, 3) int64 numbers of corners: every polygon cut into triangles, in order; t = (counts - 2).sum().

    A polygon is a fan around its first corner, unless that would fold: a polygon that is not convex is cut by clipping
    ears in the plane that fits it. One without an area stays a fan; without `vertices` all do.
    """
    counts = np.asarray(counts, np.int64)
    starts = np.cumsum(counts) - counts
    many = counts - 2
    firsts = np.cumsum(many) - many
    first = np.repeat(starts, many)
    step = np.arange(many.sum()) - np.repeat(firsts, many)
    found = np.stack([first, first + step + 1, first + step + 2], axis=1)
    wide = np.flatnonzero(counts > 3)
    if not len(wide) or vertices is None:
        return found
    x = np.asarray(vertices, float)
    rows = ranges(firsts[wide], many[wide])
    a, b, c = (x[corners[found[rows, k]]] for k in range(3))
    normals = np.cross(b - a, c - a)
    begins = np.cumsum(many[wide]) - many[wide]
    whole = np.add.reduceat(normals, begins, axis=0)  # twice the area vector of each polygon [Newell]
    ahead = np.einsum("ij,ij->i", normals, np.repeat(whole, many[wide], axis=0))
    folded = np.minimum.reduceat(ahead, begins) < 0
    for k, normal in zip(wide[folded], whole[folded], strict=True):
        own = np.arange(starts[k], starts[k] + counts[k])
        if normal @ normal > 0:
            found[firsts[k] : firsts[k] + many[k]] = own[_clipped(_flattened(x[corners[own]], normal))]
    return found


def _flattened(points: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """(n, 2) in the plane across `normal`, counter-clockwise."""
    unit = normal / np.linalg.norm(normal)
    aside = np.cross(unit, np.eye(3)[np.argmin(np.abs(unit))])
    aside /= np.linalg.norm(aside)
    flat: np.ndarray = (points - points[0]) @ np.stack([aside, np.cross(unit, aside)], axis=1)
    return flat


def _clipped(points: np.ndarray) -> np.ndarray:
    """(n - 2, 3) numbers of a simple polygon's corners: ears, one after the other; the fattest first."""
    left, found = list(range(len(points))), []
    while len(left) > 3:
        n = len(left)
        ring = points[left]
        before, after = np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0)
        turn = _cross(ring - before, after - ring)
        longest = np.maximum(_square(ring - before), np.maximum(_square(after - ring), _square(after - before)))
        shapely = turn / np.where(longest > 0, longest, 1.0)
        order = np.argsort(-shapely, kind="stable").tolist()
        k = next((k for k in order if turn[k] > 0 and _is_ear(ring, k)), order[0])  # it crosses itself: anything goes
        found.append([left[k - 1], left[k], left[(k + 1) % n]])
        del left[k]
    return np.array([*found, left])


def _is_ear(ring: np.ndarray, k: int) -> bool:
    """Whether no other corner lies in the triangle of corner k and its neighbours; those at their places do not."""
    a, b, c = ring[k - 1], ring[k], ring[(k + 1) % len(ring)]
    inside = (_cross(b - a, ring - a) >= 0) & (_cross(c - b, ring - b) >= 0) & (_cross(a - c, ring - c) >= 0)
    apart = (ring != a).any(axis=1) & (ring != b).any(axis=1) & (ring != c).any(axis=1)
    return not (inside & apart).any()


def _cross(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    product: np.ndarray = u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]
    return product


def _square(u: np.ndarray) -> np.ndarray:
    square: np.ndarray = (u * u).sum(axis=-1)
    return square
