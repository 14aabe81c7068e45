"""Opening a renderer: the best one that works here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from . import offscreen, painter, raster  # noqa: F401  they register themselves
from .backends import (
    DEFAULT_SIZE,
    LARGEST_SIDE,
    RENDERERS,
    Bounds,
    Ground,
    Look,
    Renderer,
    RendererUnavailable,
    Size,
    View,
)
from .camera import Camera
from .scenery import Scenery

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


def ground_under(low: NDArray[Any], high: NDArray[Any], camera: Camera, scenery: Scenery | None = None) -> float:
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
