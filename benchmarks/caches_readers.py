"""Caches as others read them: usd-core, alembic3d, trimesh, meshio, NumPy, and headers by their specifications."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass
class Found:
    """What another library finds.

    Attributes:
        reader: its name.
        frames: (n, 3) each.
        uvs: (n, 2), v up; None: the format, or its reader, has none.
        name: of the mesh; None as above.
        metres: of the unit; None: the format does not say.
        metric: whether the format is in metres by definition.
    """

    reader: str
    frames: Iterator[np.ndarray]
    uvs: Any = None
    name: str | None = None
    metres: float | None = None
    metric: bool = False


def usd(path: Path) -> Found:
    """usd-core."""
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.Open(str(path))
    mesh = UsdGeom.Mesh(stage.GetDefaultPrim())
    points = mesh.GetPointsAttr()

    def frames() -> Iterator[np.ndarray]:
        for time in points.GetTimeSamples():
            yield np.array(points.Get(time))
        _ = stage  # held: without it there is nothing to read

    uvs = np.array(UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st").Get())
    return Found("usd-core", frames(), uvs, mesh.GetPrim().GetDisplayName(), UsdGeom.GetStageMetersPerUnit(stage))


def alembic(path: Path) -> Found:
    """alembic3d, Alembic's own bindings."""
    from alembic3d import Abc, AbcGeom

    archive = Abc.IArchive(str(path))
    top = archive.getTop()
    name = top.getChild(0).getName()
    schema = AbcGeom.IPolyMesh(top, name).getSchema()
    said = json.loads(Abc.GetArchiveInfo(archive)["userDescription"])

    def frames() -> Iterator[np.ndarray]:
        for k in range(schema.getNumSamples()):
            when = Abc.ISampleSelector(schema.getTimeSampling().getSampleTime(k))
            yield np.array(schema.getPositionsProperty().getValue(when)).reshape(-1, 3)
        _ = archive  # held as well

    uvs = np.array(schema.getUVsParam().getExpandedValue().getVals())
    return Found("alembic3d", frames(), uvs, name, {"m": 1.0, "cm": 0.01}[said["unit"]])


def glb(path: Path) -> Found:
    """trimesh for the mesh; the morph targets by the specification, which trimesh does not read."""
    import trimesh

    scene = trimesh.load(path, process=False)
    (name, mesh), *_ = scene.geometry.items()
    data = np.memmap(path, np.uint8, "r")
    length = struct.unpack_from("<I", data, 12)[0]
    document = json.loads(bytes(data[20 : 20 + length]))
    start = 20 + length + 8

    def accessor(number: int) -> np.ndarray:
        this = document["accessors"][number]
        view = document["bufferViews"][this["bufferView"]]
        begin = start + view.get("byteOffset", 0) + this.get("byteOffset", 0)
        return data[begin : begin + 12 * this["count"]].view("<f4").reshape(-1, 3)

    def frames() -> Iterator[np.ndarray]:
        first = np.asarray(mesh.vertices, np.float32)
        yield first
        for target in document["meshes"][0]["primitives"][0]["targets"]:
            yield first + accessor(target["POSITION"])

    return Found("trimesh, targets by hand", frames(), np.asarray(mesh.visual.uv), str(name), metric=True)


def pc2(path: Path) -> Found:
    """By its header: signature, version, points, start, rate, samples."""
    mark, version, points, _, _, samples = struct.unpack("<12siiffi", path.read_bytes()[:32])
    assert (mark, version) == (b"POINTCACHE2\0", 1)
    data = np.memmap(path, "<f4", "r", 32, (samples, points, 3))
    return Found("NumPy, by its header", iter(data), *beside(path))


def mdd(path: Path) -> Found:
    """By its header: frames and points, then times."""
    frames, points = struct.unpack(">ii", path.read_bytes()[:8])
    data = np.memmap(path, ">f4", "r", 8 + 4 * frames, (frames, points, 3))
    return Found("NumPy, by its header", iter(data), *beside(path))


def beside(path: Path) -> tuple[np.ndarray, str, None]:
    """UVs and name of the OBJ beside a point cache, by trimesh."""
    import trimesh

    (mesh,) = trimesh.load(path.with_suffix(".obj"), process=False, force="scene").geometry.values()
    name = next(line[2:] for line in path.with_suffix(".obj").open() if line.startswith("o ")).strip()
    return in_file_order(path.with_suffix(".obj"), mesh), name.replace("_", " "), None


def in_file_order(path: Path, mesh: Any) -> np.ndarray:
    """UVs of an OBJ by its vertices; trimesh has its own order, which positions tell."""
    from scipy.spatial import cKDTree

    rows = np.array([line.split()[1:4] for line in path.open() if line.startswith("v ")], float)
    _, where = cKDTree(np.asarray(mesh.vertices)).query(rows)
    return np.asarray(mesh.visual.uv)[where]


def obj(path: Path) -> Found:
    """meshio for positions, trimesh for UVs."""
    import meshio
    import trimesh

    files = sorted(path.parent.iterdir())
    first = trimesh.load(files[0], process=False, force="mesh")
    name = next(line[2:] for line in files[0].open() if line.startswith("o ")).strip()
    frames = (meshio.read(file, file_format="obj").points for file in files)
    return Found("meshio", frames, in_file_order(files[0], first), name.replace("_", " "))


def ply(path: Path) -> Found:
    """meshio for positions and UVs."""
    import meshio

    files = sorted(path.parent.iterdir())
    first = meshio.read(files[0]).point_data
    frames = (meshio.read(file).points for file in files)
    return Found("meshio", frames, np.column_stack([first["s"], first["t"]]))


def xdmf(path: Path) -> Found:
    """h5py by the paths that the XML tells, as ParaView does."""
    from xml.etree import ElementTree

    import h5py

    grids = ElementTree.parse(path).getroot().findall("./Domain/Grid/Grid")
    name = ElementTree.parse(path).getroot().find("./Domain/Grid").attrib["Name"]  # type: ignore[union-attr]

    def array(grid: Any, kind: str) -> np.ndarray:
        file, inside = grid.find(f"{kind}/DataItem").text.strip().split(":")
        with h5py.File(path.parent / file) as data:
            return np.array(data[inside])

    return Found("XML and h5py", (array(grid, "Geometry") for grid in grids), array(grids[0], "Attribute")[:, :2], name)


def npz(path: Path) -> Found:
    """NumPy."""
    with np.load(path, allow_pickle=False) as data:
        said = json.loads(str(data["settings"]))
        unit = {"m": 1.0, "cm": 0.01}[said["unit"]]
        return Found("NumPy", iter(data["positions"]), data["uvs"], said["name"], unit)


READERS: dict[str, Callable[[Path], Found]] = {
    ".usd": usd,
    ".usdc": usd,
    ".usda": usd,
    ".abc": alembic,
    ".glb": glb,
    ".pc2": pc2,
    ".mdd": mdd,
    ".obj": obj,
    ".ply": ply,
    ".xdmf": xdmf,
    ".npz": npz,
}
