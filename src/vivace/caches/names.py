"""Names of sets of faces, as formats take them."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from ..mesh import Polygons


class FaceSet(NamedTuple):
    """Faces with a name.

    Attributes:
        identifier: letters, digits and underscores; no other set of the mesh has it.
        name: as in the file that it came from.
        kind: objects, groups or materials.
        faces: (k,) int32.
    """

    identifier: str
    name: str
    kind: str
    faces: np.ndarray


def face_sets(polygons: Polygons | None) -> list[FaceSet]:
    """All sets of faces that have names."""
    found: list[FaceSet] = []
    taken = set[str]()
    for kind in ("objects", "groups", "materials"):
        for name, faces in ({} if polygons is None else getattr(polygons, kind)).items():
            word = identifier(name)
            while word in taken:
                word += "_"
            taken.add(word)
            found.append(FaceSet(word, name, kind, faces))
    return found


def identifier(name: str) -> str:
    """A name as programs take it: letters, digits and underscores."""
    word = re.sub(r"\W", "_", name, flags=re.ASCII) or "mesh"
    return word if not word[0].isdigit() else f"_{word}"
