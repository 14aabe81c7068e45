"""Scenes of hyperelastic bodies: those of [fratarcangeli2018, section 3]."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import mesh
from ..checks import check_name, is_number, shown
from ..collisions.colliders import Plane
from ..errors import InputError
from ..hyperelastic.densities import HYPERELASTIC
from ..model.hyperelastic import HyperelasticMaterial
from ..model.materials import MATERIALS
from ..model.model import Model
from ..solvers import Budget
from .scene import SCENES, Scene

ITERATIONS = 96  # of a step of the paper's method [fratarcangeli2018, section 3.4]
ENOUGH = 16  # of `auto`, which moves these bodies as converged steps do; the paper's method does not
ABOVE_FLOOR = 0.004  # m: how far off it what stands stays
# What is done to the box's top, with how much of it: ratios of its height, and degrees.
MODES = {"stretch": 1.8, "compress": 0.5, "twist": 180.0}


def hyperelastic_of(name: str, young: float, poisson: float, density: float) -> HyperelasticMaterial:
    """A hyperelastic material by its name, made of moduli."""
    known = [one for one in MATERIALS if one in HYPERELASTIC and hasattr(MATERIALS[one], "young")]
    check_name("material", name, known)
    made: HyperelasticMaterial = MATERIALS[name](young=young, poisson=poisson, density=density)
    return made


@SCENES.register("box")
def box(
    resolution: int = 9,
    mode: str = "stretch",
    amount: float | str = "auto",
    material: str = "neo-hookean",
    side: float = 0.5,
    density: float = 1000.0,
    youngs_modulus: float = 1e5,
    poisson_ratio: float = 0.4,
    time_step: float = 1 / 30,
) -> Scene:
    """A hyperelastic box held at its bottom, its top stretched, compressed or twisted [fratarcangeli2018, Fig. 19].

    `mode`: "stretch" and "compress" with the `amount` a ratio of heights, "twist" with degrees. It starts deformed
    evenly and settles. `resolution`: vertices along a side; 24 has the paper's 14K vertices and 73K tetrahedra.
    """
    check_name("mode", mode, tuple(MODES))
    much: Any = MODES[mode] if amount == "auto" else amount
    if not is_number(much) or (mode != "twist" and not 0.05 <= much <= 20) or abs(much) > 3600:
        bounds = "at most 3600 degrees" if mode == "twist" else "a ratio from 0.05 to 20"
        raise InputError(f'amount must be {bounds} for mode={mode!r}, or "auto", not {shown(amount)}')
    body = mesh.cube(resolution, side).transformed(translate=(0.0, 0.5 * side, 0.0))
    start = deformed(body.vertices, mode, float(much), side)
    top = body.groups["top"]
    model = Model.of(body, hyperelastic_of(material, youngs_modulus, poisson_ratio, density), gravity=(0, 0, 0))
    firm = 10 * model.pin_stiffness  # corners pull hard
    model = model.pin("bottom", stiffness=firm).pin(top, stiffness=firm, target=start[top])
    budget = Budget(iterations=ENOUGH)
    return Scene("box", model, time_step, start=start, budget=budget, view=(0.5, 0.35, 1.0))


def deformed(x: np.ndarray, mode: str, amount: float, height: float) -> np.ndarray:
    """Positions (n, 3) of a body on y = 0 whose top, at `height`, is moved, and all below it in proportion."""
    if mode != "twist":
        return x * [1.0, amount, 1.0]
    angle = np.radians(amount) * x[:, 1] / height
    c, s = np.cos(angle), np.sin(angle)
    return np.column_stack([c * x[:, 0] + s * x[:, 2], x[:, 1], c * x[:, 2] - s * x[:, 0]])


@SCENES.register("dragon")
def dragon(
    resolution: int = 64,
    path: str = "",
    material: str = "neo-hookean",
    length: float = 1.0,
    density: float = 1000.0,
    youngs_modulus: float = 2e5,
    poisson_ratio: float = 0.4,
    time_step: float = 1 / 30,
    held: str = "back",
) -> Scene:
    """A dragon hung by its back or standing, limbs let go from where they rest [fratarcangeli2018, Fig. 1, Tab. 2].

    Give `path` to a tetrahedral mesh of your own: it is scaled so that it is `length` (m) long in x, and held at the
    vertices around the highest above its middle, or with `held`="feet" at the lowest, on a floor. Without one, a
    generated dragon of `resolution` cells along its length stands in: 64 has about the paper's 58K tetrahedra.
    """
    check_name("held", held, ("back", "feet"))
    if path:
        body = mesh.load(path, repair=True)
        if not body.is_volumetric:
            raise InputError(f"the dragon scene needs tetrahedra, and {path} holds a surface; tetrahedralise it first")
        low, high = body.bounds
        body = body.transformed(scale=length / float(high[0] - low[0]))
        back = above_middle(body.vertices)
    else:
        body = mesh.dragon(resolution, length)
        back = body.groups["back"]
    model = Model.of(body, hyperelastic_of(material, youngs_modulus, poisson_ratio, density))
    model = standing(model) if held == "feet" else model.pin(back)
    budget = Budget(iterations=ENOUGH)
    return Scene("dragon", model, time_step, budget=budget, view=(0.35, 0.2, 1.0))


def above_middle(points: np.ndarray, share: float = 0.08) -> np.ndarray:
    """The points within `share` of the body's size of the highest that is as near to above its middle."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = float((high - low).max())
    aside = np.linalg.norm((points - 0.5 * (low + high))[:, [0, 2]], axis=1)
    column = np.flatnonzero(aside <= max(share * size, aside.min()))
    top = points[column[np.argmax(points[column, 1])]]
    return np.flatnonzero(np.linalg.norm(points - top, axis=1) <= share * size).astype(np.int32)


def around_extreme(points: np.ndarray, axis: int, share: float = 0.04) -> np.ndarray:
    """The points within `share` of the body's size of its farthest point along `axis`."""
    extreme = points[np.argmax(points[:, axis])]
    size = float((points.max(axis=0) - points.min(axis=0)).max())
    return np.flatnonzero(np.linalg.norm(points - extreme, axis=1) <= share * size).astype(np.int32)


def standing(model: Model) -> Model:
    """A body held by what is within a thirtieth of its height of its lowest point, on a floor."""
    above = model.mesh.vertices[:, 1] - model.mesh.vertices[:, 1].min()
    feet = np.flatnonzero(above <= above.max() / 30).astype(np.int32)
    floor = Plane((0.0, float(model.mesh.vertices[:, 1].min()) - ABOVE_FLOOR, 0.0))
    return model.pin(feet).collide([floor], thickness=ABOVE_FLOOR, itself=False)


@SCENES.register("double-helix")
def double_helix(
    resolution: int = 26,
    material: str = "neo-hookean",
    height: float = 1.0,
    density: float = 1000.0,
    youngs_modulus: float = 2e5,
    poisson_ratio: float = 0.4,
    time_step: float = 1 / 30,
) -> Scene:
    """Two strands around each other, with rungs, hanging by their upper ends [fratarcangeli2018, Fig. 18].

    `resolution`: cells along its height; 40, 51, 63 and 80 have about the paper's 41K, 82K, 158K and 316K tetrahedra.
    """
    body = mesh.double_helix(resolution, height)
    model = Model.of(body, hyperelastic_of(material, youngs_modulus, poisson_ratio, density)).pin("top")
    return Scene("double-helix", model, time_step, budget=Budget(iterations=ENOUGH))
