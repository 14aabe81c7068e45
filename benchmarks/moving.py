"""Things that move: cloth on a belt, what goes through a hanging cloth at 2 m/s, and a dress on a body that walks.

python benchmarks/moving.py                      # all of it, some minutes
python benchmarks/moving.py --only belt          # friction against its closed form, min(μ g t, speed)
python benchmarks/moving.py --only through       # a ball at 2 m/s, rigid and animated, at 33 ms
python benchmarks/moving.py --only dress         # 10K vertices with self-contact at 33 ms
python benchmarks/moving.py --only dress --strip out/garment.png      # and six of its frames beside each other
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import vivace as vv
from vivace.collisions import Box, Sphere, crossings
from vivace.mesh import topology
from vivace.pictures.bodies import film_of_model

SPEED, MU, GRAVITY = 0.5, 0.3, 9.81


def stretch(model: vv.Model, positions: np.ndarray) -> np.ndarray:
    """How much longer each edge is than at rest, relative to that."""
    one, two = model.mesh.edges.T
    rest = np.linalg.norm(model.mesh.vertices[one] - model.mesh.vertices[two], axis=1)
    longer: np.ndarray = np.linalg.norm(positions[one] - positions[two], axis=1) / rest - 1
    return longer


def pierced(model: vv.Model, positions: np.ndarray, time: float) -> tuple[int, int]:
    """Exact crossings of the cloth with animated meshes, and with itself; what is sewn at a vertex shares it."""
    bodies, n = model.collisions.animated, model.n
    offsets = n + np.cumsum([0, *(body.n_vertices for body in bodies)])
    parts = [body.triangles + first for body, first in zip(bodies, offsets, strict=False)]
    triangles = np.concatenate([model.mesh.triangles, *parts])
    edges, through = crossings(np.concatenate([positions, *(body.at(time) for body in bodies)]), triangles)
    soft_edge, soft_triangle = edges[:, 0] < n, through < len(model.mesh.triangles)
    welds = [group.vertices for group in model.groups if group.kind.name == "weld"]
    links = np.concatenate(welds) if welds else np.zeros((0, 2), np.int32)
    alike = topology.connected_components(int(offsets[-1]), links)[1]
    sewn = (alike[edges][:, :, None] == alike[triangles[through]][:, None]).any(axis=(1, 2))
    return int((soft_edge != soft_triangle).sum()), int((soft_edge & soft_triangle & ~sewn).sum())


def belt() -> None:
    """A patch of cloth on a belt."""
    print(f"a patch of cloth on a belt of {SPEED} m/s, μ = {MU}: largest error of its speed, in % of the belt's")
    times, keys = np.array([0.0, 2.0]), vv.Keyframes([0, 2], shifts=[[0, 0, 0], [2 * SPEED, 0, 0]])
    plate = Box((1.0, -0.05, 0.0), (2.0, 0.05, 1.0))
    surface = plate.surface()
    frames = surface.vertices + times[:, None, None] * np.array([SPEED, 0, 0])
    things = {
        "rigid": vv.Body(plate, path=keys, friction=MU),
        "animated": vv.AnimatedMesh(vv.caches.Animation(times, frames, surface.triangles)),
    }
    for name, thing in things.items():
        for h in (1 / 30, 1 / 60):
            cloth = vv.mesh.cloth(12, 12, 0.3, 0.3).transformed(translate=(0, 0.004, 0))
            model = vv.Model.of(cloth, vv.Cloth(0.2, 1e3, 1e-5))
            model = model.collide([thing], thickness=0.004, friction=MU, itself=False)
            sim = vv.Simulation(model, budget=vv.Budget(iterations=16), time_step=h)
            worst, last = 0.0, 0.0
            for _ in range(round(0.5 / h)):
                sim.step()
                last = float(sim.velocities[:, 0].mean())
                worst = max(worst, abs(last - min(MU * GRAVITY * sim.time, SPEED)))
            print(f"  {name:8}  h = {1e3 * h:4.1f} ms: {100 * worst / SPEED:5.2f} %, in the end {last:.4f} m/s")


def ball(kind: str) -> vv.Body | vv.AnimatedMesh:
    """A ball that goes through where a cloth hangs, at 2 m/s."""
    sphere = Sphere((0.0, -0.5, -0.5), 0.15)
    if kind == "rigid":
        return vv.Body(sphere, friction=MU, path=vv.Keyframes([0, 2], shifts=[[0, 0, 0], [0, 0, 4]]))
    surface, times = sphere.surface(4), np.linspace(0, 2, 49)
    middle = np.array([0.0, -0.5, -0.5])
    breath = np.sin(4 * np.pi * times)[:, None, None] * np.array([0.2, -0.2, 0.2]) if kind == "breathing" else 0.0
    frames = middle + (1 + breath) * (surface.vertices - middle) + times[:, None, None] * np.array([0, 0, 2.0])
    return vv.AnimatedMesh(vv.caches.Animation(times, frames, surface.triangles))


def through(frames: int) -> None:
    """Balls against hanging cloths."""
    print("a ball at 2 m/s through a hanging cloth, 33 ms a frame: exact crossings in all frames, stretch")
    for kind in ("rigid", "animated", "breathing"):
        for side, seed in ((20, 0), (20, 1), (40, 0), (40, 1)):
            cloth = vv.mesh.cloth(side, side, 1.0, 1.0, irregular=True, seed=seed, plane="vertical")
            low, high = cloth.bounds
            cloth = cloth.transformed(translate=(0, -high[1], -low[2]))
            model = vv.Model.of(cloth, vv.Cloth(0.2, 1e3, 1e-5), air=0.5).pin("top")
            thing = ball(kind)
            model = model.collide([thing], thickness=0.006, friction=MU)
            sim = vv.Simulation(model, budget=vv.Budget(iterations=16), time_step=1 / 30)
            count, most, deep = np.zeros(2, int), [], 0.0
            for _ in range(frames):
                sim.step()
                most.append(float(stretch(model, sim.positions).max()))
                count += pierced(model, sim.positions, sim.time)
                if kind == "rigid":
                    apart = np.linalg.norm(sim.positions - sim.bodies.positions[0], axis=1)
                    deep = max(deep, 0.15 - float(apart.min()))
            inside = f", deepest vertex {1e3 * deep:.2f} mm" if kind == "rigid" else f", with the ball {count[0]}"
            print(
                f"  {kind:9} {side} x {side}, seed {seed}: with itself {count[1]}{inside}; "
                f"largest stretch, median of frames {100 * np.median(most):.1f} %, most {100 * max(most):.1f} %",
                flush=True,
            )


def dress(frames: int, resolution: int, strip: Path | None) -> None:
    """A dress on a body."""
    scene = vv.make_scene("garment-on-body", resolution=resolution)
    model, sim = scene.model, scene.simulate()
    body = model.collisions.animated[0]
    print(f"a dress of {model.n} vertices on a body of {body.n_vertices}, {1e3 * scene.time_step:.1f} ms a frame")
    positions, count, mean, most, stages = [], np.zeros(2, int), [], [], []
    for _ in range(frames):
        report = sim.step()
        positions.append(sim.positions)
        longer = stretch(model, sim.positions)
        mean.append(float(np.abs(longer).mean()))
        most.append(float(longer.max()))
        count += pierced(model, sim.positions, sim.time)
        stages.append(report.stages)
    print(f"  crossings in {frames} frames: with the body {count[0]}, with itself {count[1]}")
    print(
        f"  stretch: mean {100 * np.mean(mean):.3f} %, largest {100 * np.median(most):.2f} % (median) "
        f"and {100 * max(most):.1f} %"
    )
    told = {name: float(np.median([row[name] for row in stages])) for name in stages[0]}
    print("  stages, median: " + ", ".join(f"{name} {value:.1f} ms" for name, value in told.items()))
    if strip is not None:
        draw(model, positions, scene, strip)


def draw(model: vv.Model, positions: list[np.ndarray], scene: vv.Scene, strip: Path) -> None:
    """Six frames beside each other."""
    from PIL import Image

    strip.parent.mkdir(parents=True, exist_ok=True)
    pictures = []
    for k in np.linspace(0, len(positions) - 1, 6).round().astype(int):
        film = film_of_model(model, positions[: k + 1], scene.time_step, view=scene.view, settings={})
        film.write_last(strip)
        with Image.open(strip) as picture:
            wide, high = picture.size
            pictures.append(picture.crop((wide // 4, 0, 3 * wide // 4, high)).resize((wide // 5, 2 * high // 5)))
    whole = Image.new("RGB", (sum(p.width for p in pictures), pictures[0].height))
    for k, picture in enumerate(pictures):
        whole.paste(picture, (k * picture.width, 0))
    whole.save(strip)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=["belt", "through", "dress"])
    parser.add_argument("--frames", type=int, help="of each run")
    parser.add_argument("--resolution", type=int, default=128, help="of the dress: vertices around it")
    parser.add_argument("--strip", type=Path, help="where to draw the dress")
    asked = parser.parse_args()
    if asked.only in (None, "belt"):
        belt()
    if asked.only in (None, "through"):
        through(asked.frames or 24)
    if asked.only in (None, "dress"):
        dress(asked.frames or 150, asked.resolution, asked.strip)


if __name__ == "__main__":
    main()
