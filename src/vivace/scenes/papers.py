"""The scenes of [fratarcangeli2013]: bodies of position based dynamics that fall, touch and restore their shape.

`scale` is the share of the paper's number of constraints: 1 for as many, 0.1 for a tenth.
"""

from __future__ import annotations

import math

import numpy as np

from .. import mesh
from ..checks import check_room, check_seed, is_number, many, shown
from ..collisions.colliders import Plane
from ..collisions.furniture import tube
from ..errors import InputError
from ..model.materials import Cloth, Jelly
from ..model.model import Model
from ..solvers import Budget
from .scene import SCENES, Scene
from .thickness import sheet_thickness

SOLVER = "pbd-coloured"  # that of the paper

TORUS = (0.25, 0.10)  # m: to the centre of the section, and radius of the section
TILT = 0.4  # rad: how far a torus of s2 may lean at first
GAP = 0.02  # m between bodies at the start, beyond what their contacts keep


def check_scale(scale: object) -> float:
    """Return `scale` if it is a positive, finite number."""
    if not is_number(scale) or not scale > 0:  # type: ignore[operator]
        raise InputError(f"scale must be a positive share of the paper's number of constraints, not {shown(scale)}")
    return float(scale)  # type: ignore[arg-type]


@SCENES.register("s0")
def s0(
    scale: float = 1.0,
    side: float = 1.0,
    density: float = 0.2,
    stretch: float = 1e4,
    bend: float = 1e-5,
    air: float = 0.1,
    friction: float = 0.3,
    time_step: float = 1 / 60,
) -> Scene:
    """A cloth falls on a tube [fratarcangeli2013, scene s0, Fig. 7].

    10K vertices, 30K springs and 29K hinges; 8 iterations a frame. It starts turned and a little off the tube's middle.
    """
    n = max(4, round(100 * math.sqrt(check_scale(scale))))
    thickness = sheet_thickness(side / (n - 1))
    holder = tube(radius=0.12 * side, length=1.2 * side, height=0.6 * side)
    above = 0.72 * side + thickness + GAP
    sheet = mesh.cloth(n, n, side, side).transformed(rotate=(0, 0.3, 0), translate=(0, above, 0.06 * side))
    model = Model.of(sheet, Cloth(density, stretch, bend, bending="dihedral"), air=air)
    model = model.collide([Plane(), holder], thickness=thickness, friction=friction, itself=True)
    return Scene("s0", model, time_step, solver=SOLVER, budget=Budget(iterations=8), frames=240, view=(0.8, 0.35, 1.0))


@SCENES.register("s1")
def s1(
    scale: float = 1.0,
    height: float = 1.0,
    flatness: float = 0.03,
    density: float = 1000.0,
    stretch: float = 1e4,
    volume: float = 1e5,
    bend: float = 1e-3,
    air: float = 1.0,
    friction: float = 0.3,
    time_step: float = 1 / 120,
    seed: int = 0,
) -> Scene:
    """A rabbit flattened to the ground restores its shape [fratarcangeli2013, scene s1, Fig. 6].

    16K vertices, 79K springs, 42K hinges and 49K volumes; 4 iterations a frame. `flatness`: how much of its height is
    left at the start. It is held by its soles: free, it would leap up and come down on its side.
    """
    check_scale(scale)
    if not is_number(flatness) or not 0 < flatness <= 1:
        raise InputError(f"flatness must be more than 0 and at most 1, not {shown(flatness)}")
    surface = max(100, round(14_002 * scale))
    body = mesh.rabbit(surface, height=height, seed=seed)
    edge = height * math.sqrt(3.0 / surface)  # about: the rabbit's surface is 1.3 height²
    thickness = sheet_thickness(edge)
    body = body.transformed(translate=(0, thickness, 0))
    model = Model.of(body, Jelly(density, stretch, volume, bend), air=air).pin("bottom")
    model = model.collide([Plane()], thickness=thickness, friction=friction, itself=False)
    start = body.vertices.copy()
    start[:, 1] = thickness + flatness * (start[:, 1] - thickness)
    start[model.pinned] = body.vertices[model.pinned]  # held vertices start where they are held
    budget = Budget(iterations=4)
    return Scene("s1", model, time_step, start, SOLVER, budget, frames=240, view=(0.6, 0.3, 1.0))


