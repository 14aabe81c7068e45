"""How far apart contacts keep sheets."""

from __future__ import annotations

SHEET = 0.4  # of an edge
THICKEST = 0.008  # m: a coarse sheet is not to float visibly above what it lies on


def sheet_thickness(edge: float) -> float:
    """The distance that contacts of a sheet keep (m), for edges that long."""
    return min(SHEET * edge, THICKEST)
