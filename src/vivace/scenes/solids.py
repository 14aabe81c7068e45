"""Scenes of tetrahedra."""

from __future__ import annotations

from .. import mesh
from ..checks import check_name, is_number, shown
from ..errors import InputError
from ..model.hyperelastic import HyperelasticMaterial
from ..model.materials import Solid
from ..model.model import Model
from ..solvers import Budget
from .hyperelastic import ENOUGH, around_extreme, hyperelastic_of, standing
from .scene import SCENES, Scene


@SCENES.register("armadillo")
def armadillo(
    path: str = "",
    height: float = 1.0,
    density: float = 1000.0,
    youngs_modulus: float = 2e5,
    poisson_ratio: float = 0.0,
    resolution: int = 43,
    time_step: float = 0.033,
    material: str = "solid",
    held: str = "hand",
) -> Scene:
    """A body hanging by one hand [fratarcangeli2016, Fig. 5] or standing; `path`: a tetrahedral mesh of the real one.

    Without a path, a generated body of `resolution` cells stands in: about 11K vertices and 50K tetrahedra. The mesh is
    scaled to `height` (m) and held at the vertices around its farthest point on the right, or with `held`="feet" at its
    lowest, on a floor. `material`: "solid", or a hyperelastic one such as "neo-hookean" [fratarcangeli2018, Fig. 11].
    """
    check_name("held", held, ("hand", "feet"))
    if path:
        body = mesh.load(path, repair=True)
        if not body.is_volumetric:
            raise InputError(
                f"the armadillo scene needs tetrahedra, and {path} holds a surface; tetrahedralise it first"
            )
    else:
        body = mesh.body(resolution)
    low, high = body.bounds
    body = body.transformed(scale=height / float(high[1] - low[1]))
    made: Solid | HyperelasticMaterial = Solid(density, youngs_modulus, poisson_ratio)
    if material != "solid":
        made = hyperelastic_of(material, youngs_modulus, poisson_ratio, density)
    model = Model.of(body, made)
    model = standing(model) if held == "feet" else model.pin(around_extreme(body.vertices, axis=0))
    budget = Budget(ms=8.0) if material == "solid" else Budget(iterations=ENOUGH)
    return Scene("armadillo", model, time_step, budget=budget, view=(0.3, 0.15, 1.0))


@SCENES.register("bar")
def bar(
    resolution: int = 6,
    length: float = 1.0,
    thickness: float = 0.2,
    density: float = 1000.0,
    youngs_modulus: float = 2e5,
    poisson_ratio: float = 0.3,
    time_step: float = 1 / 30,
) -> Scene:
    """A cantilever: a bar held at its left end, bending under its weight; `resolution` vertices across."""
    along = max(2, round(length / thickness * (resolution - 1)) + 1)
    body = mesh.bar(along, resolution, resolution, (length, thickness, thickness))
    model = Model.of(body, Solid(density, youngs_modulus, poisson_ratio)).pin("left")
    return Scene("bar", model, time_step, view=(0.3, 0.3, 1.0))


@SCENES.register("cube")
def cube(
    resolution: int = 12,
    side: float = 0.5,
    density: float = 1000.0,
    youngs_modulus: float = 5e4,
    poisson_ratio: float = 0.3,
    time_step: float = 1 / 30,
) -> Scene:
    """A jelly cube hung by its top face."""
    body = mesh.cube(resolution, side)
    model = Model.of(body, Solid(density, youngs_modulus, poisson_ratio)).pin("top")
    return Scene("cube", model, time_step)


@SCENES.register("flattened-body")
def flattened_body(
    resolution: int = 30,
    height: float = 1.0,
    flatness: float = 0.0,
    density: float = 1000.0,
    youngs_modulus: float = 2e5,
    time_step: float = 1 / 30,
) -> Scene:
    """A body pressed to `flatness` of its depth (0: every tetrahedron flat) that springs back, weightless.

    [fratarcangeli2013, scene s1] restores a flattened bunny.
    """
    if not is_number(flatness) or not 0 <= flatness <= 1:
        raise InputError(f"flatness must lie in 0 to 1, not {shown(flatness)}")
    body = mesh.body(resolution, height)
    model = Model.of(body, Solid(density, youngs_modulus), gravity=(0, 0, 0), air=0.5).pin("feet")
    start = body.vertices.copy()
    start[:, 2] = start[:, 2].mean() + flatness * (start[:, 2] - start[:, 2].mean())
    start[model.pinned] = body.vertices[model.pinned]  # held vertices start where they are held
    return Scene("flattened-body", model, time_step, start=start, view=(1.0, 0.3, 0.8))
