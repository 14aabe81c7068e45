"""Several bodies in one model: what they are made of stays, names lead to their vertices, pairs have their friction."""

from __future__ import annotations

import numpy as np
import pytest

import vivace as vv
from vivace.collisions import Plane
from vivace.pictures.palette import body_colours

SILK, FELT = vv.mesh.cloth(5, 5), vv.mesh.cloth(4, 6, irregular=True).transformed(translate=(2, 0, 0))
BLOCK = vv.mesh.cube(2).transformed(translate=(0, 3, 0))


@pytest.fixture
def three():
    parts = [(SILK, vv.Cloth(stretch=500.0)), (FELT, vv.Sheet(stretch=80.0)), (BLOCK, vv.Solid())]
    return vv.Model.of(parts, names=["silk", "felt", "block"], air=0.2)


def test_parts_keep_their_masses_constraints_and_groups(three):
    alone = [vv.Model.of(SILK, vv.Cloth(stretch=500.0)), vv.Model.of(FELT, vv.Sheet(stretch=80.0)), vv.Model.of(BLOCK)]
    np.testing.assert_array_equal(three.masses, np.concatenate([model.masses for model in alone]))
    first = {"spring": 0, "hinge": 0, "membrane": 25, "plate": 25, "tet-strain": 49}
    of = {group.kind.name: group for model in alone for group in model.groups}
    assert [group.kind.name for group in three.groups] == list(first)
    for group in three.groups:
        np.testing.assert_array_equal(group.vertices, of[group.kind.name].vertices + first[group.kind.name])
        np.testing.assert_array_equal(group.weights, of[group.kind.name].weights)
    np.testing.assert_array_equal(three.mesh.select("felt:top"), FELT.groups["top"] + 25)
    np.testing.assert_array_equal(three.mesh.select("block"), np.arange(49, 49 + BLOCK.n_vertices))
    assert len(three.mesh.edges) == sum(len(mesh.edges) for mesh in (SILK, FELT, BLOCK))
    assert three.air == 0.2


def test_every_part_has_its_own_colour(three):
    colours = body_colours(three.mesh.groups, three.n, (0.1, 0.2, 0.3))
    assert len({tuple(colours[three.mesh.groups[name][0]]) for name in ("silk", "felt", "block")}) == 3


@pytest.mark.slow
def test_pins_of_parts_come_along_and_the_parts_move_as_they_would_alone():
    """What does not touch moves as alone; in one model, only rounding of other sums may differ."""
    parts = [vv.Model.of(SILK, vv.Sheet()).pin("top"), vv.Model.of(FELT, vv.Sheet(stretch=300.0)).pin("left")]
    whole = vv.Model.join(parts, names=["a", "b"])
    np.testing.assert_array_equal(whole.pinned, np.concatenate([SILK.groups["top"], 25 + FELT.groups["left"]]))
    ends = []
    for model in (*parts, whole):
        sim = vv.Simulation(model, solver="newton", budget=vv.Budget(iterations=6), time_step=0.02, substeps=1)
        for _ in range(4):
            sim.step()
        ends.append(np.array(sim.positions))
    np.testing.assert_allclose(ends[2], np.concatenate(ends[:2]), atol=2e-5)


@pytest.mark.slow
def test_hyperelastic_parts_are_on_their_own_vertices():
    alone = vv.Model.of(BLOCK, vv.neo_hookean())
    whole = vv.Model.join([vv.Model.of(SILK), alone])
    q = np.concatenate([SILK.vertices, BLOCK.vertices * [1.1, 0.9, 1.0]])
    (term,), (own,) = whole.terms, alone.terms
    assert term.energy(q, None) == pytest.approx(own.energy(q[25:], None), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "pbd-coloured"])
def test_friction_by_pairs(solver):
    """On a slope of 31°, what has a coefficient below 0.6 slides down, and what has more stays."""
    slope = Plane((0, -0.01, 0), (0.6, 1, 0))
    turn = (0, 0, -np.arctan(0.6))
    meshes = [mesh.transformed(rotate=turn) for mesh in (SILK, SILK.transformed(translate=(0, 0, 2)))]
    model = vv.Model.of([(mesh, vv.Cloth(stretch=1e3)) for mesh in meshes], names=["slides", "sticks"])
    between = [("slides", slope, 0.1), (0, "sticks", (1.2, 1.0))]
    model = model.collide([slope], thickness=0.01, friction=0.6, itself=False, between=between)
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=16), time_step=1 / 60)
    for _ in range(30):
        sim.step()
    way = np.linalg.norm(sim.positions - model.mesh.vertices, axis=1)
    # s = g t² (sin α - μ cos α)/2 in half a second, less where it is not yet on the slope
    expected = 0.5 * 9.81 * 0.25 * (np.sin(np.arctan(0.6)) - 0.1 * np.cos(np.arctan(0.6)))
    assert way[model.mesh.groups["slides"]].mean() == pytest.approx(expected, rel=0.1)
    assert way[model.mesh.groups["sticks"]].mean() < 0.02


