"""PLY sequences: a binary file for each frame, with faces and UVs (`s`, `t`) in each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .base import cache_format, damaged
from .sequences import Sequenced, SequenceFrame
from .told import told

MOST_HEADER = 65_536
FACE = np.dtype([("count", "u1"), ("corners", "<i4", 3)])


@cache_format(".ply")
class PlySequence(Sequenced):
    """PLY sequence."""

    title = "PLY sequence"

    def write_frame(self, path: Path, positions: np.ndarray, time: float) -> None:
        """One frame, with the faces of all."""
        about = self.about
        columns = ["x", "y", "z"] if about.uvs is None else ["x", "y", "z", "s", "t"]
        lines = ["ply", "format binary_little_endian 1.0", f"comment vivace {about.provenance(time=time)}"]
        lines += [f"element vertex {len(positions)}", *(f"property float {name}" for name in columns)]
        lines += [f"element face {len(about.triangles)}", "property list uchar int vertex_indices", "end_header"]
        rows = positions if about.uvs is None else np.column_stack([positions, about.uvs])
        faces = np.empty(len(about.triangles), FACE)
        faces["count"], faces["corners"] = 3, about.triangles
        path.write_bytes("\n".join(lines).encode() + b"\n" + rows.astype("<f4").tobytes() + faces.tobytes())

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
            needed = file.tell() + 4 * len(columns) * vertices + FACE.itemsize * faces
            if size < needed:
                raise damaged(path, f"it promises {vertices} vertices and {faces} triangles and has {size:,} bytes")
            rows = np.frombuffer(file.read(4 * len(columns) * vertices), "<f4").reshape(vertices, len(columns))
            corners = np.frombuffer(file.read(FACE.itemsize * faces), FACE)
        if (corners["count"] != 3).any():
            raise damaged(path, "it has other faces than triangles, which are not read here")
        uvs: Any = rows[:, [columns.index("s"), columns.index("t")]] if {"s", "t"} <= set(columns) else []
        return SequenceFrame.of(path, rows[:, :3], corners["corners"], uvs, said)


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
        elif line != "property list uchar int vertex_indices" and words[:1] != ["comment"]:
            raise damaged(path, f"its header has the line {line[:60]!r}, which is not read here")
    if columns[:3] != ["x", "y", "z"]:
        raise damaged(path, "its vertices do not begin with x, y and z in float32")
    return counts["vertex"], counts["face"], columns, said
