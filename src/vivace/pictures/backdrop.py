"""What all renderers share: the backdrop (a gradient, and a soft shadow straight under the mesh) and supersampling."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .backends import View

FARTHEST_PIXEL = 1e5  # beyond this the rasteriser's fixed-point numbers are of no use


def drawable(corners: NDArray) -> NDArray[np.bool_]:
    """Whether each screen triangle (k, 3, 2) is finite and within reach of the rasteriser."""
    with np.errstate(invalid="ignore"):
        return (np.abs(corners) < FARTHEST_PIXEL).all(axis=(1, 2))


def fill(canvas: Any, corners: NDArray, rgb: NDArray) -> None:
    """Fill screen triangles (k, 3, 2) on an Agg canvas, blending the colours (k, 3, 3) of their corners."""
    from matplotlib.transforms import IdentityTransform

    if len(corners):
        rgba = np.concatenate([rgb, np.ones((*rgb.shape[:2], 1))], axis=2)
        canvas.draw_gouraud_triangles(canvas.new_gc(), np.ascontiguousarray(corners), rgba, IdentityTransform())


def blur(mask: NDArray, radius: int) -> NDArray:
    """Three box filters along each axis, which come close to a Gaussian."""
    width = 2 * radius + 1
    for _ in range(3):
        for _ in range(2):
            total = np.cumsum(np.pad(mask, ((radius + 1, radius), (0, 0))), axis=0)
            mask = ((total[width:] - total[:-width]) / width).T  # transposed, so the next pass takes the other axis
    return mask


def enlarge(picture: NDArray[np.uint8], samples: int) -> NDArray[np.uint8]:
    """Each pixel as a block of samples x samples."""
    return picture if samples == 1 else picture.repeat(samples, axis=1).repeat(samples, axis=0)


def reduce(picture: NDArray[np.uint8], samples: int) -> NDArray[np.uint8]:
    """The mean colour of each block of samples x samples pixels; an alpha channel is left out."""
    if samples == 1:
        return picture[:, :, :3].copy()
    total = np.zeros((picture.shape[0] // samples, picture.shape[1] // samples, 3), dtype=np.uint16)
    for row in range(samples):
        for column in range(samples):
            total += picture[row::samples, column::samples, :3]
    return ((total + samples * samples // 2) // (samples * samples)).astype(np.uint8)


class Backdrop:
    """Paints the background of each frame, (H, W, 3) uint8."""

    def __init__(self, view: View):
        from matplotlib.backends.backend_agg import RendererAgg

        self._view = view
        self._plain = view.look.background(view.size)
        # A quarter of the pixels is enough for something blurred.
        self._stencil = RendererAgg((view.size[0] + 1) // 2, (view.size[1] + 1) // 2, 72)

    def paint(self, positions: NDArray) -> NDArray[np.uint8]:
        view = self._view
        if view.ground is None or not len(view.triangles):
            return self._plain
        up = np.asarray(view.camera.up) / np.linalg.norm(view.camera.up)
        with np.errstate(over="ignore", invalid="ignore"):
            fallen = positions - ((positions @ up) - view.ground)[:, None] * up
            pixels, depth = view.camera.project(fallen, (view.size[0] / 2, view.size[1] / 2))
        corners = pixels[view.triangles]
        visible = drawable(corners) & (depth[view.triangles].min(axis=1) > 1e-3 * view.camera.distance)
        self._stencil.clear()
        fill(self._stencil, corners[visible], np.zeros((int(visible.sum()), 3, 3)))
        covered = np.asarray(self._stencil.buffer_rgba())[:, :, 3].astype(np.float32) / np.float32(255)
        dark = blur(covered, max(view.size[1] // 120, 1))
        light = 1 - np.float32(view.look.shadow) * np.clip(dark, 0, 1)
        light = light.repeat(2, axis=0).repeat(2, axis=1)[: view.size[1], : view.size[0], None]
        return (self._plain * light + np.float32(0.5)).astype(np.uint8)
