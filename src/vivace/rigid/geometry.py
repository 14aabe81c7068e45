"""What a rigid body is made of: a collider, and what it weighs and where it is at first.

    body           its frame                                          its core, and the radius around it
    Sphere         at its centre                                      a point
    Capsule        at its centre, y along it                          a line
    Box            at its centre, along its sides                     a box; if it is round, perhaps a rectangle
    ConvexMesh     at its centre of mass, turned by `rotate`          the hull; no radius
    Plane          at its point, y along its normal                   none: a half space, which cannot move

All but the half space are a convex core and everything within a radius of it, so that one search serves all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from ..collisions.colliders import Box, Capsule, Collider, Plane, Sphere
from ..collisions.convex import ConvexMesh
from ..errors import InputError

ROUNDED = (Sphere, Box, Capsule)


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Of bodies of a density of 1 kg/m³; multiply volumes and inertias by the density.

    volumes    (M,) in m³; infinite for a half space
    inertias   (M, 3, 3) about the centre of mass, in the frame of the body; infinite for a half space
    positions  (M, 3) centres of mass, in m
    rotations  (M, 3, 3) from the frame of the body to the world
    """

    volumes: np.ndarray
    inertias: np.ndarray
    positions: np.ndarray
    rotations: np.ndarray


class Shapes(Sequence[Collider]):
    """Geometries of which most are balls, as arrays: a `Sphere` is made when somebody asks for one.

    Args:
        count: of all of them.
        single: those that are colliders, by their numbers.
        balls: numbers, centres (n, 3) and radii (n,) of the others.
    """

    def __init__(
        self, count: int, single: dict[int, Collider], balls: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> None:
        self.total, self.single = count, single
        self.numbers, self.centres, self.radii = balls
        self._at = np.full(count, -1, np.int64)
        self._at[self.numbers] = np.arange(len(self.numbers))

    def __len__(self) -> int:
        return self.total

    @overload
    def __getitem__(self, number: int) -> Collider: ...

    @overload
    def __getitem__(self, number: slice) -> list[Collider]: ...

    def __getitem__(self, number: int | slice) -> Collider | list[Collider]:
        if isinstance(number, slice):
            return [self[k] for k in range(*number.indices(self.total))]
        at = self._at[number]
        if at < 0:
            return self.single[int(number) % self.total]
        x, y, z = self.centres[at].tolist()
        return Sphere((x, y, z), float(self.radii[at]))


def singly(geometries: Sequence[Collider]) -> Iterable[tuple[int, Collider]]:
    """Numbers and geometries of all but balls that are known as arrays."""
    return geometries.single.items() if isinstance(geometries, Shapes) else enumerate(geometries)


def check_geometries(geometries: Sequence[Collider]) -> Sequence[Collider]:
    """The geometries as a list; refuse what a rigid body cannot be made of."""
    if isinstance(geometries, Shapes):
        return geometries
    try:
        found = list(geometries)
    except TypeError:
        raise InputError(f"geometries must be several, in a list, not {type(geometries).__name__}") from None
    for index, geometry in enumerate(found):
        if not isinstance(geometry, (*ROUNDED, ConvexMesh, Plane)):
            raise InputError(
                f"body {index} must be a Sphere, Box, Capsule, ConvexMesh or Plane, not {type(geometry).__name__}; "
                "the hull of any mesh is ConvexMesh(mesh)"
            )
    return found


def rounded_cores(geometries: Sequence[Collider]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of those with a box for a core, and their rows (see `collisions/kernels/distance.py`), (k, 16)."""
    chosen = {k: geometry for k, geometry in singly(geometries) if isinstance(geometry, ROUNDED)}
    which = np.array(list(chosen), np.int64)
    rows = np.array([geometry.encoded.shape for geometry in chosen.values()]).reshape(-1, 16)
    if not isinstance(geometries, Shapes):
        return which, rows
    balls = np.zeros((len(geometries.radii), 16))
    balls[:, :3], balls[:, 3:12], balls[:, 15] = geometries.centres, np.eye(3).ravel(), geometries.radii
    return np.concatenate([which, geometries.numbers]), np.concatenate([rows, balls])


def mass_properties(geometries: Sequence[Collider]) -> MassProperties:
    """Volumes, inertias and first poses of bodies: closed forms, for hulls sums over tetrahedra."""
    geometries = check_geometries(geometries)
    count = len(geometries)
    volumes, inertias = np.full(count, np.inf), np.zeros((count, 3, 3))
    positions, rotations = np.zeros((count, 3)), np.zeros((count, 3, 3))
    which, rows = rounded_cores(geometries)
    positions[which], rotations[which] = rows[:, :3], rows[:, 3:12].reshape(-1, 3, 3)
    volumes[which], inertias[which] = rounded_box(rows[:, 12:15], rows[:, 15])
    for k, geometry in singly(geometries):
        if isinstance(geometry, ConvexMesh):
            volumes[k], inertias[k] = geometry.volume, geometry.inertia
            positions[k], rotations[k] = geometry.centre, geometry.rotate
        elif isinstance(geometry, Plane):
            inertias[k] = np.diag(np.full(3, np.inf))
            positions[k], rotations[k] = geometry.point, upright(np.array(geometry.normal))
    return MassProperties(volumes, inertias, positions, rotations)


def rounded_box(core: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Volumes (k,) and inertias (k, 3, 3) of all that is within a radius of boxes with half sides `core`, (k, 3).

    Such a body is its core, six slabs, four quarters of a cylinder along each axis and eight eighths of a ball. Along
    x, with half sides a, b, c, the second moment of the quarters along y is that of a disc whose halves are moved
    apart, 2b ∫ (a + |u|)² = 2b (π r² a² + 8/3 r³ a + π/4 r⁴), and that of the eighths the same for a ball.
    """
    r = radius
    a, b, c = core.T
    ball, disc = 4 / 3 * np.pi * r**3, np.pi * r**2
    volumes = 8 * a * b * c + 8 * r * (a * b + b * c + c * a) + 2 * disc * (a + b + c) + ball
    second = np.empty_like(core)  # ∫ x², ∫ y², ∫ z²
    for axis in range(3):
        a, b, c = (core[:, (axis + k) % 3] for k in range(3))
        straight = 8 * a * b * c + 8 * r * a * (b + c) + 2 * disc * a  # what reaches from -a to a
        slabs = 8 / 3 * b * c * r * (3 * a**2 + 3 * a * r + r**2)  # ((a + r)³ - a³) / 3 times the area, on both sides
        quarters = 2 * (b + c) * (disc * a**2 + 8 / 3 * r**3 * a + np.pi / 4 * r**4)
        eighths = ball * a**2 + np.pi * r**4 * a + 4 / 15 * np.pi * r**5
        second[:, axis] = straight * a**2 / 3 + slabs + quarters + eighths
    inertias = np.zeros((len(core), 3, 3))
    for axis in range(3):
        inertias[:, axis, axis] = second[:, (axis + 1) % 3] + second[:, (axis + 2) % 3]
    return volumes, inertias


def upright(normal: np.ndarray) -> np.ndarray:
    """A rotation whose second column is a unit vector; the unit matrix if that points up."""
    if normal[1] > -0.5:  # the shortest turn from y
        x, y, z = normal
        k = 1 / (1 + y)
        return np.array([[1 - k * x * x, x, -k * x * z], [-x, y, -z], [-k * x * z, z, 1 - k * z * z]])
    return upright(-normal) @ np.diag([-1.0, -1.0, 1.0])
