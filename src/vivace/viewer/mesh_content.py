"""Whether a file that somebody sent is what it is called, before anything reads it: by its first bytes and its counts.

A file may promise far more than it holds (a count in its header, a compressed buffer, an accessor without data, a node
that is its own ancestor), and a reader that believes it would ask for the memory. What is refused here is refused with
a sentence; what gets through is read by a process of its own with limits (`mesh_process`).
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from typing import Any

from ..errors import FileError

MOST_COUNT = 20_000_000  # of anything in a header
MOST_NODES = 20_000  # of a scene in a GLB
DEEPEST_JSON = 64
HEAD = 65_536  # bytes in which a header has to end
COMPRESSED = ("KHR_draco_mesh_compression", "EXT_meshopt_compression")
COUNTED = re.compile(rb"^[ \t]*(?:POINTS|CELLS|POLYGONS|CELL_TYPES|element[ \t]+\S+)[ \t]+(\d+)", re.MULTILINE)


def check_content(suffix: str, data: bytes) -> None:
    """Raise FileError unless the bytes may be a mesh file of that ending."""
    if not data:
        raise FileError("the file is empty")
    CHECKS[suffix](data)


def _refuse(suffix: str, wanted: str) -> None:
    raise FileError(f"it is called {suffix} and does not begin as such a file does ({wanted})")


def _check_obj(data: bytes) -> None:
    if b"\0" in data[:HEAD] or not re.search(rb"^[ \t]*v[ \t]+[-+.\d]", data, re.MULTILINE):
        _refuse(".obj", "text with lines of 'v x y z'")


def _check_ply(data: bytes) -> None:
    head, end, _ = data[:HEAD].partition(b"end_header")
    if not data.startswith(b"ply") or not end:
        _refuse(".ply", "'ply', and a header that ends")
    _check_counts(head, len(data))


def _check_stl(data: bytes) -> None:
    if data.lstrip()[:5].lower() == b"solid" and b"facet" in data[:HEAD]:
        return
    if len(data) < 84 or len(data) < 84 + 50 * int.from_bytes(data[80:84], "little"):
        _refuse(".stl", "'solid', or as many triangles as it says")


def _check_msh(data: bytes) -> None:
    if b"$MeshFormat" not in data[:HEAD]:
        _refuse(".msh", "'$MeshFormat', as Gmsh writes it")
    for section in (b"$Nodes", b"$Elements"):
        at = data.find(section)
        line = data[at + len(section) : at + len(section) + 200].lstrip().partition(b"\n")[0] if at >= 0 else b""
        # Binary files have numbers of eight bytes there; the process that reads them has its limits.
        if line and all(word.isdigit() for word in line.split()):
            for word in line.split()[:2]:
                _check_count(int(word), len(data))


def _check_vtk(data: bytes) -> None:
    if not data.startswith(b"# vtk DataFile"):
        _refuse(".vtk", "'# vtk DataFile'; the older format, not .vtu")
    _check_counts(data, len(data))


def _check_counts(text: bytes, size: int) -> None:
    for found in COUNTED.finditer(text):
        _check_count(int(found[1][:30]), size)


def _check_count(count: int, size: int) -> None:
    """Everything that is counted takes a byte at least."""
    if count > min(size, MOST_COUNT):
        raise FileError(f"it promises {count:,} items and has {size:,} bytes: it is truncated or made up")


def _check_glb(data: bytes) -> None:
    if len(data) < 20 or data[:4] != b"glTF":
        _refuse(".glb", "'glTF'; a .gltf with files beside it cannot be dropped")
    version, length, described, kind = struct.unpack_from("<IIII", data, 4)
    if version != 2 or length > len(data) or kind != 0x4E4F534A or 20 + described > len(data):
        _refuse(".glb", "version 2, whole")
    text = data[20 : 20 + described]
    if _depth(text) > DEEPEST_JSON:
        raise FileError("its description is nested deeper than any scene is")
    try:
        scene = json.loads(text)
        if not isinstance(scene, dict):
            raise TypeError("not an object")
        _check_scene(scene, len(data))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FileError(f"its description makes no sense ({str(error)[:80]})") from None


def _depth(text: bytes) -> int:
    """How deep brackets are nested; those in strings count too, which no exporter minds."""
    deepest = depth = 0
    for byte in text.translate(None, delete=bytes(set(range(256)) - set(b"[]{}"))):
        depth += 1 if byte in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _check_scene(scene: dict[str, Any], size: int) -> None:
    for name in [*scene.get("extensionsRequired", []), *scene.get("extensionsUsed", [])]:
        if name in COMPRESSED:
            raise FileError(f"it is compressed ({name}), which is not read; export it without compression")
    for what in ("buffers", "images"):
        for item in scene.get(what, []):
            if not str(item.get("uri", "data:")).startswith("data:"):
                raise FileError("it refers to other files; export it as one binary file")
    for item in scene.get("accessors", []):
        count = item["count"]
        if not isinstance(count, int) or count < 0:
            raise TypeError("an accessor's count")
        _check_count(count, size)
    for item in scene.get("bufferViews", []):
        if item.get("byteLength", 0) > size:
            raise FileError("it promises more data than it has: it is truncated or made up")
    nodes = scene.get("nodes", [])
    if len(nodes) > MOST_NODES:
        raise FileError(f"it has {len(nodes):,} nodes, and {MOST_NODES:,} is the most; join its parts")
    children = [child for node in nodes for child in node.get("children", [])]
    if len(set(children)) != len(children):
        raise FileError("a part of its scene has several parents")


CHECKS: dict[str, Callable[[bytes], None]] = {
    ".obj": _check_obj,
    ".ply": _check_ply,
    ".stl": _check_stl,
    ".glb": _check_glb,
    ".msh": _check_msh,
    ".vtk": _check_vtk,
}
