"""`Model.collide(thickness={...})`: from names to vertices, what is refused, and what becomes of it later."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import vivace as vv
from vivace.collisions import Box, Collisions, Plane
from vivace.model import cut_model
from vivace.storage.values import pack, unpack

SHIRT, COAT, HAT = (vv.mesh.cloth(4, 4).transformed(translate=(2 * k, 0, 0)) for k in range(3))


@pytest.fixture(scope="module")
def dressed():
    return vv.Model.of([(one, vv.Cloth(0.2)) for one in (SHIRT, COAT, HAT)], names=["shirt", "coat", "hat"])


def each_of(model, thickness):
    settings = model.collide(thickness=thickness).collisions
    assert settings.thickness == settings.thicknesses.max()
    return settings.thicknesses


def test_by_parts(dressed):
    expected = np.repeat([0.002, 0.008, 0.001], 16)
    np.testing.assert_array_equal(each_of(dressed, {"shirt": 0.002, "coat": 0.008, "hat": 0.001}), expected)
    np.testing.assert_array_equal(each_of(dressed, {"hat": 0.001, "coat": 0.008, "else": 0.002}), expected)


def test_the_last_that_holds_counts(dressed):
    """As of friction by pairs; what is in no group has "else", wherever it stands."""
    both = each_of(dressed, {"else": 0.003, "coat": 0.008, "coat:top": 0.012})
    top = dressed.mesh.select("coat:top")
    assert (both[top] == 0.012).all()
    assert (each_of(dressed, {"coat:top": 0.012, "coat": 0.008, "else": 0.003})[top] == 0.008).all()
    assert (both[:16] == 0.003).all()


def test_fabrics_have_their_own(dressed):
    silk, felt = vv.fabric("silk"), vv.fabric("felt")
    each = each_of(dressed, {"shirt": silk, "coat": felt, "else": 0.002})
    np.testing.assert_array_equal(each, np.repeat([silk.thickness, felt.thickness, 0.002], 16))


def test_one_for_all_is_a_number(dressed):
    """Also as a table, so that what moves has the bits that a number gives."""
    for thickness in (0.006, {"else": 0.006}, {"shirt": 0.006, "else": 0.006}):
        settings = dressed.collide(thickness=thickness).collisions
        assert settings.thickness == 0.006
        assert settings.thicknesses is None
        np.testing.assert_array_equal(settings.per_vertex, [0.006])


@pytest.mark.parametrize(
    ("thickness", "message"),
    [
        (
            {"shirt": 0.002, "coat": 0.008},
            "16 of 48 vertices have no thickness, those of 'hat' for example; .*\"else\"",
        ),
        ({"shirt:top": 0.002, "coat": 0.008, "hat": 0.1}, "12 of 48 vertices have no thickness, "),
        ({}, "48 of 48 vertices have no thickness"),
        ({"shrit": 0.002, "else": 0.008}, "unknown group .*'shrit'; did you mean 'shirt'"),
        ({"shirt": 0.0, "else": 0.008}, "the thickness of 'shirt' must be positive .*not 0"),
        ({"shirt": -0.1, "else": 0.008}, "the thickness of 'shirt' must be positive .*not -0.1"),
        ({"shirt": np.nan, "else": 0.008}, "the thickness of 'shirt' must be positive .*not nan"),
        ({"shirt": 0.002, "else": np.inf}, "the thickness of 'else' must be positive .*not inf"),
        ({"shirt": "thin", "else": 0.008}, "the thickness of 'shirt' must be positive .*'thin'"),
        ({"shirt": True, "else": 0.008}, "the thickness of 'shirt' must be positive .*True"),
        ({"shirt": vv.Cloth(0.2), "else": 0.008}, "the thickness of 'shirt' must be positive .*Cloth"),
        ({"shirt": 1e9, "else": 0.008}, "the thickness of 'shirt'"),
        ({3: 0.002, "else": 0.008}, "thickness is by names of groups, .*not by 3"),
        ([0.002, 0.008], "the thickness of contacts must be positive"),
        (np.full(48, 0.002), "the thickness of contacts must be positive"),
        ("thin", "the thickness of contacts must be positive"),
    ],
)
def test_what_is_refused(dressed, thickness, message):
    with pytest.raises(vv.InputError, match=message):
        dressed.collide(thickness=thickness)
    assert dressed.collisions is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"thickness": 0.001}, "thickness must be the largest of thicknesses, 0.008 m, not 0.001"),
        ({"thicknesses": [0.008]}, "an array of one for each vertex"),
        ({"thicknesses": np.zeros((2, 2))}, "an array of one for each vertex"),
        ({"thicknesses": np.array([0.008, np.nan])}, "must be a positive length"),
        ({"thicknesses": np.array([0.008, -0.1])}, "must be a positive length"),
    ],
)
def test_settings_that_do_not_fit(dressed, change, message):
    settings = dressed.collide(thickness={"shirt": 0.002, "else": 0.008}).collisions
    with pytest.raises(vv.InputError, match=message):
        replace(settings, **change)


def test_settings_of_another_mesh_are_refused(dressed):
    settings = dressed.collide(thickness={"shirt": 0.002, "else": 0.008}).collisions
    with pytest.raises(vv.InputError, match=r"each of 48 vertices, and the mesh has 16; call Model.collide again"):
        replace(vv.Model.of(SHIRT), collisions=settings)


def test_made_of_a_fabric_keeps_at_least_its_thickness(dressed):
    felt = vv.fabric("felt")
    made = vv.made_of(dressed.collide(thickness={"shirt": 0.002, "else": 0.008}), felt).collisions
    np.testing.assert_array_equal(made.thicknesses, np.repeat([felt.thickness, 0.008, 0.008], 16))
    assert made.thickness == 0.008
    assert vv.made_of(dressed.collide(thickness={"shirt": 0.001, "else": 0.002}), felt).collisions.thickness == 0.003


def test_copies_that_a_cut_makes_are_as_thick(dressed):
    model = dressed.collide(thickness={"shirt": 0.002, "coat": 0.008, "hat": 0.001})
    made = cut_model(model, np.array([2.0, 5.0, 0.0]), np.array([[1.0, 0, 0.01], [3.0, 0, 0.01]]))
    assert made.model.n > model.n
    np.testing.assert_array_equal(made.model.collisions.thicknesses, model.collisions.thicknesses[made.parents])


def test_storage_keeps_it_and_reads_what_has_none(dressed):
    settings = dressed.collide([Plane()], thickness={"shirt": 0.002, "else": 0.008}).collisions
    about, arrays = pack(settings)
    back = unpack(about, arrays)
    np.testing.assert_array_equal(back.thicknesses, settings.thicknesses)
    assert back.thickness == 0.008
    about, arrays = pack(dressed.collide([Plane()], thickness=0.008).collisions)
    text = repr(about)
    assert "thicknesses" in text
    older = without(about, "thicknesses")
    assert "thicknesses" not in repr(older)
    old = unpack(older, arrays)
    assert isinstance(old, Collisions)
    assert (old.thickness, old.thicknesses) == (0.008, None)


def without(value, name):
    """A packed value as if its class had not had a field."""
    if isinstance(value, dict):
        return {key: without(one, name) for key, one in value.items() if key != name}
    return [without(one, name) for one in value] if isinstance(value, list) else value


def test_what_stands_may_be_exchanged(dressed):
    """As the live app does when something is moved or thrown in: thickness stays."""
    settings = dressed.collide([Plane()], thickness={"shirt": 0.002, "else": 0.008}).collisions
    other = replace(settings, colliders=(), bodies=(vv.Body(Box((0, -1, 0), (1, 0.1, 1))),))
    np.testing.assert_array_equal(other.thicknesses, settings.thicknesses)
