"""Pins: stiff springs of zero length between a vertex and a target that may move [fratarcangeli2018, section 2.3]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .base import Prepared, Role, constraint


@constraint("pin", vertices=1, rows=1, parameters=("x", "y", "z"), role=Role.TARGET, unit="N/m")
class Pin:
    """Holds a vertex at a target position; stiffness in N/m."""

    @staticmethod
    def prepare(rest: np.ndarray, target: ArrayLike | None = None) -> Prepared:
        """The operator A = [1], and `target`, where the vertex is held: where it is at rest, unless given."""
        return Prepared(operator=[[1.0]], parameters=rest[:, 0] if target is None else target)
