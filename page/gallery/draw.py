"""The pictures of the gallery: `python page/gallery/draw.py [NAME ...]` draws them anew, beside this file.

scene-NAME.webp is every scene as the page starts it, after as many seconds as show what it is about; fabric-NAME.webp
is every fabric as a square of 60 cm over a ball. The painter draws them, which needs no graphics library; they are at
most 15 KB each.
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import vivace as vv
from vivace.collisions import Plane, Sphere
from vivace.model.fabrics import FABRICS, fabric, made_of
from vivace.pictures.camera import Camera, bounds_of
from vivace.pictures.opening import ground_under, open_renderer
from vivace.pictures.palette import body_colours
from vivace.pictures.scenery import Scenery
from vivace.scenes import SCENES, RigidScene, Scene
from vivace.viewer.animated_bodies import AnimatedBodies
from vivace.viewer.body_mesh import BodyMesh, bodies_of, moving_bodies
from vivace.viewer.choices import Target

HERE = Path(__file__).parent
SIZE = 360, 240
MOST_BYTES = 15_000
FRONT = 0.13, 0.45, 0.72
SECONDS = {  # else 1.0
    "tablecloth": 2.0,
    "hanging-cloth": 0.0,
    "dress": 1.2,
    "garment-on-body": 2.0,
    "s0": 1.2,
    "cloth-heap": 0.9,
    "noodles": 0.9,
    "armadillo": 0.8,
    "cube": 0.15,
    "bar": 0.25,
    "falling-cube": 0.45,
    "s1": 0.3,
    "s2": 0.7,
    "flattened-body": 0.03,
    "dragon": 0.3,
    "double-helix": 0.3,
    "box": 0.5,
    "falling-bodies": 0.9,
    "box-on-jelly": 0.5,
    "cloth-on-moving-box": 1.4,
    "box-stack": 0.1,
    "house-of-cards": 0.1,
    "dominoes": 0.9,
    "mug": 0.3,
    "ramp": 0.3,
    "pour": 1.2,
    "ball-pile": 0.9,
    "ball-grid": 0.1,
}
COLOURS = {
    "silk": (0.72, 0.28, 0.42),
    "cotton": (0.85, 0.83, 0.76),
    "denim": (0.16, 0.27, 0.46),
    "leather": (0.36, 0.2, 0.12),
    "rubber": (0.13, 0.13, 0.15),
    "felt": (0.2, 0.5, 0.36),
}


def scene(name):
    """(positions, triangles, colours, edges, what stands around, camera) of a scene when it shows what it is about."""
    made = Target(name, {}).load()
    sim = made.simulate(budget=vv.Budget(iterations=40))
    for _ in range(round(SECONDS.get(name, 1.0) / sim.time_step)):
        sim.step()
    moving = BodyMesh(made) if moving_bodies(made) else None
    standing = [body.shape for body in bodies_of(made) if body.fixed]
    if isinstance(made, RigidScene):
        where = moving.placed(sim.bodies.positions, sim.bodies.orientations)
        return where, moving.triangles, moving.colours, None, standing, made.view
    mesh = made.model.mesh
    x, triangles, edges = sim.positions, mesh.triangles, None if len(mesh.triangles) else mesh.edges
    colours = body_colours(mesh.groups, mesh.n_vertices, FRONT)
    if made.model.collisions is not None:
        standing += list(made.model.collisions.colliders)
    if moving is not None:
        colours = np.tile(FRONT, (mesh.n_vertices, 1)) if colours is None else colours
        placed = moving.placed(sim.bodies.positions, sim.bodies.orientations)
        triangles = np.concatenate([triangles, moving.triangles + moving.first])
        x, colours = np.concatenate([x, placed]), np.concatenate([colours, moving.colours])
    animated = AnimatedBodies.of(made.model, len(x))
    if animated is not None:
        colours = np.tile(FRONT, (mesh.n_vertices, 1)) if colours is None else colours
        triangles = np.concatenate([triangles, animated.triangles + animated.first])
        x, colours = np.concatenate([x, animated.at(sim.time)]), np.concatenate([colours, animated.colours])
    return x, triangles, colours, edges, standing, made.view


def swatch(name):
    """The same of a fabric over a ball."""
    sheet = vv.mesh.cloth(60, 60, 0.6, 0.6, plane="horizontal").transformed(translate=(0, 0.42, 0))
    around = [Plane(), Sphere((0, 0.26, 0), 0.14)]
    model = vv.Model.of(sheet, vv.Cloth()).collide(around, thickness=0.004, itself=False)
    made = Scene(name, made_of(model, fabric(name)), 1 / 30)
    sim = made.simulate(budget=vv.Budget(iterations=60))
    for _ in range(45):
        sim.step()
    colours = np.tile(COLOURS.get(name, FRONT), (sheet.n_vertices, 1))
    return sim.positions, sheet.triangles, colours, None, around, (0.4, 0.35, 1.0)


def draw(target, x, triangles, colours, edges, standing, view):
    """Write a picture, as good as fits."""
    low, high = bounds_of([x])
    scenery = Scenery.of(standing, low, high) if standing else None
    camera = Camera.framing(*(scenery.frame(low, high) if scenery else (low, high)), direction=view)
    ground = ground_under(low, high, camera, scenery)
    options = {"ground": ground, "edges": edges, "size": SIZE, "backend": "painter", "samples": 3, "scenery": scenery}
    with open_renderer(triangles if len(triangles) else None, camera, **options) as renderer:
        picture = Image.fromarray(renderer.draw(x, colours)[..., :3])
    for quality in (84, 74, 62, 50, 38):
        picture.save(target, quality=quality, method=6)
        if target.stat().st_size <= MOST_BYTES:
            break
    print(target.name, target.stat().st_size, "bytes", flush=True)


if __name__ == "__main__":
    wanted = sys.argv[1:] or [*FABRICS, *SCENES]
    for name in wanted:
        if name in FABRICS:
            draw(HERE / f"fabric-{name}.webp", *swatch(name))
        else:
            draw(HERE / f"scene-{name}.webp", *scene(name))
