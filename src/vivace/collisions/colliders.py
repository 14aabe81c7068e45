"""Things that do not move and cannot be entered, each as a signed distance: negative inside, positive outside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..backends.cpu.arguments import Phase
from ..backends.cpu.executor import SMALL, Plan, default_threads
from ..checks import LARGEST, as_numbers, check_size, is_number, real_array, shown
from ..errors import InputError
from ..mesh import Mesh
from ..mesh.mesh import as_rotation
from ..storage import storable
from .kernels import distance as kernels
from .settings import as_friction

Friction = float | tuple[float, float] | None

PLANE_SIDE = 10.0  # m: of the square that stands for a plane in pictures
ROUND_STEPS = 12  # quads along a quarter of a circle, in pictures
UNIT = 4e-16  # what rounding leaves of a length of 1
NO_SAMPLES = np.zeros(1, np.float32)


def check_points(points: Any) -> np.ndarray:
    """Return `points` as (m, 3) float64."""
    array = real_array(points)
    if array is None:
        raise InputError(f"points must be (m, 3) numbers, not {type(points).__name__}")
    if array.ndim != 2 or array.shape[1] != 3:
        raise InputError(f"points must have the shape (m, 3), not {array.shape}; write a single point as [[x, y, z]]")
    if not np.isfinite(array).all():
        raise InputError(f"points must be finite; point {np.argmin(np.isfinite(array).all(axis=1))} is not")
    return np.ascontiguousarray(array)


def _vector(value: Any, what: str) -> tuple[float, float, float]:
    x, y, z = as_numbers(what, value, (3,), most=LARGEST).tolist()
    return x, y, z


def _positive(value: Any, what: str) -> float:
    if not is_number(value) or not value > 0:
        raise InputError(f"{what} must be a positive length in metres, not {shown(value)}")
    return check_size(what, value)


@dataclass(frozen=True)
class Encoded:
    """A collider as the rows of numbers that `kernels/distance.py` reads."""

    kind: int
    shape: np.ndarray  # (16,) float64
    bounds: np.ndarray  # (6,) float64: lowest and highest corner, in m
    samples: np.ndarray  # (z, y, x) float32; none but for samples on a grid


class Collider(ABC):
    """What every collider can do; `friction` is None where the simulation's own holds."""

    friction: Friction
    encoded: Encoded

    def _settle(self, encoded: Encoded, **values: Any) -> None:
        """Store checked values in a frozen dataclass."""
        if self.friction is not None:
            values["friction"] = as_friction(self.friction)
        for name, value in (values | {"encoded": encoded}).items():
            object.__setattr__(self, name, value)

    def distance(self, points: Any) -> np.ndarray:
        """Return the (m,) float64 signed distances of (m, 3) points, in m; negative inside."""
        return self._evaluate(points)[0]

    def gradient(self, points: Any) -> np.ndarray:
        """Return the (m, 3) float64 unit vectors that lead away from the surface fastest, at (m, 3) points."""
        return self._evaluate(points)[1]

    def _evaluate(self, points: Any) -> tuple[np.ndarray, np.ndarray]:
        points = check_points(points)
        distance, normal = np.empty(len(points)), np.empty((len(points), 3))
        sizes, shape, _, samples = encode([self])
        arrays = {"sizes": sizes, "shape": shape, "grid": samples, "points": points, "distance": distance}
        phase = Phase(kernels.evaluate, {**arrays, "normal": normal}, 0, len(points))
        Plan([phase], default_threads() if len(points) > SMALL else 1).run()
        return distance, normal

    @abstractmethod
    def surface(self) -> Mesh:
        """Return triangles for pictures."""


