"""PLY: positions and polygons, with UVs of vertices or of corners; as text or binary, of either order of bytes.

Not by trimesh, which reads no binary file in which faces have different numbers of corners, as modelling programs write
them, and changes the order of vertices that have UVs.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import FileError
from .obj import by_vertex
from .polygons import Polygons
from .raw import Raw

TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4"}
TYPES |= {"double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4"}
TYPES |= {"float32": "f4", "float64": "f8"}
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
INDICES = ("vertex_indices", "vertex_index")
TEXTURES = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))
MOST_HEADER = 100_000


class Property(NamedTuple):
    """A column of an element: its type, and that of its length if it is a list."""

    name: str
    kind: str
    counted: str | None


class Lists(NamedTuple):
    """Lists of numbers, one after the other, and how long each is."""

    counts: np.ndarray
    values: np.ndarray


def read_ply(path: Path) -> Raw:
    """Read vertices and faces in the file's order; UVs are called s and t, u and v, or texcoord at corners."""
    data = path.read_bytes()
    head, found, _ = data[:MOST_HEADER].partition(b"end_header")
    lines = (
        head.decode("ascii", "replace").split("\n") if b"\n" in head else head.decode("ascii", "replace").split("\r")
    )
    lines = [line.strip() for line in lines]
    if not found or not lines or lines[0] != "ply":
        raise _broken(path, "it has no header")
    order, elements = _header(path, lines[1:])
    begin = len(head) + len(found)
    end_of_line = re.match(rb"[ \t]*(\r\n|\n|\r)", data[begin : begin + 100])
    if end_of_line is None:
        raise _broken(path, "it ends with its header")
    begin += end_of_line.end()
    reader = _Text(path, data[begin:]) if order == "" else _Binary(path, data, begin, order)
    columns: dict[str, dict[str, Any]] = {}
    for name, count, properties in elements:
        read = reader.element(name, count, properties)
        columns.setdefault(name, read)
        if {"vertex", "face"} <= set(columns):
            break
    return _raw(path, columns.get("vertex", {}), columns.get("face", {}))


def _raw(path: Path, vertex: dict[str, Any], face: dict[str, Any]) -> Raw:
    if not {"x", "y", "z"} <= set(vertex) or any(isinstance(vertex[axis], Lists) for axis in "xyz"):
        raise _broken(path, "its vertices have no x, y and z")
    vertices = np.column_stack([np.asarray(vertex[axis], float) for axis in "xyz"])
    lists = next((face[name] for name in INDICES if name in face), None)
    if not isinstance(lists, Lists) or not len(lists.counts):
        return Raw(vertices)
    corners, textures, own, at = lists.values.astype(np.int64), face.get("texcoord"), None, None
    if lists.counts.min() < 3:
        raise _broken(path, f"face {int(np.argmin(lists.counts))} has {lists.counts.min()} corners")
    if isinstance(textures, Lists) and np.array_equal(textures.counts, 2 * lists.counts):
        own, at = by_vertex(len(vertices), corners, textures.values.astype(float).reshape(-1, 2))
    else:
        pair = next((names for names in TEXTURES if set(names) <= set(vertex)), None)
        own = None if pair is None else np.column_stack([np.asarray(vertex[name], float) for name in pair])
    if any(uvs is not None and not np.isfinite(uvs).all() for uvs in (own, at)):
        own = at = None
    return Raw(vertices, Polygons(lists.counts, corners, at), uvs=own)


def _header(path: Path, lines: list[str]) -> tuple[str, list[tuple[str, int, list[Property]]]]:
    order: str | None = None
    elements: list[tuple[str, int, list[Property]]] = []
    for line in lines:
        words = line.split()
        try:
            if words[:1] == ["format"]:
                order = ORDERS[words[1]]
            elif words[:1] == ["element"]:
                elements.append((words[1], int(words[2]), []))
            elif words[:2] == ["property", "list"]:
                elements[-1][2].append(Property(words[4], TYPES[words[3]], TYPES[words[2]]))
            elif words[:1] == ["property"]:
                elements[-1][2].append(Property(words[2], TYPES[words[1]], None))
        except (KeyError, IndexError, ValueError):
            raise _broken(path, f"its header has the line {line[:60]!r}") from None
    if order is None or any(count < 0 for _, count, _ in elements):
        raise _broken(path, "its header says no format")
    return order, elements


