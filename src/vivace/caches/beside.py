"""The mesh of a point cache: an OBJ of the first frame beside it, in the same order of vertices.

Point caches hold positions and nothing else; a program applies them to a mesh that it already has. The first line of
the OBJ also says what the cache cannot: how long a frame lasts, and in which unit it is.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import FileError
from .base import About, Content
from .obj import read_frame, write_frame
from .told import apply_told


class Beside:
    """Writes the OBJ with the first frame."""

    def __init__(self, path: Path, about: About):
        self._path, self._about = path.with_suffix(".obj"), about

    def add(self, positions: np.ndarray, time: float) -> None:
        """The first frame is written, and no other."""
        if not self._path.exists() and len(self._about.triangles):
            write_frame(self._path, positions, time, self._about)


def with_mesh(path: Path, content: Content) -> Content:
    """A cache's content with the mesh beside it, if there is one of as many vertices."""
    beside = path.with_suffix(".obj")
    if not beside.is_file():
        return content
    try:
        frame = read_frame(beside)
    except FileError:  # somebody's own, perhaps; the cache does not need it
        return content
    if len(frame.positions) != content.vertices:
        return content
    content.triangles, content.uvs = frame.triangles, frame.uvs
    return apply_told(content, frame.told)
