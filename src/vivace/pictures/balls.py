"""Pictures of very many balls: each is a disc on the screen with a ball's depth and shading, not a mesh."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from .backdrop import enlarge, reduce
from .backends import DEFAULT_SIZE, Look, Size
from .camera import Camera
from .kernels.balls import draw_balls
from .painter import shade


def picture_of_balls(
    positions: ArrayLike,
    radii: ArrayLike,
    colours: ArrayLike,
    camera: Camera,
    *,
    size: Size = DEFAULT_SIZE,
    samples: int = 2,
    light: ArrayLike | None = None,
) -> NDArray[np.uint8]:
    """(H, W, 3) of balls at `positions` (n, 3), in m, with `colours` (n, 3), sRGB from 0 to 1.

    `light`: (n,) from 0 to 1, how much of it each ball gets; all of it by default. `samples`: a pixel is the mean of so
    many squared.
    """
    where, rgb = np.asarray(positions, float), np.asarray(colours, float)
    sizes = np.broadcast_to(np.asarray(radii, float), (len(where),))
    if where.ndim != 2 or where.shape[1] != 3 or rgb.shape != where.shape:
        raise InputError(f"positions and colours must both have the shape (n, 3), not {where.shape} and {rgb.shape}")
    width, height = size[0] * samples, size[1] * samples
    pixels, depths = camera.project(where, (width, height))
    good = np.isfinite(pixels).all(axis=1) & np.isfinite(depths)
    lit = np.ones(len(where)) if light is None else np.clip(np.asarray(light, float), 0.0, 1.0)
    nearest, normals = np.full((height, width), np.inf), np.zeros((height, width, 3))
    picture = np.zeros((height, width, 3))
    focal = 0.5 * height / np.tan(np.radians(camera.fov_degrees) / 2)
    parts: list[NDArray[Any]] = [np.ascontiguousarray(array[good]) for array in (pixels, depths, sizes, rgb, lit)]
    draw_balls(parts[0], parts[1], parts[2], float(focal), parts[3], parts[4], picture, nearest, normals)
    covered = np.isfinite(nearest)
    sheet = enlarge(Look().background(size), samples)[::-1].copy()
    sheet[covered] = (255 * shade(picture[covered], normals[covered]) + 0.5).astype(np.uint8)
    return reduce(sheet[::-1], samples)