class _Binary:
    """Elements of a binary file, one after the other."""

    def __init__(self, path: Path, data: bytes, begin: int, order: str):
        self._path, self._data, self._at, self._order = path, data, begin, order

    def element(self, name: str, count: int, properties: list[Property]) -> dict[str, Any]:
        if not count or not properties:
            return {}
        kind = self._kind([self._length(properties, k) for k in range(len(properties))], properties)
        size = count * kind.itemsize
        if self._at + size <= len(self._data):
            rows = np.frombuffer(self._data, kind, count, self._at)
            if all((rows[f"{p.name} counts"] == rows[p.name].shape[1]).all() for p in properties if p.counted):
                self._at += size
                return {p.name: _listed(rows[p.name]) if p.counted else rows[p.name] for p in properties}
        if not any(p.counted for p in properties):
            raise _broken(self._path, f"it promises {count} times {name}, {size:,} bytes, and is shorter")
        return self._one_by_one(name, count, properties)

    def _length(self, properties: list[Property], number: int) -> int:
        """How long a list is in the first row."""
        counted = properties[number].counted
        if counted is None:
            return 0
        before = self._kind([self._length(properties, k) for k in range(number)], properties[:number])
        at = self._at + before.itemsize
        size = np.dtype(counted).itemsize
        found = np.frombuffer(self._data[at : at + size].ljust(size, b"\0"), self._order + counted)[0]
        return int(min(max(found, 0), len(self._data)))

    def _kind(self, lengths: list[int], properties: list[Property]) -> np.dtype[Any]:
        fields: list[Any] = []
        for p, length in zip(properties, lengths, strict=True):
            if p.counted:
                fields.append((f"{p.name} counts", self._order + p.counted))
                fields.append((p.name, self._order + p.kind, (length,)))
            else:
                fields.append((p.name, self._order + p.kind))
        return np.dtype(fields)

    def _one_by_one(self, name: str, count: int, properties: list[Property]) -> dict[str, Any]:
        """Rows of different lengths."""
        data, at = self._data, self._at
        counts: dict[str, list[int]] = {p.name: [] for p in properties if p.counted}
        parts: dict[str, list[np.ndarray]] = {p.name: [] for p in properties}
        sizes = [(np.dtype(p.kind).itemsize, np.dtype(p.counted or "u1").itemsize) for p in properties]
        little = "little" if self._order == "<" else "big"
        for row in range(count):
            for p, (size, counter) in zip(properties, sizes, strict=True):
                length = 1
                if p.counted:
                    length = int.from_bytes(data[at : at + counter], little)  # type: ignore[arg-type]
                    counts[p.name].append(length)
                    at += counter
                if at + length * size > len(data):
                    raise _broken(self._path, f"it promises {count} times {name} and ends in number {row}")
                parts[p.name].append(np.frombuffer(data, self._order + p.kind, length, at))
                at += length * size
        self._at = at
        joined = {key: np.concatenate(rows) for key, rows in parts.items()}
        return {key: Lists(np.array(counts[key]), joined[key]) if key in counts else joined[key] for key in joined}


class _Text:
    """Elements of a text file: a line each."""

    def __init__(self, path: Path, data: bytes):
        self._path, self._at = path, 0
        self._lines = [line for line in data.decode("ascii", "replace").splitlines() if line.strip()]

    def element(self, name: str, count: int, properties: list[Property]) -> dict[str, Any]:
        lines = self._lines[self._at : self._at + count]
        if len(lines) < count:
            raise _broken(self._path, f"it promises {count} times {name} and has {len(lines)}")
        self._at += count
        rows = [line.split() for line in lines]
        try:
            if not any(p.counted for p in properties):
                table = np.array([row[: len(properties)] for row in rows], float).reshape(count, len(properties))
                return {p.name: table[:, k] for k, p in enumerate(properties)}
            return self._lists(rows, properties)
        except (ValueError, IndexError, OverflowError):
            raise _broken(self._path, f"it has other numbers of {name} than its header says") from None

    def _lists(self, rows: list[list[str]], properties: list[Property]) -> dict[str, Any]:
        counts: dict[str, list[int]] = {p.name: [] for p in properties}
        values: dict[str, list[str]] = {p.name: [] for p in properties}
        for row in rows:
            at = 0
            for p in properties:
                length = int(row[at]) if p.counted else 1
                at += bool(p.counted)
                if length < 0 or at + length > len(row):
                    raise ValueError(p.name)
                counts[p.name].append(length)
                values[p.name] += row[at : at + length]
                at += length
        found: dict[str, Any] = {}
        for p in properties:
            numbers = np.array(values[p.name], float)
            found[p.name] = Lists(np.array(counts[p.name]), numbers) if p.counted else numbers
        return found


def _listed(rows: np.ndarray) -> Lists:
    return Lists(np.full(len(rows), rows.shape[1]), rows.ravel())


def _broken(path: Path, why: str) -> FileError:
    return FileError(f"cannot read {path}: {why}; it is truncated, corrupt, or not a .ply file")
