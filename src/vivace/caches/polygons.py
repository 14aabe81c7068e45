"""Faces of any number of corners as triangles."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .base import damaged


def fans(path: Path, counts: np.ndarray, corners: np.ndarray, vertices: int, flipped: bool = False) -> np.ndarray:
    """(m, 3) int32: every face as a fan around its first corner; `flipped`: the other way round."""
    counts, corners = np.asarray(counts, np.int64).ravel(), np.asarray(corners, np.int64).ravel()
    if (counts < 0).any() or counts.sum() != len(corners):
        raise damaged(path, f"its faces have {int(counts.sum())} corners, and {len(corners)} are there")
    if len(corners) and not 0 <= corners.min() <= corners.max() < vertices:
        raise damaged(path, f"its faces name vertices {corners.min()} to {corners.max()}, and there are {vertices}")
    starts = np.cumsum(counts) - counts
    many = np.maximum(counts - 2, 0)
    first = np.repeat(starts, many)
    step = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    found = np.stack([corners[first], corners[first + step + 1], corners[first + step + 2]], axis=1)
    return (found[:, ::-1] if flipped else found).astype(np.int32)
