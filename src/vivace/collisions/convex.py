"""The convex hull of points as a collider: what a rigid body of any convex shape is made of."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from ..checks import LARGEST, as_list, as_numbers, check_within, is_number, shown
from ..errors import InputError
from ..mesh import Mesh
from ..mesh.mesh import as_rotation
from ..storage import storable
from .colliders import Collider, Encoded, Friction, check_points
from .sampled import Sampled
from .settings import as_friction

FLAT = 1e-6  # of the size: triangles of the hull that lie in one plane to this are one face
ALIKE = 0.9  # ... if their normals have this cosine at least: slivers have normals of all kinds


@storable("convex-mesh")
@dataclass(frozen=True, eq=False, repr=False)
class ConvexMesh(Collider):
    """The convex hull of points, with flat faces of any number of corners.

    Soft bodies meet it as samples of its distance on a grid, as if it were a `Sampled`; these are made when they are
    first needed. Rigid bodies meet its corners, edges and faces, exactly. Where two of them overlap, all edges of one
    are tried with all edges of the other: keep to some tens of corners.

    Args:
        vertices: (n, 3) points, in m, or a Mesh; what lies inside their hull is of no importance.
        rotate: a (3, 3) rotation matrix, or a rotation vector (axis times angle, in rad), about the centre of mass.
        centre: where the centre of mass is, in m; None: the points stay where they are.
        friction: a coefficient, or (static, kinetic), or None for the simulation's own.

    Attributes:
        vertices: (v, 3) float64 corners of the hull, turned and moved, in m.
        corners: (v, 3) float64, the same before that, from the centre of mass.
        faces: numbers of the corners around each face, counter-clockwise from outside.
        volume: in m³.
        inertia: (3, 3) about the centre of mass, for a density of 1 kg/m³, before it is turned.
    """

    vertices: Any
    rotate: Any = None
    centre: Any = None
    friction: Friction = None
    corners: np.ndarray = field(init=False)
    faces: tuple[np.ndarray, ...] = field(init=False)
    volume: float = field(init=False)
    inertia: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        points = check_points(self.vertices.vertices if isinstance(self.vertices, Mesh) else self.vertices)
        check_within("points", points, LARGEST)
        rotation = np.eye(3) if self.rotate is None else as_rotation(self.rotate).copy()
        corners, faces = _hull(points)
        volume, middle, inertia = _solid(corners, faces)
        centre = middle if self.centre is None else as_numbers("centre", self.centre, (3,), most=LARGEST)
        corners = corners - middle
        friction = None if self.friction is None else as_friction(self.friction)
        values: dict[str, Any] = {"friction": friction, "faces": faces}
        values |= {"rotate": rotation, "centre": tuple(centre.tolist()), "volume": volume, "inertia": inertia}
        values |= {"corners": corners, "vertices": corners @ rotation.T + centre}
        self._keep(values)

    def _keep(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    def stored(self) -> dict[str, Any]:
        """All that was found out about the hull: found out again, it would differ in the last digits."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def restored(cls, **values: Any) -> ConvexMesh:
        """The same from what is stored of it, after a look at all of it."""
        if set(values) != {item.name for item in fields(cls)}:
            raise InputError(f"a convex mesh is stored as {', '.join(item.name for item in fields(cls))}")
        count = len(np.atleast_1d(values["corners"]))
        for name, shape in (("vertices", (count, 3)), ("corners", (count, 3)), ("inertia", (3, 3)), ("centre", (3,))):
            as_numbers(f"{name} of a convex mesh", values[name], shape, most=LARGEST)
        as_rotation(values["rotate"])
        if not is_number(values["volume"]) or not values["volume"] > 0:
            raise InputError(f"the volume of a convex mesh must be positive, not {shown(values['volume'])}")
        faces = as_list("faces of a convex mesh", values["faces"])
        if not all(_is_face(face, count) for face in faces) or len(faces) < 4:
            raise InputError(f"the faces of a convex mesh must name three of its {count} corners or more")
        friction = None if values["friction"] is None else as_friction(values["friction"])
        made = object.__new__(cls)
        made._keep({**values, "faces": tuple(faces), "centre": tuple(values["centre"]), "friction": friction})
        return made

    @cached_property
    def encoded(self) -> Encoded:  # type: ignore[override]
        """Samples of the distance, for soft bodies."""
        return Sampled.of(self.surface()).encoded

    def surface(self) -> Mesh:
        """Return the hull as triangles."""
        return Mesh.from_triangles(self.vertices, _fans(self.faces), name="convex mesh")

    def __repr__(self) -> str:
        return f"<ConvexMesh of {len(self.corners)} corners and {len(self.faces)} faces, {self.volume:.3g} m³>"


def _is_face(face: Any, count: int) -> bool:
    whole = isinstance(face, np.ndarray) and face.ndim == 1 and face.dtype.kind == "i" and len(face) >= 3
    return bool(whole and face.min() >= 0 and face.max() < count)