@SCENES.register("s2")
def s2(
    scale: float = 1.0,
    density: float = 500.0,
    stretch: float = 1e4,
    volume: float = 1e5,
    air: float = 0.1,
    friction: float = 0.4,
    time_step: float = 1 / 60,
    seed: int = 0,
) -> Scene:
    """A hundred tori fall on the ground and on each other [fratarcangeli2013, scene s2, Fig. 1].

    92K vertices, 480K springs and 317K volumes; 8 iterations a frame. `scale` changes how many tori there are.
    """
    count = max(1, round(100 * check_scale(scale)))
    thickness = 0.005
    model = Model.of(falling_tori(count, thickness, seed), Jelly(density, stretch, volume), air=air)
    model = model.collide([Plane()], thickness=thickness, friction=friction, itself=True)
    return Scene("s2", model, time_step, solver=SOLVER, budget=Budget(iterations=8), frames=300, view=(0.7, 0.4, 1.0))


def falling_tori(count: int, thickness: float, seed: int) -> mesh.Mesh:
    """Tori in square layers above the ground, each leaning a little; every other layer is moved by half a place."""
    major, minor = TORUS
    # 924 vertices, 4,796 edges and 3,168 tetrahedra, beside the 910, 4,930 and 3,130 of [fratarcangeli2013, Tab. 1].
    one = mesh.torus(major, minor, segments=44, section=(5, 16))
    check_room(f"a heap of {many(count)} tori", count * one.n_vertices, count * len(one.tets), corners=4)
    rng = np.random.default_rng(check_seed(seed))
    side = math.ceil(math.sqrt(count / 8))
    across = 2 * (major + minor) + thickness + GAP
    up = 2 * (minor + major * math.sin(TILT)) + thickness + GAP
    tori = []
    for k in range(count):
        layer, place = divmod(k, side * side)
        row, column = divmod(place, side)
        shift = 0.5 * (layer % 2) - 0.5 * side + 0.25
        axis, lean = rng.uniform(0, 2 * math.pi), rng.uniform(0, TILT)
        centre = (across * (column + shift), up * (layer + 1), across * (row + shift))
        tori.append(one.transformed(rotate=(lean * math.cos(axis), 0, lean * math.sin(axis)), translate=centre))
    return mesh.join(tori, name="tori")


@SCENES.register("falling-cube")
def falling_cube(
    scale: float = 1.0,
    side: float = 0.5,
    drop: float = 0.5,
    density: float = 1000.0,
    stretch: float = 1e4,
    volume: float = 1e5,
    air: float = 0.1,
    friction: float = 0.4,
    time_step: float = 1 / 60,
) -> Scene:
    """A cube falls on the ground, with 5 ms a frame [fratarcangeli2013, Fig. 4 and 5].

    13 x 13 x 13 vertices: 13K springs and 10K volumes, 24K constraints for the paper's 25K. `drop`: how high it is
    over the ground (m). It leans, and falls on a corner.
    """
    n = max(2, round(12 * check_scale(scale) ** (1 / 3)) + 1)
    body = mesh.cube(n, side)
    body = body.transformed(rotate=(0.5, 0.2, 0.4))
    body = body.transformed(translate=(0, drop - float(body.bounds[0, 1]), 0))
    model = Model.of(body, Jelly(density, stretch, volume), air=air)
    model = model.collide([Plane()], thickness=0.004, friction=friction, itself=False)
    return Scene("falling-cube", model, time_step, solver=SOLVER, budget=Budget(ms=5.0), frames=240)
