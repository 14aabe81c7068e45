"""Meshes to and from files. Formats are chosen by suffix; `readers` holds the reading of each."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..checks import as_path, check_file, check_flag
from ..errors import FileError, InputError, UnknownNameError, VivaceError
from ..files import replacing
from . import checks, filling, measure, welding
from .mesh import Mesh, as_mesh
from .obj import obj_faces
from .polygons import Polygons
from .raw import Raw
from .readers import READERS
from .silenced import quiet
from .surface import Numbered, Surface
from .units import axes, in_file, in_metres, metres


def load(
    path: str | os.PathLike[str],
    *,
    unit: str = "m",
    up: str = "y",
    tetrahedralise: bool = False,
    repair: bool = False,
    split: bool = False,
    weld: bool = True,
) -> Mesh:
    """Read a mesh: OBJ, PLY, STL, GLB, GLTF (surfaces), MSH, VTK, VTU, TetGen .node or .ele (surfaces and bodies).

    A file with tetrahedra gives a body, any other a surface; polygons are cut into triangles. All objects of a file are
    taken together, and names of objects, groups and materials (OBJ, GLB) and of physical groups (MSH) become groups of
    vertices. Vertices that are there several times, along the seams of UVs, are one in the mesh, and `repairs` says so;
    its `surface` keeps those of the file with their UVs, polygons and names, and is what `vivace.export` writes.

    Args:
        path: of the file. For TetGen either of the two files; the other must be beside it.
        unit: of the numbers in the file: "m", "cm", "mm", "in", ...
        up: the axis that points up in the file: "y", or "z", which is turned to y.
        tetrahedralise: fill a closed surface with tetrahedra, as `vivace.mesh.tetrahedralise` does by default.
        repair: put right what can be, as in `Mesh.from_triangles` and `Mesh.from_tets`.
        split: part the sheets that meet at edges of more than two triangles, as in `Mesh.from_triangles`.
        weld: make one what is doubled along seams: edges at the same places in opposite directions, of one object; in
            STL and GLB all vertices at the same place.

    Raises:
        FileError: if the file is missing, empty, truncated or corrupt.
        InputError: if its format is unknown or the mesh in it cannot be used.
    """
    path = as_path(path)
    check_flag("tetrahedralise", tetrahedralise)
    check_flag("repair", repair)
    check_flag("split", split)
    check_flag("weld", weld)
    metres(unit), axes(up)
    suffix = path.suffix.lower()
    if suffix not in READERS:
        raise UnknownNameError(f"mesh format of {path}:", suffix, READERS)
    check_file(path)
    if path.stat().st_size == 0:
        raise FileError(f"cannot read {path}: the file is empty")
    try:
        raw = READERS[suffix](path)
    except InputError as error:
        raise error if str(path) in str(error) else InputError(f"{path}: {error}") from None
    except VivaceError:
        raise
    except (Exception, SystemExit) as error:  # meshio ends the process on some bad files
        reason = str(error).strip().partition("\n")[0]
        why = f" ({reason})" if reason and not isinstance(error, SystemExit) else ""
        raise FileError(f"cannot read {path}: it is truncated, corrupt, or not a {suffix} file{why}") from error
    if not len(raw.polygons.counts) and not len(raw.tets):
        raise InputError(f"{path} holds neither triangles nor tetrahedra; export it as a mesh with faces")
    try:
        raw = replace(raw, vertices=in_metres(raw.vertices, unit, up))
        mesh = _body(raw, path.stem, repair) if len(raw.tets) else _sheet(raw, path.stem, unit, up, repair, split, weld)
        return filling.tetrahedralise(mesh) if tetrahedralise and not mesh.is_volumetric else mesh
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _body(raw: Raw, name: str, repair: bool) -> Mesh:
    tets = raw.tets
    in_range = tets.min() >= 0 and tets.max() < len(raw.vertices)
    if in_range and (measure.tet_volumes(raw.vertices, tets) < 0).all():
        tets = tets[:, [0, 1, 3, 2]]  # the other convention for a positive tetrahedron, not a fault
    return Mesh.from_tets(raw.vertices, tets, name=name, groups=raw.groups, repair=repair)


def _sheet(raw: Raw, name: str, unit: str, up: str, repair: bool, split: bool, weld: bool) -> Mesh:
    if raw.polygons.n_vertices > len(raw.vertices):
        checks.checked_elements(raw.polygons.triangles, 3, len(raw.vertices))  # which says so
    polygons = raw.polygons.cut_at(raw.vertices)
    triangles = polygons.triangles.astype(np.int64)
    first = np.arange(len(raw.vertices))
    if weld and raw.scattered:
        first = welding.places(raw.vertices)
    elif weld:
        first = welding.seams(raw.vertices, triangles, _objects(polygons))
    kept, number = welding.numbers(first)
    groups = {**polygons.vertices_by_name(), **raw.groups}
    surface = Surface(Numbered(number), polygons, raw.uvs, raw.name or name, unit, up)
    mesh = Mesh.from_triangles(
        raw.vertices[kept],
        number[triangles],
        name=name,
        groups={word: number[members] for word, members in groups.items()},
        repair=repair,
        split=split,
        surface=surface if raw.shown and not _is_plain(surface, len(kept)) else None,
    )
    count = len(first) - len(kept)
    if count:
        where = "at the same positions as others" if raw.scattered else "that were doubled along seams"
        object.__setattr__(mesh, "repairs", (f"merged {count} vertices {where}", *mesh.repairs))
    return mesh


def _is_plain(surface: Surface, kept: int) -> bool:
    """Whether a surface tells nothing that its mesh does not: each vertex once, triangles alone, metres with y up."""
    used = len(np.unique(surface.polygons.corners))
    told = surface.uvs is not None or (surface.unit, surface.up) != ("m", "y")
    return surface.polygons.plain and not told and surface.n_vertices == kept == used


def _objects(polygons: Polygons) -> np.ndarray | None:
    """The object that each triangle of polygons belongs to; None: all are one."""
    if len(polygons.objects) < 2:
        return None
    label = np.zeros(len(polygons.counts), np.int64)
    for number, faces in enumerate(polygons.objects.values(), 1):
        label[faces] = number
    found: np.ndarray = label[polygons.owners]
    return found


def save(mesh: Mesh, path: str | os.PathLike[str]) -> None:
    """Write a mesh: OBJ, PLY, STL, GLB (surfaces), MSH, VTK, VTU (surfaces and bodies), TetGen .node or .ele (bodies).

    A surface format gets the boundary of a body. STL and GLB keep seven digits, the others all. Of a mesh that was read
    from a file, OBJ keeps vertices, polygons, UVs, names, unit and axis of that; other formats have the mesh itself.
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
    shown = mesh.surface
    if shown is None:
        vertices, triangles = _surface_of(mesh)
        faces = obj_faces(Polygons.of(triangles), None)
    else:
        vertices = in_file(shown.at(mesh.vertices), shown.unit, shown.up)
        faces = obj_faces(shown.polygons, shown.uvs)
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savetxt(file, vertices, fmt="v %.17g %.17g %.17g")
        file.write(faces)


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
