"""What a reader of files finds: positions and faces as they are in the file, with all that belongs to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .polygons import Polygons

NOTHING = Polygons(np.zeros(0, np.int32), np.zeros(0, np.int32))


@dataclass(frozen=True, eq=False)
class Raw:
    """What a file holds, its numbers as they are there.

    Attributes:
        vertices: (n, 3).
        polygons: faces; none where there are tetrahedra.
        tets: (t, 4).
        uvs: (n, 2) of vertices, v up; None: corners have them, or there are none.
        groups: names of sets of vertices, beside those of the polygons.
        name: of the only object; None: the file does not say, or there are several.
        scattered: whether a vertex is stored once for every face, normal or part, and has to be joined with all others
            at its place.
        shown: whether what is written should have the file's vertices; not those of a heap of single triangles.
    """

    vertices: np.ndarray
    polygons: Polygons = NOTHING
    tets: np.ndarray = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    uvs: np.ndarray | None = None
    groups: Mapping[str, np.ndarray] = field(default_factory=dict)
    name: str | None = None
    scattered: bool = False
    shown: bool = True
