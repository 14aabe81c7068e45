"""The painter: far triangles first, near ones over them. Needs numpy and matplotlib's Agg rasteriser, nothing else.

Everything becomes triangles in screen space (a wire is a thin quad, a pin a fan), so that one sort by depth hides
what is behind. Agg blends colours across each triangle, which gives smooth shading from per-vertex light.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .backdrop import Backdrop, drawable, enlarge, fill, reduce
from .backends import RENDERERS, Renderer, View

# screen triangles (k, 3, 2), colours of corners (k, 3, 3), depths (k,), or (k, 3) of corners
Pieces = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]

# Directions in the camera's frame (right, up, backward): the light travels with the eye, so no view is in the dark.
KEY = np.array([-0.45, 0.70, 0.55]) / np.linalg.norm([-0.45, 0.70, 0.55])
FILL = np.array([0.80, 0.15, 0.55]) / np.linalg.norm([0.80, 0.15, 0.55])
EYE = np.array([0.0, 0.0, 1.0])
HALFWAY = (KEY + EYE) / np.linalg.norm(KEY + EYE)
GAMMA = 2.2
FAN = 14
LONGEST = 0.035  # edges of scenery, in half the frame's height


def shade(rgb: NDArray[Any], normals: NDArray[Any]) -> NDArray[Any]:
    """Ambient from above, two Lambert lights and a faint gloss, summed in linear light; sRGB in and out."""
    sky = 0.20 + 0.06 * normals[:, 1]
    light = sky + 0.68 * np.clip(normals @ KEY, 0, None) + 0.16 * np.clip(normals @ FILL, 0, None)
    gloss = 0.10 * np.clip(normals @ HALFWAY, 0, None) ** 28
    lit: NDArray[Any] = np.clip(rgb**GAMMA * (1.12 * light)[:, None] + gloss[:, None], 0, 1) ** (1 / GAMMA)
    return lit


def vertex_normals(positions: NDArray[Any], triangles: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Unit normals per vertex (area-weighted) and raw normals per triangle."""
    a, b, c = (positions[triangles[:, k]] for k in range(3))
    faces = np.cross(b - a, c - a)
    flat = triangles.ravel()
    # bincount rather than add.at: the same sums, many times quicker.
    clean = np.nan_to_num(faces, nan=0.0, posinf=0.0, neginf=0.0)
    summed = np.stack([np.bincount(flat, np.repeat(clean[:, k], 3), len(positions)) for k in range(3)], axis=1)
    length = np.linalg.norm(summed, axis=1, keepdims=True)
    return summed / np.where(length > 0, length, 1.0), faces


def cut(corners: NDArray[Any], longest: float, view: View) -> NDArray[Any]:
    """Halve triangles (k, 3, d), the first three of d being positions, until no edge is longer than `longest`.

    Beyond the camera's target, edges may be as much longer as they are farther; what is out of the frame is left out:
    there are never many, however large a triangle is.
    """
    slope = np.tan(np.radians(view.camera.fov_degrees) / 2) * np.array([view.size[0] / view.size[1], 1.0])
    done = [corners[:0]]
    while len(corners):
        seen = (corners[:, :, :3] - np.asarray(view.camera.eye)) @ view.camera.axes().T
        beyond = np.abs(seen[:, :, :2]) > slope * -seen[:, :, 2:]
        one_side = np.abs(np.sign(seen[:, :, :2]).sum(axis=1)) == 3
        nearest, farthest = -seen[:, :, 2].max(axis=1), -seen[:, :, 2].min(axis=1)
        kept = ~(beyond.all(axis=1) & one_side).any(axis=1) & (farthest > 0)
        corners, most = corners[kept], longest * np.maximum(nearest[kept] / view.camera.distance, 1)
        edges = np.linalg.norm(corners[:, (1, 2, 0), :3] - corners[:, :, :3], axis=2)
        short = edges.max(axis=1, initial=0) <= most
        done.append(corners[short])
        corners, edges = corners[~short], edges[~short]
        # Each triangle is turned so that its longest edge is the first, which is then cut in the middle.
        turn = (edges.argmax(axis=1)[:, None] + np.arange(3)) % 3
        a, b, c = np.take_along_axis(corners, turn[:, :, None], axis=1).swapaxes(0, 1)
        middle = (a + b) / 2
        corners = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
    return np.concatenate(done)


@dataclass(frozen=True, eq=False)
class Standing:
    """Scenery on the screen: its triangles, and the picture (H, W, 4) of it alone."""

    pieces: Pieces
    picture: NDArray[np.uint8]

    def among(self, moving: list[Pieces]) -> Pieces:
        """The triangles that may hide something that moves, and have to be painted again."""
        corners, colours, depth = self.pieces
        nearer = depth < max(float(piece[2][drawable(piece[0])].max(initial=-np.inf)) for piece in moving)
        return corners[nearer], colours[nearer], depth[nearer]


