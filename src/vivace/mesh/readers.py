"""One reader per family of file formats: path in, plain arrays out. `files.load` checks and builds the mesh."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import FileError, InputError
from .silenced import quiet

_FLAT_CELLS = {"triangle", "quad", "line", "vertex"}


class Raw(NamedTuple):
    """What a file holds: positions, triangles or tetrahedra (the other empty), and what reading had to change."""

    vertices: np.ndarray
    triangles: np.ndarray
    tets: np.ndarray
    repairs: tuple[str, ...] = ()


def _surface(vertices: np.ndarray, triangles: np.ndarray, repairs: tuple[str, ...] = ()) -> Raw:
    return Raw(vertices, triangles, np.zeros((0, 4), np.int32), repairs)


def read_obj(path: Path) -> Raw:
    """Read a Wavefront OBJ: positions and faces, in the file's order.

    Not by trimesh, which makes a vertex of every pair of position and normal and so cuts a smooth mesh along every
    edge; and whoever pins vertex 17 of a file means the seventeenth.
    """
    vertices: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    text = path.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
    for number, line in enumerate(text.splitlines(), 1):
        kind, *words = line.split() or [""]
        try:
            if kind == "v":
                x, y, z = words[:3]
                vertices.append([float(x), float(y), float(z)])
            elif kind == "f":
                corners = [int(word.partition("/")[0]) for word in words]
                if len(corners) < 3 or 0 in corners:
                    raise ValueError("a face needs three corners or more, numbered from 1")
                # Negative numbers count back from the latest vertex.
                first, *rest = [c - 1 if c > 0 else len(vertices) + c for c in corners]
                triangles += [(first, b, c) for b, c in pairwise(rest)]
        except ValueError as error:
            raise FileError(f"cannot read {path}, line {number}, {line.strip()[:60]!r}: {error}") from error
    return _surface(np.array(vertices, float).reshape(-1, 3), np.array(triangles, np.int64).reshape(-1, 3))


def read_trimesh(path: Path) -> Raw:
    """Read PLY, STL, GLB or GLTF; the parts of a scene are put together where the scene places them."""
    import trimesh

    if path.suffix.lower() == ".stl":
        _require_whole_stl(path)
    suffix = path.suffix.lower()
    with quiet(), path.open("rb") as file:
        # By its path trimesh would also open what a file refers to, wherever that is; only GLTF has a use for it.
        source, kind = (path, None) if suffix == ".gltf" else (file, suffix[1:])
        loaded = trimesh.load(source, file_type=kind, process=False)
        vertices, triangles, total = [], [], 0
        for part, placed in _parts(loaded):
            vertices.append(np.asarray(part.vertices) @ placed[:3, :3].T + placed[:3, 3])
            triangles.append(np.asarray(part.faces, np.int64) + total)
            total += len(part.vertices)
    ply = suffix == ".ply"
    if ply:
        _require_whole_ply(path, total, sum(map(len, triangles)))
    if not triangles:
        return _surface(np.zeros((0, 3)), np.zeros((0, 3), np.int64))
    points, faces = np.concatenate(vertices), np.concatenate(triangles)
    if ply:
        return _surface(points, faces)
    # STL has no shared vertices at all; GLB stores one vertex per normal and texture coordinate.
    return _surface(*merged(points, faces))


def _require_whole_stl(path: Path) -> None:
    """Raise if an STL ends early: trimesh then reads the rest as text and finds nothing."""
    data = path.read_bytes()
    if data.lstrip()[:5].lower() == b"solid" and b"facet" in data[:1000]:
        whole = b"endsolid" in data[-1000:]
    else:
        whole = len(data) >= 84 and len(data) >= 84 + 50 * int.from_bytes(data[80:84], "little")
    if not whole:
        raise FileError(f"cannot read {path}: it is truncated, corrupt, or not a .stl file")


def _require_whole_ply(path: Path, vertices: int, triangles: int) -> None:
    """Raise if a PLY gave less than its header promises: trimesh is content with the lines it finds."""
    header = path.read_bytes()[:100_000].partition(b"end_header")[0].decode("ascii", "replace")
    promised = {words[1]: int(words[2]) for words in map(str.split, header.splitlines()) if words[:1] == ["element"]}
    if promised.get("face") and (vertices < promised.get("vertex", 0) or triangles < promised["face"]):
        raise FileError(
            f"cannot read {path}: it promises {promised.get('vertex')} vertices and {promised['face']} faces and has "
            f"{vertices} and {triangles}; it may be truncated"
        )


def _parts(loaded: Any) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield each triangle mesh of what trimesh loaded, and the 4 x 4 transform that places it."""
    if not hasattr(loaded, "graph"):
        if hasattr(loaded, "faces"):
            yield loaded, np.eye(4)
        return
    for node in loaded.graph.nodes_geometry:
        transform, name = loaded.graph[node]
        if hasattr(loaded.geometry[name], "faces"):
            yield loaded.geometry[name], np.asarray(transform)


