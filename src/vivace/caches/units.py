"""Lengths and axes of other programs, which meshes have too."""

from __future__ import annotations

from ..mesh.units import UNITS, UPS, axes, metres

__all__ = ["UNITS", "UPS", "axes", "metres"]
