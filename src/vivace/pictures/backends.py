"""Renderers: given a topology once, they draw many frames of positions to arrays of pixels, without a screen.

    open_renderer(...) -> Renderer.draw(positions) -> (H, W, 3) uint8 -> Renderer.close()

A new renderer is a subclass of `Renderer` with a `_draw` method, and one decorator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..registry import Registry
from .camera import Camera
from .scenery import Scenery

Size = tuple[int, int]
Bounds = tuple[ArrayLike, ArrayLike]
Ground = float | Literal["auto"] | None

DEFAULT_SIZE: Size = (960, 720)
LARGEST_SIDE = 8192


@dataclass(frozen=True)
class Look:
    """Colours (sRGB, 0 to 1) and sizes (fractions of half the frame's height) that all renderers share."""

    front: tuple[float, float, float] = (0.13, 0.45, 0.72)
    back: tuple[float, float, float] = (0.90, 0.52, 0.20)
    wire: tuple[float, float, float] = (0.15, 0.19, 0.26)
    point: tuple[float, float, float] = (0.17, 0.17, 0.20)
    scenery: tuple[float, float, float] = (0.83, 0.80, 0.76)
    sky: tuple[float, float, float] = (0.985, 0.985, 0.98)
    floor: tuple[float, float, float] = (0.90, 0.915, 0.935)
    ground: tuple[float, float, float] = (0.965, 0.955, 0.935)
    shadow: float = 0.16
    point_radius: float = 0.016
    wire_radius: float = 0.0022

    def background(self, size: Size) -> NDArray[np.uint8]:
        """A soft vertical gradient, (H, W, 3)."""
        width, height = size
        column = np.linspace(self.sky, self.floor, height) * 255 + 0.5
        return np.repeat(column.astype(np.uint8)[:, None, :], width, axis=1)


@dataclass(frozen=True)
class View:
    """Everything about a picture that stays the same from frame to frame."""

    triangles: NDArray[np.int64]
    edges: NDArray[np.int64]
    points: NDArray[np.int64]
    camera: Camera
    size: Size = DEFAULT_SIZE
    ground: float | None = None
    samples: int = 2
    colour_map: str = "viridis"
    colour_range: tuple[float, float] | None = None
    look: Look = field(default_factory=Look)
    scenery: Scenery | None = None

    @property
    def wire_radius(self) -> float:
        """In metres at the target's distance; small pictures keep wires at least a pixel wide, and points four."""
        return max(self.look.wire_radius, 1.2 / self.size[1]) * self.camera.view_radius

    @property
    def point_radius(self) -> float:
        return max(self.look.point_radius, 4 / self.size[1]) * self.camera.view_radius

    def vertices_needed(self) -> int:
        return 1 + max((int(a.max()) for a in (self.triangles, self.edges, self.points) if a.size), default=-1)


class Renderer(ABC):
    """Draws frames of one mesh. Use it as a context manager, or call `close` at the end.

    `note` says in one line which renderer draws and, where it is not the first choice, why and what to install.
    """

    note: str = ""

    def __init__(self, view: View):
        self.view = view

    def draw(self, positions: ArrayLike, colours: ArrayLike | None = None) -> NDArray[np.uint8]:
        """Draw one frame; `positions` is (n, 3) in metres, and the answer is (H, W, 3).

        `colours`, per vertex: (n, 3) floats are sRGB from 0 to 1; (n,) floats go through the colour map; (n,)
        integers are labels, each with a colour of its own. Vertices that are not finite are left out.
        """
        where = np.asarray(positions, dtype=float)
        if where.ndim != 2 or where.shape[1] != 3:
            raise InputError(f"positions must have the shape (n, 3), not {where.shape}")
        needed = self.view.vertices_needed()
        if len(where) < needed:
            raise InputError(f"the mesh refers to vertex {needed - 1}, but there are only {len(where)} positions")
        rgb = None if colours is None else self._rgb(np.asarray(colours), len(where))
        return self._draw(where, rgb)

    def _rgb(self, colours: NDArray, count: int) -> NDArray:
        from .palette import label_colours, map_colours

        if colours.shape == (count, 3):
            return np.clip(np.nan_to_num(colours.astype(float)), 0, 1)
        if colours.shape != (count,):
            raise InputError(f"colours must have the shape ({count}, 3) or ({count},), not {colours.shape}")
        if colours.dtype.kind in "iub":
            return label_colours(colours.astype(np.int64))
        return map_colours(colours, self.view.colour_map, self.view.colour_range)

    @abstractmethod
    def _draw(self, positions: NDArray, rgb: NDArray | None) -> NDArray[np.uint8]:
        """Draw one checked frame."""

    def close(self) -> None:  # noqa: B027  most renderers have nothing to give back
        """Give back what the renderer holds; it cannot draw afterwards."""

    def __enter__(self) -> Renderer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class RendererUnavailable(Exception):  # an answer rather than an error: `auto` goes on to the next
    """This renderer cannot draw on this machine; the text says why and what would help."""


RENDERERS: Registry[type[Renderer]] = Registry("renderer")
PREFERENCE = ("polyscope", "painter")


def open_renderer(
    triangles: ArrayLike | None,
    camera: Camera | Bounds,
    *,
    edges: ArrayLike | None = None,
    points: ArrayLike | None = None,
    size: Size = DEFAULT_SIZE,
    backend: str = "auto",
    ground: Ground = "auto",
    samples: int = 2,
    colour_map: str = "viridis",
    colour_range: tuple[float, float] | None = None,
    look: Look | None = None,
    scenery: Scenery | None = None,
) -> Renderer:
    """Open a renderer for one mesh.

    triangles: (m, 3) vertex indices, or None for a mesh of wires only.
    camera: a `Camera`, or the (lowest, highest) corner of everything that will be drawn.
    edges: (k, 2) vertex indices drawn as wires; points: vertex indices drawn as small dark spheres (pins).
    size: width and height in pixels. samples: supersampling per axis, 1 (quick) to 4 (smooth).
    ground: the height that catches a soft shadow, None for no shadow; "auto" is that of the scenery, or just under the
        bounds.
    scenery: what stands around and does not move; see `Scenery.of`.
    backend: a name in `RENDERERS`, or "auto" for the best one that works here; `Renderer.note` says which and why.
    """
    from . import offscreen, painter  # noqa: F401  they register themselves

    names = PREFERENCE if backend == "auto" else (backend,)
    kinds = [RENDERERS[name] for name in names]
    size = _checked_size(size)
    if not (isinstance(samples, int) and 1 <= samples <= 4):
        raise InputError(f"samples must be 1, 2, 3 or 4, not {samples!r}")
    if not isinstance(camera, Camera):
        low, high = (np.asarray(corner, dtype=float) for corner in camera)
        camera = Camera.framing(*(scenery.frame(low, high) if scenery else (low, high)), aspect=size[0] / size[1])
        if ground == "auto":
            ground = ground_under(low, high, camera, scenery)
    view = View(
        triangles=_checked_indices("triangles", triangles, 3),
        edges=_checked_indices("edges", edges, 2),
        points=_checked_indices("points", points, None),
        camera=camera,
        size=size,
        ground=None if ground == "auto" or ground is None else float(ground),
        samples=samples,
        colour_map=colour_map,
        colour_range=colour_range,
        look=look or Look(),
        scenery=scenery,
    )
    if not (view.triangles.size or view.edges.size or view.points.size):
        raise InputError("there is nothing to draw: give triangles, edges or points")
    reasons = []
    for name, kind in zip(names, kinds, strict=True):
        try:
            renderer = kind(view)
        except RendererUnavailable as reason:
            reasons.append(f"{name} cannot be used here: {reason}")
            continue
        renderer.note = "; ".join([f"drawn with {name}", *reasons])
        return renderer
    raise InputError("; ".join(reasons) + '; choose backend="auto" or "painter"')


def ground_under(low: NDArray, high: NDArray, camera: Camera, scenery: Scenery | None = None) -> float:
    """The height of the ground, along the camera's up: the scenery's, or its foot, or a little under the box."""
    if scenery is not None and scenery.ground is not None:
        return scenery.ground
    up = np.asarray(camera.up) / np.linalg.norm(camera.up)
    lowest = np.minimum(low * up, high * up).sum()
    under = float(lowest - 0.02 * max(float(np.linalg.norm(high - low)), 1e-9))
    return under if scenery is None else min([under, *(scenery.boxes.reshape(-1, 3) @ up)])


def _checked_size(size: Size) -> Size:
    try:
        width, height = (int(side) for side in size)
    except (TypeError, ValueError):
        raise InputError(f"the size must be a width and a height in pixels, not {size!r}") from None
    if not (16 <= width <= LARGEST_SIDE and 16 <= height <= LARGEST_SIDE):
        raise InputError(f"a picture has 16 to {LARGEST_SIDE} pixels a side, not {width} x {height}")
    return width, height


def _checked_indices(name: str, indices: ArrayLike | None, columns: int | None) -> NDArray[np.int64]:
    array = np.asarray([] if indices is None else indices)
    if array.size == 0:
        return np.empty((0,) if columns is None else (0, columns), dtype=np.int64)
    good_shape = array.ndim == 1 if columns is None else array.ndim == 2 and array.shape[1] == columns
    if not good_shape or array.dtype.kind not in "iu" or array.min() < 0:
        shape = "(p,)" if columns is None else f"(m, {columns})"
        raise InputError(f"{name} must be vertex indices of the shape {shape}, not {array.dtype} {array.shape}")
    return array.astype(np.int64)
