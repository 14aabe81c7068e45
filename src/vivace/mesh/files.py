"""Meshes to and from files. Formats are chosen by suffix; `readers` holds the reading of each."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..checks import as_path, check_file, check_flag
from ..errors import FileError, InputError, UnknownNameError, VivaceError
from ..files import replacing
from . import filling, measure
from .mesh import Mesh, as_mesh
from .readers import READERS, Raw
from .silenced import quiet


def load(
    path: str | os.PathLike[str], *, tetrahedralise: bool = False, repair: bool = False, split: bool = False
) -> Mesh:
    """Read a mesh: OBJ, PLY, STL, GLB, GLTF (surfaces), MSH, VTK, VTU, TetGen .node or .ele (surfaces and bodies).

    A file with tetrahedra gives a body, any other a surface; quads are cut in two. Coordinates are taken as metres.
    Vertices that a format stores once per face (STL) or per normal (GLB) are joined, and `repairs` says so.

    Args:
        path: of the file. For TetGen either of the two files; the other must be beside it.
        tetrahedralise: fill a closed surface with tetrahedra, as `vivace.mesh.tetrahedralise` does by default.
        repair: put right what can be, as in `Mesh.from_triangles` and `Mesh.from_tets`.
        split: part the sheets that meet at edges of more than two triangles, as in `Mesh.from_triangles`.

    Raises:
        FileError: if the file is missing, empty, truncated or corrupt.
        InputError: if its format is unknown or the mesh in it cannot be used.
    """
    path = as_path(path)
    check_flag("tetrahedralise", tetrahedralise)
    check_flag("repair", repair)
    check_flag("split", split)
    suffix = path.suffix.lower()
    if suffix not in READERS:
        raise UnknownNameError(f"mesh format of {path}:", suffix, READERS)
    check_file(path)
    if path.stat().st_size == 0:
        raise FileError(f"cannot read {path}: the file is empty")
    try:
        raw = READERS[suffix](path)
    except VivaceError:
        raise
    except (Exception, SystemExit) as error:  # meshio ends the process on some bad files
        reason = str(error).strip().partition("\n")[0]
        why = f" ({reason})" if reason and not isinstance(error, SystemExit) else ""
        raise FileError(f"cannot read {path}: it is truncated, corrupt, or not a {suffix} file{why}") from error
    if not len(raw.triangles) and not len(raw.tets):
        raise InputError(f"{path} holds neither triangles nor tetrahedra; export it as a mesh with faces")
    try:
        mesh = _build(raw, path.stem, repair, split)
        return filling.tetrahedralise(mesh) if tetrahedralise and not mesh.is_volumetric else mesh
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _build(raw: Raw, name: str, repair: bool, split: bool) -> Mesh:
    if not len(raw.tets):
        mesh = Mesh.from_triangles(raw.vertices, raw.triangles, name=name, repair=repair, split=split)
    else:
        tets = raw.tets
        in_range = tets.min() >= 0 and tets.max() < len(raw.vertices)
        if in_range and (measure.tet_volumes(raw.vertices, tets) < 0).all():
            tets = tets[:, [0, 1, 3, 2]]  # the other convention for a positive tetrahedron, not a fault
        mesh = Mesh.from_tets(raw.vertices, tets, name=name, repair=repair)
    object.__setattr__(mesh, "repairs", raw.repairs + mesh.repairs)
    return mesh


def save(mesh: Mesh, path: str | os.PathLike[str]) -> None:
    """Write a mesh: OBJ, PLY, STL, GLB (surfaces), MSH, VTK, VTU (surfaces and bodies), TetGen .node or .ele (bodies).

    A surface format gets the boundary of a body. STL and GLB keep seven digits, the others all. Groups are not kept.
    An existing file is replaced as a whole or left as it was.

    Args:
        mesh: what to write.
        path: of the file; its suffix tells the format.
    """
    as_mesh(mesh)
    path = as_path(path)
    suffix = path.suffix.lower()
    if suffix not in _WRITERS:
        raise UnknownNameError(f"format to write {path}:", suffix, _WRITERS)
    if not len(mesh.triangles):
        raise InputError(f"cannot write {path}: {mesh.name!r} is a wire, without triangles or tetrahedra")
    try:
        with quiet():
            _WRITERS[suffix](mesh, path)
    except OSError as error:
        if isinstance(error, VivaceError):
            raise
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error


def _surface_of(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices that the triangles use, and the triangles on them."""
    used, numbers = np.unique(mesh.triangles, return_inverse=True)
    return mesh.vertices[used], numbers.reshape(-1, 3).astype(np.int32)


def _save_obj(mesh: Mesh, path: Path) -> None:
    vertices, triangles = _surface_of(mesh)
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        np.savetxt(file, vertices, fmt="v %.17g %.17g %.17g")
        np.savetxt(file, triangles + 1, fmt="f %d %d %d")


def _save_glb(mesh: Mesh, path: Path) -> None:
    import trimesh

    vertices, triangles = _surface_of(mesh)
    with replacing(path) as temporary:
        trimesh.Trimesh(vertices, triangles, process=False).export(temporary, file_type="glb")


def _save_tetgen(mesh: Mesh, path: Path) -> None:
    if not mesh.is_volumetric:
        raise InputError(f"cannot write {path}: {mesh.name!r} is a surface; TetGen files hold tetrahedra, use .obj")
    nodes = np.column_stack([np.arange(mesh.n_vertices), mesh.vertices])
    tets = np.column_stack([np.arange(len(mesh.tets)), mesh.tets])
    # Both are written before either appears under its name.
    with replacing(path.with_suffix(".node")) as node, replacing(path.with_suffix(".ele")) as ele:
        np.savetxt(node, nodes, fmt="%d %.17g %.17g %.17g", header=f"{len(nodes)} 3 0 0", comments="")
        np.savetxt(ele, tets, fmt="%d", header=f"{len(tets)} 4 0", comments="")


def _save_meshio(file_format: str, bodies: bool, **options: object) -> Callable[[Mesh, Path], None]:
    def write(mesh: Mesh, path: Path) -> None:
        import meshio

        if bodies and mesh.is_volumetric:
            vertices, cells = mesh.vertices, ("tetra", mesh.tets)
        else:
            vertices, triangles = _surface_of(mesh)
            cells = ("triangle", triangles)
        with replacing(path) as temporary:
            meshio.write(temporary, meshio.Mesh(vertices, [cells]), file_format=file_format, **options)

    return write


_WRITERS: dict[str, Callable[[Mesh, Path], None]] = {
    ".obj": _save_obj,
    ".ply": _save_meshio("ply", bodies=False),
    ".stl": _save_meshio("stl", bodies=False, binary=True),
    ".glb": _save_glb,
    ".msh": _save_meshio("gmsh", bodies=True),
    ".vtk": _save_meshio("vtk", bodies=True),
    ".vtu": _save_meshio("vtu", bodies=True),
    ".node": _save_tetgen,
    ".ele": _save_tetgen,
}
