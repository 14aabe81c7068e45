"""The heaps of [fratarcangeli2016]: many sheets that fall on each other, by position based dynamics.

`scale` is the share of the paper's number of constraints: 1 for as many, 0.1 for a tenth.
"""

from __future__ import annotations

import math

import numpy as np

from .. import mesh
from ..checks import check_room, check_seed, many
from ..collisions.colliders import Plane
from ..collisions.furniture import armchair
from ..model.materials import Cloth
from ..model.model import Model
from ..solvers import Budget
from .papers import GAP, SOLVER, check_scale
from .scene import SCENES, Scene
from .thickness import sheet_thickness

NOODLE = (8, 75)  # vertices across and along: 50 noodles have 30,000
SLIM = 0.6  # width of a cell for its length
CROSSING = 0.7  # rad: by how much layers of noodles are turned at most, to one side or the other
TILT = 0.8  # rad: how steep the layers of noodles are
CLOTHS = 9
CLOTH = 78  # vertices along a side: 36K constraints


@SCENES.register("noodles")
def noodles(
    scale: float = 1.0,
    length: float = 1.0,
    density: float = 1.0,
    stretch: float = 1e4,
    bend: float = 1e-4,
    air: float = 0.1,
    friction: float = 0.3,
    time_step: float = 1 / 120,
) -> Scene:
    """Fifty noodles fall on the floor in a heap [fratarcangeli2016, Fig. 8].

    30K vertices, 52K triangles, 82K springs and 74K hinges. `scale` changes how many noodles there are.
    """
    count = max(1, round(50 * check_scale(scale)))
    edge = SLIM * length / (NOODLE[1] - 1)  # across; those along are longer
    thickness = sheet_thickness(edge)
    width = (NOODLE[0] - 1) * edge
    one = mesh.noodle(length, width, NOODLE[1], across=NOODLE[0], plane="horizontal")
    check_room(f"a heap of {many(count)} noodles", count * one.n_vertices, count * len(one.triangles), corners=3)
    together = math.ceil(math.sqrt(count / 2))  # in a layer: twice as many layers
    strips = []
    for k in range(count):
        layer, place = divmod(k, together)
        beside = (place - 0.5 * (together - 1)) * (1.2 * width + thickness)
        turned = one.transformed(translate=(beside, 0, 0)).transformed(rotate=(0, CROSSING * math.sin(2.4 * layer), 0))
        strips.append(turned.transformed(translate=(0, layer * (thickness + GAP), 0)))
    # All layers are tilted together and stay apart. They land on their ends; flat ones would make a mat, not a heap.
    bundle = mesh.join(strips, name="noodles").transformed(rotate=(TILT, 0, 0))
    bundle = bundle.transformed(translate=(0, 0.1 * length - float(bundle.bounds[0, 1]), 0))
    model = Model.of(bundle, Cloth(density, stretch, bend, bending="dihedral"), air=air)
    model = model.collide([Plane()], thickness=thickness, friction=friction, itself=True, sleep=0.05)
    return Scene(
        "noodles", model, time_step, solver=SOLVER, budget=Budget(iterations=8), frames=480, view=(0.6, 0.6, 1.0)
    )


@SCENES.register("cloth-heap")
def cloth_heap(
    scale: float = 1.0,
    side: float = 0.9,
    density: float = 0.2,
    stretch: float = 1e4,
    bend: float = 1e-5,
    air: float = 0.1,
    friction: float = 0.4,
    time_step: float = 1 / 120,
    seed: int = 0,
) -> Scene:
    """Nine cloths fall on an armchair, one on the other [fratarcangeli2016, Fig. 9].

    36K constraints each, 320K in all. `scale` changes the resolution of each cloth.
    """
    n = max(4, round(CLOTH * math.sqrt(check_scale(scale))))
    thickness = sheet_thickness(side / (n - 1))
    one = mesh.cloth(n, n, side, side)
    check_room(f"a heap of {CLOTHS} cloths", CLOTHS * one.n_vertices, CLOTHS * len(one.triangles), corners=3)
    rng = np.random.default_rng(check_seed(seed))
    sheets = []
    for k in range(CLOTHS):
        turn, (x, z) = rng.uniform(-0.5, 0.5), rng.uniform(-0.09, 0.09, 2) * side
        # The lowest is above the back of the chair, which is 0.95 m high.
        sheets.append(one.transformed(rotate=(0, turn, 0), translate=(x, 1.05 + k * (thickness + 2 * GAP), z)))
    model = Model.of(mesh.join(sheets, name="cloths"), Cloth(density, stretch, bend, bending="dihedral"), air=air)
    model = model.collide([Plane(), *armchair()], thickness=thickness, friction=friction, itself=True, sleep=0.05)
    return Scene(
        "cloth-heap", model, time_step, solver=SOLVER, budget=Budget(iterations=8), frames=600, view=(0.7, 0.5, 1.0)
    )
