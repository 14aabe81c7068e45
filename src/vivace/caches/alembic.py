"""Alembic (.abc, Ogawa) by alembic3d, which brings Alembic's own Python bindings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..mesh.polygons import ranges
from .base import About, CacheFormat, Content, cache_format, check_promise, damaged
from .names import face_sets
from .polygons import fans
from .told import apply_told, told


@cache_format(".abc")
class Alembic(CacheFormat):
    """Alembic."""

    title = "Alembic"
    needs = "alembic3d"
    foreign = True

    def __init__(self, folder: Path, name: str, about: About):
        super().__init__(folder, name, about)
        self._archive: Any = None
        self._mesh: Any = None

    def _begin(self, positions: np.ndarray, time: float) -> Any:
        """The archive, and the first sample, which has faces and UVs too."""
        import imath
        from alembic3d import Abc, AbcCoreAbstract, AbcGeom

        about = self.about
        self._archive = Abc.CreateArchiveWithInfo(str(self.path), 1 / about.time_step, "Vivace", about.provenance())
        sampling = AbcCoreAbstract.TimeSampling(about.time_step, time)
        number = self._archive.addTimeSampling(sampling)
        self._mesh = AbcGeom.OPolyMesh(self._archive.getTop(), about.name.replace("/", "_"), number)
        faces = about.faces
        order = ranges(faces.starts, faces.counts)  # clockwise from outside, by convention
        order = np.repeat(2 * faces.starts + faces.counts - 1, faces.counts) - order
        parts = [
            imath.V3fArrayFromBuffer(positions),
            imath.IntArrayFromBuffer(np.ascontiguousarray(faces.corners[order])),
            imath.IntArrayFromBuffer(np.array(faces.counts)),
        ]
        scopes, uvs = AbcGeom.GeometryScope, about.uvs
        if faces.uvs is not None or uvs is not None:
            scope = scopes.kVertexScope if faces.uvs is None else scopes.kFacevaryingScope
            values = imath.V2fArrayFromBuffer(np.ascontiguousarray(uvs if faces.uvs is None else faces.uvs[order]))
            parts.append(AbcGeom.OV2fGeomParamSample(values, scope))
        for found in face_sets(about.polygons):
            sample = AbcGeom.OFaceSetSchemaSample(imath.IntArrayFromBuffer(np.array(found.faces)))
            self._mesh.getSchema().createFaceSet(found.name.replace("/", "_")).getSchema().set(sample)
        return AbcGeom.OPolyMeshSchemaSample(*parts)

    def write(self, positions: np.ndarray, time: float) -> None:
        """Another sample."""
        import imath
        from alembic3d import AbcGeom

        if self._mesh is None:
            sample = self._begin(positions, time)
        else:
            sample = AbcGeom.OPolyMeshSchemaSample()
            sample.setPositions(imath.V3fArrayFromBuffer(positions))
        self._mesh.getSchema().set(sample)

    def finish(self) -> None:
        """The archive completes itself when nobody holds it."""
        self.close()

    def close(self) -> None:
        """Let go of it."""
        self._mesh = self._archive = None

    @classmethod
    def content(cls, path: Path) -> Content:
        """All meshes of a file, where its transforms place them, as one."""
        from alembic3d import Abc

        try:
            archive = Abc.IArchive(str(path))
            meshes = list(_meshes(archive.getTop(), ()))
            if not meshes:
                raise damaged(path, "it has no mesh")
            said = Abc.GetArchiveInfo(archive).get("userDescription", "")
            return apply_told(_joined(path, archive, meshes), told(said))
        except RuntimeError as error:
            raise damaged(
                path, str(error).strip().splitlines()[0][:100] if str(error).strip() else "no reason"
            ) from None


def _meshes(parent: Any, places: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Every mesh below an object, with the transforms above it, outermost first."""
    from alembic3d import AbcGeom

    for number in range(parent.getNumChildren()):
        child = parent.getChild(number)
        header = child.getHeader()
        if AbcGeom.IPolyMesh.matches(header):
            yield AbcGeom.IPolyMesh(parent, child.getName()), places
        elif AbcGeom.IXform.matches(header):
            yield from _meshes(child, (*places, AbcGeom.IXform(parent, child.getName()).getSchema()))
        else:
            yield from _meshes(child, places)


def _joined(path: Path, archive: Any, meshes: list[tuple[Any, tuple[Any, ...]]]) -> Content:
    triangles, uvs, total = [], [], 0
    times = set[float]()
    for mesh, places in meshes:
        schema = mesh.getSchema()
        for part in (schema, *places):
            if part.getNumSamples() > 1:
                sampling = part.getTimeSampling()
                times |= {sampling.getSampleTime(k) for k in range(part.getNumSamples())}
        counts, corners = (
            np.array(p.getValue()) for p in (schema.getFaceCountsProperty(), schema.getFaceIndicesProperty())
        )
        points = len(schema.getPositionsProperty().getValue())
        triangles.append(fans(path, counts, corners, points, flipped=True) + total)
        uvs.append(_uvs(schema, points))
        total += points
    moments = sorted(times) or [0.0]
    check_promise(path, len(moments), total, path.stat().st_size)
    found = Content(len(moments), total, _frames(path, archive, meshes, moments, total), np.concatenate(triangles))
    found.times, found.name = np.array(moments), meshes[0][0].getName()
    known = [part for part in uvs if part is not None]
    if len(known) == len(uvs):
        found.uvs = np.concatenate(known)
    return found


def _uvs(schema: Any, count: int) -> np.ndarray | None:
    """Of vertices; those of corners are not read."""
    parameter = schema.getUVsParam()
    if not parameter.valid() or not parameter.getNumSamples():
        return None
    values = np.array(parameter.getExpandedValue().getVals())
    return values.astype(np.float32) if values.shape == (count, 2) else None


def _frames(
    path: Path, archive: Any, meshes: list[tuple[Any, tuple[Any, ...]]], times: list[float], total: int
) -> Iterator[np.ndarray]:
    """`archive` is held: without it there is nothing to read."""
    from alembic3d import Abc

    for number, time in enumerate(times):
        when, parts = Abc.ISampleSelector(time), []
        for mesh, places in meshes:
            points = np.array(mesh.getSchema().getPositionsProperty().getValue(when)).reshape(-1, 3)
            for place in reversed(places):
                matrix = np.array(place.getValue(when).getMatrix())
                points = points @ matrix[:3, :3] + matrix[3, :3]
            parts.append(points.astype(np.float32, copy=False))
        frame = np.concatenate(parts)
        if len(frame) != total:
            raise damaged(path, f"frame {number} has {len(frame)} vertices, and the first {total}")
        yield frame
    del archive
