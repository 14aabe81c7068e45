"""Triangles on the screen, with a depth for each sample, and the mean of the samples."""

from __future__ import annotations

import numpy as np

from ...backends.cpu.compiling import compiled


@compiled
def draw_triangles(corners, nearness, colours, picture, nearest):
    """Write the colours of the nearest triangle into the samples that it covers.

    corners   (k, 3, 2) on the screen, x to the right and y up, in samples
    nearness  (k, 3) 1 / depth, which runs evenly over the screen where the depth does not
    colours   (k, 3, 3) of the corners, from 0 to 255
    picture   (H, W, 3) uint8, the first row being the uppermost; nearest (H, W), 0 where there is nothing
    """
    height, width = nearest.shape
    for n in range(corners.shape[0]):
        ax, ay = corners[n, 0, 0], corners[n, 0, 1]
        bx, by = corners[n, 1, 0], corners[n, 1, 1]
        cx, cy = corners[n, 2, 0], corners[n, 2, 1]
        area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
        if area == 0.0:
            continue
        low, high = min(ax, bx, cx), max(ax, bx, cx)
        left, right = max(0, int(np.floor(low))), min(width - 1, int(np.floor(high)))
        low, high = min(ay, by, cy), max(ay, by, cy)
        first, last = max(0, int(np.floor(low))), min(height - 1, int(np.floor(high)))
        for line in range(first, last + 1):
            y = line + 0.5
            row = height - 1 - line
            for column in range(left, right + 1):
                x = column + 0.5
                v = ((x - ax) * (cy - ay) - (cx - ax) * (y - ay)) / area
                w = ((bx - ax) * (y - ay) - (x - ax) * (by - ay)) / area
                u = 1.0 - v - w
                if u < 0.0 or v < 0.0 or w < 0.0:
                    continue
                near = u * nearness[n, 0] + v * nearness[n, 1] + w * nearness[n, 2]
                if near > nearest[row, column]:
                    nearest[row, column] = near
                    for c in range(3):
                        shade = u * colours[n, 0, c] + v * colours[n, 1, c] + w * colours[n, 2, c]
                        picture[row, column, c] = np.uint8(shade + 0.5)


@compiled
def average(picture, nearest, backdrop, samples, out):
    """The mean colour of each block of samples x samples; samples that nothing covers have the backdrop's colour."""
    height, width = out.shape[0], out.shape[1]
    count = samples * samples
    for row in range(height):
        for column in range(width):
            red, green, blue, bare = 0, 0, 0, 0
            for i in range(samples):
                for j in range(samples):
                    y, x = row * samples + i, column * samples + j
                    if nearest[y, x] > 0.0:
                        red += picture[y, x, 0]
                        green += picture[y, x, 1]
                        blue += picture[y, x, 2]
                    else:
                        bare += 1
            half = count // 2
            out[row, column, 0] = (red + bare * backdrop[row, column, 0] + half) // count
            out[row, column, 1] = (green + bare * backdrop[row, column, 1] + half) // count
            out[row, column, 2] = (blue + bare * backdrop[row, column, 2] + half) // count
