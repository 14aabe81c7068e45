"""The mesh: vertices, the elements on them, and named sets of vertices; checked once, then frozen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from ..checks import as_list, as_numbers, check_flag, shown, whole_array
from ..errors import InputError, UnknownNameError
from ..storage import storable
from . import checks, measure, splitting, topology
from .surface import Surface

_TOPOLOGY = ("edges", "hinges")  # cached properties that moving the vertices does not change


def _frozen(array: np.ndarray) -> np.ndarray:
    # A read-only array is shared, not copied: moved meshes have the elements of their original.
    if array.flags.writeable or array.base is not None:
        array = array.copy()
        array.flags.writeable = False
    return array


@storable("mesh")
@dataclass(frozen=True, eq=False)
class Mesh:
    """A surface, a tetrahedral body or a wire. Build one with `from_triangles`, `from_tets` or `from_edges`.

    Attributes:
        vertices: (n, 3) float64 rest positions, in m; y is up.
        triangles: (m, 3) int32, counter-clockwise from outside; for a body, its boundary.
        tets: (t, 4) int32, all of positive volume; (0, 4) for a surface or a wire.
        lines: (k, 2) int32 edges of a wire; (0, 2) otherwise.
        name: what to call the mesh in messages and plots.
        groups: named vertex sets, such as "corners" or "left": sorted int32 vertex numbers.
        repairs: what `repair=True`, `split=True` or reading from a file changed, in words.
        surface: what is shown of it and written to files, where that is not its own triangles: as the file that it was
            read from has it, or a finer one that it carries (`vivace.embed`).
    """

    vertices: np.ndarray
    triangles: np.ndarray
    tets: np.ndarray
    name: str = "mesh"
    groups: Mapping[str, np.ndarray] = field(default_factory=dict)
    lines: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int32))
    repairs: tuple[str, ...] = ()
    surface: Surface | None = None

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "vertices", _frozen(checks.checked_vertices(self.vertices)))
        n = self.n_vertices
        for attribute, corners in (("triangles", 3), ("tets", 4), ("lines", 2)):
            given = getattr(self, attribute)
            none = isinstance(given, np.ndarray) and given.shape == (0, corners)
            elements = given.astype(np.int32, copy=False) if none else checks.checked_elements(given, corners, n)
            set_(self, attribute, _frozen(elements))
        groups = {name: _frozen(members) for name, members in checks.checked_groups(self.groups, n).items()}
        set_(self, "groups", MappingProxyType(groups))
        set_(self, "repairs", tuple(as_list("repairs", self.repairs)))
        if self.surface is not None:
            checks.checked_surface(self.surface, n)

    @classmethod
    def from_triangles(
        cls,
        vertices: Any,
        triangles: Any,
        *,
        name: str = "surface",
        groups: Mapping[str, Any] | None = None,
        repair: bool = False,
        split: bool = False,
        surface: Surface | None = None,
    ) -> Mesh:
        """Check and build a surface.

        Args:
            vertices: (n, 3) positions at rest, in m.
            triangles: (m, 3) vertex numbers, counter-clockwise from outside.
            name: what to call the mesh in messages and plots.
            groups: names of sets of vertices, and their numbers.
            repair: remove what cannot be used, see below.
            split: part sheets that meet at one edge, see below.
            surface: what is to be shown of it; it follows `vertices`.

        With `repair`, triangles without area, duplicate triangles and vertices in no triangle are removed, and
        `repairs` says so; otherwise each is an InputError. So is an edge of more than two triangles, unless `split`
        parts the sheets that meet there: the flattest two stay one, the others get vertices of their own, which come
        last. All vertices of such edges and their copies are the group "seams"; `Model.sew` holds them together.
        """
        check_flag("repair", repair)
        vertices = checks.checked_vertices(vertices)
        triangles = checks.checked_elements(triangles, 3, len(vertices))
        groups = checks.checked_groups(groups, len(vertices))
        repairs: list[str] = []
        if not repair:
            checks.require_distinct(triangles, "pass repair=True to remove such triangles")
        flat = checks.flat(vertices, triangles)
        if len(flat) and not repair:
            raise InputError(
                f"{len(flat)} of {len(triangles)} triangles have no area (first: {checks.some(flat)}); "
                "pass repair=True to remove them"
            )
        if len(flat) == len(triangles):
            raise InputError(f"none of the {len(triangles)} triangles has an area; check the vertex positions")
        if len(flat):
            triangles = np.delete(triangles, flat, axis=0)
            repairs.append(f"removed {len(flat)} triangles without area")
        triangles = checks.without_duplicates(triangles, repair, repairs)
        tangled = topology.nonmanifold_edges(triangles)
        if len(tangled) and not check_flag("split", split):
            raise InputError(
                f"{len(tangled)} edges have more than two triangles (first: edge {tangled[0].tolist()}); "
                "pass split=True to part the sheets that meet there (split = true in a scene file, --set split=true on "
                "the command line), or remove the extra triangles in a modelling program"
            )
        if len(tangled):
            vertices, triangles, groups = _parted(vertices, triangles, groups, tangled, repairs)
        before, used = vertices, np.unique(triangles)
        vertices, triangles, groups = checks.without_unused(vertices, triangles, groups, repair, repairs)
        if surface is not None and len(before) > len(vertices):
            surface = surface.renumbered(measure.nearest_among(before, used))
        none = np.zeros((0, 4), np.int32)
        return cls(vertices, triangles, none, name, groups, repairs=tuple(repairs), surface=surface)

    @classmethod
    def from_tets(
        cls,
        vertices: Any,
        tets: Any,
        *,
        name: str = "body",
        groups: Mapping[str, Any] | None = None,
        repair: bool = False,
        surface: Surface | None = None,
    ) -> Mesh:
        """Check and build a tetrahedral body; its triangles are its boundary, facing out.

        Args:
            vertices: (n, 3) positions at rest, in m.
            tets: (t, 4) vertex numbers.
            name: what to call the mesh in messages and plots.
            groups: names of sets of vertices, and their numbers.
            repair: turn or remove what cannot be used, see below.
            surface: what is to be shown of it; it follows `vertices`.

        With `repair`, tetrahedra that are inside out are turned, and duplicates and vertices in no tetrahedron are
        removed, and `repairs` says so; otherwise each is an InputError. A flat tetrahedron is always one.
        """
        check_flag("repair", repair)
        vertices = checks.checked_vertices(vertices)
        tets = checks.checked_elements(tets, 4, len(vertices))
        groups = checks.checked_groups(groups, len(vertices))
        repairs: list[str] = []
        checks.require_distinct(tets, "remesh the body or remove such tetrahedra")
        flat = checks.flat(vertices, tets)
        if len(flat):
            raise InputError(
                f"{len(flat)} of {len(tets)} tetrahedra have no volume (first: {checks.some(flat)}); "
                "this cannot be repaired: remesh the body or remove them"
            )
        inverted = np.flatnonzero(measure.tet_volumes(vertices, tets) < 0)
        if len(inverted):
            if not repair:
                raise InputError(
                    f"{len(inverted)} of {len(tets)} tetrahedra are inside out, with negative volume "
                    f"(first: {checks.some(inverted)}); pass repair=True to turn them"
                )
            tets = tets.copy()
            tets[inverted] = tets[inverted][:, [0, 1, 3, 2]]
            repairs.append(f"turned {len(inverted)} tetrahedra that were inside out")
        tets = checks.without_duplicates(tets, repair, repairs)
        tangled = topology.nonmanifold_faces(tets)
        if len(tangled):
            raise InputError(
                f"{len(tangled)} faces have more than two tetrahedra (first: face {tangled[0].tolist()}): "
                "the body overlaps itself; remesh it"
            )
        before, used = vertices, np.unique(tets)
        vertices, tets, groups = checks.without_unused(vertices, tets, groups, repair, repairs)
        if surface is not None and len(before) > len(vertices):
            surface = surface.renumbered(measure.nearest_among(before, used))
        boundary = topology.boundary_of_tets(tets)
        return cls(vertices, boundary, tets, name, groups, repairs=tuple(repairs), surface=surface)

    @classmethod
    def from_edges(
        cls,
        vertices: Any,
        edges: Any,
        *,
        name: str = "wire",
        groups: Mapping[str, Any] | None = None,
        repair: bool = False,
    ) -> Mesh:
        """Check and build a wire: vertices joined by edges alone, such as a chain of springs.

        Args:
            vertices: (n, 3) positions at rest, in m.
            edges: (k, 2) vertex numbers.
            name: what to call the mesh in messages and plots.
            groups: names of sets of vertices, and their numbers.
            repair: remove what cannot be used, see below.

        With `repair`, duplicate edges and vertices on no edge are removed, and `repairs` says so.
        """
        check_flag("repair", repair)
        vertices = checks.checked_vertices(vertices)
        edges = checks.checked_elements(edges, 2, len(vertices))
        groups = checks.checked_groups(groups, len(vertices))
        repairs: list[str] = []
        checks.require_distinct(edges, "remove such edges")
        lengths = measure.longest_edges(vertices, edges)
        if not lengths.all():
            raise InputError(f"edge {np.argmin(lengths)} has no length; move one of its vertices or remove it")
        edges = checks.without_duplicates(edges, repair, repairs)
        vertices, edges, groups = checks.without_unused(vertices, edges, groups, repair, repairs)
        none = np.zeros((0, 3), np.int32), np.zeros((0, 4), np.int32)
        return cls(vertices, *none, name, groups, topology.unique_edges(edges), tuple(repairs))

    @property
    def n_vertices(self) -> int:
        """The number of vertices."""
        return len(self.vertices)

    @property
    def is_volumetric(self) -> bool:
        """Whether the mesh is a body of tetrahedra."""
        return len(self.tets) > 0

    @cached_property
    def edges(self) -> np.ndarray:
        """(e, 2) int32 edges of the tetrahedra, else of the triangles, else the wire's: each once, sorted."""
        elements = next((x for x in (self.tets, self.triangles) if len(x)), self.lines)
        return _frozen(topology.unique_edges(elements))

    @cached_property
    def hinges(self) -> np.ndarray:
        """(h, 4) int32: an edge (v0, v1) of two surface triangles, and the vertices (v2, v3) opposite it."""
        return _frozen(topology.hinges_of(self.triangles))

    @property
    def bounds(self) -> np.ndarray:
        """(2, 3) lowest and highest corner of the axis-aligned box around the mesh, in m."""
        return np.stack([self.vertices.min(axis=0), self.vertices.max(axis=0)])

    def triangle_areas(self) -> np.ndarray:
        """Return the (m,) areas of the triangles, in m²."""
        return measure.triangle_areas(self.vertices, self.triangles)

    def tet_volumes(self) -> np.ndarray:
        """Return the (t,) volumes of the tetrahedra, in m³."""
        return measure.tet_volumes(self.vertices, self.tets)

    def transformed(self, *, scale: Any = 1.0, rotate: Any = None, translate: Any = (0.0, 0.0, 0.0)) -> Mesh:
        """Return a copy scaled, then rotated about the origin, then moved.

        Args:
            scale: a factor, or three, all positive: a mirrored body would be inside out.
            rotate: a (3, 3) rotation matrix, or a rotation vector (axis times angle, in rad).
            translate: a displacement, in m.
        """
        scale = as_numbers("scale", scale, (), (3,))
        if not (scale > 0).all():
            raise InputError(f"scale must be positive, not {scale.tolist()}")
        moved = self.vertices * scale
        if rotate is not None:
            moved = moved @ as_rotation(rotate).T
        moved = moved + as_numbers("translate", translate, (3,))
        copy = replace(self, vertices=moved, surface=self.surface and self.surface.scaled(scale))
        for attribute in _TOPOLOGY:
            if attribute in self.__dict__:
                copy.__dict__[attribute] = self.__dict__[attribute]
        return copy

    def showing(self, surface: Surface | None) -> Mesh:
        """Return a copy that is shown, and written to files, as another surface.

        Args:
            surface: one that follows this mesh, as `vivace.embed` makes it; None: its own triangles.
        """
        copy = replace(self, surface=surface)
        copy.__dict__.update({key: self.__dict__[key] for key in _TOPOLOGY if key in self.__dict__})
        return copy

    def select(self, where: str | Callable[[np.ndarray], Any] | Any) -> np.ndarray:
        """Return sorted int32 vertex numbers.

        Args:
            where: the name of a group; or a function of the (n, 3) positions that returns a mask or indices, such as
                ``lambda x: x[:, 1] > 0.5``; or vertex numbers or a mask themselves.
        """
        if isinstance(where, str):
            if where not in self.groups:
                raise UnknownNameError(f"group of the mesh {self.name!r}:", where, self.groups)
            return self.groups[where]
        chosen = where(self.vertices) if callable(where) and not isinstance(where, type) else where
        chosen = np.atleast_1d(whole_array(chosen, "the selection"))
        return checks.checked_indices(chosen, self.n_vertices, "the selection")

    def __reduce__(self) -> tuple[Any, ...]:
        # The read-only view around the groups cannot be pickled; the mesh is built again from a plain dict.
        arrays = self.vertices, self.triangles, self.tets
        return Mesh, (*arrays, self.name, dict(self.groups), self.lines, self.repairs, self.surface)

    def __repr__(self) -> str:
        parts = ((self.tets, "tets"), (self.triangles, "triangles"), (self.lines, "edges"))
        kind = next((f"{len(elements)} {name}" for elements, name in parts if len(elements)), "no elements")
        return f"<Mesh {self.name!r}: {self.n_vertices} vertices, {kind}>"


