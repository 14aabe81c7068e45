"""Blender as an independent reader of our caches: what comes back through bpy, format by format.

    pip install bpy && python benchmarks/bpy_reads.py [--vertices 10000 --frames 120] [--json]

A waving sheet is written to each format and read by Blender: point caches by its Mesh Cache modifier, the others by its
importers. The table has the largest difference of a position (in m, over all frames) and of a UV, and whether name and
unit came through. Blender turns files with y up to z up: positions are compared in our axes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import bpy
import numpy as np

import vivace as vv

FPS = 30
FORMATS = ("pc2", "mdd", "usdc", "usdc:cm", "usda", "glb", "abc", "obj", "ply")


def wave(vertices: int, frames: int) -> vv.caches.Animation:
    """A sheet that waves, with UVs."""
    side = max(3, round(vertices**0.5))
    mesh = vv.mesh.cloth(side, side)
    low, high = mesh.bounds
    uvs = ((mesh.vertices - low) / np.where(high > low, high - low, 1))[:, [0, 1 if high[1] > low[1] else 2]]
    time = np.arange(frames) / FPS
    flat = np.repeat(mesh.vertices[None], frames, axis=0)
    flat += 0.1 * np.sin(7 * mesh.vertices @ [1.0, 2.0, 0.5] + 5 * time[:, None])[..., None] * [0.2, 0.5, 1.0]
    return vv.caches.Animation(time, flat.astype(np.float32), mesh.triangles, uvs.astype(np.float32), "sheet")


def blank() -> bpy.types.Scene:
    """A scene with nothing in it, at the rate of the cache."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = FPS, 1.0
    return scene


def seen(thing, frame: int) -> np.ndarray:
    """(n, 3) vertices of an object as Blender draws it at a frame, in its world."""
    bpy.context.scene.frame_set(frame)
    evaluated = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    found = np.empty(3 * len(evaluated.data.vertices), np.float32)
    evaluated.data.vertices.foreach_get("co", found)
    world = np.array(evaluated.matrix_world)
    return found.reshape(-1, 3).astype(np.float64) @ world[:3, :3].T + world[:3, 3]


def upright(positions: np.ndarray) -> np.ndarray:
    """From z up to y up."""
    return positions[:, [0, 2, 1]] * [1, 1, -1]


def uvs_of(thing) -> np.ndarray | None:
    """(n, 2) of vertices, by the last corner that has each."""
    layers = thing.data.uv_layers
    if not layers:
        return None
    corners, numbers = np.empty(2 * len(thing.data.loops), np.float32), np.empty(len(thing.data.loops), np.int32)
    layers[0].data.foreach_get("uv", corners)
    thing.data.loops.foreach_get("vertex_index", numbers)
    found = np.zeros((len(thing.data.vertices), 2), np.float32)
    found[numbers] = corners.reshape(-1, 2)
    return found


def imported(path: Path) -> bpy.types.Object:
    """The mesh that an importer makes of a file."""
    suffix = path.suffix
    if suffix.startswith(".usd"):
        bpy.ops.wm.usd_import(filepath=str(path))
    elif suffix == ".abc":
        bpy.ops.wm.alembic_import(filepath=str(path), as_background_job=False)
    elif suffix == ".glb":
        bpy.ops.import_scene.gltf(filepath=str(path), merge_vertices=False)
    elif suffix == ".obj":
        bpy.ops.wm.obj_import(filepath=str(path))
    else:
        bpy.ops.wm.ply_import(filepath=str(path), forward_axis="NEGATIVE_Z", up_axis="Y")
    return next(thing for thing in bpy.context.scene.objects if thing.type == "MESH")


def cached(path: Path, given: vv.caches.Animation) -> bpy.types.Object:
    """A mesh that plays a point cache; its OBJ is read for the mesh."""
    bpy.ops.wm.obj_import(filepath=str(path.with_suffix(".obj")), forward_axis="Y", up_axis="Z")
    thing = next(thing for thing in bpy.context.scene.objects if thing.type == "MESH")
    modifier = thing.modifiers.new("cache", "MESH_CACHE")
    modifier.cache_format, modifier.filepath = path.suffix[1:].upper(), str(path)
    modifier.frame_start = 0
    return thing


def measure(name: str, given: vv.caches.Animation, folder: Path) -> dict:
    """Write, read and compare one format, such as "usdc", or "usdc:cm" in another unit."""
    said, (name, _, unit) = name, name.partition(":")
    scene, sequence = blank(), name in ("obj", "ply")
    path = folder / (f"{name}/####.{name}" if sequence else f"sheet.{name}")
    vv.export(given, path, unit=unit or "m")
    files = sorted((folder / name).glob(f"*.{name}")) if sequence else [path]
    worst, uvs, names = 0.0, None, ""
    if sequence:
        for file, wanted in zip(files, given.positions, strict=True):
            blank()
            thing = imported(file)
            worst = max(worst, float(np.abs(upright(seen(thing, 0)) - wanted).max()))
            uvs, names = uvs_of(thing), thing.name
    else:
        point_cache = name in ("pc2", "mdd")
        thing = cached(path, given) if point_cache else imported(path)
        # importers place the first frame of a file at their own frame
        first = {"glb": 0, "abc": scene.frame_start if scene.frame_start else 0}.get(name, 0)
        for number, wanted in enumerate(given.positions):
            found = seen(thing, first + number)
            worst = max(worst, float(np.abs((found if point_cache else upright(found)) - wanted).max()))
        uvs, names = uvs_of(thing), thing.name
    apart = None if uvs is None else float(np.abs(uvs - given.uvs).max())
    size = sum(file.stat().st_size for file in files)
    return {"format": said, "position": worst, "uv": apart, "name": names, "bytes_a_frame": size // len(given)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--vertices", type=int, default=10_000)
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--json", metavar="FILE", help="write the rows there, too")
    arguments = parser.parse_args()
    given = wave(arguments.vertices, arguments.frames)
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(name, given, Path(folder)) for name in arguments.formats.split(",")]
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(rows), encoding="utf-8")
    print(f"Blender {bpy.app.version_string}, {given.n_vertices} vertices, {len(given)} frames")
    for row in rows:
        uv = "-" if row["uv"] is None else f"{row['uv']:.1e}"
        print(f"{row['format']:7} position {row['position']:.1e} m   uv {uv:8} name {row['name']}")


if __name__ == "__main__":
    main()
