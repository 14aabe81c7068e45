"""Wavefront OBJ: positions, polygons, UVs of corners, and the names of objects, groups and materials.

Not by trimesh, which makes a vertex of every pair of position and normal and so cuts a smooth mesh along every edge;
and whoever pins vertex 17 of a file means the seventeenth.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np

from ..errors import FileError
from .polygons import KINDS, Polygons
from .raw import Raw

WORDS = {"o": "objects", "g": "groups", "usemtl": "materials"}


def read_obj(path: Path) -> Raw:
    """Read positions and faces in the file's order, with UVs and names."""
    vertices: list[list[float]] = []
    uvs: list[list[float]] = []
    counts: list[int] = []
    corners: list[int] = []
    textures: list[int] = []  # of the corners; -1: none
    current: dict[str, list[str]] = {kind: [] for kind in KINDS}
    named: dict[str, dict[str, list[int]]] = {kind: {} for kind in KINDS}
    text = path.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
    for number, line in enumerate(text.splitlines(), 1):
        kind, *words = line.split() or [""]
        try:
            if kind == "v":
                x, y, z = words[:3]
                vertices.append([float(x), float(y), float(z)])
            elif kind == "vt":
                u, v = (*words[:2], "0")[:2]
                uvs.append([float(u), float(v)])
            elif kind == "f":
                _face(words, len(vertices), len(uvs), corners, textures)
                for which, names in current.items():
                    for name in names:
                        named[which].setdefault(name, []).append(len(counts))
                counts.append(len(words))
            elif kind in WORDS:
                # Names may have spaces; only those of groups are several.
                current[WORDS[kind]] = words if kind == "g" else [" ".join(words)] if words else []
        except ValueError as error:
            raise FileError(f"cannot read {path}, line {number}, {line.strip()[:60]!r}: {error}") from error
    return _raw(np.array(vertices, float).reshape(-1, 3), uvs, counts, corners, textures, named)


def _face(words: list[str], vertices: int, uvs: int, corners: list[int], textures: list[int]) -> None:
    """Corners of a face; negative numbers count back from the latest vertex."""
    found = []
    for word in words:
        parts = word.split("/")
        vertex = int(parts[0])
        texture = int(parts[1]) if len(parts) > 1 and parts[1] else 0
        found.append(vertex - 1 if vertex > 0 else vertices + vertex if vertex else None)
        textures.append(texture - 1 if texture > 0 else uvs + texture if texture else -1)
    if len(found) < 3 or None in found:
        raise ValueError("a face needs three corners or more, numbered from 1")
    corners += [corner for corner in found if corner is not None]


def _raw(
    vertices: np.ndarray,
    uvs: list[list[float]],
    counts: list[int],
    corners: list[int],
    textures: list[int],
    named: dict[str, dict[str, list[int]]],
) -> Raw:
    points, number = np.array(uvs, np.float64).reshape(-1, 2), np.array(textures, np.int64)
    placed, own, at = np.array(corners, np.int64), None, None
    if len(number) and (number >= 0).all() and number.max() < len(points):
        own, at = by_vertex(len(vertices), placed, points[number])
    objects, groups, materials = (
        {name: np.array(faces) for name, faces in named[kind].items()} for kind in ("objects", "groups", "materials")
    )
    faces = Polygons(np.array(counts, np.int64), placed, at, objects, groups, materials)
    return Raw(vertices, faces, uvs=own, name=next(iter(objects)) if len(objects) == 1 else None)


def by_vertex(vertices: int, corners: np.ndarray, uvs: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    """UVs of vertices, if no vertex has two; else those of the corners. One of the two is None."""
    if len(corners) and not 0 <= corners.min() <= corners.max() < vertices:
        return None, uvs  # whoever builds the mesh says so
    found = np.zeros((vertices, 2))
    found[corners] = uvs
    if np.array_equal(found[corners], uvs):
        return found, None
    return None, uvs


def obj_faces(polygons: Polygons, uvs: np.ndarray | None) -> bytes:
    """What follows the vertices of an OBJ: UVs of vertices (n, 2) or of corners, names, and faces."""
    corners = polygons.corners.astype(np.int64) + 1
    text = []
    if polygons.uvs is not None:
        values, numbers = np.unique(polygons.uvs, axis=0, return_inverse=True)
        textures: np.ndarray | None = numbers.ravel() + 1
    else:
        values, textures = (np.zeros((0, 2)), None) if uvs is None else (uvs, corners)
    text.append("vt %.9g %.9g\n" * len(values) % tuple(values.ravel().tolist()))
    pairs = corners if textures is None else np.column_stack([corners, textures]).ravel()
    word = "%d" if textures is None else "%d/%d"
    sizes = polygons.counts.tolist()
    each = {count: "f " + " ".join([word] * count) + "\n" for count in set(sizes)}
    changes = _changes(polygons)
    if not changes:
        text.append("".join(each[size] for size in sizes) % tuple(pairs.tolist()))
        return "".join(text).encode()
    step = 1 if textures is None else 2
    starts = (step * polygons.starts).tolist()
    begins = [*sorted({0, *changes}), len(sizes)]
    for begin, end in pairwise(begins):
        text.append(changes.get(begin, ""))
        last = starts[end] if end < len(sizes) else len(pairs)
        text.append("".join(each[size] for size in sizes[begin:end]) % tuple(pairs[starts[begin] : last].tolist()))
    return "".join(text).encode()


def _changes(polygons: Polygons) -> dict[int, str]:
    """Lines that say to which object, groups and material the faces from a number on belong."""
    found: dict[int, str] = {}
    for word, kind in WORDS.items():
        names: Mapping[str, np.ndarray] = getattr(polygons, kind)
        if not names:
            continue
        faces = len(polygons.counts)
        sets = np.zeros((len(names), faces), bool)
        for row, members in zip(sets, names.values(), strict=True):
            row[members] = True
        begins = [0, *(1 + np.flatnonzero((sets[:, 1:] != sets[:, :-1]).any(axis=0))).tolist()]
        told = [one_line(name).replace(" ", "_") if word == "g" else one_line(name) for name in names]
        for begin in begins:
            own = [name for name, inside in zip(told, sets[:, begin], strict=True) if inside]
            if own or begin:
                said = " ".join(own) if own else "default" if word != "g" else "off"
                found[begin] = found.get(begin, "") + f"{word} {said}\n"
    return found


def one_line(name: str) -> str:
    """A name as a line of text can hold it."""
    return re.sub(r"[\x00-\x1f\x7f]+", " ", name).strip() or "unnamed"
