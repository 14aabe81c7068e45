"""Copies of templates: their names tell apart all that makes other machine code."""

import numpy as np

from vivace.backends.cpu.templates import specialised


def template(x):
    return project(x)


def project(x):
    return x


def closing_over(values):
    def function(x):
        return x + values[-1]

    return function


def test_functions_over_arrays_that_print_alike_are_two():
    """The text of an array shows eight digits, and of a long one its ends only."""
    long = np.zeros(5000)
    middle = long.copy()
    middle[2500] = 1.0
    near = np.array([1.0, 2.0 + 1e-12])
    for one, other in ((long, middle), (np.array([1.0, 2.0]), near)):
        assert repr(one) == repr(other)
        names = {specialised(template, closing_over(values)).__name__ for values in (one, other)}
        assert len(names) == 2
    same = {specialised(template, closing_over(np.array([1.0, 2.0]))).__name__ for _ in range(2)}
    assert len(same) == 1