def test_friction_between_surfaces(three):
    """A contact of two surfaces has what is said of the two, in either order; others have that of all."""
    from vivace.collisions.contacts import ContactList
    from vivace.collisions.pairing import Pairing

    settings = three.collide(between=[("silk", "felt", 0.7)]).collisions
    vertices = np.array([[0, 30, 31, 32], [30, 0, 1, 2], [0, 1, 30, 31], [0, 5, 6, 7], [0, 50, 51, 52]], np.int32)
    friction = np.full((5, 2), 0.3, np.float32)
    contacts = ContactList(vertices, np.zeros((5, 4)), np.zeros((5, 4)), friction, np.arange(5))
    Pairing(three.n, settings.between).of_surfaces(contacts)
    np.testing.assert_allclose(contacts.friction[:, 0], [0.7, 0.7, 0.7, 0.3, 0.3], rtol=1e-6)


@pytest.mark.slow
def test_a_joined_model_is_in_checkpoints(tmp_path, three):
    """Materials, names and friction by pairs: the steps that follow are the same, bit for bit."""
    floor = Plane((0, -0.02, 0))
    model = three.collide([floor], itself=False, between=[("felt", floor, 0.9), ("silk", "felt", 0.1)])
    sim = vv.Simulation(model, budget=vv.Budget(iterations=8))
    sim.step()
    sim.save(tmp_path / "run.vivace")
    other = vv.load(tmp_path / "run.vivace")
    for _ in range(3):
        sim.step()
        other.step()
    np.testing.assert_array_equal(sim.positions, other.positions)
    assert [row.friction for row in other.model.collisions.between] == [(0.9, 0.9), (0.1, 0.1)]


SCENE = """
[[parts]]
name = "shirt"
mesh = { generator = "cloth", nx = 4, ny = 4 }
material = { kind = "sheet", stretch = 500.0, weft = 200.0 }
[[parts]]
name = "belt"
mesh = { generator = "cloth", nx = 3, ny = 3, translate = [0, 1, 0] }
[pins]
where = "shirt:top"
[collisions]
friction = 0.3
between = [["shirt", "belt", 0.8], ["belt", 0, 0.1]]
[[collisions.colliders]]
kind = "plane"
"""


def test_parts_in_scene_files(tmp_path):
    file = tmp_path / "scene.toml"
    file.write_text(SCENE)
    model = vv.load_scene(file).model
    assert [group.kind.name for group in model.groups] == ["membrane", "plate", "spring", "hinge", "pin"]
    np.testing.assert_array_equal(model.pinned, model.mesh.groups["shirt:top"])
    assert [(row.number, row.friction[0]) for row in model.collisions.between] == [(-1, 0.8), (0, 0.1)]
    file.write_text(SCENE + "[mesh]\ngenerator = 'cloth'\n")
    with pytest.raises(vv.InputError, match="either"):
        vv.load_scene(file)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: vv.Model.join([]), "nothing to join"),
        (lambda: vv.Model.join([SILK]), "only models can be joined"),
        (lambda: vv.Model.of([SILK, FELT], names=["a"]), "2 parts and 1 names"),
        (lambda: vv.Model.of([SILK, FELT], names=["a", "a"]), "stands for another part"),
        (lambda: vv.Model.of([SILK, FELT], names=["a:b", "c"]), "without a colon"),
        (lambda: vv.Model.of(SILK, names=["a"]), "for several meshes"),
        (lambda: vv.Model.join([vv.Model.of(SILK).collide([Plane()])]), "collisions of its own"),
        (lambda: vv.Model.join([vv.Model.of(SILK), vv.Model.of(FELT, air=1.0)]), "one for all"),
        (lambda: vv.Model.of(SILK).collide([Plane()], between=[("left", 3, 0.1)]), "collider 3"),
        (lambda: vv.Model.of(SILK).collide([Plane()], between=[("left", 0)]), "one, other, friction"),
        (lambda: vv.Model.of(SILK).collide([Plane()], between=[("left", Plane(), 0.1)]), "neither a group"),
        (lambda: vv.Model.of(SILK).collide([Plane()], between=[("west", 0, 0.1)]), "west"),
    ],
)
def test_bad_parts_are_refused(make, said):
    with pytest.raises(vv.InputError, match=said):
        make()
