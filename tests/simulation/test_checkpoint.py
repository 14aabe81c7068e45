"""A checkpoint is a whole simulation: what `vivace.load` makes of it goes on with the same bits."""

import json
import warnings
import zipfile

import numpy as np
import pytest

import golden
import vivace as vv
from simulation.test_state import go_on, simulation
from vivace.collisions import Box, Plane, Sphere
from vivace.rigid.paths import Keyframes
from vivace.simulation import checkpoint

FRAMES = 8


def rewritten(path, **changes):
    """The same file with other values on the first level of its text."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    about = json.loads(members["about.json"]) | changes
    members["about.json"] = json.dumps(about).encode()
    with zipfile.ZipFile(path, "w") as new:
        for name, data in members.items():
            new.writestr(name, data)
    return path


def cloth(**options):
    model = vv.Model.of(vv.mesh.cloth(7, 7), vv.Cloth(stretch=1e3), air=0.3).pin("top-corners")
    return vv.Simulation(model, budget=vv.Budget(iterations=4), time_step=1 / 60, **options)


WAYS = [
    ("tablecloth", "auto"),
    ("tablecloth", "grab"),
    ("fold", "auto"),
    ("tablecloth", "bdf2"),
    ("fold", "pbd-vivace"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("scene", "solver"), [case for case in WAYS if case in set(golden.cases())])
def test_the_same_bits(scene, solver, tmp_path):
    """Positions and velocities after FRAMES more steps, of the simulation itself and of what was loaded."""
    sim, set_before = simulation(scene, solver)
    go_on(sim, set_before, 0, 5)
    again = vv.load(sim.save(tmp_path / "x.vivace"), threads=2)
    assert (again.time, again.frames, again.solver.name) == (sim.time, sim.frames, sim.solver.name)
    assert go_on(again, set_before, 5, FRAMES) == go_on(sim, set_before, 5, FRAMES)


def test_settings_come_back(tmp_path):
    sim = cloth(solver=("chebyshev", {"inner": "jacobi:omega=0.7", "rho": 0.9}), substeps=2, seed=5, guess="position")
    sim.gravity, sim.wind = (0, -3, 0), (1, 0, 0)
    again = vv.load(sim.save(tmp_path / "x.vivace"))
    assert (again.solver.name, again.solver.rho, again.solver.inner) == (sim.solver.name, 0.9, "jacobi:omega=0.7")
    assert (again.substeps, again.seed, again.guess, again.budget) == (2, 5, "position", sim.budget)
    np.testing.assert_array_equal(again.gravity, [0, -3, 0])
    np.testing.assert_array_equal(again.wind, [1, 0, 0])
    assert dict(again.model.mesh.groups).keys() == dict(sim.model.mesh.groups).keys()


def test_time_rounds_as_it_would_have(tmp_path):
    """t = seconds + k h from the same beginning: not once more from each checkpoint."""
    sim = cloth(solver="gauss-seidel")
    for _ in range(7):
        sim.step()
    again = vv.load(sim.save(tmp_path / "x.vivace"))
    for _ in range(5):
        sim.step(), again.step()
        assert again.time == sim.time


@pytest.mark.slow
def test_rigid_bodies_among_soft_ones(tmp_path):
    """Free, moved and attached bodies, hyperelastic terms: all of it is data."""
    bar = vv.mesh.bar(4, 2, 2).transformed(translate=(0, 0.3, 0))
    path = Keyframes([0, 1], shifts=[[0, 0, 0], [0.1, 0, 0]])
    bodies = [vv.Body(Box((0, 0.9, 0), (0.1, 0.1, 0.1)), mass=0.5, name="box"), vv.Body(Plane(), path=path)]
    model = vv.Model.of(bar, vv.neo_hookean(young=2e5)).collide(bodies).attach([0], to="box").stiffened(1.5)
    sim = vv.Simulation(model, budget=vv.Budget(iterations=4), time_step=1 / 60)
    for _ in range(4):
        sim.step()
    again = vv.load(sim.save(tmp_path / "x.vivace"))
    assert again.model.attachments[0].body is again.model.collisions.bodies[0]
    for _ in range(4):
        sim.step(), again.step()
    assert again.positions.tobytes() == sim.positions.tobytes()
    assert again.bodies.positions.tobytes() == sim.bodies.positions.tobytes()


@pytest.mark.slow
def test_rigid_simulations(tmp_path):
    boxes = [vv.Body(Box((0.01 * k, 0.1 + 0.21 * k, 0), (0.1, 0.1, 0.1))) for k in range(3)]
    sim = vv.RigidSimulation([vv.Body(Plane((0, 0, 0), (0.1, 1, 0)), fixed=True), *boxes], solver="coloured:omega=1.1")
    for _ in range(6):
        sim.step()
    sim.grab(2, sim.positions[2], (0.3, 0.5, 0))
    again = vv.load(sim.save(tmp_path / "x.vivace"))
    assert isinstance(again, vv.RigidSimulation)
    assert again.solver.omega == 1.1
    for _ in range(6):
        sim.step(), again.step()
    assert again.positions.tobytes() == sim.positions.tobytes()
    assert again.orientations.tobytes() == sim.orientations.tobytes()
    again.reset()
    np.testing.assert_array_equal(again.positions[1], [0, 0.1, 0])


# --- what is one's own ------------------------------------------------------------------------------------------------


def test_a_constraint_of_ones_own_must_be_registered(tmp_path, monkeypatch):
    sim = cloth(solver="gauss-seidel")
    path = sim.save(tmp_path / "x.vivace")
    from vivace.constraints import CONSTRAINTS

    monkeypatch.delitem(CONSTRAINTS._things, "hinge")
    with pytest.raises(
        vv.FileError, match=r"constraints of the type 'hinge', which is not registered here; import the"
    ):
        vv.load(path)


def test_a_type_that_has_changed_since(tmp_path, monkeypatch):
    from dataclasses import replace

    from vivace.constraints import CONSTRAINTS

    path = cloth(solver="gauss-seidel").save(tmp_path / "x.vivace")
    monkeypatch.setitem(CONSTRAINTS._things, "hinge", replace(CONSTRAINTS["hinge"], parameters=("a", "b", "c")))
    with pytest.raises(vv.FileError, match="the type may have changed since they were stored"):
        vv.load(path)


def test_a_solver_without_a_name_and_a_term_that_is_no_data(tmp_path):
    class Mine(type(vv.SOLVERS["gauss-seidel"]())):
        pass

    with pytest.raises(vv.InputError, match="the solver Mine has no name that a file could tell"):
        cloth(solver=Mine()).save(tmp_path / "x.vivace")

    class Well(vv.ElementTerm):
        def __init__(self):
            super().__init__([[0]])

        def energies(self, x):
            return 0.5 * (x**2).sum(axis=(1, 2))

        def gradients(self, x):
            return x

    model = cloth(solver="newton").model.add(Well())
    with pytest.raises(vv.InputError, match=r"model.terms\[0\] is .*Well, which cannot be stored"):
        vv.Simulation(model, solver="newton").save(tmp_path / "x.vivace")
    assert list(tmp_path.iterdir()) == []


# --- versions and damage ----------------------------------------------------------------------------------------------


def test_versions(tmp_path, monkeypatch):
    path = cloth(solver="gauss-seidel").save(tmp_path / "x.vivace")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vv.load(path)
    rewritten(path, vivace="0.0.9")
    with pytest.warns(UserWarning, match="perhaps not with the same bits; it was written by version 0.0.9"):
        vv.load(path)
    monkeypatch.setitem(checkpoint.CHANGES, 1, "contacts have another form")
    with pytest.raises(
        vv.FileError, match=r"version 0\.0\.9 wrote it in format 1; since then contacts have another form"
    ):
        vv.load(path)
    with pytest.raises(vv.FileError, match=r"in format 99, and this version.*reads formats up to 1; update it"):
        vv.load(rewritten(path, format=99))
    with pytest.raises(vv.FileError, match="it is no checkpoint"):
        vv.load(rewritten(path, file="something else"))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("positions", np.full((49, 3), np.nan), "finite"),
        ("positions", np.zeros((48, 3)), "vertices"),
        ("grabbed", np.array([49]), "numbers of vertices from 0 to 48"),
        ("last_pinned", np.array([-1]), "numbers of vertices from 0 to 48"),
        ("gravity", np.zeros(2), "gravity"),
        ("targets", np.zeros((5, 3)), "as many places"),
        ("frames", -1, "number of seconds and of frames"),
        ("memory", {}, "do not fit each other"),
    ],
)
def test_a_state_that_does_not_fit(tmp_path, name, value, message):
    sim = cloth(solver="gauss-seidel")
    state = sim.state
    setattr(state, name, value)
    path = checkpoint.write_checkpoint(tmp_path / "x.vivace", "soft", sim.as_data(), state)
    with pytest.raises(vv.FileError, match=message):
        vv.load(path)


def test_contacts_that_do_not_fit(tmp_path):
    """What compiled code would read beyond its arrays is refused: keys without forces, colours of nobody."""
    model = vv.Model.of(vv.mesh.cloth(5, 5)).collide([Sphere((0, -0.2, 0), 0.2)])
    for solver, spoil in (
        ("multigrid", {"solver.contacts.keys": np.arange(5)}),
        ("pbd-vivace", {"solver.colours": np.full(25, 10**6, np.int32)}),
    ):
        sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=2))
        sim.step()
        state = sim.state
        state.memory = {**state.memory, **spoil}
        assert all(name in sim.state.memory for name in spoil)
        path = checkpoint.write_checkpoint(tmp_path / "x.vivace", "soft", sim.as_data(), state)
        with pytest.raises(vv.FileError, match="the state's"):
            vv.load(path)


def test_constraints_beyond_the_mesh(tmp_path):
    sim = cloth(solver="gauss-seidel")
    data = sim.as_data()
    group = data["model"].groups[0]
    spoiled = group.vertices.copy()
    spoiled[0, 0] = 10**6
    object.__setattr__(group, "vertices", spoiled)
    path = checkpoint.write_checkpoint(tmp_path / "x.vivace", "soft", data, sim.state)
    with pytest.raises(vv.FileError, match="name vertices beyond its 49"):
        vv.load(path)
