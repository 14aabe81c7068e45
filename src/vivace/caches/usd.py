"""Animated USD (.usd, .usdc) by usd-core: points as time samples, UVs as the primvar `st`, metres and axes said.

The binary format can be saved again and again, and each time only what is new is written. The times of all samples are
written anew each time, and the library keeps all of these: so the file is closed and opened again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .base import About, CacheFormat, Content, cache_format
from .names import face_sets
from .units import metres

KEPT_BYTES = 8_000_000  # of frames that are kept until they are written
MOST_FRAMES = 512  # and so many of them at most
LOOKS = "Looks"  # where materials are


@cache_format(".usd", ".usdc")
class Usd(CacheFormat):
    """Animated USD, binary."""

    title = "animated USD"
    needs = "pxr"
    foreign = True

    def __init__(self, folder: Path, name: str, about: About):
        super().__init__(folder, name, about)
        from pxr import Sdf, Tf, Usd, UsdGeom, Vt

        # Written as .usdc whatever it is called: `.usd` could be either.
        self._making = folder / "making.usdc"
        self._stage = Usd.Stage.CreateNew(str(self._making))
        self._open, self._array, self._code = Usd.Stage.Open, Vt.Vec3fArray.FromNumpy, Usd.TimeCode
        self._every = min(max(KEPT_BYTES // (12 * max(about.vertices, 1)), 1), MOST_FRAMES)
        describe(self._stage.GetRootLayer(), about)
        prim = "/" + Tf.MakeValidIdentifier(about.name)
        mesh = UsdGeom.Mesh.Define(self._stage, prim)
        self._stage.SetDefaultPrim(mesh.GetPrim())
        mesh.GetPrim().SetDisplayName(about.name)
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        faces = about.faces
        mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.array(faces.counts)))
        mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(np.array(faces.corners)))
        uvs, place = (about.uvs, "vertex") if faces.uvs is None else (faces.uvs, "faceVarying")
        if uvs is not None:
            coordinates = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("st", Sdf.ValueTypeNames.TexCoord2fArray, place)
            coordinates.Set(Vt.Vec2fArray.FromNumpy(np.array(uvs)))
        _name_faces(self._stage, mesh, about)
        self._points, self._extent = mesh.CreatePointsAttr(), mesh.CreateExtentAttr()

    def write(self, positions: np.ndarray, time: float) -> None:
        """Another time sample."""
        code = self._code(frame_code(time, self.about))
        self._points.Set(self._array(positions), code)
        self._extent.Set(self._array(np.stack([positions.min(axis=0), positions.max(axis=0)])), code)
        if (self.written + 1) % self._every == 0:
            self._stage.GetRootLayer().Save()
            paths = self._points.GetPath(), self._extent.GetPath()
            self._stage = self._points = self._extent = None
            self._stage = self._open(str(self._making))
            self._points, self._extent = map(self._stage.GetAttributeAtPath, paths)

    def finish(self) -> None:
        """Say where it ends, and save."""
        first = self._points.GetTimeSamples()[0]
        self._stage.SetStartTimeCode(first)
        self._stage.SetEndTimeCode(first + self.written - 1)
        self._stage.GetRootLayer().Save()

    def close(self) -> None:
        """Forget the stage; a whole one gets its name."""
        if self._stage is not None:
            self._stage = self._points = self._extent = None
            if self._making.exists():
                self._making.rename(self.path)

    @classmethod
    def content(cls, path: Path) -> Content:
        """All meshes of a file, where its transforms place them, as one."""
        from .usd_reading import content

        return content(path)


def _name_faces(stage: Any, mesh: Any, about: About) -> None:
    """Objects, groups and materials as subsets of faces; a material is bound to its own."""
    from pxr import UsdGeom, UsdShade, Vt

    for found in face_sets(about.polygons):
        family = "materialBind" if found.kind == "materials" else found.kind
        indices = Vt.IntArray.FromNumpy(np.array(found.faces))
        subset = UsdGeom.Subset.CreateGeomSubset(mesh, found.identifier, UsdGeom.Tokens.face, indices, family)
        subset.GetPrim().SetDisplayName(found.name)
        if found.kind == "materials":
            material = UsdShade.Material.Define(stage, f"{mesh.GetPath()}/{LOOKS}/{found.identifier}")
            material.GetPrim().SetDisplayName(found.name)
            UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(material)


def frame_code(time: float, about: About) -> float:
    """Frames are numbered: a time code is a frame."""
    return float(round(time / about.time_step, 6))


def describe(layer: Any, about: About) -> None:
    """What holds for the whole file, as fields of its root."""
    root = layer.pseudoRoot
    root.SetInfo("metersPerUnit", metres(about.unit))
    root.SetInfo("upAxis", about.up.upper())
    root.SetInfo("timeCodesPerSecond", 1 / about.time_step)
    root.SetInfo("framesPerSecond", 1 / about.time_step)
    layer.documentation = about.provenance()
