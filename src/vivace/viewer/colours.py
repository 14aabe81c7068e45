"""Numbers to colour a body by: one byte a vertex.

- `strain`: the largest |l/l₀ - 1| of the edges at a vertex.
- `velocity`: the speed of a vertex (m/s).
- `contact`: 1 for vertices that the collide stage found in contact.
- `residual`: |∇ε| at a vertex (N): how far the solver stopped from this step's minimum.
- `graph`: the number of the vertex's colour.
- `conversion`: the largest share of the hyperelastic elements at a vertex that is converted, being flattened or
  inverted [fratarcangeli2018, figure 16].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..hyperelastic.term import Hyperelastic
from ..terms.term import Term
from .body_mesh import BodyReport
from .messages import ColourBy
from .snapshot import SimulationView

LEAST_STRAIN = 0.01  # the range of colours does not shrink below it, or a cloth at rest would show noise
LEAST_SPEED = 0.05  # m/s, likewise
DECADES = 4  # residuals are shown on a logarithmic scale that long


@dataclass(frozen=True, eq=False)
class Values:
    """Bytes for the vertices, what 0 and 255 stand for, and the unit."""

    bytes: np.ndarray
    low: float = 0.0
    high: float = 0.0
    unit: str = ""


def values_of(colour_by: ColourBy, view: SimulationView, strain: np.ndarray, terms: Sequence[Term] = ()) -> Values:
    """The bytes of a view; none for plain, and where there is nothing to show. `terms`: of the model."""
    none = Values(np.zeros(0, np.uint8))
    if isinstance(view.report, BodyReport):
        return none
    if colour_by == "strain":
        high = max(LEAST_STRAIN, float(np.quantile(strain, 0.99)) if len(strain) else 0.0)
        return Values(_scaled(strain / high), 0.0, 100 * high, "%")
    if colour_by == "velocity" and view.velocities is not None:
        speed = np.linalg.norm(view.velocities, axis=1)
        high = max(LEAST_SPEED, float(np.quantile(speed, 0.99)) if len(speed) else 0.0)
        return Values(_scaled(speed / high), 0.0, high, "m/s")
    if colour_by == "contact":
        touching = np.zeros(len(view.report.positions), np.uint8)
        touching[view.report.touching] = 255
        return Values(touching, 0.0, 1.0, "")
    if colour_by == "residual":
        force = view.report.forces()
        high = max(float(np.quantile(force, 0.999)), 1e-12)
        exponent = np.log10(np.maximum(force, 1e-30) / high) / DECADES + 1.0
        return Values(_scaled(exponent), high * 10.0**-DECADES, high, "N")
    if colour_by == "graph" and view.labels is not None:
        return Values((view.labels % 256).astype(np.uint8), 0.0, float(view.labels.max(initial=0) + 1), "colours")
    bodies = [term for term in terms if isinstance(term, Hyperelastic)]
    if colour_by == "conversion" and bodies:
        positions = view.report.positions.astype(np.float64)
        converted = np.zeros(len(positions))
        for body in bodies:
            np.maximum.at(converted, body.vertices.ravel(), np.repeat(body.converted(positions), 4))
        return Values(_scaled(converted), 0.0, 100.0, "%")
    return none


def _scaled(share: np.ndarray) -> np.ndarray:
    levels: np.ndarray = (255 * np.clip(share, 0, 1) + 0.5).astype(np.uint8)
    return levels
