"""The painter: far triangles first, near ones over them. Needs numpy and matplotlib's Agg rasteriser, nothing else.

Everything becomes triangles in screen space (a wire is a thin quad, a pin a fan), so that one sort by depth hides
what is behind. Agg blends colours across each triangle, which gives smooth shading from per-vertex light.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .backdrop import Backdrop, drawable, enlarge, fill, reduce
from .backends import RENDERERS, Renderer, View

# Directions in the camera's frame (right, up, backward): the light travels with the eye, so no view is in the dark.
KEY = np.array([-0.45, 0.70, 0.55]) / np.linalg.norm([-0.45, 0.70, 0.55])
FILL = np.array([0.80, 0.15, 0.55]) / np.linalg.norm([0.80, 0.15, 0.55])
EYE = np.array([0.0, 0.0, 1.0])
HALFWAY = (KEY + EYE) / np.linalg.norm(KEY + EYE)
GAMMA = 2.2
FAN = 14


def shade(rgb: NDArray, normals: NDArray) -> NDArray:
    """Ambient from above, two Lambert lights and a faint gloss, summed in linear light; sRGB in and out."""
    sky = 0.20 + 0.06 * normals[:, 1]
    light = sky + 0.68 * np.clip(normals @ KEY, 0, None) + 0.16 * np.clip(normals @ FILL, 0, None)
    gloss = 0.10 * np.clip(normals @ HALFWAY, 0, None) ** 28
    return np.clip(rgb**GAMMA * (1.12 * light)[:, None] + gloss[:, None], 0, 1) ** (1 / GAMMA)


def vertex_normals(positions: NDArray, triangles: NDArray) -> tuple[NDArray, NDArray]:
    """Unit normals per vertex (area-weighted) and raw normals per triangle."""
    a, b, c = (positions[triangles[:, k]] for k in range(3))
    faces = np.cross(b - a, c - a)
    flat = triangles.ravel()
    # bincount rather than add.at: the same sums, many times quicker.
    clean = np.nan_to_num(faces, nan=0.0, posinf=0.0, neginf=0.0)
    summed = np.stack([np.bincount(flat, np.repeat(clean[:, k], 3), len(positions)) for k in range(3)], axis=1)
    length = np.linalg.norm(summed, axis=1, keepdims=True)
    return summed / np.where(length > 0, length, 1.0), faces


@RENDERERS.register("painter")
class Painter(Renderer):
    def __init__(self, view: View):
        super().__init__(view)
        from matplotlib.backends.backend_agg import RendererAgg

        width, height = view.size
        self._canvas = RendererAgg(width * view.samples, height * view.samples, 72)
        self._backdrop = Backdrop(view)

    def _draw(self, positions: NDArray, rgb: NDArray | None) -> NDArray[np.uint8]:
        with np.errstate(over="ignore", invalid="ignore"):
            pieces = self._pieces(positions, rgb)
        corners, colours, depth = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        order = np.flatnonzero(drawable(corners) & (depth > 1e-3 * self.view.camera.distance))
        order = order[np.argsort(-depth[order], kind="stable")]
        samples = self.view.samples
        backdrop = self._backdrop.paint(positions)
        opaque = np.full((*backdrop.shape[:2], 1), 255, dtype=np.uint8)
        sheet = enlarge(np.concatenate([backdrop[::-1], opaque], axis=2), samples)
        self._canvas.clear()
        self._canvas.draw_image(self._canvas.new_gc(), 0, 0, sheet)
        fill(self._canvas, corners[order], colours[order])
        return reduce(np.asarray(self._canvas.buffer_rgba()), samples)

    def _pieces(self, positions: NDArray, rgb: NDArray | None) -> list[tuple[NDArray, NDArray, NDArray]]:
        """Screen triangles (k, 3, 2), their corner colours (k, 3, 3) and depths (k,), for each kind of thing."""
        view = self.view
        width, height = view.size
        pixels, depth = view.camera.project(positions, (width * view.samples, height * view.samples))
        pieces = []
        if len(view.triangles):
            pieces.append(self._surface(positions, pixels, depth, rgb))
        if len(view.edges):
            pieces.append(self._wires(pixels, depth, None if len(view.triangles) else rgb))
        if len(view.points):
            pieces.append(self._dots(pixels[view.points], depth[view.points]))
        return pieces

    def _surface(
        self, positions: NDArray, pixels: NDArray, depth: NDArray, rgb: NDArray | None
    ) -> tuple[NDArray, NDArray, NDArray]:
        view, triangles = self.view, self.view.triangles
        normals, faces = vertex_normals(positions, triangles)
        normals = normals @ view.camera.axes().T
        front = np.broadcast_to(view.look.front, positions.shape) if rgb is None else rgb
        back = np.broadcast_to(view.look.back, positions.shape) if rgb is None else 0.82 * rgb
        facing = np.einsum("ij,ij->i", faces, np.asarray(view.camera.eye) - positions[triangles[:, 0]]) >= 0
        lit = np.where(facing[:, None, None], shade(front, normals)[triangles], shade(back, -normals)[triangles])
        return pixels[triangles], lit, depth[triangles].mean(axis=1)

    def _wires(self, pixels: NDArray, depth: NDArray, rgb: NDArray | None) -> tuple[NDArray, NDArray, NDArray]:
        view, (start, end) = self.view, self.view.edges.T
        along = pixels[end] - pixels[start]
        length = np.linalg.norm(along, axis=1, keepdims=True)
        across = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.where(length > 0, length, 1.0)
        # Agg widens each triangle by half a pixel on every side to close seams; thin wires have to allow for that.
        half = max(view.wire_radius / view.camera.view_radius * view.size[1] * view.samples / 2 - 0.5, 0.2)
        a, b = pixels[start] - half * across, pixels[start] + half * across
        c, d = pixels[end] + half * across, pixels[end] - half * across
        colour = np.broadcast_to(view.look.wire, (len(pixels), 3)) if rgb is None else rgb
        if not len(view.triangles):  # with no surface to hide what is far, distance fades it instead
            reach = view.camera.view_radius
            haze = np.clip(0.5 * (depth - view.camera.distance) / reach + 0.1, 0, 0.6)[:, None]
            colour = colour * (1 - haze) + haze * np.asarray(view.look.floor)
        p, q = colour[start], colour[end]
        nearer = (depth[start] + depth[end]) / 2 - 0.01 * view.camera.view_radius
        return (
            np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]),
            np.concatenate([np.stack([p, p, q], axis=1), np.stack([p, q, q], axis=1)]),
            np.concatenate([nearer, nearer]),
        )

    def _dots(self, centres: NDArray, depth: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        view = self.view
        height = view.size[1] * view.samples
        focal = 0.5 * height / np.tan(np.radians(view.camera.fov_degrees) / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            radius = focal * view.point_radius / depth
        angles = 2 * np.pi * np.arange(FAN + 1) / FAN
        rim = centres[:, None] + radius[:, None, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        # The bright hub sits up and to the left, where the key light falls: a disc then reads as a ball.
        hub = np.broadcast_to((centres + radius[:, None] * (-0.3, 0.4))[:, None], rim[:, 1:].shape)
        corners = np.stack([hub, rim[:, :-1], rim[:, 1:]], axis=2).reshape(-1, 3, 2)
        dark = np.asarray(view.look.point)
        colours = np.broadcast_to(np.stack([dark + 0.38, dark, dark]), (len(corners), 3, 3))
        nearer = np.repeat(depth - 2.5 * view.point_radius, FAN)
        return corners, colours, nearer
