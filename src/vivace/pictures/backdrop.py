"""What all renderers share: the backdrop (a gradient, and a soft shadow straight under the mesh) and supersampling."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .backends import View

AROUND = 0.9  # strength of the wide shadow, in the narrow one's
POOL = 2.0  # radius of the light on the ground, in half the frame's height
FARTHEST_PIXEL = 1e5  # beyond this the rasteriser's fixed-point numbers are of no use


def drawable(corners: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each screen triangle (k, 3, 2) is finite and within reach of the rasteriser."""
    with np.errstate(invalid="ignore"):
        near: NDArray[np.bool_] = (np.abs(corners) < FARTHEST_PIXEL).all(axis=(1, 2))
        return near


def fill(canvas: Any, corners: NDArray[Any], rgb: NDArray[Any]) -> None:
    """Fill screen triangles (k, 3, 2) on an Agg canvas, blending the colours (k, 3, 3) of their corners."""
    from matplotlib.transforms import IdentityTransform

    if len(corners):
        rgba = np.concatenate([rgb, np.ones((*rgb.shape[:2], 1))], axis=2)
        canvas.draw_gouraud_triangles(canvas.new_gc(), np.ascontiguousarray(corners), rgba, IdentityTransform())


def blur(mask: NDArray[Any], radius: int) -> NDArray[Any]:
    """Three box filters along each axis, which come close to a Gaussian."""
    from scipy.ndimage import uniform_filter1d

    for axis in (0, 1) * 3:
        mask = uniform_filter1d(mask, 2 * radius + 1, axis=axis, mode="constant")
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
        self._standing: NDArray[Any] | None = None
        if view.scenery is not None:
            if view.scenery.ground is not None:
                self._plain = self._lit_ground()
            if view.ground is not None and len(view.scenery.triangles):
                self._standing = self._covered(view.scenery.vertices, view.scenery.triangles)

    def paint(self, positions: NDArray[Any]) -> NDArray[np.uint8]:
        """What is behind a body at `positions`: the ground with its shadow, and the background."""
        view = self._view
        if view.ground is None or not (len(view.triangles) or self._standing is not None):
            return self._plain
        covered = self._covered(positions, view.triangles)
        if self._standing is not None:
            covered = np.maximum(covered, self._standing)
        dark = blur(covered, max(view.size[1] // 120, 1))
        if view.scenery is not None:  # on real ground, less of the sky is seen from under and beside a body
            dark = dark + AROUND * blur(covered, max(view.size[1] // 30, 1))
        light = 1 - np.float32(view.look.shadow) * np.clip(dark, 0, 1 + AROUND)
        light = light.repeat(2, axis=0).repeat(2, axis=1)[: view.size[1], : view.size[0], None]
        picture: NDArray[np.uint8] = (self._plain * light + np.float32(0.5)).astype(np.uint8)
        return picture

    def _covered(self, positions: NDArray[Any], triangles: NDArray[Any]) -> NDArray[np.float32]:
        """Which part of each pixel (of a quarter as many) has something straight over it."""
        view = self._view
        up = np.asarray(view.camera.up) / np.linalg.norm(view.camera.up)
        with np.errstate(over="ignore", invalid="ignore"):
            fallen = positions - ((positions @ up) - view.ground)[:, None] * up
            pixels, depth = view.camera.project(fallen, (view.size[0] / 2, view.size[1] / 2))
        corners = pixels[triangles]
        visible = drawable(corners) & (depth[triangles].min(axis=1) > 1e-3 * view.camera.distance)
        self._stencil.clear()
        fill(self._stencil, corners[visible], np.zeros((int(visible.sum()), 3, 3)))
        return np.asarray(self._stencil.buffer_rgba())[:, :, 3].astype(np.float32) / np.float32(255)

    def _lit_ground(self) -> NDArray[np.uint8]:
        """The background with a pool of light on the ground, which says where the ground is and which way it goes."""
        view, camera = self._view, self._view.camera
        width, height = view.size
        slope = np.tan(np.radians(camera.fov_degrees) / 2)
        x = (2 * (np.arange(width) + 0.5) - width) / height * slope
        y = (height - 2 * (np.arange(height) + 0.5)) / height * slope
        right, above, backward = camera.axes()
        up = np.asarray(camera.up) / np.linalg.norm(camera.up)
        rays = x[None, :, None] * right + y[:, None, None] * above - backward
        eye, target = np.asarray(camera.eye), np.asarray(camera.target)
        assert view.ground is not None
        with np.errstate(divide="ignore", invalid="ignore"):
            far = (view.ground - eye @ up) / (rays @ up)
            spots = eye + far[:, :, None] * rays - target
            away = np.linalg.norm(spots - (spots @ up)[:, :, None] * up, axis=2) / camera.view_radius
            pool = np.where(far > 0, np.exp(-((away / POOL) ** 2)), 0.0)[:, :, None]
        colour = (1 - pool) * self._plain + pool * 255 * np.asarray(view.look.ground)
        noise = np.random.default_rng(0).random((height, width, 1))  # or there are rings where the colour steps
        picture: NDArray[np.uint8] = (colour + noise).astype(np.uint8)
        return picture
