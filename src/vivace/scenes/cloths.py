"""Cloth scenes."""

from __future__ import annotations

from .. import mesh
from ..materials import Cloth
from ..model import Model
from .scene import SCENES, Scene


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
) -> Scene:
    """A tablecloth let go from the horizontal, swinging from two corners [fratarcangeli2016, Fig. 4].

    By default 10K vertices, 20K triangles, 30K springs and 30K hinges at h = 33 ms, as in the figure.
    """
    sheet = mesh.cloth(resolution, resolution, side, side, irregular=irregular, seed=seed, plane="horizontal")
    model = Model.of(sheet, Cloth(density, stretch, bend), air=air).pin("top-corners")
    return Scene("tablecloth", model, time_step, view=(0.8, 0.25, 1.0))


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
