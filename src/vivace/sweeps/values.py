"""What a name is varied over: a list, or a range with a scale.

stretch=1e2:1e5:log:20       20 values, evenly spaced as logarithms
bend=0:1e-3:5                5 values, evenly spaced
air=0:0.5                    a range alone, for samples that choose their own places in it
solver=vivace,chebyshev      these
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import is_number, is_whole, read_value, shown
from ..errors import InputError
from .functions import check_portable, packed

MOST = 1_000_000  # values of one name
SCALES = ("lin", "log")


@dataclass(frozen=True)
class Listed:
    """Values as they were given."""

    values: tuple[Any, ...]

    def grid(self) -> list[Any]:
        """All of them."""
        return list(self.values)

    def at(self, share: float) -> Any:
        """The value at a share of the list, 0 to 1."""
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]


@dataclass(frozen=True)
class Range:
    """Numbers between two, both included.

    Attributes:
        low: where it begins.
        high: where it ends.
        log: whether spaces between logarithms are even, instead of those between the numbers.
        count: how many a grid has; None: a grid cannot be made of it.
        whole: rounded to whole numbers, each once.
    """

    low: float
    high: float
    log: bool = False
    count: int | None = None
    whole: bool = False

    def grid(self) -> list[Any]:
        """All of them."""
        if self.count is None:
            raise InputError(f"the range {self.low:g}:{self.high:g} needs a number of values for a grid, such as :10")
        found = [self._placed(k / (self.count - 1) if self.count > 1 else 0.0) for k in range(self.count)]
        return list(dict.fromkeys(round(value) for value in found)) if self.whole else found

    def at(self, share: float) -> Any:
        """The value at a share of the range, 0 to 1; whole numbers are as likely as each other."""
        if not self.whole:
            return self._placed(share)
        if self.log:
            return round(self._placed(share))
        low, high = math.ceil(self.low), math.floor(self.high)
        return low + min(int(share * (high - low + 1)), high - low)

    def _placed(self, share: float) -> float:
        if share in (0.0, 1.0):
            return float(self.high if share else self.low)  # not what rounding makes of them
        if self.log:
            return float(np.exp((1 - share) * np.log(self.low) + share * np.log(self.high)))
        return float((1 - share) * self.low + share * self.high)


Values = Listed | Range


def read_values(name: str, given: Any, *, whole: bool = False, words: Sequence[str] | None = None) -> Values:
    """What somebody gave for a name: text as above, one value, or several in a list or an array.

    Args:
        name: for messages.
        given: text, a value, or several.
        whole: whether numbers must be whole.
        words: the parts of a text that is a list, where commas do not say it.
    """
    if isinstance(given, Range | Listed):
        return given
    if isinstance(given, str):
        return _text(name, given, whole, words)
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, Sequence):
        values = [value.item() if isinstance(value, np.generic) else value for value in given]
    else:
        values = [given.item() if isinstance(given, np.generic) else given]
    return _listed(name, values, whole)


def _text(name: str, text: str, whole: bool, words: Sequence[str] | None) -> Values:
    found = _range(name, text, whole) if words is None else None
    if found is not None:
        return found
    parts = text.split(",") if words is None else words
    return _listed(name, [read_value(part) for part in parts if part.strip()], whole)


def _range(name: str, text: str, whole: bool) -> Range | None:
    """A range, if the text begins as one does: two numbers with a colon between them."""
    parts = [part.strip() for part in text.split(":")]
    ends = [read_value(part) for part in parts[:2]]
    if len(ends) < 2 or not all(map(is_number, ends)):
        return None
    low, high = float(ends[0]), float(ends[1])  # type: ignore[arg-type]
    rest, log, count = parts[2:], False, None
    if rest and rest[0] in SCALES:
        log = rest.pop(0) == "log"
    if rest:
        count = read_value(rest.pop(0))
    if rest or not (count is None or (is_whole(count) and 1 <= count <= MOST)):  # type: ignore[operator]
        raise InputError(f"{name}={text} is no range: FROM:TO, then lin or log, then how many, such as 1:100:log:5")
    if not low < high:
        raise InputError(f"the range {name}={text} must go from a smaller to a larger number")
    if log and not low > 0:
        raise InputError(f"the range {name}={text} is of logarithms, and must begin above 0")
    if whole and math.ceil(low) > math.floor(high):
        raise InputError(f"there is no whole number between {low:g} and {high:g}, and {name} is one")
    return Range(low, high, log, count, whole)  # type: ignore[arg-type]


def _listed(name: str, values: list[Any], whole: bool) -> Listed:
    if not values:
        raise InputError(f"{name} is to be varied and has no values; give some, such as {name}=1,2,3")
    if len(values) > MOST:
        raise InputError(f"{name} has {len(values):,} values; at most {MOST:,} are taken")
    for value in values:
        if whole and is_number(value) and float(value) != int(value):
            raise InputError(f"{name} is a whole number, and cannot be {shown(value)}")
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"{name} must be finite, not {shown(value)}")
    plain = [int(value) if whole and is_number(value) else value for value in values]
    seen = set()
    for value in plain:
        check_portable(name, value)
        if (text := canonical(value)) in seen:
            raise InputError(f"{name} has the value {shown(value)} twice; each makes a run of its own")
        seen.add(text)
    return Listed(tuple(plain))


def canonical(value: Any) -> str:
    """One text for equal data."""
    try:
        return json.dumps(value, sort_keys=True, default=_told)
    except TypeError:  # of a table's keys
        return str(_told(value))


def _told(value: Any) -> Any:
    """What tells a value of one's own from others; the words for an array, say, leave out most of it."""
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if isinstance(value, Path) else hashlib.sha256(packed(value, shown(value))).hexdigest()
