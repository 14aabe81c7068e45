"""Animated USD as text (.usda): written here, line by line, because the library would keep all of it in memory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import IO

import numpy as np

from .base import About, CacheFormat, Content, cache_format
from .names import face_sets
from .units import metres
from .usd import LOOKS


@cache_format(".usda")
class UsdText(CacheFormat):
    """Animated USD, text."""

    title = "animated USD, as text"
    needs = "pxr"
    foreign = True

    def __init__(self, folder: Path, name: str, about: About):
        super().__init__(folder, name, about)
        self._points = (folder / "points").open("w+", encoding="utf-8")
        self._extents = (folder / "extents").open("w+", encoding="utf-8")
        self._first: float | None = None

    def write(self, positions: np.ndarray, time: float) -> None:
        """A line of points, a line of bounds."""
        code = round(time / self.about.time_step, 6)
        self._first = code if self._first is None else self._first
        box = np.stack([positions.min(axis=0), positions.max(axis=0)])
        self._points.write(f"            {code:g}: {_vectors(positions)},\n")
        self._extents.write(f"            {code:g}: {_vectors(box)},\n")

    def finish(self) -> None:
        """Put the parts together."""
        about, first = self.about, self._first or 0.0
        with self.path.open("w", encoding="utf-8") as file:
            file.write(
                "#usda 1.0\n(\n"
                f"    defaultPrim = {_quoted(about.identifier)}\n    doc = {_quoted(about.provenance())}\n"
                f"    endTimeCode = {first + self.written - 1:g}\n    framesPerSecond = {1 / about.time_step!r}\n"
                f"    metersPerUnit = {metres(about.unit)!r}\n    startTimeCode = {first:g}\n"
                f"    timeCodesPerSecond = {1 / about.time_step!r}\n    upAxis = {_quoted(about.up.upper())}\n)\n\n"
                f"def Mesh {_quoted(about.identifier)} (\n    displayName = {_quoted(about.name)}\n)\n{{\n"
                "    float3[] extent.timeSamples = {\n"
            )
            _append(self._extents, file)
            file.write("    }\n")
            faces = about.faces
            file.write(f"    int[] faceVertexCounts = {_numbers(faces.counts)}\n")
            file.write(f"    int[] faceVertexIndices = {_numbers(faces.corners)}\n")
            file.write("    point3f[] points.timeSamples = {\n")
            _append(self._points, file)
            file.write("    }\n")
            uvs, place = (about.uvs, "vertex") if faces.uvs is None else (faces.uvs, "faceVarying")
            if uvs is not None:
                file.write(f"    texCoord2f[] primvars:st = {_vectors(uvs)} (\n")
                file.write(f'        interpolation = "{place}"\n    )\n')
            file.write('    uniform token subdivisionScheme = "none"\n')
            _name_faces(file, about)
            file.write("}\n")

    def close(self) -> None:
        """Close the parts."""
        self._points.close()
        self._extents.close()

    @classmethod
    def content(cls, path: Path) -> Content:
        """All meshes of a file, where its transforms place them, as one."""
        from .usd_reading import content

        return content(path)


def _name_faces(file: IO[str], about: About) -> None:
    """Objects, groups and materials as subsets of faces; a material is bound to its own."""
    sets = face_sets(about.polygons)
    looks = [found for found in sets if found.kind == "materials"]
    for found in sets:
        material = found.kind == "materials"
        bound = '    prepend apiSchemas = ["MaterialBindingAPI"]\n    ' if material else "    "
        file.write(f"\n    def GeomSubset {_quoted(found.identifier)} (\n    {bound}")
        file.write(f"    displayName = {_quoted(found.name)}\n    )\n    {{\n")
        file.write('        uniform token elementType = "face"\n')
        family = "materialBind" if material else found.kind
        file.write(f"        uniform token familyName = {_quoted(family)}\n")
        file.write(f"        int[] indices = {_numbers(found.faces)}\n")
        if material:
            file.write(f"        rel material:binding = </{about.identifier}/{LOOKS}/{found.identifier}>\n")
        file.write("    }\n")
    if looks:
        file.write(f'\n    def "{LOOKS}"\n    {{\n')
        for found in looks:
            file.write(f"        def Material {_quoted(found.identifier)} (\n")
            file.write(f"            displayName = {_quoted(found.name)}\n        )\n        {{\n        }}\n")
        file.write("    }\n")


def _append(part: IO[str], file: IO[str]) -> None:
    part.seek(0)
    shutil.copyfileobj(part, file, 1 << 20)


def _vectors(rows: np.ndarray) -> str:
    one = f"({', '.join(['%.9g'] * rows.shape[1])}), "
    return f"[{(one * len(rows) % tuple(rows.ravel().tolist()))[:-2]}]"


def _numbers(values: np.ndarray) -> str:
    return f"[{', '.join(map(str, values.tolist()))}]"


def _quoted(text: str) -> str:
    return json.dumps(text)