@storable("plane")
@dataclass(frozen=True)
class Plane(Collider):
    """Everything below a plane, "below" being against the normal.

    Args:
        point: any point on it, in m.
        normal: where "outside" is; any length but zero.
        friction: a coefficient, or (static, kinetic), or None for the simulation's own.
    """

    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    normal: tuple[float, float, float] = (0.0, 1.0, 0.0)
    friction: Friction = None

    def __post_init__(self) -> None:
        point, normal = np.array(_vector(self.point, "point")), np.array(_vector(self.normal, "normal"))
        length = np.linalg.norm(normal)
        if not length > 0:
            raise InputError(f"the normal of a plane must have a length, not {normal.tolist()}; (0, 1, 0) points up")
        if abs(length - 1.0) > UNIT:  # a unit vector stays as it is, to the bit: a stored plane is the same again
            normal = normal / length
        shape = np.zeros(kernels.SHAPE)
        shape[:4] = *normal, normal @ point
        everywhere = np.repeat([-np.inf, np.inf], 3)
        encoded = Encoded(kernels.HALF_SPACE, shape, everywhere, NO_SAMPLES)
        self._settle(encoded, point=tuple(point.tolist()), normal=tuple(normal.tolist()))

    def surface(self) -> Mesh:
        """Return a square of 10 m around `point`."""
        across, _, along = 0.5 * PLANE_SIDE * _frame(np.array(self.normal)).T
        corners = ((-1, -1), (-1, 1), (1, 1), (1, -1))  # counter-clockwise from above: along x across is the normal
        vertices = [np.array(self.point) + a * across + b * along for a, b in corners]
        return Mesh.from_triangles(vertices, [[0, 1, 2], [0, 2, 3]], name="plane")


class _Rounded(Collider):
    """A box with round edges in any position; also a sphere (its core is a point) and a capsule (a line)."""

    def _round(
        self, centre: np.ndarray, rotation: np.ndarray, core: np.ndarray, rounding: float, /, **values: Any
    ) -> None:
        half = np.abs(rotation) @ core + rounding
        shape = np.concatenate([centre, rotation.ravel(), core, [rounding]])
        bounds = np.concatenate([centre - half, centre + half])
        self._settle(Encoded(kernels.ROUNDED, shape, bounds, NO_SAMPLES), **values)

    def surface(self, steps: int = ROUND_STEPS) -> Mesh:
        """Return the surface as triangles; round parts have so many steps along a quarter of a circle."""
        shape = self.encoded.shape
        centre, rotation, core, rounding = shape[:3], shape[3:12].reshape(3, 3), shape[12:15], shape[15]
        vertices, triangles = _rounded_box(core, rounding, steps)
        return Mesh.from_triangles(vertices @ rotation.T + centre, triangles, name=type(self).__name__.lower())


@storable("sphere")
@dataclass(frozen=True)
class Sphere(_Rounded):
    """A ball.

    Args:
        centre: in m.
        radius: in m.
        friction: a coefficient, or (static, kinetic), or None for the simulation's own.
    """

    centre: tuple[float, float, float]
    radius: float
    friction: Friction = None

    def __post_init__(self) -> None:
        centre, radius = _vector(self.centre, "centre"), _positive(self.radius, "radius")
        self._round(np.array(centre), np.eye(3), np.zeros(3), radius, centre=centre, radius=radius)


@storable("box")
@dataclass(frozen=True)
class Box(_Rounded):
    """A box.

    Args:
        centre: in m.
        half: half its sides, in m, with the rounding.
        rotate: a (3, 3) rotation matrix, or a rotation vector (axis times angle, in rad), about its centre.
        rounding: radius of its edges and corners, in m; at most the shortest of `half`.
        friction: a coefficient, or (static, kinetic), or None for the simulation's own.
    """

    centre: tuple[float, float, float]
    half: tuple[float, float, float]
    rotate: Any = None
    rounding: float = 0.0
    friction: Friction = None

    def __post_init__(self) -> None:
        centre, half = _vector(self.centre, "centre"), _vector(self.half, "half")
        if min(half) <= 0:
            raise InputError(f"half the sides of a box must be positive lengths in metres, not {half}")
        if not is_number(self.rounding) or not 0 <= self.rounding <= min(half):
            raise InputError(
                f"rounding must lie between 0 and the shortest half side, {min(half)} m, not {shown(self.rounding)}"
            )
        rotation = np.eye(3) if self.rotate is None else as_rotation(self.rotate)
        turned = None if self.rotate is None else tuple(map(tuple, rotation.tolist()))
        core = np.array(half) - self.rounding
        values = {"centre": centre, "half": half, "rotate": turned, "rounding": float(self.rounding)}
        self._round(np.array(centre), rotation, core, float(self.rounding), **values)


