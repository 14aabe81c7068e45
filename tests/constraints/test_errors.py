"""Every refusal of `make_group` and `constraint`: the message names the value and the remedy."""

from __future__ import annotations

import re

import numpy as np
import pytest

import vivace as vv
from vivace.constraints import make_group

REST = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [2, 0, 0], [1, 1, 0]])


def refuses(message, *args, **options):
    with pytest.raises(vv.InputError, match=re.escape(message)) as error:
        make_group(*args, **options)
    return error.value


def test_unknown_constraint_suggests_the_nearest():
    error = refuses("unknown constraint 'sprin'; did you mean 'spring'", "sprin", REST, [[0, 1]], 1.0)
    assert isinstance(error, vv.UnknownNameError)
    refuses("'tet-strain'", "tet-strian", REST, [[0, 1, 2, 3]], 1.0)
    refuses("known: ", "xyzzy", REST, [[0, 1]], 1.0)


@pytest.mark.parametrize("pair", [[0, 7], [-1, 2], [100, 101]])
def test_index_out_of_range(pair):
    message = f"constraint 'spring': number 1 refers to vertices {pair}, but there are vertices 0 to 6 only"
    refuses(message, "spring", REST, [[0, 1], pair], 1.0)


def test_repeated_vertex():
    refuses("constraint 'spring': number 1 repeats a vertex: [2, 2]", "spring", REST, [[0, 1], [2, 2]], 1.0)
    refuses("number 0 repeats a vertex: [0, 1, 2, 1]", "tet-strain", REST, [[0, 1, 2, 1]], 1.0)


@pytest.mark.parametrize(
    ("vertices", "told"),
    [
        ([[0, 1, 2]], "not int64 of shape (1, 3)"),
        ([0, 1], "not int64 of shape (2,)"),
        ([[0.0, 1.0]], "not float64 of shape (1, 2)"),
        ([[True, False]], "not bool of shape (1, 2)"),
        (3, "not int64 of shape ()"),
    ],
)
def test_wrong_shape_or_type(vertices, told):
    refuses(f"constraint 'spring' needs whole-number vertices of shape (m, 2), {told}", "spring", REST, vertices, 1.0)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_stiffness_out_of_range(value):
    message = f"constraint 'spring': stiffness must be finite and not negative, not {value} N/m"
    refuses(message, "spring", REST, [[0, 1]], value)
    refuses(message, "spring", REST, [[0, 1], [1, 2]], [1.0, value])
    refuses(f"not {value} N·m", "hinge", REST, [[1, 2, 0, 6]], value)


@pytest.mark.parametrize("stiffness", [[1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]]])
def test_stiffness_of_the_wrong_length(stiffness):
    shape = np.shape(stiffness)
    message = f"constraint 'spring': stiffness must be one number or 2 numbers, not shape {shape}"
    refuses(message, "spring", REST, [[0, 1], [1, 2]], stiffness)


def test_unknown_option():
    refuses("constraint 'spring' has no option 'slack'; its options: scale", "spring", REST, [[0, 1]], 1.0, slack=2.0)
    refuses("constraint 'hinge' has no option 'a'; its options: none", "hinge", REST, [[1, 2, 0, 6]], 1.0, a=1)


def test_spring_of_no_length():
    refuses("spring 1 has no length at rest: its two vertices coincide", "spring", REST, [[0, 1], [0, 4]], 1.0)


@pytest.mark.parametrize("scale", [-0.5, float("nan"), float("inf")])
def test_spring_scale(scale):
    message = f"the scale of rest lengths must be finite and not negative, not {scale}"
    refuses(message, "spring", REST, [[0, 1]], 1.0, scale=scale)


@pytest.mark.parametrize("name", ["tet-strain", "tet-volume"])
def test_bad_tetrahedra(name):
    good = [0, 1, 2, 3]
    refuses("tetrahedron 1 is inverted at rest (volume -0.167 m³)", name, REST, [good, [0, 2, 1, 3]], 1.0)
    refuses("tetrahedron 1 is flat at rest (volume 0 m³)", name, REST, [good, [0, 1, 2, 6]], 1.0)
    assert len(make_group(name, 1e-6 * REST, [good], 1.0)) == 1  # small is not flat


@pytest.mark.parametrize("name", ["hinge", "curved-hinge"])
def test_hinge_on_a_triangle_without_area(name):
    message = "hinge 0 lies on a triangle without area; repair the mesh first"
    refuses(message, name, REST, [[0, 1, 5, 2]], 1.0)


def test_pin_target_must_be_finite():
    message = "constraint 'pin': its parameters are not finite at rest"
    refuses(message, "pin", REST, [0], 1.0, target=[[np.nan, 0, 0]])


@pytest.mark.parametrize("name", sorted(vv.CONSTRAINTS))
def test_no_constraints_are_no_error(name):
    """An empty list makes an empty group of the right shapes."""
    kind = vv.CONSTRAINTS[name]
    group = make_group(name, REST, [], 1.0)
    assert len(group) == 0
    assert group.vertices.shape == (0, kind.vertices)
    assert group.operator.shape == (0, kind.rows, kind.vertices)
    assert group.parameters.shape == (0, len(kind.parameters))
    assert group.weights.shape == (0,)


def test_groups_are_frozen_and_take_nothing_from_the_caller():
    pairs, stiffness = np.array([[0, 1], [1, 2]]), np.array([1.0, 2.0])
    group = make_group("spring", REST, pairs, stiffness)
    pairs[0], stiffness[0] = [5, 6], 9.0
    assert group.vertices[0].tolist() == [0, 1]
    assert group.weights[0] == 1.0
    for array in (group.vertices, group.operator, group.weights, group.parameters):
        assert not array.flags.writeable


def test_registering_checks_the_class():
    class Empty:
        pass

    class Half:
        @staticmethod
        def prepare(rest):
            return vv.Prepared(operator=[[1.0]])

    for cls, message in ((Empty, "has no prepare(rest, **options)"), (Half, "has no project(z, parameters, p)")):
        with pytest.raises(vv.InputError, match=re.escape(f"constraint 'of-a-test' {message}")):
            vv.constraint("of-a-test", vertices=1, rows=1)(cls)
    with pytest.raises(vv.InputError, match="vertices and rows must be at least 1, not 0 and 1"):
        vv.constraint("of-a-test", vertices=0, rows=1)
    with pytest.raises(vv.InputError, match="'spring' is registered already"):
        vv.constraint("spring", vertices=1, rows=1, role=vv.Role.QUADRATIC)(Half)
    assert "of-a-test" not in vv.CONSTRAINTS
