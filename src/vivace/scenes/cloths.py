"""Cloth scenes."""

from __future__ import annotations

from .. import mesh
from ..checks import check_name
from ..collisions import furniture
from ..collisions.colliders import Capsule, Plane
from ..model.materials import Cloth
from ..model.model import Model
from ..model.sheets import Sheet
from .scene import SCENES, Scene
from .thickness import sheet_thickness

HIGH, WIDE, TOP = 0.5, 0.62, 0.04  # of a table: its height, width and thickness of its top, in sides of the cloth
FOOT = 0.05  # radius of what the top stands on


@SCENES.register("tablecloth")
def tablecloth(
    resolution: int = 100,
    side: float = 1.0,
    density: float = 0.2,
    stretch: float = 1e4,
    bend: float = 1e-4,
    air: float = 0.5,
    irregular: bool = False,
    time_step: float = 0.033,
    seed: int = 0,
    table: bool = False,
    friction: float = 0.5,
    itself: bool = False,
    material: str = "cloth",
    crease: float | None = None,
) -> Scene:
    """A tablecloth, swinging from two corners [fratarcangeli2016, Fig. 4] or laid over a table.

    It is let go from the horizontal. By default 10K vertices, 20K triangles, 30K springs and 30K hinges at h = 33 ms,
    as in the figure. With `table` it lies loose over a table that it is 1.6 times as wide as, with that `friction`;
    with `itself`, its folds touch. `material`: "cloth", of springs and hinges, or "sheet", of membranes and plates that
    are as stiff along the edges of the grid. `crease`: the curvature (1/m) beyond which it keeps folds; None: never.
    """
    check_name("material", material, ("cloth", "sheet"))
    stuff: Cloth | Sheet = Cloth(density, stretch, bend, crease=crease)
    if material == "sheet":
        stuff = Sheet(density, stretch, bend=3 * bend, crease=crease)
    sheet = mesh.cloth(resolution, resolution, side, side, irregular=irregular, seed=seed, plane="horizontal")
    if not table:
        model = Model.of(sheet, stuff, air=air).pin("top-corners")
        return Scene("tablecloth", model, time_step, view=(0.8, 0.25, 1.0))
    thickness = sheet_thickness(side / (resolution - 1))
    top = furniture.table(WIDE * side, HIGH * side, TOP * side, rounding=0.4 * TOP * side)
    sheet = sheet.transformed(translate=(0, HIGH * side + 1.5 * thickness, 0))
    model = Model.of(sheet, stuff, air=air)
    foot = Capsule((0, 0, 0), (0, (HIGH - TOP - FOOT) * side, 0), FOOT * side)
    model = model.collide([Plane(), top, foot], thickness=thickness, friction=friction, itself=itself)
    return Scene("tablecloth", model, time_step, frames=180, view=(0.8, 0.45, 1.0))


@SCENES.register("hanging-cloth")
def hanging_cloth(
    resolution: int = 100,
    side: float = 1.0,
    density: float = 0.2,
    stretch: float = 1e4,
    bend: float = 1e-4,
    time_step: float = 1 / 30,
) -> Scene:
    """A cloth that hangs from two adjacent corners and sags under its own weight."""
    sheet = mesh.cloth(resolution, resolution, side, side, plane="vertical")
    model = Model.of(sheet, Cloth(density, stretch, bend)).pin("top-corners")
    return Scene("hanging-cloth", model, time_step, view=(0.4, 0.2, 1.0))
