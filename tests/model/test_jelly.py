"""Jelly, and cloth that bends by the angle: which constraints they make."""

from __future__ import annotations

import re

import pytest

import vivace as vv
from vivace.model.materials import MATERIALS


def names(model):
    return [group.kind.name for group in model.groups]


def test_jelly_has_springs_volumes_and_if_asked_bending():
    """A spring for each edge, a volume for each tetrahedron, an angle for each hinge of the surface; ρ V of mass."""
    cube = vv.mesh.cube(3, side=0.5)
    model = vv.Model.of(cube, vv.Jelly(density=900.0))
    assert names(model) == ["spring", "volume"]
    assert [len(group) for group in model.groups] == [len(cube.edges), len(cube.tets)]
    assert model.masses.sum() == pytest.approx(900 * 0.125, rel=1e-12)
    bent = vv.Model.of(cube, vv.Jelly(bend=1.0))
    assert names(bent) == ["spring", "dihedral", "volume"]
    assert len(bent.groups[1]) == len(cube.hinges)
    assert names(vv.Model.of(cube, vv.Jelly(bend=1.0, bending="isometric"))) == ["spring", "curved-hinge", "volume"]
    assert names(vv.Model.of(cube, vv.Jelly(volume=0.0))) == ["spring"]
    assert MATERIALS["jelly"] is vv.Jelly


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"density": 0.0}, "Jelly: density must be positive, not 0.0"),
        ({"stretch": 0.0}, "Jelly: stretch must be positive, not 0.0"),
        ({"volume": -1.0}, "Jelly: volume must be zero or positive, not -1.0"),
        ({"bend": float("nan")}, "Jelly: bend must be a finite number, not nan"),
        ({"stretch": "hard"}, "Jelly: stretch must be a finite number, not 'hard'"),
        ({"bending": "dihedrals"}, "unknown bending 'dihedrals'; did you mean 'dihedral'?"),
    ],
)
def test_jelly_refuses(options, message):
    with pytest.raises(vv.InputError, match=re.escape(message)):
        vv.Jelly(**options)


def test_jelly_needs_tetrahedra():
    with pytest.raises(vv.InputError, match=r"jelly needs tetrahedra, and mesh .* has none"):
        vv.Model.of(vv.mesh.cloth(3, 3), vv.Jelly())


def test_cloth_bends_by_the_angle_if_asked():
    cloth = vv.mesh.cloth(4, 4)
    model = vv.Model.of(cloth, vv.Cloth(bending="dihedral"))
    assert names(model) == ["spring", "dihedral"]
    assert len(model.groups[1]) == len(cloth.hinges)
    assert names(vv.Model.of(cloth, vv.Cloth())) == ["spring", "hinge"]
    assert names(vv.Model.of(cloth, vv.Cloth(bend=0.0, bending="dihedral"))) == ["spring"]
    with pytest.raises(vv.UnknownNameError, match="unknown bending 'isometrik'; did you mean 'isometric'"):
        vv.Cloth(bending="isometrik")
    with pytest.raises(vv.UnknownNameError, match="unknown bending 'xyz'; known: dihedral, isometric"):
        vv.Cloth(bending="xyz")
