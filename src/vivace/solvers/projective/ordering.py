"""Vertices in an order in which neighbours in space are neighbours in memory."""

from __future__ import annotations

import numpy as np

BITS = 21  # a coordinate: three of them fill 63 bits


def morton_rank(points: np.ndarray) -> np.ndarray:
    """The rank of each point (n,) along a Z-shaped curve through space."""
    low = points.min(axis=0)
    extent = float((points.max(axis=0) - low).max())
    cells = ((points - low) * ((2**BITS - 1) / extent if extent > 0 else 0.0)).astype(np.uint64)
    code = _spread(cells[:, 0]) | (_spread(cells[:, 1]) << np.uint64(1)) | (_spread(cells[:, 2]) << np.uint64(2))
    rank = np.empty(len(points), np.int64)
    rank[np.argsort(code, kind="stable")] = np.arange(len(points))
    return rank


def _spread(x: np.ndarray) -> np.ndarray:
    """Put two zero bits between the bits of each 21-bit number."""
    for shift, mask in (
        (32, 0x1F00000000FFFF),
        (16, 0x1F0000FF0000FF),
        (8, 0x100F00F00F00F00F),
        (4, 0x10C30C30C30C30C3),
        (2, 0x1249249249249249),
    ):
        x = (x | (x << np.uint64(shift))) & np.uint64(mask)
    return x
