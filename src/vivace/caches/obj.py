"""OBJ sequences: a text file for each frame, which everything reads. Nine digits hold a float32 exactly."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..mesh.obj import obj_faces
from .base import About, cache_format, damaged
from .sequences import Sequenced, SequenceFrame
from .told import told

MARK = "# vivace "


@cache_format(".obj")
class ObjSequence(Sequenced):
    """OBJ sequence."""

    title = "OBJ sequence"

    def write_frame(self, path: Path, positions: np.ndarray, time: float) -> None:
        """One frame, with the faces of all."""
        if not self.written:
            self._rest = _rest(self.about)
        _write(path, positions, time, self.about, self._rest)

    @classmethod
    def read_frame(cls, path: Path) -> SequenceFrame:
        """One frame."""
        return read_frame(path)

    @classmethod
    def read_positions(cls, path: Path) -> np.ndarray:
        """One frame's positions, without a look at its faces."""
        try:
            rows = [line[2:].split(None, 3)[:3] for line in path.read_bytes().splitlines() if line.startswith(b"v ")]
            return np.array(rows, float).reshape(len(rows), 3)
        except (ValueError, OverflowError):
            read_frame(path)  # which says in which line
            raise damaged(path, "its vertices cannot be read") from None


def write_frame(path: Path, positions: np.ndarray, time: float, about: About) -> None:
    """An OBJ of one frame."""
    _write(path, positions, time, about, _rest(about))


def _write(path: Path, positions: np.ndarray, time: float, about: About, rest: bytes) -> None:
    rows = "v %.9g %.9g %.9g\n" * len(positions) % tuple(positions.ravel().tolist())
    named = "" if about.faces.objects else f"o {about.identifier}\n"
    head = f"{MARK}{about.provenance(time=time)}\n{named}"
    path.write_bytes(head.encode() + rows.encode() + rest)


def _rest(about: About) -> bytes:
    """What follows the vertices: the same in every frame."""
    return obj_faces(about.faces, about.uvs)


def read_frame(path: Path) -> SequenceFrame:
    """Positions, triangles, and UVs where each vertex has one of its own number; polygons are cut into fans."""
    vertices: list[list[float]] = []
    uvs: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    said: dict[str, Any] = {}
    own, name = True, None
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            kind, *words = line.split(None, 64) or [""]
            try:
                if kind == "v":
                    vertices.append([float(word) for word in words[:3]])
                elif kind == "vt":
                    uvs.append([float(word) for word in words[:2]])
                elif kind == "f":
                    corners = [_corner(word, len(vertices), len(uvs)) for word in words]
                    own = own and all(vertex == uv for vertex, uv in corners)
                    first, *others = [vertex for vertex, _ in corners]
                    triangles += [(first, b, c) for b, c in pairwise(others)]
                elif kind == "o" and words and name is None:
                    name = words[0]
                elif line.startswith(MARK) and not said:
                    said = told(line[len(MARK) :])
            except (ValueError, IndexError, OverflowError):
                raise damaged(path, f"line {number} is {line.strip()[:60]!r}") from None
    return SequenceFrame.of(path, vertices, triangles, uvs if own else [], {"name": name, **said})


def _corner(word: str, vertices: int, uvs: int) -> tuple[int, int]:
    """Numbers of a corner's vertex and UV, from 0 on; negative ones count back from the latest."""
    parts = word.split("/")
    vertex = int(parts[0])
    uv = int(parts[1]) if len(parts) > 1 and parts[1] else 0
    return vertex - 1 if vertex > 0 else vertices + vertex, uv - 1 if uv > 0 else uvs + uv if uv else -1
