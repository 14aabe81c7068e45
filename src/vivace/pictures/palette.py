"""Colours that people with colour-blindness can tell apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

# [okabe2008] Okabe and Ito, "Color Universal Design"; yellow comes last because it is faint on white.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")


def label_colours(labels: NDArray[np.int64]) -> NDArray:
    """(n,) integers to (n, 3): the eight named colours first, then hues a golden ratio apart."""
    from matplotlib.colors import hsv_to_rgb, to_rgb

    named = np.array([to_rgb(colour) for colour in OKABE_ITO])
    labels = labels - min(int(labels.min(initial=0)), 0)
    count = int(labels.max(initial=0)) + 1
    extra = np.arange(max(count - len(named), 0))
    hues = (0.11 + extra * 0.6180339887) % 1.0
    more = hsv_to_rgb(np.stack([hues, 0.55 + 0.25 * (extra % 2), 0.9 - 0.1 * (extra % 3)], axis=1))
    return np.concatenate([named, more.reshape(-1, 3)])[labels]


def map_colours(values: NDArray, name: str, limits: tuple[float, float] | None = None) -> NDArray:
    """(n,) floats to (n, 3) through a matplotlib colour map; what is not finite becomes grey."""
    from matplotlib import colormaps

    if name not in colormaps:
        raise InputError(f"unknown colour map {name!r}; matplotlib's names work, such as viridis, magma or coolwarm")
    finite = np.isfinite(values)
    if limits is None:
        limits = (float(values[finite].min()), float(values[finite].max())) if finite.any() else (0.0, 1.0)
    low, high = limits
    unit = np.clip((np.where(finite, values, low) - low) / ((high - low) or 1.0), 0, 1)
    return np.where(finite[:, None], colormaps[name](unit)[:, :3], 0.6)
