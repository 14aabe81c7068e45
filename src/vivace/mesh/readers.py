"""One reader per family of file formats: path in, plain arrays out. `files.load` checks and builds the mesh.

OBJ is in `obj`, PLY in `ply`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, InputError
from .obj import read_obj
from .ply import read_ply
from .polygons import Polygons
from .raw import Raw
from .silenced import quiet

_FLAT_CELLS = {"triangle", "quad", "line", "vertex"}


def read_trimesh(path: Path) -> Raw:
    """Read STL, GLB or GLTF; the parts of a scene are put together where the scene places them."""
    import trimesh

    suffix = path.suffix.lower()
    if suffix == ".stl":
        _require_whole_stl(path)
    with quiet(), path.open("rb") as file:
        # By its path trimesh would also open what a file refers to, wherever that is; only GLTF has a use for it.
        source, kind = (path, None) if suffix == ".gltf" else (file, suffix[1:])
        loaded = trimesh.load(source, file_type=kind, process=False)
        parts = list(_parts(loaded))
    vertices, faces, uvs, total, count = [], [], [], 0, 0
    objects, materials = dict[str, list[np.ndarray]](), dict[str, list[np.ndarray]]()
    for part, placed, name in parts:
        # Parts of one mesh may share their vertices, and then each has all of them.
        used, corners = np.unique(np.asarray(part.faces, np.int64), return_inverse=True)
        vertices.append(np.asarray(part.vertices, float)[used] @ placed[:3, :3].T + placed[:3, 3])
        faces.append(corners.reshape(-1, 3) + total)
        uvs.append(_uvs_of(part, used))
        own = np.arange(count, count + len(part.faces))
        total, count = total + len(used), count + len(own)
        for names, word in ((objects, name), (materials, _material_of(part))):
            if word:
                names.setdefault(word, []).append(own)
    if not faces:
        return Raw(np.zeros((0, 3)))
    named = [{word: np.concatenate(own) for word, own in names.items()} for names in (objects, materials)]
    polygons = Polygons(np.full(count, 3), np.concatenate(faces).ravel(), objects=named[0], materials=named[1])
    known = [part for part in uvs if part is not None]
    return Raw(
        np.concatenate(vertices),
        polygons,
        uvs=np.concatenate(known) if len(known) == len(uvs) else None,
        name=next(iter(objects)) if len(objects) == 1 else None,
        scattered=True,  # STL has no shared vertices at all; GLB stores one for each normal and texture coordinate
        shown=suffix != ".stl",
    )


def _uvs_of(part: Any, used: np.ndarray) -> np.ndarray | None:
    uvs = getattr(part.visual, "uv", None)
    if uvs is None or np.shape(uvs) != (len(part.vertices), 2) or not np.isfinite(uvs).all():
        return None
    own: np.ndarray = np.asarray(uvs, float)[used]
    return own


def _material_of(part: Any) -> str:
    name = getattr(getattr(part.visual, "material", None), "name", None)
    return name if isinstance(name, str) else ""


def _require_whole_stl(path: Path) -> None:
    """Raise if an STL ends early: trimesh then reads the rest as text and finds nothing."""
    data = path.read_bytes()
    if data.lstrip()[:5].lower() == b"solid" and b"facet" in data[:1000]:
        whole = b"endsolid" in data[-1000:]
    else:
        whole = len(data) >= 84 and len(data) >= 84 + 50 * int.from_bytes(data[80:84], "little")
    if not whole:
        raise FileError(f"cannot read {path}: it is truncated, corrupt, or not a .stl file")


def _parts(loaded: Any) -> Iterator[tuple[Any, np.ndarray, str]]:
    """Yield each triangle mesh of what trimesh loaded, the 4 x 4 transform that places it, and the node's name."""
    if not hasattr(loaded, "graph"):
        if hasattr(loaded, "faces"):
            yield loaded, np.eye(4), ""
        return
    for node in loaded.graph.nodes_geometry:
        transform, name = loaded.graph[node]
        if hasattr(loaded.geometry[name], "faces"):
            yield loaded.geometry[name], np.asarray(transform), str(node)


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
    return Raw(nodes[:, 1:4], tets=tets - first)


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
        groups = _named_sets(mesh)
        if "tetra" in cells:
            return Raw(points, tets=np.concatenate(cells["tetra"]).astype(np.int64), groups=groups)
        flat = [block for kind in ("triangle", "quad") for block in cells.get(kind, [])]
        if not flat:
            return Raw(np.zeros((0, 3)))
        counts = np.concatenate([np.full(len(block), block.shape[1]) for block in flat])
        corners = np.concatenate([block.ravel() for block in flat]).astype(np.int64)
        return Raw(points, Polygons(counts, corners), groups=groups)

    return read


def _named_sets(mesh: Any) -> dict[str, np.ndarray]:
    """Vertices of the physical groups of a Gmsh file, by name: of points, curves, surfaces and volumes."""
    marks, found = mesh.cell_data.get("gmsh:physical"), dict[str, np.ndarray]()
    for name, (mark, *_) in mesh.field_data.items() if marks is not None else ():
        cells = [block.data[np.asarray(own) == mark].ravel() for block, own in zip(mesh.cells, marks, strict=True)]
        if sum(map(len, cells)):
            found[str(name)] = np.unique(np.concatenate(cells)).astype(np.int64)
    return found


READERS: dict[str, Callable[[Path], Raw]] = {
    ".obj": read_obj,
    ".ply": read_ply,
    ".stl": read_trimesh,
    ".glb": read_trimesh,
    ".gltf": read_trimesh,
    ".msh": _meshio("gmsh"),
    ".vtk": _meshio("vtk"),
    ".vtu": _meshio("vtu"),
    ".node": read_tetgen,
    ".ele": read_tetgen,
}
