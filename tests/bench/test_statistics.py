"""Percentiles: as NumPy's where all is finite; a value that occurs where it is not."""

import numpy as np
import pytest

from vivace.bench.statistics import median, percentile

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("share", [0, 1, 37.5, 50, 99, 100])
@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_finite_values(share, count):
    values = np.random.default_rng(count).normal(size=count)
    assert percentile(values, share) == np.percentile(values, share)
    assert percentile(list(values), share) == np.percentile(values, share)


@pytest.mark.parametrize("empty", [[], (), np.array([]), np.zeros(0, np.int64)])
def test_nothing(empty):
    assert median(empty) is None
    assert percentile(empty, 99) is None


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([1, 2, INF], 50, 2),  # the middle one of three
        ([INF, 2, 1, 3, INF], 50, 3),
        ([1, INF, INF], 50, INF),
        ([1, INF], 50, INF),  # half of the runs diverged: so did the median
        ([INF, INF], 50, INF),
        ([INF], 99, INF),
        ([1, 2, 3, INF], 0, 1),
        ([1, 2, 3, INF], 99, INF),
        ([1, 2, 3, INF], 100, INF),
        ([-INF, 1, 2], 50, 1),
        ([-INF, 1, 2], 0, -INF),
        ([1, NAN, 2], 50, 2),  # NaN sorts above infinity
    ],
)
def test_infinities(values, share, expected):
    assert percentile(values, share) == expected


def test_one_infinity_among_many_does_not_move_the_median_of_an_odd_number():
    values = [*range(100), INF]
    assert median(values) == 50
    assert percentile(values, 100) == INF


def test_not_a_number_is_not_hidden():
    assert np.isnan(percentile([1, 2, NAN], 100))
    assert np.isnan(median([NAN]))


def test_the_input_is_left_alone():
    values = np.array([3.0, 1.0, INF])
    percentile(values, 50)
    assert values.tolist() == [3.0, 1.0, INF]