def merged(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return the mesh with vertices at exactly the same position made one, in order of first use; and a report."""
    order = np.lexsort(vertices.T)
    ordered = vertices[order]
    fresh = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    earliest = np.minimum.reduceat(order, np.flatnonzero(fresh))  # the first vertex at each position
    representative = np.empty(len(vertices), np.int64)
    representative[order] = earliest[np.cumsum(fresh) - 1]
    kept = np.sort(earliest)
    count = len(vertices) - len(kept)
    report = (f"merged {count} vertices at the same positions as others",) if count else ()
    return vertices[kept], np.searchsorted(kept, representative)[triangles], report


def read_tetgen(path: Path) -> Raw:
    """Read a TetGen pair .node and .ele, given either; vertices may be numbered from 0 or from 1.

    Not by meshio, which never returns from a file without a header.
    """
    suffixes = {".node": ".ele", ".ele": ".node"}
    sibling = path.with_suffix(suffixes[path.suffix.lower()])
    if not sibling.is_file():
        raise FileError(f"{path} needs its other half {sibling}, which does not exist; put both in one folder")
    node, ele = (path, sibling) if path.suffix.lower() == ".node" else (sibling, path)
    nodes = _tetgen_table(node, columns=4)
    tets = _tetgen_table(ele, columns=5)[:, 1:5].astype(np.int64)
    first = int(nodes[0, 0])
    if not np.array_equal(nodes[:, 0], np.arange(first, first + len(nodes))):
        raise FileError(f"cannot read {node}: its vertices are not numbered in order")
    return Raw(nodes[:, 1:4], np.zeros((0, 3), np.int64), tets - first)


def _tetgen_table(path: Path, columns: int) -> np.ndarray:
    """Return the rows a TetGen file promises in its first line, at least `columns` wide; # starts a comment."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    rows = [row for row in (line.partition("#")[0].split() for line in lines) if row]
    try:
        count, size = (int(word) for word in rows[0][:2])
        table = np.array(rows[1 : count + 1], float)
    except (IndexError, ValueError) as error:
        raise FileError(f"cannot read {path}: it is truncated, corrupt, or not a TetGen file") from error
    if size != columns - 1:
        raise InputError(f"{path} has {size} numbers a row; only points in space and tetrahedra of four corners work")
    if count < 1 or len(table) < count or table.shape[1] < columns:
        raise FileError(f"cannot read {path}: it promises {count} rows and has {len(table)}; it may be truncated")
    return table


def _meshio(file_format: str) -> Callable[[Path], Raw]:
    def read(path: Path) -> Raw:
        import meshio

        with quiet():
            mesh = meshio.read(path, file_format=file_format)
        points = np.asarray(mesh.points, float)
        if points.ndim == 2 and points.shape[1] == 2:
            points = np.column_stack([points, np.zeros(len(points))])
        cells: dict[str, list[np.ndarray]] = {}
        for block in mesh.cells:
            if len(block.data):
                cells.setdefault(block.type, []).append(np.asarray(block.data))
        foreign = sorted(set(cells) - _FLAT_CELLS - {"tetra"})
        if foreign:
            raise InputError(
                f"{path} holds cells of the kind {', '.join(foreign)}; convert them to linear triangles or tetrahedra"
            )
        if "tetra" in cells:
            return Raw(points, np.zeros((0, 3), np.int64), np.concatenate(cells["tetra"]).astype(np.int64))
        flat = [*cells.get("triangle", [])]
        for quads in cells.get("quad", []):
            flat += [quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]
        return _surface(points, np.concatenate(flat).astype(np.int64) if flat else np.zeros((0, 3), np.int64))

    return read


READERS: dict[str, Callable[[Path], Raw]] = {
    ".obj": read_obj,
    ".ply": read_trimesh,
    ".stl": read_trimesh,
    ".glb": read_trimesh,
    ".gltf": read_trimesh,
    ".msh": _meshio("gmsh"),
    ".vtk": _meshio("vtk"),
    ".vtu": _meshio("vtu"),
    ".node": read_tetgen,
    ".ele": read_tetgen,
}
