"""Pins and cuts in a link: letters that an address has as they are.

    1600_c12-13.44-45_p0-39.81     a body of 1600 vertices, a cut that parted 12 and 13, 44 and 45, pins 0 to 39 and 81

Parts come in this order: cuts as they were made, then pins, if they are not the scene's own.
"""

from __future__ import annotations

import re

import numpy as np

from ..errors import InputError
from ..scenes.edits import MOST_CUTS, Edits

LONGEST = 200_000  # characters
MOST_NUMBERS = 400_000  # pinned vertices
RANGE = r"\d{1,7}(?:-\d{1,7})?"
PAIR = r"\d{1,7}-\d{1,7}"
FORM = re.compile(rf"(\d{{1,7}})((?:_c{PAIR}(?:\.{PAIR})*)*)(_p(?:{RANGE}(?:\.{RANGE})*)?)?", re.ASCII)


def text_of(edits: Edits | None) -> str:
    """Edits as letters; "" for none."""
    if edits is None:
        return ""
    cuts = "".join("_c" + ".".join(f"{a}-{b}" for a, b in pairs.tolist()) for pairs in edits.cuts)
    pins = "" if edits.pins is None else "_p" + _ranges(np.unique(np.array(edits.pins, np.int64)))
    return f"{edits.vertices}{cuts}{pins}"


def edits_of(text: str) -> Edits | None:
    """The edits that letters stand for; None for ""."""
    if not text:
        return None
    found = FORM.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        raise InputError("pins and cuts of a link are damaged; was all of it copied?")
    first, cuts, pins = found.groups()
    parted = tuple(np.array([pair.split("-") for pair in one.split(".")], np.int64) for one in cuts.split("_c") if one)
    if len(parted) > MOST_CUTS:
        raise InputError(f"a link has {MOST_CUTS} cuts at most, not {len(parted)}")
    return Edits(int(first), parted, None if pins is None else _numbers(pins[2:]))


def _ranges(numbers: np.ndarray) -> str:
    """Whole numbers that rise, with those that follow each other as ranges."""
    if not len(numbers):
        return ""
    parts = np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1)
    return ".".join(str(one[0]) if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in parts)


def _numbers(text: str) -> tuple[int, ...]:
    ends = [tuple(map(int, part.split("-"))) for part in text.split(".") if part]
    if sum(end[-1] - end[0] + 1 for end in ends) > MOST_NUMBERS or any(end[-1] < end[0] for end in ends):
        raise InputError("the pins of a link are no numbers of vertices")
    return tuple(number for end in ends for number in range(end[0], end[-1] + 1))
