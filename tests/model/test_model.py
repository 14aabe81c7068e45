"""Models: frozen arrays, pins, and messages for what cannot be one."""

import dataclasses

import numpy as np
import pytest

from vivace import Cloth, InputError, Model, UnknownNameError, Wire, mesh
from vivace.mesh import Mesh


@pytest.fixture
def cloth() -> Model:
    return Model.of(mesh.cloth(4, 4))


def test_changes_make_new_models(cloth):
    pinned = cloth.pin("top-corners")
    assert pinned is not cloth
    assert len(cloth.pinned) == 0
    assert pinned.pinned.tolist() == [0, 3]
    np.testing.assert_array_equal(pinned.targets, cloth.mesh.vertices[[0, 3]])
    for array in (cloth.masses, cloth.gravity, cloth.groups[0].weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        cloth.air = 2.0


def test_arrays_of_the_caller_stay_writeable():
    """What is frozen is the model's copy."""
    gravity = np.array([0.0, -1.62, 0.0])
    model = Model.of(mesh.cloth(3, 3), gravity=gravity)
    gravity[1] = 0.0
    assert model.gravity[1] == -1.62
    masses = np.ones(9)
    model = Model(model.mesh, masses, model.groups, model.gravity)
    masses[0] = 7.0
    assert model.masses[0] == 1.0


def test_pins_default_to_thirty_times_the_stiffest_weight(cloth):
    """w = 30 max_c w_c ‖a‖² over the columns a of A_c."""
    stiffest = max(float((g.weights[:, None] * (g.operator**2).sum(axis=1)).max()) for g in cloth.groups)
    assert cloth.pin([5]).groups[-1].weights[0] == pytest.approx(30 * stiffest)
    again = cloth.pin([5]).pin([6])  # other pins do not count
    assert again.groups[-1].weights[0] == pytest.approx(30 * stiffest)
    assert cloth.pin([5], stiffness=12.0).groups[-1].weights[0] == 12.0


def test_pins_by_name_index_mask_and_function(cloth):
    assert cloth.pin("top").pinned.tolist() == [0, 1, 2, 3]
    assert cloth.pin(np.array([7, 2])).pinned.tolist() == [2, 7]
    assert cloth.pin(np.arange(16) > 13).pinned.tolist() == [14, 15]
    assert cloth.pin(lambda x: x[:, 0] < -0.4).pinned.tolist() == [0, 4, 8, 12]
    assert cloth.pin(3).pinned.tolist() == [3]


def test_one_target_serves_all_pins(cloth):
    np.testing.assert_array_equal(cloth.pin([1, 2], target=[1.0, 2.0, 3.0]).targets, [[1, 2, 3], [1, 2, 3]])


def test_targets_belong_to_the_vertices_as_given(cloth):
    """pin([7, 2], target=[a, b]) holds 7 at a and 2 at b."""
    model = cloth.pin([7, 2], target=[[7.0, 7.0, 7.0], [2.0, 2.0, 2.0]])
    held = dict(zip(model.pinned.tolist(), model.targets[:, 0].tolist(), strict=True))
    assert held == {7: 7.0, 2: 2.0}


def test_a_model_without_pins(cloth):
    assert len(cloth.pinned) == 0
    assert cloth.targets.shape == (0, 3)
    with pytest.raises(InputError, match="there is nothing to pin: the selection is empty"):
        cloth.pin([])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.pin("top").pin([1]), r"vertex 1 is pinned twice; move its target instead"),
        (lambda m: m.pin("topp"), r"unknown group of the mesh 'cloth': 'topp'; did you mean 'top'"),
        (lambda m: m.pin([99]), r"holds vertex 99, but vertices are numbered 0 to 15"),
        (lambda m: m.pin([-1]), r"holds vertex -1, but vertices are numbered 0 to 15"),
        (lambda m: m.pin([0.5]), r"whole vertex numbers \(integers\), not float64"),
        (
            lambda m: m.pin([0], stiffness=-1.0),
            r"a pin's stiffness must be positive, not -1.0 N/m",
        ),
        (
            lambda m: m.pin([0], stiffness=np.nan),
            r"a pin's stiffness must be positive, not nan",
        ),
        (lambda m: m.pin([0], target=[np.nan, 0, 0]), r"pin targets must be finite"),
        (lambda m: m.pin([0, 1], target=[[0, 0, 0]] * 3), r"target"),
        (lambda m: m.pin([0], target="here"), r"target"),
        (lambda m: m.constrain("sprng", [[0, 1]], 1.0), r"unknown constraint 'sprng'; did you mean 'spring'"),
        (lambda m: m.constrain("spring", [[0, 1]], -5.0), r"stiffness must be finite and not negative, not -5.0 N/m"),
        (
            lambda m: m.constrain("spring", [[0, 1]], [1.0, 2.0]),
            r"stiffness must be one number or 1 numbers, not shape",
        ),
        (
            lambda m: m.constrain("spring", [[0, 1, 2]], 1.0),
            r"needs whole-number vertices of shape \(m, 2\), not int64 of",
        ),
        (
            lambda m: m.constrain("spring", [[0, 16]], 1.0),
            r"refers to vertices \[0, 16\], but there are vertices 0 to 15",
        ),
        (lambda m: m.constrain("spring", [[4, 4]], 1.0), r"number 0 repeats a vertex: \[4, 4\]"),
        (lambda m: m.constrain("spring", [[0, 1]], 1.0, scal=2), r"has no option 'scal'; its options: scale"),
        (
            lambda m: m.constrain("spring", [[0, 1]], 1.0, scale=-2),
            r"scale of rest lengths must be finite and not negative",
        ),
    ],
)
def test_bad_constraints_say_what_is_wrong(cloth, change, message):
    with pytest.raises(InputError, match=message):
        change(cloth)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gravity": (0, 1)}, r"gravity must be three finite numbers in m/s², not \[0.0, 1.0\]"),
        ({"gravity": (0, np.inf, 0)}, r"gravity must be three finite numbers"),
        ({"gravity": "down"}, r"gravity must be three finite numbers"),
        ({"air": -1.0}, r"air damping must be finite and not negative, not -1.0 1/s"),
        ({"air": np.nan}, r"air damping must be finite and not negative, not nan 1/s"),
        ({"air": "thick"}, r"air damping must be finite and not negative, not"),
        ({"viscosity": -0.1}, r"viscosity damping must be finite and not negative, not -0.1 s"),
        ({"viscosity": np.inf}, r"viscosity damping must be finite and not negative, not inf s"),
    ],
)
def test_bad_worlds_say_what_is_wrong(changes, message):
    with pytest.raises(InputError, match=message):
        Model.of(mesh.cloth(3, 3), **changes)


