"""Renderers: given a topology once, they draw many frames of positions to arrays of pixels, without a screen.

    open_renderer(...) -> Renderer.draw(positions) -> (H, W, 3) uint8 -> Renderer.close()

A new renderer is a subclass of `Renderer` with a `_draw` method, and one decorator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Literal

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
        """The same for points: in metres at the target's distance."""
        return max(self.look.point_radius, 4 / self.size[1]) * self.camera.view_radius

    def vertices_needed(self) -> int:
        """How many positions a frame must have at least for all that is drawn."""
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

    def _rgb(self, colours: NDArray[Any], count: int) -> NDArray[Any]:
        from .palette import label_colours, map_colours

        if colours.shape == (count, 3):
            rgb: NDArray[Any] = np.clip(np.nan_to_num(colours.astype(float)), 0, 1)
            return rgb
        if colours.shape != (count,):
            raise InputError(f"colours must have the shape ({count}, 3) or ({count},), not {colours.shape}")
        if colours.dtype.kind in "iub":
            return label_colours(colours.astype(np.int64))
        return map_colours(colours, self.view.colour_map, self.view.colour_range)

    @abstractmethod
    def _draw(self, positions: NDArray[Any], rgb: NDArray[Any] | None) -> NDArray[np.uint8]:
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
