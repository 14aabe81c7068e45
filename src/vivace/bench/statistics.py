"""Medians and spreads that cope with nothing and with infinities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def median(values: Sequence[float] | np.ndarray) -> float | None:
    """The median, or None of nothing."""
    return percentile(values, 50)


def percentile(values: Sequence[float] | np.ndarray, share: float) -> float | None:
    """The value below which `share` percent lie; infinite values count as the largest."""
    array = np.sort(np.asarray(values, np.float64))
    if not len(array):
        return None
    if not np.isfinite(array).all():  # interpolating next to an infinity would give NaN
        return float(array[min(len(array) - 1, int(np.ceil(share / 100 * (len(array) - 1))))])
    return float(np.percentile(array, share))


def finite_or_none(value: float | None) -> float | None:
    """The number, or None: JSON has no infinity, and a diverged run's error is null."""
    return float(value) if value is not None and np.isfinite(value) else None
