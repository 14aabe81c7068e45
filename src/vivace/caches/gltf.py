"""glTF (.glb) with a morph target for each frame, which browsers, game engines and Blender play.

The mesh is the first frame. Every other one is a target: displacements from the first, in float32, so that positions
come out within a rounding or two. An animation blends from each to the next. Weights are a table of frames by targets,
nearly all zero, and a long one is written as a sparse one. Programs hold all targets in memory, graphics cards too:
this format is for seconds, not for minutes.
"""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..errors import FileError
from .base import About, CacheFormat, Content, cache_format

LARGEST = 2**32 - 1  # bytes of a GLB
DENSE = 1024  # targets up to which the table of weights is written whole, because not everybody reads sparse ones
FLOAT, UINT = 5126, 5125
CHUNK = struct.Struct("<II")  # length, kind
JSON, BIN = 0x4E4F534A, 0x004E4942


@cache_format(".glb")
class Gltf(CacheFormat):
    """glTF with morph targets."""

    title = "glTF with morph targets"
    metric = True

    def __init__(self, folder: Path, name: str, about: About):
        super().__init__(folder, name, about)
        self._shown = about.parted
        self._count = about.vertices if self._shown.source is None else len(self._shown.source)
        self._materials = _by_material(about)
        self._bytes = (folder / "bytes").open("w+b")
        self._accessors = (folder / "accessors").open("w+", encoding="utf-8")
        self._times = (folder / "times").open("w+b")
        self._first: np.ndarray | None = None
        self._begin = self._last = 0.0

    def write(self, positions: np.ndarray, time: float) -> None:
        """The first frame is the mesh; another one is a target."""
        n, positions = self._count, self._shown.at(positions)
        if 12 * n * (self.written + 2) + 40 * len(self._shown.triangles) + 400 * self.written > LARGEST:
            raise FileError(f"a GLB ends at 4 GB, which are {self.written} frames of {n} vertices; write .usdc or .abc")
        if self._first is None:
            self._first, self._begin = positions.copy(), time
            moved = positions
        else:
            moved = positions - self._first
        self._bytes.write(moved.astype("<f4", copy=False).data)
        self._times.write(struct.pack("<f", time - self._begin))
        self._last = float(np.float32(time - self._begin))
        described = _accessor(0, 12 * n * self.written, n, "VEC3", FLOAT)
        described |= {"min": moved.min(axis=0).tolist(), "max": moved.max(axis=0).tolist()}
        self._accessors.write(json.dumps(described) + ",")

    def finish(self) -> None:
        """Put the parts together."""
        sizes = self._append_rest()
        text = self.folder / "json"
        with text.open("wb") as file:
            for part in self._document(sizes):
                file.write(part.encode())
            file.write(b" " * (-file.tell() % 4))
        total = 12 + 8 + text.stat().st_size + 8 + sum(sizes)
        with self.path.open("wb") as file, text.open("rb") as head:
            file.write(struct.pack("<4sII", b"glTF", 2, total))
            file.write(CHUNK.pack(text.stat().st_size, JSON))
            shutil.copyfileobj(head, file, 1 << 20)
            file.write(CHUNK.pack(sum(sizes), BIN))
            self._bytes.seek(0)
            shutil.copyfileobj(self._bytes, file, 1 << 20)

    def _append_rest(self) -> list[int]:
        """Write what follows the positions; bytes of each part: triangles, UVs, times, places and values of weights."""
        own, targets = self._shown.uvs, self.written - 1
        sizes = [12 * self._count * self.written]
        uvs = np.zeros((0, 2)) if own is None else np.column_stack([own[:, 0], 1 - own[:, 1]])
        triangles = np.concatenate([self._shown.triangles[rows] for _, rows in self._materials])
        for array in (triangles.astype("<u4"), uvs.astype("<f4")):
            self._bytes.write(array.tobytes())
            sizes.append(array.nbytes)
        self._times.seek(0)
        shutil.copyfileobj(self._times, self._bytes, 1 << 20)
        if targets <= DENSE:
            for number in range(self.written):  # frame k + 1: target k
                row = np.zeros(targets, "<f4")
                row[number - 1 : number] = 1
                self._bytes.write(row.tobytes())
            return [*sizes, 4 * self.written, 4 * self.written * targets]
        ones = np.arange(1, self.written, dtype=np.int64) * targets + np.arange(targets)
        self._bytes.write(ones.astype("<u4").tobytes())
        self._bytes.write(np.ones(targets, "<f4").tobytes())
        return [*sizes, 4 * self.written, 4 * targets, 4 * targets]

    def _document(self, sizes: list[int]) -> Iterator[str]:
        """The JSON, in parts: what there is for each frame is not held in memory."""
        about, count, targets, uvs = self.about, self.written, self.written - 1, self._shown.uvs
        starts = np.cumsum([0, *sizes]).tolist()
        views = [{"buffer": 0, "byteOffset": a, "byteLength": b} for a, b in zip(starts, sizes, strict=False) if b]
        views[0] |= {"byteStride": 12, "target": 34962}
        views[1]["target"] = 34963
        parts = len(self._materials)
        texture = count + parts
        times = texture + (uvs is not None)
        last, primitives, materials, begin = [], [], [], 0
        for number, (name, rows) in enumerate(self._materials):
            last.append(_accessor(1, 12 * begin, 3 * len(rows), "SCALAR", UINT))
            begin += len(rows)
            attributes = {"POSITION": 0} if uvs is None else {"POSITION": 0, "TEXCOORD_0": texture}
            primitives.append({"attributes": attributes, "indices": count + number, "mode": 4, "material": number})
            # Without a material, cloth would be seen from one side only, and some readers leave UVs out.
            materials.append({"doubleSided": True} if name is None else {"name": name, "doubleSided": True})
        if uvs is not None:
            views[2]["target"] = 34962
            last.append(_accessor(2, 0, self._count, "VEC2", FLOAT))
        clock = 2 + (uvs is not None)
        last.append({**_accessor(clock, 0, count, "SCALAR", FLOAT), "min": [0.0], "max": [self._last]})
        yield '{"asset":' + json.dumps(
            {"version": "2.0", "generator": "Vivace", "extras": json.loads(about.provenance())}
        )
        yield ',"scene":0,"scenes":[{"nodes":[0]}],"nodes":' + json.dumps([{"name": about.name, "mesh": 0}])
        yield ',"buffers":' + json.dumps([{"byteLength": starts[-1]}]) + ',"bufferViews":' + json.dumps(views)
        yield ',"materials":' + json.dumps(materials)
        yield ',"meshes":[{"name":' + json.dumps(about.name) + ',"primitives":['
        for number, primitive in enumerate(primitives):
            yield ("," if number else "") + json.dumps(primitive)[:-1] + (',"targets":[' if targets else "")
            for start in range(0, targets, 1024):
                some = ",".join(f'{{"POSITION":{k + 1}}}' for k in range(start, min(start + 1024, targets)))
                yield ("," if start else "") + some
            yield "]}" if targets else "}"
        yield "]" + (',"weights":[' + ",".join("0" * targets) + "]" if targets else "") + "}]"
        if targets:
            sparse = {
                "count": targets,
                "indices": {"bufferView": clock + 1, "byteOffset": 0, "componentType": UINT},
                "values": {"bufferView": clock + 2, "byteOffset": 0},
            }
            if targets <= DENSE:
                last.append(_accessor(clock + 1, 0, count * targets, "SCALAR", FLOAT))
            else:
                last.append({"componentType": FLOAT, "count": count * targets, "type": "SCALAR", "sparse": sparse})
            channel = {"sampler": 0, "target": {"node": 0, "path": "weights"}}
            sampler = {"input": times, "output": times + 1, "interpolation": "LINEAR"}
            yield ',"animations":' + json.dumps([{"name": about.name, "channels": [channel], "samplers": [sampler]}])
        yield ',"accessors":['
        yield from _pieces(self._accessors)
        yield json.dumps(last)[1:-1] + "]}"

    def close(self) -> None:
        """Close the parts."""
        for file in (self._bytes, self._accessors, self._times):
            file.close()

    @classmethod
    def content(cls, path: Path) -> Content:
        """Meshes with their morph targets, skins and moving nodes, baked to vertices."""
        from .gltf_reading import content

        return content(path)


def _by_material(about: About) -> list[tuple[str | None, np.ndarray]]:
    """Triangles by the name of what they are made of; those of nothing come last, under None."""
    faces = about.faces
    made = np.full(len(faces.counts), -1)
    for number, members in enumerate(faces.materials.values()):
        made[members] = number
    own = made[faces.owners]
    found: list[tuple[str | None, np.ndarray]] = [
        (name, np.flatnonzero(own == number)) for number, name in enumerate(faces.materials)
    ]
    found.append((None, np.flatnonzero(own < 0)))
    return [(name, rows) for name, rows in found if len(rows)]


def _accessor(view: int, offset: int, count: int, kind: str, component: int) -> dict[str, Any]:
    return {"bufferView": view, "byteOffset": offset, "componentType": component, "count": count, "type": kind}


def _pieces(file: IO[str]) -> Iterator[str]:
    file.seek(0)
    while text := file.read(1 << 20):
        yield text
