"""Long arrays in blocks: temporaries that stay in the cache make set-up cost linear in the size of a mesh."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

BLOCK = 1 << 15


def in_blocks(function: Callable[[np.ndarray], np.ndarray], items: np.ndarray) -> np.ndarray:
    """function(items), for a function that treats every item of the first axis on its own."""
    if len(items) <= BLOCK:
        return function(items)
    first = function(items[:BLOCK])
    out = np.empty((len(items), *first.shape[1:]), first.dtype)
    out[:BLOCK] = first
    for begin in range(BLOCK, len(items), BLOCK):
        out[begin : begin + BLOCK] = function(items[begin : begin + BLOCK])
    return out
