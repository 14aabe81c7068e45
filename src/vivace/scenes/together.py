"""Scenes of soft and rigid bodies together."""

from __future__ import annotations

import numpy as np

from .. import mesh
from ..checks import check_count, check_seed
from ..collisions import furniture
from ..collisions.colliders import Box, Capsule, Plane
from ..model.materials import Cloth, Solid
from ..model.model import Model
from ..rigid.bodies import Body
from .cloths import FOOT, HIGH, TOP, WIDE
from .rigid import check_positive, thing
from .scene import SCENES, Scene
from .thickness import sheet_thickness

SWAY = 0.25  # m that the moving box goes to each side
LEAST_SIZE = 3  # edges of the cloth: vertices carry such bodies, and triangles have little to do


@SCENES.register("cloth-on-moving-box")
def cloth_on_moving_box(
    resolution: int = 60,
    side: float = 1.0,
    density: float = 0.2,
    stretch: float = 1e4,
    bend: float = 1e-4,
    friction: float = 0.5,
    seconds: float = 2.0,
    time_step: float = 1 / 30,
) -> Scene:
    """A cloth falls over a box that goes to and fro and turns, once in so many `seconds`, and is carried along."""
    period = check_positive("seconds", seconds)

    def path(time: float) -> tuple[np.ndarray, np.ndarray]:
        begun = min(time / period, 1.0) ** 2  # gently, while the cloth falls
        phase = 2 * np.pi * time / period
        return np.array([begun * SWAY * side * np.sin(phase), 0.0, 0.0]), np.array(
            [0.0, 0.6 * begun * np.sin(phase), 0.0]
        )

    thickness = sheet_thickness(side / (resolution - 1))
    half = 0.2 * side
    box = Body(Box((0.0, half, 0.0), (half, half, half), rounding=0.05 * side), friction=friction, path=path)
    sheet = mesh.cloth(resolution, resolution, side, side, plane="horizontal")
    sheet = sheet.transformed(translate=(0, 2 * half + 3 * thickness, 0))
    model = Model.of(sheet, Cloth(density, stretch, bend), air=0.5)
    model = model.collide([Plane(), box], thickness=thickness, friction=friction, itself=False)
    return Scene("cloth-on-moving-box", model, time_step, frames=240, view=(0.8, 0.45, 1.0))


@SCENES.register("box-on-jelly")
def box_on_jelly(
    n: int = 8,
    side: float = 0.3,
    youngs_modulus: float = 3e4,
    mass: float = 2.0,
    height: float = 0.2,
    friction: float = 0.5,
    time_step: float = 1 / 60,
) -> Scene:
    """A box of so many kg falls from a height (m) onto a soft cube on the floor, tilted a little."""
    check_positive("mass", mass)
    cube = mesh.cube(n, side)
    thickness = 0.01 * side
    cube = cube.transformed(translate=(0, 0.5 * side + thickness, 0))
    half = 0.3 * side
    top = side + thickness + check_positive("height", height) + 1.5 * half
    box = Body(Box((0.05 * side, top, 0.0), (half, half, half), rotate=(0.1, 0.0, 0.2)), mass=mass, friction=friction)
    model = Model.of(cube, Solid(1000.0, youngs_modulus, 0.3))
    model = model.collide([Plane(), box], thickness=thickness, friction=friction, itself=False)
    return Scene("box-on-jelly", model, time_step, frames=180, view=(0.5, 0.25, 1.0))


@SCENES.register("falling-bodies")
def falling_bodies(
    bodies: int = 200,
    resolution: int = 100,
    side: float = 1.0,
    size: float = 0.05,
    density: float = 0.2,
    stretch: float = 1e4,
    bend: float = 1e-4,
    body_density: float = 500.0,
    friction: float = 0.5,
    time_step: float = 1 / 30,
    seed: int = 0,
) -> Scene:
    """Balls, boxes, capsules and hulls rain on a tablecloth over its table: soft and rigid bodies in one step."""
    count, rng = check_count("bodies", bodies, 1), np.random.default_rng(check_seed(seed))
    edge = side / (resolution - 1)
    radius = 0.5 * max(check_positive("size", size), LEAST_SIZE * edge)
    thickness = sheet_thickness(edge)
    top = furniture.table(WIDE * side, HIGH * side, TOP * side, rounding=0.4 * TOP * side)
    foot = Capsule((0, 0, 0), (0, (HIGH - TOP - FOOT) * side, 0), FOOT * side)
    sheet = mesh.cloth(resolution, resolution, side, side, plane="horizontal")
    sheet = sheet.transformed(translate=(0, HIGH * side + 1.5 * thickness, 0))
    model = Model.of(sheet, Cloth(density, stretch, bend), air=0.5)
    gap, across = 3.2 * radius, max(1, int(0.8 * WIDE * side / (3.2 * radius)))
    falling = []
    for k in range(count):
        layer, spot = divmod(k, across * across)
        x, z = gap * (spot % across - 0.5 * (across - 1)), gap * (spot // across - 0.5 * (across - 1))
        jitter = rng.uniform(-0.1, 0.1, 3) * radius
        place = np.array([x, (HIGH + 0.15) * side + gap * layer, z]) + jitter
        falling.append(Body(thing(k % 4, place, radius, rng), density=body_density, friction=friction))
    model = model.collide([Plane(), top, foot, *falling], thickness=thickness, friction=friction, itself=False)
    return Scene("falling-bodies", model, time_step, frames=180, view=(0.8, 0.5, 1.0))
