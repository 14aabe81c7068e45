"""Checks shared by the functions that generate meshes."""

from __future__ import annotations

import math
import operator
from typing import Any

from ..errors import InputError


def check_count(name: str, value: Any, least: int) -> None:
    """Raise unless `value` is a whole number, `least` or more."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be a whole number, not {value!r}") from None
    if number < least:
        raise InputError(f"{name} must be {least} or more, not {number}")


def check_size(name: str, value: Any) -> None:
    """Raise unless `value` is a positive, finite length."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a length in metres, not {value!r}") from None
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{name} must be a positive, finite length in metres, not {number}")
