"""The file behind a glTF: its JSON, and arrays in its bytes, each checked against where the file ends."""

from __future__ import annotations

import json
import mmap
import struct
from pathlib import Path
from typing import Any

import numpy as np

from .base import MOST_BYTES, damaged

COMPONENTS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
HEAD = struct.Struct("<4sIIII")


class Document:
    """A GLB, mapped into memory: what is not looked at is not read."""

    def __init__(self, path: Path):
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(HEAD.size)
            if len(head) < HEAD.size:
                raise damaged(path, "it is too short")
            magic, version, total, length, kind = HEAD.unpack(head)
            if magic != b"glTF" or version != 2 or kind != 0x4E4F534A or total > size or HEAD.size + length > size:
                raise damaged(path, "its header is not that of a GLB of this size")
            self.root = json.loads(file.read(length))
            if not isinstance(self.root, dict):
                raise damaged(path, "its JSON is no table")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        begin = HEAD.size + length
        self._bytes = np.frombuffer(b"", np.uint8)
        if begin + 8 <= size:
            count, kind = struct.unpack_from("<II", self._map, begin)
            if kind == 0x004E4942:
                self._bytes = np.frombuffer(self._map, np.uint8)[begin + 8 : begin + 8 + count]
        if any("uri" in buffer for buffer in self.table("buffers")):
            raise damaged(path, "it refers to other files; export it as one .glb")
        self.nodes: list[dict[str, Any]] = self.table("nodes")

    def table(self, name: str) -> list[dict[str, Any]]:
        """A list of the document; empty if there is none."""
        found = self.root.get(name, [])
        if not isinstance(found, list):
            raise ValueError(f"{name} is no list")
        return found

    def item(self, name: str, number: Any) -> dict[str, Any]:
        """One of a list, by a number that must be one."""
        if not isinstance(number, int) or number < 0:
            raise ValueError(f"{number!r} is no number of {name}")
        return self.table(name)[number]

    def array(self, number: Any, width: int, *, normalised: bool = False) -> np.ndarray:
        """(count, width) of an accessor, (count,) for a width of 1; whole numbers as shares of one if `normalised`."""
        accessor = self.item("accessors", number)
        if WIDTHS.get(accessor["type"]) != width:
            raise ValueError(f"accessor {number} holds {accessor['type']}")
        count, kind = self.count(accessor), np.dtype(COMPONENTS[accessor["componentType"]])
        if "bufferView" in accessor:
            found = self._view(accessor, accessor.get("byteOffset", 0), count, width, kind)
        else:
            if count * width * kind.itemsize > MOST_BYTES:
                raise ValueError(f"accessor {number} would have {count:,} elements that are not in the file")
            found = np.zeros((count, width), kind)
        if "sparse" in accessor:
            where, values = self.sparse(accessor, width)
            found = found.copy()
            found[where] = values
        if normalised and kind.kind in "iu":
            found = np.maximum(found / np.iinfo(kind).max, -1.0)
        return found[:, 0] if width == 1 else found

    @staticmethod
    def count(accessor: dict[str, Any]) -> int:
        """Of an accessor's elements."""
        count = accessor["count"]
        if not isinstance(count, int) or not 0 <= count < 2**40:
            raise ValueError(f"an accessor has {count!r} elements")
        return count

    def sparse(self, accessor: dict[str, Any], width: int) -> tuple[np.ndarray, np.ndarray]:
        """Where a sparse accessor is not what it would be otherwise, rising, and what it is there."""
        said, kind = accessor["sparse"], np.dtype(COMPONENTS[accessor["componentType"]])
        count, inner = self.count(said), said["indices"]
        places = np.dtype(COMPONENTS[inner["componentType"]])
        where = self._view(inner, inner.get("byteOffset", 0), count, 1, places)[:, 0].astype(np.int64)
        values = self._view(said["values"], said["values"].get("byteOffset", 0), count, width, kind)
        if len(where) and (where[-1] >= self.count(accessor) or where[0] < 0 or (np.diff(where) <= 0).any()):
            raise ValueError("a sparse accessor names elements that are not there")
        return where, values

    def _view(self, owner: dict[str, Any], offset: Any, count: int, width: int, kind: np.dtype[Any]) -> np.ndarray:
        """(count, width) in the bytes of a view, as a view of them."""
        view = self.item("bufferViews", owner["bufferView"])
        begin, length = view.get("byteOffset", 0), view["byteLength"]
        row = width * kind.itemsize
        stride = view.get("byteStride", row) or row
        numbers = (begin, length, offset, stride)
        if not all(isinstance(value, int) and 0 <= value < 2**40 for value in numbers) or view.get("buffer", 0) != 0:
            raise ValueError("a view is not in the file's bytes")
        end = offset + (count - 1) * stride + row if count else 0
        if end > length or begin + length > len(self._bytes) or stride < row:
            raise ValueError(f"{count:,} elements do not fit into {len(self._bytes):,} bytes")
        if not count:
            return np.zeros((0, width), kind)
        start = begin + offset
        raw = self._bytes[start : start + (count - 1) * stride + row]
        rows = np.lib.stride_tricks.as_strided(raw, (count, row), (stride, 1), writeable=False)
        return np.ascontiguousarray(rows).view(kind).reshape(count, width)
