"""A dress on a mannequin [fratarcangeli2018, Fig. 13 and Tab. 2]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import mesh
from ..checks import check_count, is_number, shown
from ..collisions.colliders import Capsule, Collider, Plane, Sphere
from ..errors import InputError
from ..model.materials import Cloth
from ..model.model import Model
from ..rigid.bodies import Body
from ..solvers import Budget
from .rigid import check_positive
from .scene import SCENES, Scene
from .thickness import sheet_thickness

# A mannequin 1.7 m high that stands on y = 0 and faces +z, as (start, end, radius) in m. What lies on the plane x = 0
# is there once, all else twice, mirrored.
CHEST = ((-0.10, 1.26, 0.0), (0.10, 1.26, 0.0), 0.115)
TORSO = [
    CHEST,
    ((-0.077, 1.165, 0.0), (0.077, 1.165, 0.0), 0.103),
    ((-0.055, 1.08, 0.0), (0.055, 1.08, 0.0), 0.092),  # waist
    ((-0.070, 1.005, 0.0), (0.070, 1.005, 0.0), 0.104),
    ((-0.085, 0.93, 0.0), (0.085, 0.93, 0.0), 0.115),  # hips
]
LIMBS = [
    ((0.09, 0.86, 0.0), (0.10, 0.48, 0.01), 0.075),  # thighs
    ((0.10, 0.48, 0.01), (0.10, 0.08, 0.0), 0.052),  # shins
    ((0.10, 0.05, 0.0), (0.11, 0.05, 0.12), 0.05),  # feet
    ((0.17, 1.36, 0.0), (0.47, 1.20, 0.0), 0.045),  # arms
    ((0.47, 1.20, 0.0), (0.68, 1.02, 0.06), 0.038),
]
NECK, HEAD = ((0.0, 1.30, 0.0), (0.0, 1.50, 0.0), 0.055), ((0.0, 1.60, 0.0), 0.105)
TOP, HIPS, HEM = 1.27, 0.93, 0.42  # m: where the dress begins, where it leaves the body, and where it ends
FLARE = 0.75  # m of radius for each of height, below the hips
BAND = 0.025  # m: what is held of the dress, at its upper end
SUBSTEPS, ITERATIONS = 8, 40  # of a step, and of each of these [fratarcangeli2018, section 3.4]
SHAPE = 48  # rings and directions in which the outline of the body is found
FARTHEST = 0.6  # m from the axis: there is nothing of a torso beyond


def mannequin(torso_only: bool = False) -> list[Collider]:
    """What it is made of; the first is its chest."""
    parts: list[Collider] = [Capsule(*part) for part in TORSO]
    if torso_only:
        return parts
    for (x, y, z), (u, v, w), radius in LIMBS:
        parts += [Capsule((side * x, y, z), (side * u, v, w), radius) for side in (1.0, -1.0)]
    return [*parts, Capsule(*NECK), Sphere(*HEAD)]


def outline(parts: Sequence[Any], heights: np.ndarray, angles: np.ndarray, gap: float) -> np.ndarray:
    """(heights, angles) distances from the y axis at which a dress is `gap` away from a body, or nearly so.

    What the body is nowhere wider than: the largest within a hand's breadth above and below, so that cloth spans the
    waist as it does, and evenly from one direction to the next.
    """
    y, angle, r = np.meshgrid(heights, angles, np.linspace(0, FARTHEST, 121), indexing="ij")
    points = np.stack([r * np.cos(angle), y, r * np.sin(angle)], -1).reshape(-1, 3)
    inside = np.min([part.distance(points) for part in parts], axis=0).reshape(r.shape) < gap
    found: np.ndarray = np.where(inside, r, 0.0).max(axis=2)
    for _ in range(2):  # the mean of three neighbours around, but never less
        found = np.maximum(found, (np.roll(found, 1, 1) + found + np.roll(found, -1, 1)) / 3)
    outer: np.ndarray = found + r[0, 0, 1]
    return outer


def sewn(resolution: int, gap: float, body: Sequence[Any] | None = None, top: float = TOP) -> mesh.Mesh:
    """A dress around the mannequin, `gap` away from it: a bodice that fits, and a wide skirt. Group "top".

    `body`: what it fits instead, by its distances; `top`: where it begins (m).
    """
    around, down = check_count("resolution", resolution, 12), max(4, round(0.59 * resolution))
    heights = np.linspace(top, HIPS, SHAPE)
    coarse = np.linspace(0, 2 * np.pi, SHAPE, endpoint=False)
    radii = outline(mannequin(torso_only=True) if body is None else body, heights, coarse, gap)
    # Rings as far apart along the cloth as vertices are around it, on the average.
    slope = float(np.hypot(1.0, FLARE))
    way = np.linspace(0, (top - HIPS) + slope * (HIPS - HEM), down)
    y = np.where(way < top - HIPS, top - way, HIPS - (way - (top - HIPS)) / slope)
    angle = np.linspace(0, 2 * np.pi, around, endpoint=False)
    rings = np.empty((down, around))
    for k, height in enumerate(y):
        at = np.array([np.interp(-max(height, HIPS), -heights, column) for column in radii.T])
        rings[k] = np.interp(angle, coarse, at, period=2 * np.pi) + FLARE * max(0.0, HIPS - height)
    vertices = np.stack([rings * np.cos(angle), np.repeat(y[:, None], around, 1), rings * np.sin(angle)], -1)
    number = np.arange(down * around).reshape(down, around)
    beside = np.roll(number, -1, axis=1)
    a, b, c, d = number[:-1], beside[:-1], number[1:], beside[1:]
    even = (np.add.outer(np.arange(down - 1), np.arange(around)) % 2 == 0)[..., None]
    first = np.where(even, np.stack([a, b, d], -1), np.stack([a, b, c], -1))
    second = np.where(even, np.stack([a, d, c], -1), np.stack([b, d, c], -1))
    triangles = np.concatenate([first.reshape(-1, 3), second.reshape(-1, 3)])
    groups = {"top": np.flatnonzero(vertices.reshape(-1, 3)[:, 1] > top - BAND), "hem": number[-1]}
    return mesh.Mesh.from_triangles(vertices.reshape(-1, 3), triangles, name="dress", groups=groups)


@SCENES.register("dress")
def dress(
    resolution: int = 160,
    path: str = "",
    turn: float = 90.0,
    seconds: float = 3.0,
    density: float = 0.2,
    stretch: float = 1e4,
    bend: float = 1e-5,
    air: float = 0.5,
    friction: float = 0.3,
    itself: bool = False,
    solver: str = "auto",
    time_step: float = 1 / 30,
) -> Scene:
    """A dress on a mannequin that turns to and fro, or stands [fratarcangeli2018, Fig. 13 and Tab. 2].

    It turns by `turn` degrees to either side, once to and fro in so many `seconds`; 0: it stands. Give `path` to a
    dress of your own, a surface whose highest 4 % are held: it is scaled and moved to hang from the mannequin's chest
    to its shins, and what would be inside the mannequin begins outside it. Without one, a dress of `resolution`
    vertices around it is sewn: 160 has the paper's 15K vertices and 44K edges. Eight substeps of 40 iterations, as in
    the paper, which has them of `descent`: `solver=descent` is that, and stretches more.
    """
    if not is_number(turn) or not 0 <= turn <= 360:
        raise InputError(f"turn must lie between 0 and 360 degrees, not {shown(turn)}")
    period, parts = check_positive("seconds", seconds), mannequin()
    sheet, start = (placed(path), None) if path else (sewn(resolution, 0.01), None)
    thickness = sheet_thickness(float(np.median(np.linalg.norm(np.diff(sheet.vertices[sheet.edges], axis=1), axis=2))))
    if path:
        start = outside(parts, sheet.vertices, 1.5 * thickness)
    model = Model.of(sheet, Cloth(density, stretch, bend), air=air)
    bodies = [_turning(part, np.radians(turn), period, friction, k) for k, part in enumerate(parts)]
    model = model.collide([Plane(), *bodies], thickness=thickness, friction=friction, itself=itself)
    model = model.attach("top", to="part-0")
    budget = Budget(iterations=SUBSTEPS * ITERATIONS)
    view = (0.35, 0.12, 1.0)
    return Scene("dress", model, time_step, start=start, solver=solver, budget=budget, substeps=SUBSTEPS, view=view)


def placed(path: str) -> mesh.Mesh:
    """A dress from a file, as high as ours and around the mannequin's axis. Group "top"."""
    sheet = mesh.load(path, repair=True, split=True)
    if sheet.is_volumetric:
        raise InputError(f"the dress scene needs a surface, and {path} holds tetrahedra")
    low, high = sheet.bounds
    scale = (TOP - HEM) / float(high[1] - low[1])
    middle = 0.5 * (low + high)
    sheet = sheet.transformed(translate=(-middle[0], -high[1], -middle[2]))
    sheet = sheet.transformed(scale=scale).transformed(translate=(0.0, TOP, 0.0))
    top = np.flatnonzero(sheet.vertices[:, 1] > TOP - 0.04 * (TOP - HEM))
    return mesh.Mesh.from_triangles(sheet.vertices, sheet.triangles, name="dress", groups={**sheet.groups, "top": top})


