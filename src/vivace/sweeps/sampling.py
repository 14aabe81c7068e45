"""Which combinations of values become runs: one function for each way, which joins by a decorator.

    @SAMPLINGS.register("grid")
    def grid(values, runs, rng): ...

A way of sampling gets what each name is varied over, how many runs are wanted (None: as many as there are), and a
generator of random numbers; it returns one value a name for every run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..errors import InputError
from ..registry import Registry
from .values import MOST, Values

Sampling = Callable[[Sequence[Values], int | None, np.random.Generator], list[tuple[Any, ...]]]
SAMPLINGS: Registry[Sampling] = Registry("sampling")


@SAMPLINGS.register("grid")
def grid(values: Sequence[Values], runs: int | None, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """Every combination; the last name varies fastest."""
    if runs is not None:
        raise InputError("a grid has as many runs as there are combinations; runs is for random samples")
    lists = [each.grid() for each in values]
    if prod(map(len, lists)) > MOST:
        raise InputError(f"a grid of {prod(map(len, lists)):,} runs is too large; at most {MOST:,}, or sample it")
    return list(product(*lists))


@SAMPLINGS.register("random")
def random(values: Sequence[Values], runs: int | None, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """Each value by itself, anywhere in its range."""
    shares = rng.random((_wanted(runs), len(values)))
    return [tuple(each.at(share) for each, share in zip(values, row, strict=True)) for row in shares]


@SAMPLINGS.register("latin-hypercube")
def latin_hypercube(values: Sequence[Values], runs: int | None, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """Every range is cut into as many equal parts as there are runs, and each part of each is visited once."""
    count = _wanted(runs)
    strata = np.array([rng.permutation(count) for _ in values]).reshape(len(values), count).T
    shares = (strata + rng.random(strata.shape)) / count
    return [tuple(each.at(share) for each, share in zip(values, row, strict=True)) for row in shares]


def _wanted(runs: int | None) -> int:
    if runs is None:
        raise InputError("a random sample needs a number of runs, such as runs=100")
    if not 1 <= runs <= MOST:
        raise InputError(f"a sample has 1 to {MOST:,} runs, not {runs!r}")
    return runs