def _parted(
    vertices: np.ndarray, triangles: np.ndarray, groups: dict[str, np.ndarray], tangled: np.ndarray, repairs: list[str]
) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Vertices, triangles and groups with the sheets at `tangled` edges parted; copies are in the groups as well."""
    n = len(vertices)
    triangles, copied = splitting.split(vertices, triangles)
    groups = {**groups, "seams": np.union1d(groups.get("seams", []), tangled)}
    for name, members in groups.items():
        groups[name] = np.concatenate([members, n + np.flatnonzero(np.isin(copied, members))]).astype(np.int32)
    repairs.append(f"parted {len(tangled)} edges of more than two triangles, which doubled {len(copied)} vertices")
    return np.concatenate([vertices, vertices[copied]]), triangles, groups


def as_mesh(value: Any) -> Mesh:
    """`value`, if it is a mesh."""
    if not isinstance(value, Mesh):
        raise InputError(f"a Mesh is needed (vivace.mesh.load, vivace.mesh.cloth, ...), not {shown(value)}")
    return value


def as_rotation(rotate: Any) -> np.ndarray:
    """The (3, 3) matrix of a rotation: itself, or of angles about x, y and z."""
    given = as_numbers("rotate", rotate, (3,), (3, 3))
    if given.shape == (3, 3):
        if not np.allclose(given @ given.T, np.eye(3), atol=1e-6) or np.linalg.det(given) < 0:
            raise InputError("rotate must be a rotation: an orthogonal matrix with determinant 1")
        return given
    angle = float(np.linalg.norm(given))
    if angle == 0:
        return np.eye(3)
    x, y, z = given / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    turned: np.ndarray = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross  # Rodrigues
    return turned
