"""PLY sequences: a binary file for each frame, with faces and UVs (`s`, `t`) in each."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..mesh import Polygons
from .base import About, cache_format, damaged
from .polygons import fans
from .sequences import Sequenced, SequenceFrame
from .told import told

MOST_HEADER = 65_536
FACE = np.dtype([("count", "u1"), ("corners", "<i4", 3)])
INDICES = "property list uchar int vertex_indices"
TEXTURED = "property list uchar float texcoord"  # UVs of corners, as MeshLab has them
MOST_CORNERS = 127  # numbers of a list are counted in a byte, and each corner has two of texture


class Packed(NamedTuple):
    """Faces as a file has them: how many, whether they have UVs, and the bytes."""

    faces: int
    textured: bool
    data: bytes


def _packed(about: About) -> Packed:
    faces = about.faces
    if faces.counts.max(initial=3) > MOST_CORNERS:
        cuts = faces.cuts.ravel()
        faces = Polygons(
            np.full(len(faces.cuts), 3), faces.corners[cuts], faces.uvs if faces.uvs is None else faces.uvs[cuts]
        )
    textured = faces.uvs is not None
    sizes = 1 + 4 * faces.counts.astype(np.int64) + textured * (1 + 8 * faces.counts.astype(np.int64))
    begins, data = np.cumsum(sizes) - sizes, np.empty(sizes.sum(), np.uint8)
    for count in np.unique(faces.counts).tolist():
        rows = np.flatnonzero(faces.counts == count)
        at = (faces.starts[rows][:, None] + np.arange(count)).ravel()
        parts = [np.full((len(rows), 1), count, np.uint8)]
        parts.append(faces.corners[at].astype("<i4").view(np.uint8).reshape(len(rows), -1))
        if faces.uvs is not None:
            parts.append(np.full((len(rows), 1), 2 * count, np.uint8))
            parts.append(np.ascontiguousarray(faces.uvs[at], "<f4").view(np.uint8).reshape(len(rows), -1))
        packed = np.concatenate(parts, axis=1)
        data[begins[rows][:, None] + np.arange(packed.shape[1])] = packed
    return Packed(len(faces.counts), textured, data.tobytes())


def _unpacked(path: Path, data: bytes, faces: int, textured: bool) -> tuple[np.ndarray, np.ndarray]:
    """Counts and corners of so many faces."""
    if not textured and len(data) == FACE.itemsize * faces:
        rows = np.frombuffer(data, FACE)
        if (rows["count"] == 3).all():
            return rows["count"].astype(np.int64), rows["corners"].ravel()
    counts, parts, at = np.zeros(faces, np.int64), [], 0
    for number in range(faces):
        count = data[at] if at < len(data) else 0
        end = at + 1 + 4 * count
        after = end + (1 + 8 * count if textured else 0)
        if count < 3 or after > len(data) or (textured and data[end] != 2 * count):
            raise damaged(path, f"face {number} of {faces} is not there, or has {count} corners")
        counts[number] = count
        parts.append(np.frombuffer(data, "<i4", count, at + 1))
        at = after
    return counts, np.concatenate(parts) if parts else np.zeros(0, np.int64)


@cache_format(".ply")
class PlySequence(Sequenced):
    """PLY sequence."""

    title = "PLY sequence"

    def write_frame(self, path: Path, positions: np.ndarray, time: float) -> None:
        """One frame, with the faces of all."""
        about = self.about
        if not self.written:
            self._faces = _packed(about)
        columns = ["x", "y", "z"] if about.uvs is None else ["x", "y", "z", "s", "t"]
        lines = ["ply", "format binary_little_endian 1.0", f"comment vivace {about.provenance(time=time)}"]
        lines += [f"element vertex {len(positions)}", *(f"property float {name}" for name in columns)]
        lines += [f"element face {self._faces.faces}", INDICES, *([TEXTURED] if self._faces.textured else [])]
        lines += ["end_header"]
        rows = positions if about.uvs is None else np.column_stack([positions, about.uvs])
        path.write_bytes("\n".join(lines).encode() + b"\n" + rows.astype("<f4").tobytes() + self._faces.data)

    @classmethod
    def read_frame(cls, path: Path) -> SequenceFrame:
        """One frame, of the kind that is written here: binary, with positions in float32 and triangles."""
        size = path.stat().st_size
        with path.open("rb") as file:
            lines, done = [], False
            while not done and file.tell() < MOST_HEADER:
                line = file.readline(MOST_HEADER)
                done = line.strip() == b"end_header" or not line
                lines.append(line.decode("utf-8", "replace").strip())
            vertices, faces, columns, said = _header(path, lines)
            textured = TEXTURED in lines
            needed = file.tell() + 4 * len(columns) * vertices + (FACE.itemsize + 25 * textured) * faces
            if size < needed:
                raise damaged(path, f"it promises {vertices} vertices and {faces} faces and has {size:,} bytes")
            rows = np.frombuffer(file.read(4 * len(columns) * vertices), "<f4").reshape(vertices, len(columns))
            counts, corners = _unpacked(path, file.read(), faces, textured)
        triangles = fans(path, counts, corners, vertices)
        uvs: Any = rows[:, [columns.index("s"), columns.index("t")]] if {"s", "t"} <= set(columns) else []
        return SequenceFrame.of(path, rows[:, :3], triangles, uvs, said)


def _header(path: Path, lines: list[str]) -> tuple[int, int, list[str], dict[str, object]]:
    """Numbers of vertices and faces, columns of a vertex, and what the file says of itself."""
    counts, columns, said, element = {"vertex": 0, "face": 0}, [], {}, ""
    if lines[:2] != ["ply", "format binary_little_endian 1.0"] or lines[-1] != "end_header":
        raise damaged(path, "it is not the start of a binary, little-endian PLY file")
    for line in lines[2:-1]:
        words = line.split()
        if line.startswith("comment vivace "):
            said = told(line.removeprefix("comment vivace "))
        elif (
            words[:1] == ["element"]
            and len(words) == 3
            and words[1] in counts
            and words[2].isascii()
            and words[2].isdigit()
        ):
            element, counts[words[1]] = words[1], int(words[2][:12])
        elif words[:2] == ["property", "float"] and len(words) == 3 and element == "vertex":
            columns.append(words[2])
        elif line not in (INDICES, TEXTURED) and words[:1] != ["comment"]:
            raise damaged(path, f"its header has the line {line[:60]!r}, which is not read here")
    if columns[:3] != ["x", "y", "z"]:
        raise damaged(path, "its vertices do not begin with x, y and z in float32")
    return counts["vertex"], counts["face"], columns, said
