"""A dress of sewn panels on a body that walks on the spot and turns: an animated mesh, made here."""

from __future__ import annotations

import itertools

import numpy as np

from .. import mesh
from ..caches.animation import Animation
from ..checks import check_count, is_number, shown
from ..collisions.animated import AnimatedMesh
from ..collisions.colliders import Capsule, Collider, Plane, Sphere
from ..errors import InputError
from ..mesh import stuffing
from ..model.materials import Cloth
from ..model.model import Model
from ..solvers import Budget
from . import dress
from .rigid import check_positive
from .scene import SCENES, Scene
from .thickness import sheet_thickness

BLEND = 0.012  # m: how far parts of the body melt into each other
RATE = 30.0  # frames of the animation a second
PANELS = 4
TOP, WAIST = 1.235, 1.08  # m: where the dress begins, below the arms, and where it is held again
# Joints, and the parts that turn about each: numbers of `dress.LIMBS`. What hangs on a limb turns with it.
HIP, KNEE = np.array([0.09, 0.86, 0.0]), np.array([0.10, 0.48, 0.01])
SHOULDER, ELBOW = np.array([0.17, 1.36, 0.0]), np.array([0.47, 1.20, 0.0])
SWING, BEND, ARMS = 0.42, 0.6, 0.25  # rad: of thighs, knees and arms


def bones() -> list[tuple[Collider, str]]:
    """The parts of the body, and what each turns with."""
    found: list[tuple[Collider, str]] = [(Capsule(*part), "torso") for part in dress.TORSO]
    found += [(Capsule(*dress.NECK), "torso"), (Sphere(*dress.HEAD), "torso")]
    names = ("thigh", "shin", "shin", "arm", "forearm")
    for ((x, y, z), (u, v, w), radius), name in zip(dress.LIMBS, names, strict=True):
        for side, mark in ((1.0, "left"), (-1.0, "right")):
            found.append((Capsule((side * x, y, z), (side * u, v, w), radius), f"{mark}-{name}"))
    return found


class _Blended:
    """Parts that melt into each other, as the outline of a dress asks for them."""

    def __init__(self, parts: list[Collider]):
        self._parts = parts

    def distance(self, points: np.ndarray) -> np.ndarray:
        total = sum(np.exp(np.clip(-part.distance(points) / BLEND, -60.0, 60.0)) for part in self._parts)
        return np.asarray(-BLEND * np.log(np.maximum(total, 1e-300)))