@RENDERERS.register("painter")
class Painter(Renderer):
    """Draws far triangles first and near ones over them, by Matplotlib's Agg: needs no graphics card."""

    _bleed = 0.5  # samples by which Agg widens each triangle on every side, to close seams; thin things allow for that

    def __init__(self, view: View):
        super().__init__(view)
        from matplotlib.backends.backend_agg import RendererAgg

        width, height = view.size
        self._canvas = RendererAgg(width * view.samples, height * view.samples, 72)
        self._backdrop = Backdrop(view)
        self._standing = self._scenery() if view.scenery is not None and len(view.scenery.triangles) else None

    def _draw(self, positions: NDArray[Any], rgb: NDArray[Any] | None) -> NDArray[np.uint8]:
        with np.errstate(over="ignore", invalid="ignore"):
            pieces = self._pieces(positions, rgb)
        samples = self.view.samples
        backdrop = self._backdrop.paint(positions)
        opaque = np.full((*backdrop.shape[:2], 1), 255, dtype=np.uint8)
        sheet = enlarge(np.concatenate([backdrop, opaque], axis=2), samples)
        if self._standing is not None:
            sheet = np.where(self._standing.picture[:, :, 3:] > 127, self._standing.picture, sheet)
            pieces.append(self._standing.among(pieces))
        self._canvas.clear()
        self._canvas.draw_image(self._canvas.new_gc(), 0, 0, sheet[::-1])
        self._paint(pieces)
        return reduce(np.asarray(self._canvas.buffer_rgba()), samples)

    def _paint(self, pieces: list[Pieces]) -> None:
        corners, colours, depth = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        order = np.flatnonzero(drawable(corners) & (depth > 1e-3 * self.view.camera.distance))
        order = order[np.argsort(-depth[order], kind="stable")]
        fill(self._canvas, corners[order], colours[order])

    def _pieces(self, positions: NDArray[Any], rgb: NDArray[Any] | None) -> list[Pieces]:
        """For each kind of thing that moves."""
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

    def _cut_scenery(self) -> Pieces:
        """What stands there, cut up: corners on the screen, normals (3 k, 3) as the camera sees them, depths."""
        view, scenery = self.view, self.view.scenery
        assert scenery is not None
        normals, faces = vertex_normals(scenery.vertices, scenery.triangles)
        first = scenery.vertices[scenery.triangles[:, 0]]
        seen = scenery.triangles[np.einsum("ij,ij->i", faces, np.asarray(view.camera.eye) - first) > 0]
        longest = LONGEST * view.camera.view_radius
        corners = cut(np.concatenate([scenery.vertices[seen], normals[seen]], axis=2), longest, view)
        size = view.size[0] * view.samples, view.size[1] * view.samples
        pixels, depth = view.camera.project(corners[:, :, :3].reshape(-1, 3), size)
        turned = corners[:, :, 3:].reshape(-1, 3) @ view.camera.axes().T
        turned /= np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), 1e-9)
        return pixels.reshape(-1, 3, 2), turned, depth.reshape(-1, 3)

    def _scenery(self) -> Standing:
        """What stands there, in pieces small enough to be sorted among the triangles of a body."""
        view = self.view
        pixels, turned, depth = self._cut_scenery()
        lit = shade(np.broadcast_to(view.look.scenery, turned.shape), turned).reshape(-1, 3, 3)
        # As far as the farthest corner may be, so that what lies on it comes after it.
        depth = depth.mean(axis=1)
        depth = depth + LONGEST * view.camera.view_radius * np.maximum(depth / view.camera.distance, 1)
        pieces = pixels, lit, depth
        self._canvas.clear()
        self._paint([pieces])
        return Standing(pieces, np.array(self._canvas.buffer_rgba()))

    def _surface(
        self, positions: NDArray[Any], pixels: NDArray[Any], depth: NDArray[Any], rgb: NDArray[Any] | None
    ) -> Pieces:
        view, triangles = self.view, self.view.triangles
        normals, faces = vertex_normals(positions, triangles)
        normals = normals @ view.camera.axes().T
        front = np.broadcast_to(view.look.front, positions.shape) if rgb is None else rgb
        back = np.broadcast_to(view.look.back, positions.shape) if rgb is None else 0.82 * rgb
        facing = np.einsum("ij,ij->i", faces, np.asarray(view.camera.eye) - positions[triangles[:, 0]]) >= 0
        lit = np.where(facing[:, None, None], shade(front, normals)[triangles], shade(back, -normals)[triangles])
        return pixels[triangles], lit, depth[triangles].mean(axis=1)

    def _wires(self, pixels: NDArray[Any], depth: NDArray[Any], rgb: NDArray[Any] | None) -> Pieces:
        view, (start, end) = self.view, self.view.edges.T
        along = pixels[end] - pixels[start]
        length = np.linalg.norm(along, axis=1, keepdims=True)
        across = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.where(length > 0, length, 1.0)
        half = view.wire_radius / view.camera.view_radius * view.size[1] * view.samples / 2
        half = max(half - self._bleed, 0.2)
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

    def _dots(self, centres: NDArray[Any], depth: NDArray[Any]) -> Pieces:
        view = self.view
        height = view.size[1] * view.samples
        focal = 0.5 * height / np.tan(np.radians(view.camera.fov_degrees) / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            radius = focal * view.point_radius / depth + 0.5 - self._bleed
        angles = 2 * np.pi * np.arange(FAN + 1) / FAN
        rim = centres[:, None] + radius[:, None, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        # The bright hub sits up and to the left, where the key light falls: a disc then reads as a ball.
        hub = np.broadcast_to((centres + radius[:, None] * (-0.3, 0.4))[:, None], rim[:, 1:].shape)
        corners = np.stack([hub, rim[:, :-1], rim[:, 1:]], axis=2).reshape(-1, 3, 2)
        dark = np.asarray(view.look.point)
        colours = np.broadcast_to(np.stack([dark + 0.38, dark, dark]), (len(corners), 3, 3))
        nearer = np.repeat(depth - 2.5 * view.point_radius, FAN)
        return corners, colours, nearer
