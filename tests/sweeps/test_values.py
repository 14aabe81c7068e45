import numpy as np
import pytest

from vivace.errors import InputError
from vivace.sweeps.sampling import SAMPLINGS
from vivace.sweeps.values import Listed, Range, read_values


def test_a_range_of_logarithms_has_even_ratios():
    values = read_values("stretch", "1e2:1e5:log:7").grid()
    assert (values[0], values[-1]) == (1e2, 1e5)
    np.testing.assert_allclose(np.diff(np.log(values)), np.log(1e3) / 6, rtol=1e-12)


def test_a_linear_range_has_even_steps():
    values = read_values("bend", "-1:1:5").grid()
    np.testing.assert_allclose(values, np.linspace(-1, 1, 5), atol=1e-15)
    assert read_values("bend", "-1:1:lin:5") == read_values("bend", "-1:1:5")


def test_whole_numbers_are_rounded_and_each_is_there_once():
    assert read_values("substeps", "1:4:10", whole=True).grid() == [1, 2, 3, 4]
    assert read_values("resolution", [10, 20.0], whole=True).grid() == [10, 20]


def test_lists_are_read_as_numbers_truth_values_and_words():
    assert read_values("x", "1, 2.5,true,silk") == Listed((1, 2.5, True, "silk"))
    assert read_values("x", np.array([1.0, 2.0])).grid() == [1.0, 2.0]
    assert read_values("x", 3).grid() == [3]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1:2:q", "no range"),
        ("1:2:log:0", "no range"),
        ("1:2:3:4", "no range"),
        ("2:1:5", "smaller to a larger"),
        ("0:1:log:5", "begin above 0"),
        ("", "no values"),
        ("1,1", "twice"),
        ("1:9999:99999999", "no range"),
    ],
)
def test_values_that_mean_nothing_are_refused(text, told):
    with pytest.raises(InputError, match=told):
        read_values("x", text)


def test_whole_numbers_must_be_whole():
    with pytest.raises(InputError, match="whole number"):
        read_values("frames", [1.5], whole=True)
    with pytest.raises(InputError, match="no whole number between"):
        read_values("frames", "1.2:1.8", whole=True)


def test_a_grid_has_every_combination_the_last_name_fastest():
    found = SAMPLINGS["grid"]([Listed((1, 2)), Listed(("a", "b", "c"))], None, np.random.default_rng(0))
    assert found == [(1, "a"), (1, "b"), (1, "c"), (2, "a"), (2, "b"), (2, "c")]


def test_a_latin_hypercube_visits_each_part_of_each_range_once():
    ranges = [Range(0.0, 1.0), Range(1.0, 1e4, log=True), Range(0.0, 49.0, whole=True)]
    rows = SAMPLINGS["latin-hypercube"](ranges, 50, np.random.default_rng(3))
    a, b, c = np.array(rows, float).T
    np.testing.assert_array_equal(np.sort((a * 50).astype(int)), np.arange(50))
    np.testing.assert_array_equal(np.sort((np.log(b) / np.log(1e4) * 50).astype(int)), np.arange(50))
    np.testing.assert_array_equal(np.sort(c), np.arange(50))


def test_random_samples_repeat_by_their_seed_and_lie_in_their_ranges():
    ranges = [Range(2.0, 3.0), Listed(("x", "y"))]
    rows = [SAMPLINGS["random"](ranges, 40, np.random.default_rng(seed)) for seed in (5, 5, 6)]
    assert rows[0] == rows[1] != rows[2]
    assert all(2 <= value <= 3 for value, _ in rows[0])
    assert {word for _, word in rows[0]} == {"x", "y"}


def test_a_number_of_runs_is_for_samples():
    with pytest.raises(InputError, match="needs a number of runs"):
        SAMPLINGS["random"]([Range(0.0, 1.0)], None, np.random.default_rng(0))
    with pytest.raises(InputError, match="as many runs as there are combinations"):
        SAMPLINGS["grid"]([Listed((1,))], 5, np.random.default_rng(0))
    with pytest.raises(InputError, match="needs a number of values"):
        SAMPLINGS["grid"]([Range(0.0, 1.0)], None, np.random.default_rng(0))
