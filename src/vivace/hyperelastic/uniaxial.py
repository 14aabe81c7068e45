"""What pulling a bar along one axis takes, while its sides are free: the curve that tests of materials measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from ..checks import real_array, shown
from ..errors import InputError
from .densities import Density

STEP = 0.02  # of stretches, relative, in which a curve is followed from rest


def uniaxial(density: Density, constants: Sequence[float], stretches: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Nominal stress P₁₁ (Pa: force over the area at rest) and stretch across, for stretches along the bar.

    The stretch across is that of zero stress, ψ₂(λ, t, t) = 0, followed from t = 1 at rest: there may be others.
    Without conversion; NaN from where there is none within reach of the one before.
    """
    wanted = real_array(stretches)
    if wanted is None or wanted.ndim != 1 or not np.isfinite(wanted).all() or (wanted <= 0).any():
        raise InputError(f"stretches must be positive numbers of shape (m,), not {shown(stretches)}")
    stress, across = np.full(len(wanted), np.nan), np.full(len(wanted), np.nan)

    def at(along: float, side: float) -> np.ndarray:
        found: np.ndarray = density.evaluate(np.diag([along, side, side])[None], constants)[1][0]
        return found

    for some in (np.flatnonzero(wanted >= 1), np.flatnonzero(wanted < 1)):
        along, side = 1.0, 1.0
        for k in some[np.argsort(np.abs(wanted[some] - 1), kind="stable")]:
            count = int(np.ceil(abs(np.log(wanted[k] / along)) / STEP))
            for step in along * (wanted[k] / along) ** (np.arange(1, count + 1) / max(count, 1)):
                side = _root(lambda t, step=step: float(at(step, t)[1, 1]), side)
            along = float(wanted[k])
            stress[k], across[k] = at(along, side)[0, 0] if np.isfinite(side) else np.nan, side
    return stress, across


def _root(function, near: float) -> float:  # type: ignore[no-untyped-def]
    """The root of an increasing function near a number."""
    for reach in (1.03, 1.1):
        if function(near / reach) < 0 < function(near * reach):
            return float(brentq(function, near / reach, near * reach, xtol=1e-14))
    return float("nan")