def outside(parts: Sequence[Collider], points: np.ndarray, gap: float) -> np.ndarray:
    """The points, those nearer to the body than `gap` moved away from what they are deepest in until they are not."""
    found = points.copy()
    for _ in range(100):
        distances = np.array([part.distance(found) for part in parts])
        deepest = distances.argmin(axis=0)
        near = distances.min(axis=0) < gap
        if not near.any():
            break
        for k in np.unique(deepest[near]):
            some = np.flatnonzero(near & (deepest == k))
            found[some] += (1.01 * gap - distances[k, some])[:, None] * parts[k].gradient(found[some])
    return found


def _turning(part: Collider, most: float, period: float, friction: float, number: int) -> Body:
    """A part of the mannequin that turns about the y axis with all of it."""
    name = f"part-{number}"
    if not most:
        return Body(part, friction=friction, fixed=True, name=name)
    low, high = part.surface().bounds
    centre = 0.5 * (low + high)

    def path(time: float) -> tuple[np.ndarray, np.ndarray]:
        angle = most * min(time / period, 1.0) ** 2 * np.sin(2 * np.pi * time / period)  # gently at first
        c, s = np.cos(angle), np.sin(angle)
        there = np.array([c * centre[0] + s * centre[2], centre[1], c * centre[2] - s * centre[0]])
        return there - centre, np.array([0.0, angle, 0.0])

    return Body(part, friction=friction, path=path, name=name)
