"""Balls on the screen, with a depth for each pixel: hundreds of thousands of them in a fraction of a second."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import compiled


@compiled
def draw_balls(pixels, depths, radii, focal, rgb, key, picture, nearest, normals):
    """Write colours and normals (right, up, to the eye) of the nearest ball into the pixels that it covers.

    pixels   (n, 2) centres, x to the right and y up; depths (n,) in front of the eye; radii (n,) in m
    focal    pixels for a metre at a distance of a metre
    key      (n,) light from 0 to 1 that each ball gets: what lies in others' shade has less
    """
    height, width = nearest.shape
    for n in range(pixels.shape[0]):
        depth, radius = depths[n], radii[n]
        if not depth > radius:
            continue
        size = focal * radius / depth
        x, y = pixels[n, 0], pixels[n, 1]
        if not (x + size > 0.0 and y + size > 0.0 and x - size < width and y - size < height):
            continue
        first, last = max(0, int(np.floor(y - size))), min(height - 1, int(np.floor(y + size)))
        left, right = max(0, int(np.floor(x - size))), min(width - 1, int(np.floor(x + size)))
        for row in range(first, last + 1):
            v = (row + 0.5 - y) / size
            for column in range(left, right + 1):
                u = (column + 0.5 - x) / size
                out = 1.0 - u * u - v * v
                if out < 0.0:
                    continue
                w = np.sqrt(out)
                at = depth - radius * w
                if at < nearest[row, column]:
                    nearest[row, column] = at
                    normals[row, column, 0], normals[row, column, 1], normals[row, column, 2] = u, v, w
                    for c in range(3):
                        picture[row, column, c] = rgb[n, c] * key[n]