def figure(spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of the body as it stands."""
    shape = _Blended([part for part, _ in bones()])
    box = np.array([-0.80, -0.06, -0.22]), np.array([0.80, 1.76, 0.28])
    vertices, tets = stuffing.stuff(lambda x: -shape.distance(x), *box, spacing)
    surface = mesh.Mesh.from_tets(vertices, tets, name="body").triangles
    used, numbers = np.unique(surface, return_inverse=True)
    return vertices[used], numbers.reshape(-1, 3).astype(np.int32)


def walking(spacing: float, seconds: float, turn: float, period: float) -> Animation:
    """The body as it walks on the spot, a step to either side in so many seconds, and turns by an angle (rad)."""
    vertices, triangles = figure(spacing)
    names = sorted({name for _, name in bones()})
    parts = [[part for part, own in bones() if own == name] for name in names]
    near = np.array([np.max([-part.distance(vertices) for part in own], axis=0) for own in parts])
    weights = np.exp(np.clip(near / (2 * BLEND), -60.0, 0.0))
    weights /= weights.sum(axis=0)
    times = np.arange(round(seconds * RATE) + 1) / RATE
    frames = np.empty((len(times), len(vertices), 3), np.float32)
    for k, time in enumerate(times):
        begun = min(time / period, 1.0) ** 2 * (3 - 2 * min(time / period, 1.0))  # gently at first
        moved = np.zeros_like(vertices)
        for name, weight in zip(names, weights, strict=True):
            moved += weight[:, None] * _posed(name, vertices, 2 * np.pi * time / period, begun)
        angle = begun * turn * np.sin(np.pi * time / period)
        c, s = np.cos(angle), np.sin(angle)
        frames[k] = moved @ np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]).T
    return Animation(times, frames, triangles, name="body")


def _posed(name: str, points: np.ndarray, phase: float, share: float) -> np.ndarray:
    """Where a part would have points at a phase of the walk."""
    if name == "torso":
        return points
    mark, _, part = name.partition("-")
    side = 1.0 if mark == "left" else -1.0
    mirror = np.array([side, 1.0, 1.0])
    swing = side * np.sin(phase)
    if part in ("arm", "forearm"):
        out = points
        if part == "forearm":
            out = _turned(out, ELBOW * mirror, -0.5 * ARMS * share * (1 - swing))
        return _turned(out, SHOULDER * mirror, ARMS * share * swing)
    out = points
    if part == "shin":
        out = _turned(out, KNEE * mirror, BEND * share * max(0.0, side * np.cos(phase)) ** 2)
    return _turned(out, HIP * mirror, -SWING * share * swing)


def _turned(points: np.ndarray, about: np.ndarray, angle: float) -> np.ndarray:
    """Turned about the x axis through a point."""
    c, s = np.cos(angle), np.sin(angle)
    return np.asarray((points - about) @ np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]).T + about)


def panels(sheet: mesh.Mesh, around: int, count: int) -> mesh.Mesh:
    """A dress of rings with `around` vertices each, cut from top to hem into so many panels.

    Groups: "seams", "top", "waist", "hem" and each panel, "body-0" and so on.
    """
    rings = sheet.vertices.reshape(-1, around, 3)
    cuts = np.linspace(0, around, count + 1).round().astype(int)
    vertices, triangles, groups, first = [], [], {}, 0
    seams: list[np.ndarray] = []
    for number, (begin, end) in enumerate(itertools.pairwise(cuts)):
        columns = np.arange(begin, end + 1)
        piece = rings[:, columns % around]
        grid = first + np.arange(piece[..., 0].size).reshape(piece.shape[:2])
        a, b, c, d = grid[:-1, :-1], grid[:-1, 1:], grid[1:, :-1], grid[1:, 1:]
        even = (np.add.outer(np.arange(len(a)), columns[:-1]) % 2 == 0)[..., None]
        one = np.where(even, np.stack([a, b, d], -1), np.stack([a, b, c], -1))
        two = np.where(even, np.stack([a, d, c], -1), np.stack([b, d, c], -1))
        triangles += [one.reshape(-1, 3), two.reshape(-1, 3)]
        vertices.append(piece.reshape(-1, 3))
        seams += [grid[:, 0], grid[:, -1]]
        groups[f"body-{number}"] = grid.ravel()
        first += grid.size
    points = np.concatenate(vertices)
    heights = rings[:, 0, 1]
    waist = heights[np.argmin(np.abs(heights - WAIST))]
    groups |= {
        "seams": np.concatenate(seams),
        "top": np.flatnonzero(points[:, 1] > TOP - dress.BAND),
        "waist": np.flatnonzero(np.abs(points[:, 1] - waist) < 1e-9),
        "hem": np.flatnonzero(points[:, 1] < points[:, 1].min() + 1e-9),
    }
    return mesh.Mesh.from_triangles(points, np.concatenate(triangles), name="dress", groups=groups)


@SCENES.register("garment-on-body")
def garment_on_body(
    resolution: int = 128,
    turn: float = 50.0,
    seconds: float = 6.0,
    period: float = 1.6,
    spacing: float = 0.03,
    density: float = 0.15,
    stretch: float = 1e4,
    bend: float = 1e-5,
    air: float = 0.5,
    friction: float = 0.3,
    itself: bool = True,
    time_step: float = 1 / 30,
) -> Scene:
    """A dress sewn of four panels on a body that walks on the spot and turns, for so many seconds.

    The body is an animated mesh with an edge of about `spacing` (m): a step to either side in `period` seconds, and a
    turn of so many degrees to and fro. The dress has `resolution` vertices around it, is welded along its seams, and
    pinned at its top and at the waist to where the body carries it.
    """
    if not is_number(turn) or not 0 <= turn <= 180:
        raise InputError(f"turn must lie between 0 and 180 degrees, not {shown(turn)}")
    around = check_count("resolution", resolution, 24)
    length, step = check_positive("seconds", seconds), check_positive("period", period)
    body = AnimatedMesh(walking(check_positive("spacing", spacing), length, np.radians(turn), step), name="body")
    torso = _Blended([part for part, name in bones() if name == "torso"])
    sheet = panels(dress.sewn(around, 0.012, [torso], TOP), around, PANELS)
    edge = float(np.median(np.linalg.norm(np.diff(sheet.vertices[sheet.edges], axis=1), axis=2)))
    model = Model.of(sheet, Cloth(density, stretch, bend), air=air).sew()
    model = model.collide([Plane(), body], thickness=sheet_thickness(edge), friction=friction, itself=itself)
    for where in ("top", "waist"):
        model = model.pin(where, path=body.carried(sheet.vertices[sheet.groups[where]]))
    frames = round(length / time_step)
    return Scene("garment-on-body", model, time_step, frames=frames, budget=Budget(ms=33.0), view=(0.35, 0.12, 1.0))
