"""The scripts of benchmarks/hand.py on a smaller cloth: nothing tears, and nothing goes through the table."""

import sys
from pathlib import Path

import pytest

from vivace.solvers import Budget

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import hand
    finally:
        sys.path.remove(str(BENCHMARKS))
    hand.SETTLE = 1.0
    return hand.Bench({"resolution": 40}, None, Budget(iterations=16))  # the same on every machine


@pytest.mark.slow
@pytest.mark.parametrize("script", ["drag", "fling", "lift", "through"])
def test_a_pull_neither_tears_nor_pierces(bench, script):
    """Mean stretch of 2 % and largest of 30 % at most while somebody pulls; no edge through the table, ever."""
    run = bench.run(script, 1, 0.3)
    assert run.mean <= 0.02
    assert run.largest <= 0.30
    assert run.crossings == 0
    assert run.depth < 1e-4
    assert run.slipped == (script == "through")