def _fans(faces: tuple[np.ndarray, ...]) -> np.ndarray:
    """The faces as triangles, (t, 3)."""
    fans = [np.column_stack([np.full(len(f) - 2, f[0]), f[1:-1], f[2:]]) for f in faces]
    return np.concatenate(fans)


def _solid(corners: np.ndarray, faces: tuple[np.ndarray, ...]) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centre of mass, and inertia about it for a density of one: sums over tetrahedra from a point inside."""
    inside = corners.mean(axis=0)
    tets = (corners - inside)[_fans(faces)]
    six = np.linalg.det(tets)  # six times the volumes
    total = tets.sum(axis=1)
    volume = float(six.sum() / 6)
    middle = (six[:, None] * total).sum(axis=0) / (24 * volume)
    moments = np.einsum("t,ti,tj->ij", six, total, total) + np.einsum("t,tki,tkj->ij", six, tets, tets)
    moments = moments / 120 - volume * np.outer(middle, middle)
    return volume, middle + inside, np.trace(moments) * np.eye(3) - moments


def _hull(points: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Corners and faces of the convex hull; triangles in one plane are one face."""
    if len(points) < 4:
        raise InputError(f"a convex mesh needs four points at least, not {len(points)}")
    size = float(np.ptp(points, axis=0).max())
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        raise InputError("the points of a convex mesh lie in a plane, or in a point; it needs a volume") from None
    if not hull.volume > FLAT * size * hull.area:
        raise InputError(
            f"the points of a convex mesh lie in a plane: their hull has a volume of {hull.volume:.3g} m³ and an area "
            f"of {hull.area:.3g} m²; use a Box for what is thinner than a millionth of its width"
        )
    triangles = hull.simplices.astype(np.int64)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    crosses = np.cross(b - a, c - a)
    turned = np.einsum("ij,ij->i", crosses, hull.equations[:, :3]) < 0
    triangles[turned] = triangles[turned][:, [0, 2, 1]]
    group = _planes(points, triangles, hull.neighbors, hull.equations, np.linalg.norm(crosses, axis=1), size)
    loops = _loops(triangles, group)
    if loops is None:  # faces that are flat only nearly may not fit together: leave the triangles as they are
        loops = [triangle.tolist() for triangle in triangles]
    used, flat = np.unique(np.concatenate(loops), return_inverse=True)
    ends = np.cumsum([len(loop) for loop in loops])[:-1]
    return points[used].copy(), tuple(part.astype(np.int32) for part in np.split(flat.ravel(), ends))


def _planes(
    points: np.ndarray,
    triangles: np.ndarray,
    neighbours: np.ndarray,
    planes: np.ndarray,
    areas: np.ndarray,
    size: float,
) -> np.ndarray:
    """A number for each triangle, the same for those that lie in one plane; the largest of them says in which."""
    group = np.full(len(triangles), -1)
    for seed in np.argsort(-areas, kind="stable").tolist():
        if group[seed] >= 0:
            continue
        group[seed], waiting = seed, [seed]
        normal, offset = planes[seed, :3], planes[seed, 3]
        while waiting:
            for other in neighbours[waiting.pop()].tolist():
                if group[other] >= 0 or planes[other, :3] @ normal < ALIKE:
                    continue
                if np.abs(points[triangles[other]] @ normal + offset).max() <= FLAT * size:
                    group[other] = seed
                    waiting.append(other)
    return group


def _loops(triangles: np.ndarray, group: np.ndarray) -> list[list[int]] | None:
    """The corners around each group; without those where no three groups meet. None if that is no polyhedron."""
    following: dict[int, dict[int, int]] = {}
    owner = {(a, b): g for t, g in zip(triangles.tolist(), group.tolist(), strict=True) for a, b in _sides(t)}
    for (a, b), g in owner.items():
        if owner.get((b, a)) != g:
            around = following.setdefault(g, {})
            if a in around:
                return None
            around[a] = b
    meeting: dict[int, int] = {}
    for around in following.values():
        for corner in around:
            meeting[corner] = meeting.get(corner, 0) + 1
    loops = []
    for around in following.values():
        first = corner = min(around)
        loop = []
        for _ in range(len(around)):
            if meeting[corner] > 2:
                loop.append(corner)
            corner = around[corner]
            if corner == first:
                break
        if len(loop) < 3 or corner != first:
            return None
        loops.append(loop)
    edges = {(min(side), max(side)) for loop in loops for side in _sides(loop)}
    corners = {corner for loop in loops for corner in loop}
    twice = 2 * len(edges) == sum(map(len, loops))
    return loops if twice and len(corners) - len(edges) + len(loops) == 2 else None


def _sides(loop: list[int]) -> list[tuple[int, int]]:
    return list(zip(loop, [*loop[1:], loop[0]], strict=True))