@storable("capsule")
@dataclass(frozen=True)
class Capsule(_Rounded):
    """A rod with round ends: all that is closer than the radius to a line.

    Args:
        start: of the line, in m.
        end: of the line, in m.
        radius: in m.
        friction: a coefficient, or (static, kinetic), or None for the simulation's own.
    """

    start: tuple[float, float, float]
    end: tuple[float, float, float]
    radius: float
    friction: Friction = None

    def __post_init__(self) -> None:
        start, end, radius = _vector(self.start, "start"), _vector(self.end, "end"), _positive(self.radius, "radius")
        axis = np.array(end) - np.array(start)
        length = float(np.linalg.norm(axis))
        if not length > 0:
            raise InputError(f"start and end of a capsule are the same point, {start}; use a Sphere")
        core, centre = np.array([0.0, 0.5 * length, 0.0]), 0.5 * (np.array(start) + np.array(end))
        self._round(centre, _frame(axis / length), core, radius, start=start, end=end, radius=radius)


def encode(colliders: Sequence[Collider]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return `sizes` (k, 5) int64, `shape` (k, 16) and `bounds` (k, 6) float64, and all samples as float32."""
    for index, collider in enumerate(colliders):
        if not isinstance(collider, Collider):
            raise InputError(
                f"collider {index} must be a Plane, Sphere, Box, Capsule or Sampled, not {type(collider).__name__}"
            )
    sizes = np.zeros((len(colliders), kernels.SIZES), np.int64)
    samples: list[np.ndarray] = []
    start = 0
    for row, collider in zip(sizes, colliders, strict=True):
        encoded = collider.encoded
        row[0] = encoded.kind
        if encoded.kind == kernels.SAMPLES:
            row[1:] = start, *encoded.samples.shape[::-1]
            samples.append(encoded.samples.ravel())
            start += encoded.samples.size
    shape = np.array([c.encoded.shape for c in colliders]).reshape(-1, kernels.SHAPE)
    bounds = np.array([c.encoded.bounds for c in colliders]).reshape(-1, kernels.BOUNDS)
    joined = samples[0] if len(samples) == 1 else np.concatenate(samples or [NO_SAMPLES])
    return sizes, shape, bounds, joined


def _frame(axis: np.ndarray) -> np.ndarray:
    """Return a rotation whose second column is the unit vector `axis`."""
    least = np.eye(3)[np.argmin(np.abs(axis))]
    across = np.cross(axis, least)
    across /= np.linalg.norm(across)
    return np.column_stack([across, axis, np.cross(across, axis)])


def _rounded_box(core: np.ndarray, rounding: float, fine: int) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and triangles of a rounded box around the origin.

    A cube of quads is blown up to a ball, and the ball cut along the three middle planes; its eighths move to the
    corners of the core. Where the core is flat or nothing is round, points fall together and become one.
    """
    steps = np.linspace(0.0, 1.0, fine + 1) if rounding > 0 else np.ones(1)
    line = np.concatenate([-steps[::-1], steps])
    side = np.repeat([-1.0, 1.0], len(steps))
    n = len(line)
    points: list[np.ndarray] = []
    quads: list[np.ndarray] = []
    number = np.arange(n * n).reshape(n, n)
    quad = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], axis=-1).reshape(-1, 4)
    for axis, sign in product(range(3), (-1.0, 1.0)):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        cube, corner = np.empty((n, n, 3)), np.empty((n, n, 3))
        cube[..., axis] = corner[..., axis] = sign
        cube[..., u], cube[..., v] = np.meshgrid(line, line, indexing="ij")
        corner[..., u], corner[..., v] = np.meshgrid(side, side, indexing="ij")
        ball = np.tan(0.25 * np.pi * cube)  # even steps along the great circles
        ball /= np.linalg.norm(ball, axis=-1, keepdims=True)
        quads.append((quad if sign > 0 else quad[:, ::-1]) + len(points) * n * n)
        points.append((corner * core + rounding * ball).reshape(-1, 3))
    vertices = np.concatenate(points)
    size = np.abs(vertices).max()
    _, first, same = np.unique(np.round(vertices / size, 9) + 0.0, axis=0, return_index=True, return_inverse=True)
    corners = same.reshape(-1)[np.concatenate(quads)]
    triangles = np.concatenate([corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]])
    a, b, c = triangles.T
    return vertices[first], triangles[(a != b) & (b != c) & (c != a)]
