"""Lengths and axes of other programs: what a file's numbers mean, as metres with y up."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import check_name

UNITS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "km": 1000.0, "in": 0.0254, "ft": 0.3048, "yd": 0.9144}
UPS = {  # rows: our x, y and z in the file's axes
    "y": np.eye(3),
    "z": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
}


def metres(unit: Any) -> float:
    """How many metres a unit has."""
    return UNITS[check_name("unit of length", unit, UNITS)]


def axes(up: Any) -> np.ndarray:
    """The rotation (3, 3) that turns a file's axes into ours: x stays where z is up."""
    return UPS[check_name("axis that points up", up, UPS)]


def in_metres(vertices: np.ndarray, unit: Any, up: Any) -> np.ndarray:
    """A file's positions (n, 3), in m with y up."""
    length, turn = metres(unit), axes(up)
    turned = vertices if up == "y" else vertices @ turn.T
    return turned if length == 1 else turned * length


def in_file(vertices: np.ndarray, unit: Any, up: Any) -> np.ndarray:
    """Positions (n, 3) in m with y up, as a file has them."""
    length, turn = metres(unit), axes(up)
    turned = vertices if up == "y" else vertices @ turn
    return turned if length == 1 else turned / length
