"""Animated USD as text (.usda): written here, line by line, because the library would keep all of it in memory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import IO

import numpy as np

from .base import About, CacheFormat, Content, cache_format
from .units import metres


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
            counts = ", ".join(["3"] * len(about.triangles))
            corners = ", ".join(map(str, about.triangles.ravel().tolist()))
            file.write(f"    int[] faceVertexCounts = [{counts}]\n    int[] faceVertexIndices = [{corners}]\n")
            file.write("    point3f[] points.timeSamples = {\n")
            _append(self._points, file)
            file.write("    }\n")
            if about.uvs is not None:
                file.write(f"    texCoord2f[] primvars:st = {_vectors(about.uvs)} (\n")
                file.write('        interpolation = "vertex"\n    )\n')
            file.write('    uniform token subdivisionScheme = "none"\n}\n')

    def close(self) -> None:
        """Close the parts."""
        self._points.close()
        self._extents.close()

    @classmethod
    def content(cls, path: Path) -> Content:
        """All meshes of a file, where its transforms place them, as one."""
        from .usd_reading import content

        return content(path)


def _append(part: IO[str], file: IO[str]) -> None:
    part.seek(0)
    shutil.copyfileobj(part, file, 1 << 20)


def _vectors(rows: np.ndarray) -> str:
    one = f"({', '.join(['%.9g'] * rows.shape[1])}), "
    return f"[{(one * len(rows) % tuple(rows.ravel().tolist()))[:-2]}]"


def _quoted(text: str) -> str:
    return json.dumps(text)
