"""What becomes of meshes that people bring: `python benchmarks/own_meshes.py FILE ... [--out FOLDER]`.

Every file as jelly, shell and cloth, as far as it can be: after three seconds of simulation with the scene's own
budget, a picture, the mean and largest stretch, how high it stands and how fast it still moves.
"""

import argparse
from pathlib import Path

import numpy as np

import vivace as vv
from vivace.pictures import save_picture
from vivace.pictures.camera import Camera, bounds_of
from vivace.pictures.scenery import Scenery
from vivace.scenes.own import kinds_of, load_leniently, own_scene

SECONDS = 3.0


def stretch(model, positions):
    ends, rest = positions[model.mesh.edges], model.mesh.vertices[model.mesh.edges]
    change = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1) / np.linalg.norm(rest[:, 0] - rest[:, 1], axis=1) - 1
    return np.abs(change).mean(), np.abs(change).max()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=Path("out/own-meshes"))
    parser.add_argument("--kinds", nargs="+", help="default: all that suit")
    parser.add_argument("--ms", type=float, help="of a step; default: the scene's own budget")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    print(
        "file, kind: vertices, mean and largest stretch, height at first and after 3 s, rms speed, ms of the last step"
    )
    for file in arguments.files:
        body = load_leniently(file)
        for kind in kinds_of(body):
            if arguments.kinds and kind not in arguments.kinds:
                continue
            scene = own_scene(body, kind)
            sim = scene.simulate(budget=None if arguments.ms is None else vv.Budget(ms=arguments.ms))
            for _ in range(round(SECONDS / sim.time_step)):
                report = sim.step()
            x, mesh = sim.positions, scene.model.mesh
            mean, largest = stretch(scene.model, x)
            speed = np.sqrt((sim.velocities**2).sum(axis=1).mean())
            heights = f"{np.ptp(mesh.vertices[:, 1]):.2f} {np.ptp(x[:, 1]):.2f} m"
            print(
                f"{file.name}, {kind}: {mesh.n_vertices:,}, {100 * mean:.2f} % {100 * largest:.1f} %, {heights}, "
                f"{1000 * speed:.0f} mm/s, {report.ms:.0f} ms",
                flush=True,
            )
            low, high = bounds_of([mesh.vertices])
            standing = scene.model.collisions.colliders
            scenery = Scenery.of(list(standing), low, high) if standing else None
            camera = Camera.framing(*(scenery.frame(low, high) if scenery else (low, high)), direction=scene.view)
            picture = arguments.out / f"{file.stem}-{kind}.png"
            save_picture(picture, x, mesh.triangles, camera=camera, scenery=scenery, backend="painter", size=(640, 480))


if __name__ == "__main__":
    main()
