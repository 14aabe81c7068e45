"""Is it a number, and does it lie where it must? Used wherever a user hands one in."""

from __future__ import annotations

import numpy as np

from .errors import InputError


def is_number(value: object) -> bool:
    """Whether `value` is a finite real number (a truth value is not)."""
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and bool(np.isfinite(value))


def is_whole(value: object) -> bool:
    """Whether `value` is a whole number (a truth value is not)."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_time_step(h: object) -> float:
    """A time step in seconds that neither float32 inertia m/h² nor anybody's patience overflows."""
    if not is_number(h) or not h > 0:  # type: ignore[operator]
        raise InputError(f"the time step must be a positive number of seconds, not {h!r}")
    if not 1e-9 <= h <= 1e6:  # type: ignore[operator]
        raise InputError(f"the time step must lie between 1e-9 and 1e6 seconds, not {h!r}")
    return float(h)  # type: ignore[arg-type]


def check_seed(seed: object) -> int:
    """A seed: any whole number from 0 to 2^63 - 1."""
    if not is_whole(seed) or not 0 <= seed < 2**63:  # type: ignore[operator]
        raise InputError(f"the seed must be a whole number from 0 to 2^63 - 1, not {seed!r}")
    return int(seed)  # type: ignore[call-overload]


def read_value(text: str) -> object:
    """A number or a truth value where the text is one, and the text otherwise."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.strip().lower(), text.strip())
