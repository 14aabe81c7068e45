"""Friction sets beside what one knows of them without the package: a gauge, and points all over their boundaries.

A gauge of a point is 1 on the boundary for a normal impulse of 1, less inside, and grows with the point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vivace.rigid.proximal import Box, ConvexSet, Coupled, Disc, Ellipse, FrictionSet, Polygon

ROUND = np.linspace(0.0, 2.0 * np.pi, 4001)
CORNERS = np.array([[0.9, 0.1], [0.2, 0.8], [-0.7, 0.5], [-0.6, -0.4], [0.1, -0.9], [0.8, -0.5]])


@dataclass
class Shape:
    friction: FrictionSet
    boundary: np.ndarray  # (m, 2) or (m, 3)
    gauge: object

    @property
    def width(self):
        return self.boundary.shape[1]

    @property
    def size(self):
        return float(np.abs(self.boundary).max())


def stadium(dx, dy):
    return (0.2 if dx > 0.0 else -0.2) + 0.3 * dx, 0.3 * dy


def superellipse(dx, dy):
    """|x/0.8|^4 + |y/0.5|^4 <= 1; in its dual |0.8 dx|^(4/3) + |0.5 dy|^(4/3) is a norm."""
    u, v = abs(0.8 * dx), abs(0.5 * dy)
    big = max(u, v)
    u, v = (u / big) ** (1.0 / 3.0), (v / big) ** (1.0 / 3.0)
    norm = (u**4 + v**4) ** 0.25
    return math.copysign(0.8 * u / norm, dx), math.copysign(0.5 * v / norm, dy)


def half_disc(dx, dy):
    """The upper half of the unit disc: the origin lies on its boundary."""
    if dy < 0.0:
        return (1.0 if dx > 0.0 else -1.0), 0.0
    return dx, dy


def segment(dx, dy):
    """Friction along one slanting line only."""
    return (0.6, 0.3) if 0.6 * dx + 0.3 * dy > 0.0 else (-0.6, -0.3)


def ellipsoid(dx, dy, dtau):
    u, v, w = 0.25 * dx, 0.64 * dy, 0.09 * dtau
    norm = math.sqrt(u * dx + v * dy + w * dtau)
    return u / norm, v / norm, w / norm


def octahedron(dx, dy, dtau):
    if abs(dx) >= abs(dy) and abs(dx) >= abs(dtau):
        return math.copysign(1.0, dx), 0.0, 0.0
    if abs(dy) >= abs(dtau):
        return 0.0, math.copysign(1.0, dy), 0.0
    return 0.0, 0.0, math.copysign(1.0, dtau)


def ball(count=4000):
    """Directions all over the sphere, the axes among them."""
    height = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = np.arange(count) * 2.399963229728653
    width = np.sqrt(1.0 - height**2)
    spread = np.column_stack([width * np.cos(angle), width * np.sin(angle), height])
    return np.concatenate([spread, np.eye(3), -np.eye(3)])


def _arc(radius, begin, end):
    angle = np.linspace(begin, end, 1500)
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def _sides(corners):
    weight = np.linspace(0.0, 1.0, 700)[:, None]
    return np.concatenate(
        [(1 - weight) * a + weight * b for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True)]
    )


def _polygon_gauge(corners):
    edges = np.roll(corners, -1, axis=0) - corners
    outward = np.column_stack([edges[:, 1], -edges[:, 0]])
    return lambda p: (p @ (outward / (outward * corners).sum(axis=1)[:, None]).T).max(axis=1)


def _stadium_gauge(p):
    """Bisection: p lies in g times the stadium if its distance from g times the segment is at most 0.3 g."""
    low, high = np.zeros(len(p)), np.full(len(p), 1e3 * (1 + np.abs(p).max()))
    for _ in range(200):
        g = 0.5 * (low + high)
        inside = np.hypot(np.maximum(np.abs(p[:, 0]) - 0.2 * g, 0.0), p[:, 1]) <= 0.3 * g
        low, high = np.where(inside, low, g), np.where(inside, g, high)
    return high


def _half_disc_gauge(p):
    return np.where(p[:, 1] < -1e-15, np.inf, np.hypot(p[:, 0], p[:, 1]))


def _segment_gauge(p):
    return np.where(np.abs(p[:, 0] - 2 * p[:, 1]) <= 1e-15, np.abs(p[:, 0]) / 0.6, np.inf)


def _round_shape(axes):
    return ball() * axes, lambda p: np.sqrt(((p / axes) ** 2).sum(axis=1))


def _ellipse(a, b):
    points = np.column_stack([a * np.cos(ROUND), b * np.sin(ROUND)])
    return points, lambda p: np.hypot(p[:, 0] / a, p[:, 1] / b)


def _box(a, b):
    points = _sides(np.array([[a, b], [-a, b], [-a, -b], [a, -b]]))
    return points, lambda p: np.maximum(np.abs(p[:, 0]) / a, np.abs(p[:, 1]) / b)


def _superellipse():
    c, s = np.cos(ROUND), np.sin(ROUND)
    points = np.column_stack([0.8 * np.sign(c) * np.sqrt(abs(c)), 0.5 * np.sign(s) * np.sqrt(abs(s))])
    return points, lambda p: ((np.abs(p[:, 0]) / 0.8) ** 4 + (np.abs(p[:, 1]) / 0.5) ** 4) ** 0.25


def _octahedron():
    d = ball()
    return d / np.abs(d).sum(axis=1)[:, None], lambda p: np.abs(p).sum(axis=1)


_RIGHT = np.array([0.2, 0.0])
_ENDS = [_RIGHT + _arc(0.3, -np.pi / 2, np.pi / 2), _arc(0.3, np.pi / 2, 3 * np.pi / 2) - _RIGHT]
_STRAIGHT = [np.column_stack([np.linspace(-0.2, 0.2, 500), np.full(500, height)]) for height in (0.3, -0.3)]
_STADIUM = np.concatenate([*_ENDS, *_STRAIGHT])
_HALF = np.concatenate([_arc(1.0, 0.0, np.pi), np.column_stack([np.linspace(-1, 1, 1000), np.zeros(1000)])])

SHAPES = {
    "disc": Shape(Disc(0.7), *_ellipse(0.7, 0.7)),
    "ellipse": Shape(Ellipse(0.9, 0.2), *_ellipse(0.9, 0.2)),
    "tall ellipse": Shape(Ellipse(0.1, 0.8), *_ellipse(0.1, 0.8)),
    "box": Shape(Box(0.4, 0.8), *_box(0.4, 0.8)),
    "coupled": Shape(Coupled(0.6), *_round_shape(np.array([0.6, 0.6, 0.4]))),
    "polygon": Shape(Polygon(CORNERS), _sides(CORNERS), _polygon_gauge(CORNERS)),
    "stadium": Shape(ConvexSet(stadium), _STADIUM, _stadium_gauge),
    "superellipse": Shape(ConvexSet(superellipse), *_superellipse()),
    "half disc": Shape(ConvexSet(half_disc), _HALF, _half_disc_gauge),
    "segment": Shape(ConvexSet(segment), np.linspace(-1, 1, 2001)[:, None] * [0.6, 0.3], _segment_gauge),
    "ellipsoid": Shape(ConvexSet(ellipsoid), *_round_shape(np.array([0.5, 0.8, 0.3]))),
    "octahedron": Shape(ConvexSet(octahedron), *_octahedron()),
}
CURVED_IN_SPACE = ("ellipsoid",)  # where GJK loses some digits of points on the boundary itself


def points_around(shape, rng, count=200):
    """Points inside, outside, far away, on axes, and on the boundary itself or a little beside it."""
    width = shape.width
    spread = rng.normal(size=(count, width)) * 10.0 ** rng.uniform(-3, 3, (count, 1))
    axes = np.concatenate([np.eye(width), -np.eye(width)])
    on_axes = np.concatenate([axes * f for f in (1e-3, 0.5, 2.0, 1e5)])
    edge = shape.boundary[rng.integers(len(shape.boundary), size=count)]
    beside = edge * (1.0 + rng.choice([-1.0, 0.0, 1.0], (count, 1)) * 10.0 ** rng.uniform(-16, -1, (count, 1)))
    return np.concatenate([spread, on_axes, beside, np.zeros((1, width))])
