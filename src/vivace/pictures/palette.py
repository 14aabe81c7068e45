"""Colours that people with colour-blindness can tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count as numbers
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError

# [okabe2008] Okabe and Ito, "Color Universal Design"; yellow comes last because it is faint on white.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")

GOLDEN_ANGLE = 137.50776405  # degrees
FIRST_HUE, CHROMA = 246.0, 0.115
LIGHTNESS = (0.62, 0.70, 0.56)
OKLAB_TO_LINEAR = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


def body_colours(groups: Mapping[str, NDArray[Any]], count: int, first: ArrayLike) -> NDArray[Any] | None:
    """(count, 3) colours for the vertices of bodies that were joined into one mesh; None where there are not several.

    `groups` has their vertices as "body-0", "body-1" and so on. `first` is the colour of the first, and of vertices in
    none; hues go on a golden angle apart, equally light to the eye, so that neighbours in number never look alike.
    """
    bodies = [groups[f"body-{k}"] for k in takewhile(lambda k: f"body-{k}" in groups, numbers())]
    if len(bodies) < 2:
        return None
    colours = np.tile(np.asarray(first, dtype=float), (count, 1))
    for k, members in enumerate(bodies[1:], start=1):
        colours[members] = oklch(LIGHTNESS[k % 3], CHROMA, FIRST_HUE + k * GOLDEN_ANGLE)
    return colours


def oklch(lightness: float, chroma: float, degrees: float) -> NDArray[Any]:
    """sRGB of polar coordinates in Oklab (B. Ottosson, 2020); what a screen cannot show is clipped."""
    a, b = chroma * np.cos(np.radians(degrees)), chroma * np.sin(np.radians(degrees))
    cones = (
        lightness + 0.3963377774 * a + 0.2158037573 * b,
        lightness - 0.1055613458 * a - 0.0638541728 * b,
        lightness - 0.0894841775 * a - 1.2914855480 * b,
    )
    linear = np.clip(OKLAB_TO_LINEAR @ np.power(cones, 3), 0, 1)
    rgb: NDArray[Any] = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return rgb


def label_colours(labels: NDArray[np.int64]) -> NDArray[Any]:
    """(n,) integers to (n, 3): the eight named colours first, then hues a golden ratio apart."""
    from matplotlib.colors import hsv_to_rgb, to_rgb

    named = np.array([to_rgb(colour) for colour in OKABE_ITO])
    labels = labels - min(int(labels.min(initial=0)), 0)
    count = int(labels.max(initial=0)) + 1
    extra = np.arange(max(count - len(named), 0))
    hues = (0.11 + extra * 0.6180339887) % 1.0
    more = hsv_to_rgb(np.stack([hues, 0.55 + 0.25 * (extra % 2), 0.9 - 0.1 * (extra % 3)], axis=1))
    return np.concatenate([named, more.reshape(-1, 3)])[labels]


def map_colours(values: NDArray[Any], name: str, limits: tuple[float, float] | None = None) -> NDArray[Any]:
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
