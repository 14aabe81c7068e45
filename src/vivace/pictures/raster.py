"""The rasteriser: triangles with a depth for each sample, compiled, on any machine.

It shades as the painter does and needs no graphics library, no screen and no sorting: for films of thousands of frames,
beside a simulation that goes on. Through OpenGL without a graphics card, a frame takes several times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .backdrop import Backdrop, drawable
from .backends import RENDERERS, Renderer, View
from .kernels.raster import average, draw_triangles
from .painter import Painter, Pieces, shade

DARKER = 0.7  # times the colours of pins
BEHIND = 1.005  # distance at which scenery is drawn, in its own: flat triangles on a round thing stay before it


@RENDERERS.register("raster")
class Raster(Painter):
    """Draws every triangle into a buffer of depths: needs no graphics card, and is quick."""

    _bleed = 0.0

    def __init__(self, view: View):
        Renderer.__init__(self, view)
        width, height = view.size[0] * view.samples, view.size[1] * view.samples
        self._backdrop = Backdrop(view)
        self._empty = np.zeros((height, width, 3), np.uint8), np.zeros((height, width), np.float32)
        if view.scenery is not None and len(view.scenery.triangles):
            self._fill([self._standing_pieces()], *self._empty)
        self._sheets = self._empty[0].copy(), self._empty[1].copy()

    def _draw(self, positions: NDArray[Any], rgb: NDArray[Any] | None) -> NDArray[np.uint8]:
        with np.errstate(over="ignore", invalid="ignore"):
            pieces = self._pieces(positions, rgb)
        np.copyto(self._sheets[0], self._empty[0])
        np.copyto(self._sheets[1], self._empty[1])
        self._fill(pieces, *self._sheets)
        backdrop = np.ascontiguousarray(self._backdrop.paint(positions))
        out = np.empty_like(backdrop)
        average(*self._sheets, backdrop, self.view.samples, out)
        return out

    def _fill(self, pieces: list[Pieces], picture: NDArray[Any], nearest: NDArray[Any]) -> None:
        for corners, colours, depth in pieces:
            depths = np.broadcast_to(depth if depth.ndim == 2 else depth[:, None], (len(corners), 3))
            with np.errstate(invalid="ignore"):
                seen = drawable(corners) & (depths.min(axis=1, initial=np.inf) > 1e-3 * self.view.camera.distance)
            soup = corners[seen], 1 / depths[seen], np.clip(255 * colours[seen], 0, 255)
            draw_triangles(*(np.ascontiguousarray(array, np.float32) for array in soup), picture, nearest)

    def _surface(
        self, positions: NDArray[Any], pixels: NDArray[Any], depth: NDArray[Any], rgb: NDArray[Any] | None
    ) -> Pieces:
        corners, colours, _ = super()._surface(positions, pixels, depth, rgb)
        return corners, colours, depth[self.view.triangles]

    def _dots(self, centres: NDArray[Any], depth: NDArray[Any]) -> Pieces:
        # Darker: where the painter's triangles bleed into each other, the dark ones win.
        corners, colours, nearer = super()._dots(centres, depth)
        return corners, DARKER * colours, nearer

    def _standing_pieces(self) -> Pieces:
        """What stands there, cut so small that nothing of it reaches behind the eye."""
        corners, normals, depth = self._cut_scenery()
        view = self.view
        lit = shade(np.broadcast_to(view.look.scenery, normals.shape), normals).reshape(-1, 3, 3)
        return corners, lit, BEHIND * depth
