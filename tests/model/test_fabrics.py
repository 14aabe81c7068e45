"""Fabrics by name, and bodies made of them."""

from dataclasses import fields, replace

import numpy as np
import pytest

import vivace as vv
from vivace.errors import InputError, UnknownNameError
from vivace.model.fabrics import is_sheet, summary_of
from vivace.model.materials import Cloth
from vivace.scenes import load_scene, make_scene


@pytest.fixture(scope="module")
def hung():
    return vv.Model.of(vv.mesh.cloth(6, 6), Cloth(0.2, 1e4, 1e-4)).pin("top-corners")


@pytest.mark.parametrize("name", vv.FABRICS)
def test_each_is_a_material_with_all_its_values(name, hung):
    stuff = vv.fabric(name)
    others = ("bending", "crease", "hardening", "creep")
    assert all(getattr(stuff, item.name) > 0 for item in fields(stuff) if item.name not in others)
    assert (stuff.crease, stuff.hardening, stuff.creep) == (None, 0.0, 0.0)  # none is known to keep its folds
    assert summary_of(name)
    model = vv.Model.of(hung.mesh, stuff)
    assert model.masses.sum() == pytest.approx(stuff.density)  # a square metre
    assert model.groups[0].weights == pytest.approx(stuff.stretch)


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'denim'"):
        vv.fabric("demin")
    with pytest.raises(UnknownNameError, match="unknown fabric"):
        vv.fabric(3)


def test_made_of_is_what_a_model_of_that_fabric_is(hung):
    """Masses and weights are those of `Model.of`; pins stay as firm beside the springs as they were."""
    silk = vv.fabric("silk")
    made, fresh = vv.made_of(hung, silk), vv.Model.of(hung.mesh, silk).pin("top-corners")
    np.testing.assert_array_equal(made.masses, fresh.masses)
    assert [group.kind.name for group in made.groups] == [group.kind.name for group in fresh.groups]
    for mine, theirs in zip(made.groups, fresh.groups, strict=True):
        np.testing.assert_allclose(mine.weights, theirs.weights, rtol=1e-12)
    assert made.air == silk.damping
    assert hung.air == 0.0  # the first is as it was


def test_friction_and_the_distance_of_contacts(hung):
    touching = hung.collide([vv.collisions.Plane()], thickness=0.001, friction=0.1, itself=True)
    felt = vv.made_of(touching, vv.fabric("felt"))
    assert felt.collisions.friction == (0.7, 0.7)
    assert felt.collisions.thickness == 3e-3
    assert vv.made_of(touching, vv.fabric("silk")).collisions.thickness == 0.001  # thinner than the mesh can follow
    assert felt.collisions.itself


def test_the_angle_stays_the_kind_of_hinge(hung):
    bent = vv.Model.of(hung.mesh, Cloth(bending="dihedral"))
    assert [g.kind.name for g in vv.made_of(bent, vv.fabric("cotton")).groups] == ["spring", "dihedral"]


@pytest.mark.parametrize("scene", ["bar", "cube", "box"])
def test_what_is_no_sheet_is_refused(scene):
    small = {"resolution": 3}
    model = make_scene(scene, **small).model
    assert not is_sheet(model)
    with pytest.raises(InputError, match="no plain sheet"):
        vv.made_of(model, vv.fabric("silk"))


def test_only_fabrics(hung):
    with pytest.raises(InputError, match="a fabric is made by"):
        vv.made_of(hung, Cloth())


@pytest.mark.slow
def test_they_move_otherwise():
    """Held at two corners for half a second: rubber is longest; leather, which bends least of these two, curls less
    than silk does between its corners."""

    def after(name):
        sheet = vv.mesh.cloth(16, 16, plane="vertical")
        model = vv.made_of(vv.Model.of(sheet, Cloth()).pin("top-corners"), vv.fabric(name))
        sim = vv.Simulation(model, budget=vv.Budget(iterations=40), time_step=1 / 30, threads=1)
        for _ in range(15):
            sim.step()
        ends = sim.positions[sheet.edges]
        rest = np.linalg.norm(np.diff(sheet.vertices[sheet.edges], axis=1)[:, 0], axis=1)
        return float(np.abs(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1) / rest - 1).mean())

    stretched = {name: after(name) for name in ("silk", "denim", "rubber")}
    assert stretched["rubber"] > 2 * stretched["denim"]
    assert stretched["rubber"] > 2 * stretched["silk"]


def test_scene_files(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text('scene = "tablecloth"\nfabric = "denim"\nself_contact = true\n[parameters]\nresolution = 6\n')
    scene = load_scene(path)
    assert scene.model.masses.sum() == pytest.approx(vv.fabric("denim").density)
    assert scene.model.collisions.itself
    path.write_text('fabric = "denim"\n[mesh]\ngenerator = "cloth"\nnx = 5\nny = 5\n[world]\nstiffness = 2\n')
    assert load_scene(path).model.groups[0].weights == pytest.approx(2 * vv.fabric("denim").stretch)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('scene = "tablecloth"\nfabric = "demin"', "did you mean 'denim'"),
        ('scene = "bar"\nfabric = "denim"', "no plain sheet"),
        ('scene = "tablecloth"\nself_contact = 1', "self_contact"),
        ('fabric = "silk"\n[mesh]\ngenerator = "cloth"\n[material]\nkind = "cloth"', "have either fabric"),
    ],
)
def test_scene_files_say_what_is_wrong(tmp_path, text, message):
    path = tmp_path / "scene.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_scene(path)


def test_one_of_your_own(hung):
    @vv.FABRICS.register("test-tweed")
    def tweed():
        """Rough."""
        return vv.Fabric(density=0.35, stretch=8e3, bend=2e-5)

    try:
        assert vv.made_of(hung, vv.fabric("test-tweed")).masses.sum() == pytest.approx(0.35)
    finally:
        del vv.FABRICS._things["test-tweed"]
    assert replace(vv.fabric("silk"), density=0.1).density == 0.1
