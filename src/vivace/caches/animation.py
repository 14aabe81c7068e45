"""Vertices over time, as they are in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import element_array, real_array, shown
from ..errors import InputError, MissingExtraError
from ..storage import storable


@storable("animation")
@dataclass(frozen=True, eq=False)
class Animation:
    """Vertices over time: what `vivace.caches.read` makes of a file.

    Attributes:
        times: (f,) seconds, rising.
        positions: (f, n, 3) float32, in m, y up, whatever the file has.
        triangles: (m, 3) int32 vertex numbers; (0, 3) where the file has none.
        uvs: (n, 2) float32 texture coordinates, v up; None: there are none.
        name: of the mesh.
        unit: what the numbers in the file are, such as "cm".
        up: the axis that points up in the file, "y" or "z".
    """

    times: np.ndarray
    positions: np.ndarray
    triangles: np.ndarray
    uvs: np.ndarray | None = None
    name: str = "animation"
    unit: str = "m"
    up: str = "y"

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        times, positions = real_array(self.times), real_array_of_frames(self.positions)
        if times is None or times.shape != (len(positions),) or not np.isfinite(times).all():
            raise InputError(f"an animation of {len(positions)} frames needs as many times, not {shown(self.times)}")
        if (np.diff(times) <= 0).any():
            late = int(np.argmin(np.diff(times) > 0)) + 1
            raise InputError(f"times must rise; frame {late} comes at {times[late]:g} s, after {times[late - 1]:g} s")
        n = positions.shape[1]
        set_(self, "times", times)
        set_(self, "positions", positions)
        set_(self, "triangles", checked_triangles(self.triangles, n))
        set_(self, "uvs", checked_uvs(self.uvs, n))

    def __len__(self) -> int:
        return len(self.times)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.positions)

    @property
    def n_vertices(self) -> int:
        """How many vertices it has."""
        return int(self.positions.shape[1])

    @property
    def time_step(self) -> float:
        """Seconds from one frame to the next, in the mean; one frame alone lasts a thirtieth."""
        return float(np.diff(self.times).mean()) if len(self.times) > 1 else 1 / 30

    def at(self, time: float, *, repeat: bool = False) -> np.ndarray:
        """(n, 3) where the vertices are at a time (s), float64: straight and evenly from frame to frame.

        Before the first frame they rest, and after the last; or, with `repeat`, they begin again there.
        """
        first, last = float(self.times[0]), float(self.times[-1])
        if repeat and time > last:
            time = first + (time - first) % (last - first)
        k = int(np.clip(np.searchsorted(self.times, time, side="right") - 1, 0, max(len(self) - 2, 0)))
        before: np.ndarray = self.positions[k].astype(np.float64)
        if len(self) == 1:
            return before
        share = float(np.clip((time - self.times[k]) / (self.times[k + 1] - self.times[k]), 0.0, 1.0))
        return np.asarray(before + share * (self.positions[k + 1] - before))

    def to_xarray(self) -> Any:
        """The same as an `xarray.Dataset`, by time (s), vertex and axis, in m; pip install "vivace[tables]"."""
        try:
            import xarray
        except ImportError as error:
            raise MissingExtraError("a Dataset", "tables") from error
        parts: dict[str, Any] = {
            "positions": (("time", "vertex", "axis"), self.positions, {"units": "m"}),
            "triangles": (("triangle", "corner"), self.triangles),
        }
        if self.uvs is not None:
            parts["uvs"] = (("vertex", "uv"), self.uvs)
        places = {"time": ("time", self.times, {"units": "s"}), "axis": list("xyz")}
        return xarray.Dataset(parts, places, {"name": self.name})

    def __repr__(self) -> str:
        return f"<Animation {self.name!r}: {len(self)} frames of {self.n_vertices} vertices, {np.ptp(self.times):g} s>"


def real_array_of_frames(positions: object) -> np.ndarray:
    """(f, n, 3) float32, one frame or more."""
    array = np.asarray(positions)
    if array.dtype.kind not in "iuf" or array.ndim != 3 or array.shape[2] != 3 or not array.shape[0]:
        raise InputError(f"positions over time have the shape (frames, vertices, 3), not {array.shape}")
    return array.astype(np.float32, copy=False)


def checked_triangles(triangles: object, n: int) -> np.ndarray:
    """(m, 3) int32 of vertices that there are."""
    array = element_array("triangles", triangles, 3).reshape(-1, 3)
    if len(array) and array.max() >= n:
        raise InputError(f"triangles name vertex {array.max()}, and there are {n}")
    return array.astype(np.int32)


def checked_uvs(uvs: object, n: int) -> np.ndarray | None:
    """(n, 2) float32, or None."""
    if uvs is None:
        return None
    array = real_array(uvs)
    if array is None or array.shape != (n, 2) or not np.isfinite(array).all():
        raise InputError(f"UVs of {n} vertices are finite numbers of the shape ({n}, 2), not {shown(uvs)}")
    return array.astype(np.float32)
