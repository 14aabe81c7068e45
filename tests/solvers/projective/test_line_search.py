"""Backtracking: the largest step of its sequence that Armijo's rule accepts, found by trying them all."""

import numpy as np
import pytest

from vivace import InputError
from vivace.solvers.projective.line_search import backtrack


def quartic(q):
    """(Σ q⁴ - q², its gradient)"""
    return float(np.sum(q**4 - q**2)), 4 * q**3 - 2 * q


@pytest.mark.parametrize("control", [0.0, 1e-4, 0.3, 0.9])
@pytest.mark.parametrize("shrink", [0.5, 0.8])
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_first_step_that_falls_enough(control, shrink, scale):
    """α = first γ^k for the least k with ε(q + α d) <= ε(q) + c α d·∇ε."""
    q = np.array([1.3, -0.4, 2.0])
    energy, gradient = quartic(q)
    direction = -scale * gradient
    slope = float(direction @ gradient)
    found = backtrack(quartic, q, direction, energy, slope, control=control, shrink=shrink, first=4.0)
    steps = 4.0 * shrink ** np.arange(200)
    good = [quartic(q + a * direction)[0] <= energy + control * a * slope for a in steps]
    assert found.step == pytest.approx(steps[np.argmax(good)])
    np.testing.assert_array_equal(found.q, q + found.step * direction)
    assert found.energy == quartic(found.q)[0]
    np.testing.assert_array_equal(found.rest, quartic(found.q)[1])


def test_without_control_equal_is_not_enough():
    """ε = q²/2 and d = -2 q: a full step only changes sides, again and again if accepted; half of it is right."""
    q = np.array([1.0])
    found = backtrack(lambda x: (0.5 * float(x @ x), None), q, -2 * q, 0.5, control=0.0)
    assert found.step == 0.5
    assert found.energy == 0.0


@pytest.mark.parametrize("outside", [np.inf, np.nan])
def test_states_outside_the_domain_are_too_high(outside):
    """ε = q - log q ends at 0, as energies end at inverted elements: the step stays inside."""

    def barrier(x):
        return (float(x[0] - np.log(x[0])) if x[0] > 0 else outside), None

    q = np.array([1.5])
    found = backtrack(barrier, q, np.array([-10.0]), barrier(q)[0], -10.0 / 3)
    assert found.q[0] > 0
    assert found.energy < barrier(q)[0]


def test_nothing_to_gain():
    """Uphill, or where all energies are equal, there is no step; slack accepts what rounding cannot tell apart."""
    q, d = np.array([1.0]), np.array([1.0])
    assert backtrack(lambda x: (float(x @ x), None), q, d, 1.0, 2.0) is None
    assert backtrack(lambda x: (1.0, None), q, d, 1.0, control=0.0) is None
    assert backtrack(lambda x: (1.0, None), q, d, 1.0, control=0.0, slack=1e-15).step == 1.0
    tried = []
    assert backtrack(lambda x: (tried.append(x) or 2.0, None), q, d, 1.0, -1.0, smallest=0.2) is None
    assert len(tried) == 3  # 1, 1/2, 1/4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"control": 1.0}, r"control parameter of a line search must lie in \[0, 1\), not 1.0"),
        ({"control": -0.1}, r"must lie in \[0, 1\), not -0.1"),
        ({"shrink": 1.0}, r"by a factor in \(0, 1\), not 1.0"),
        ({"shrink": "half"}, r"by a factor in \(0, 1\), not 'half'"),
        ({"smallest": 0}, "smallest step of a line search must be positive, not 0"),
    ],
)
def test_bad_options_say_what_is_wrong(options, message):
    with pytest.raises(InputError, match=message):
        backtrack(quartic, np.ones(3), np.ones(3), 1.0, -1.0, **options)