def test_bad_masses_say_which():
    model = Model.of(mesh.cloth(3, 3))
    for bad in (0.0, -1.0, np.nan, np.inf):
        masses = np.ones(9)
        masses[[4, 6]] = bad
        with pytest.raises(InputError, match=rf"positive, finite mass; vertex 4 has {bad} kg \(2 such vertices\)"):
            Model(model.mesh, masses, model.groups, model.gravity.copy())
    with pytest.raises(InputError, match=r"masses must have shape \(9,\), not \(8,\)"):
        Model(model.mesh, np.ones(8), model.groups, model.gravity.copy())


def test_unknown_names_are_input_errors():
    assert issubclass(UnknownNameError, InputError)
    assert issubclass(InputError, ValueError)


def test_default_material_by_mesh():
    wire = Mesh.from_edges([[0.0, 0, 0], [1.0, 0, 0]], [[0, 1]])
    kinds = [[g.kind.name for g in Model.of(m).groups] for m in (mesh.cloth(3, 3), mesh.cube(2), wire)]
    assert kinds == [["spring", "hinge"], ["tet-strain"], ["spring"]]
    assert Model.of(wire, Wire(density=2.0)).masses.tolist() == [1.0, 1.0]
    assert Model.of(mesh.cloth(3, 3), Cloth(density=3.0)).masses.sum() == pytest.approx(3.0)


@pytest.mark.parametrize("factor", [0.01, 0.5, 2, 1e3])
def test_stiffened(cloth, factor):
    """Weights times the factor, and nothing else; pins too if they become stiffer, so that firm / w stays 30."""
    model = cloth.pin("top").collide([])
    other = model.stiffened(factor)
    assert (other.mesh, other.collisions) == (model.mesh, model.collisions)
    np.testing.assert_array_equal(other.masses, model.masses)
    for mine, theirs in zip(other.groups, model.groups, strict=True):
        by = max(factor, 1) if mine.kind.name == "pin" else factor
        np.testing.assert_array_equal(mine.weights, by * theirs.weights)
        assert mine.vertices is theirs.vertices
        assert mine.operator is theirs.operator
        assert not mine.weights.flags.writeable
    assert other.pin_stiffness == pytest.approx(factor * model.pin_stiffness, rel=1e-12)
    assert other.groups[-1].weights[0] >= 0.999 * other.pin_stiffness


def test_stiffened_by_one_is_itself(cloth):
    assert cloth.stiffened(1) is cloth


@pytest.mark.parametrize("factor", [0, -1, np.nan, np.inf, "2", None, True, 1e308])
def test_bad_factors_are_refused(cloth, factor):
    with pytest.raises(InputError, match=r"positive, finite factor|beyond what float64 holds"):
        cloth.stiffened(factor)
