"""What a file says of itself: the line that `About.provenance` wrote, which may be anything by now."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ..checks import is_number
from .base import Content
from .units import UNITS, UPS


def told(text: str | bytes) -> dict[str, Any]:
    """The line as a table; an empty one if it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def apply_told(content: Content, said: dict[str, Any]) -> Content:
    """A content with what its file says, where that makes sense and nothing better is known."""
    name, unit, up = (said.get(key) for key in ("name", "unit", "up"))
    length: Any = said.get("metres")
    step: Any = said.get("time_step")
    if content.name is None and isinstance(name, str) and name:
        content.name = name[:200]
    if content.metres is None and isinstance(unit, str) and unit in UNITS:
        content.metres = UNITS[unit]
    if content.metres is None and is_number(length):
        content.metres = float(length)
    if content.up is None and isinstance(up, str) and up in UPS:
        content.up = up
    if content.times is None and is_number(step) and 1e-9 <= step <= 1e6:
        content.times = step * np.arange(content.count)
    return content
