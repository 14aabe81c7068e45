"""Vertices attached to rigid bodies: weight, period, momentum, and bodies that carry what is attached to them."""

from __future__ import annotations

import numpy as np
import pytest

import vivace as vv
from vivace.collisions import Box, Plane, Sphere

G = 9.81


def string(direction=(0.0, -1.0, 0.0), n: int = 4) -> vv.mesh.Mesh:
    """A metre of string from the origin."""
    points = np.linspace(0, 1, n + 1)[:, None] * np.array(direction)
    return vv.mesh.Mesh.from_edges(points, np.column_stack([np.arange(n), np.arange(1, n + 1)]))


def hanging(mass: float, direction=(0.0, -1.0, 0.0), substeps: int = 2, stretch: float = 2e4, **options):
    """A ball whose middle is attached to the end of a light string that is pinned at the other."""
    body = string(direction)
    ball = vv.Body(Sphere(tuple(body.vertices[-1]), 0.1), mass=mass, name="ball")
    model = vv.Model.of(body, vv.Wire(density=0.002, stretch=stretch)).collide([ball], thickness=0.002, itself=False)
    model = model.pin([0]).attach([len(body.vertices) - 1], to="ball")
    return vv.Simulation(model, time_step=1 / 60, substeps=substeps, budget=vv.Budget(iterations=64), **options)


def flying(iterations: int = 64, threads: int | None = None) -> vv.Simulation:
    """A box that flies and spins, with a cloth attached to it by an edge, without gravity."""
    cloth = vv.mesh.cloth(10, 10, width=0.5, height=0.5, plane="horizontal")
    edge = cloth.select(lambda x: x[:, 0] > x[:, 0].max() - 1e-6)
    box = vv.Body(
        Box((0.31, 0, 0), (0.05, 0.05, 0.25)), mass=0.2, velocity=(0.5, -1.0, 0.3), spin=(0, 0, 2.0), name="box"
    )
    model = vv.Model.of(cloth, vv.Cloth(density=0.2, stretch=1e3, bend=1e-4), gravity=(0, 0, 0))
    model = model.collide([box], thickness=0.005, itself=False).attach(edge, to="box")
    budget = vv.Budget(iterations=iterations)
    return vv.Simulation(model, time_step=1 / 60, substeps=2, budget=budget, threads=threads)


def gaps(sim: vv.Simulation) -> np.ndarray:
    """How far attached vertices are from their places in the bodies, in m."""
    held = sim.bodies.attached
    return np.linalg.norm(held.places - sim.positions[held.vertices], axis=1)


def momentum(sim: vv.Simulation) -> np.ndarray:
    soft = (sim.model.masses[:, None] * sim.velocities).sum(axis=0)
    return soft + (sim.bodies.masses[:, None] * sim.bodies.velocities).sum(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("mass", [0.01, 1.0])
def test_what_hangs_pulls_with_its_weight(mass):
    """F = m g at the end of the string, which is longer by F ÷ k, k that of four springs in a row."""
    sim = hanging(mass)
    for _ in range(90):
        sim.step()
        assert gaps(sim).max() < 1e-3
    force = sim.bodies.attached.forces[0]
    assert -force[1] == pytest.approx(mass * G, rel=0.01)
    assert np.abs(force[[0, 2]]).max() < 0.01 * mass * G
    longer = (mass + 0.002 / 2) * G / (2e4 / 4)  # half of the string's own weight comes on top
    assert -sim.positions[-1, 1] - 1.0 == pytest.approx(longer, rel=0.02, abs=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["multigrid", "lbfgs(multigrid)", "newton-multigrid"])
def test_solvers_that_push_bodies_agree_on_the_weight(solver):
    sim = hanging(0.5, solver=solver)
    for _ in range(90):
        sim.step()
    assert -sim.bodies.attached.forces[0, 1] == pytest.approx(0.5 * G, rel=0.01)


@pytest.mark.slow
def test_a_pendulum_swings_with_its_period():
    """T = 2 π √(l/g) (1 + α²/16) at an amplitude α; implicit steps of h change it by about (ω h)², 7e-4 here."""
    angle = 0.1
    sim = hanging(1.0, (np.sin(angle), -np.cos(angle), 0.0), stretch=2e5)
    passed, before = [], sim.bodies.positions[0, 0]
    for _ in range(170):
        sim.step()
        now = sim.bodies.positions[0, 0]
        if before * now < 0:
            passed.append(sim.time - sim.time_step * now / (now - before))
        before = now
    period = 2 * np.mean(np.diff(passed))
    assert len(passed) >= 3
    assert period == pytest.approx(2 * np.pi * np.sqrt(1.0 / G) * (1 + angle**2 / 16), rel=0.004)
    assert gaps(sim).max() < 1e-4


@pytest.mark.slow
def test_a_free_body_and_a_free_cloth_keep_their_momentum():
    sim = flying()
    before, cloth = momentum(sim), sim.velocities.copy()
    for _ in range(40):
        sim.step()
        assert gaps(sim).max() < 1e-3
    assert np.linalg.norm(sim.velocities.mean(axis=0) - cloth.mean(axis=0)) > 0.3  # it is dragged along
    assert np.linalg.norm(momentum(sim) - before) < 0.01 * np.linalg.norm(before)


@pytest.mark.slow
@pytest.mark.parametrize("mass", [1e-3, 20.0])
@pytest.mark.parametrize("iterations", [4, 16])
def test_light_and_heavy_rods_hang_still_however_short_the_time_is(mass, iterations):
    """What holds a rod a thousandth or twenty thousand times as heavy as the edge it hangs on does not throw it."""
    cloth = vv.mesh.cloth(12, 12, width=0.5, height=0.5, plane="vertical")
    bottom = cloth.groups["bottom"]
    middle = cloth.vertices[bottom].mean(axis=0)
    rod = vv.Body(Box(tuple(middle - [0, 0.02, 0]), (0.25, 0.02, 0.02)), mass=mass)
    model = vv.Model.of(cloth, vv.Cloth(density=0.2, stretch=5e3, bend=1e-4), air=0.5)
    model = model.collide([rod], thickness=0.005, itself=False).pin("top").attach(bottom, to=0)
    sim = vv.Simulation(model, time_step=1 / 60, substeps=1, budget=vv.Budget(iterations=iterations))
    for _ in range(60):
        assert sim.step().finite
        assert np.abs(sim.bodies.velocities).max() < 1.5
        assert gaps(sim).max() < 5e-3


def path(time: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array([0.3 * np.sin(4 * time), 0.2 * time, 0.0]), np.array([0.0, 0.0, 1.5 * time])


def carried(solver: str, **how) -> tuple[vv.Simulation, np.ndarray]:
    """A cloth attached to a box by the vertices inside it."""
    cloth = vv.mesh.cloth(8, 8, width=0.4, height=0.4, plane="horizontal")
    inside = cloth.select(lambda x: x[:, 0] < x[:, 0].min() + 0.1)
    box = vv.Body(Box(tuple(cloth.vertices[inside].mean(axis=0)), (0.035, 0.01, 0.3)), name="box", **how)
    model = vv.Model.of(cloth, vv.Cloth(density=0.2, stretch=1e3)).collide([box], thickness=0.004, itself=False)
    model = model.attach(inside, to="box")
    return vv.Simulation(model, solver=solver, time_step=1 / 60, substeps=3, budget=vv.Budget(iterations=24)), inside


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "vivace", "newton", "newton-multigrid", "pbd", "pbd-vivace"])
def test_a_body_on_a_path_carries_what_is_attached_to_it(solver):
    """x = c(t) + R(t) (x₀ - c₀) at the end of every step, though the vertices are inside the body; a pin gives 1 mm."""
    sim, inside = carried(solver, path=path)
    rest, centre = sim.model.mesh.vertices[inside], sim.bodies.positions[0].copy()
    for frame in range(1, 16):
        report = sim.step()
        shift, (_, _, angle) = path(frame / 60)
        turned = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        places = centre + shift + (rest - centre) @ turned.T
        assert sim.targets == pytest.approx(places, abs=1e-6)
        assert sim.positions[inside] == pytest.approx(places, abs=1e-5 if solver.startswith("pbd") else 1e-3)
        assert not np.isin(report.touching, inside).any()


@pytest.mark.slow
def test_a_fixed_body_holds_like_a_pin():
    sim, inside = carried("auto", fixed=True)
    pinned = vv.Model.of(sim.model.mesh, vv.Cloth(density=0.2, stretch=1e3)).collide((), thickness=0.004, itself=False)
    other = vv.Simulation(
        pinned.pin(inside), solver="auto", time_step=1 / 60, substeps=3, budget=vv.Budget(iterations=24)
    )
    sim.model = sim.model.collide(sim.model.collisions.bodies, thickness=1e-4, itself=False)  # no other vertex near it
    for _ in range(10):
        sim.step(), other.step()
    assert sim.positions[inside] == pytest.approx(other.positions[inside], abs=1e-5)


@pytest.mark.slow
def test_the_same_bits_again_from_a_state_and_with_other_threads(tmp_path):
    sim, other = flying(16, threads=1), flying(16, threads=2)
    for _ in range(5):
        sim.step(), other.step()
    assert (sim.positions == other.positions).all()
    assert (sim.bodies.positions == other.bodies.positions).all()
    path = sim.state.save(tmp_path / "state.npz")
    for _ in range(4):
        sim.step()
    again = flying(16)
    again.state = vv.State.load(path)
    for _ in range(4):
        again.step()
    assert (sim.positions == again.positions).all()
    assert (sim.bodies.orientations == again.bodies.orientations).all()
    assert (sim.bodies.attached.forces == again.bodies.attached.forces).all()


@pytest.mark.slow
def test_what_is_grabbed_and_other_models_leave_attachments_as_they_are():
    """An attached vertex stays with its body, whoever grabs it; others are grabbed and let go as ever."""
    sim = flying(32)
    attached, free = int(sim.bodies.attached.vertices[0]), 0
    sim.grab([attached, free], sim.positions[[attached, free]] + 0.2)
    for _ in range(5):
        sim.step()
        assert gaps(sim).max() < 5e-3
    assert sim.positions[free] == pytest.approx(sim.targets[-1], abs=0.01)
    sim.release()
    forces = sim.bodies.attached.forces.copy()
    sim.time_step = 1 / 90
    sim.replace_model(sim.model.stiffened(2.0))
    assert (sim.bodies.attached.forces == forces).all()
    for _ in range(5):
        assert sim.step().finite
        assert gaps(sim).max() < 5e-3


def sheet() -> vv.Model:
    bodies = [vv.Body(Box((0, 0, 0), (0.1, 0.1, 0.1)), name="box"), vv.Body(Sphere((0, 1, 0), 0.1), name="ball")]
    return vv.Model.of(vv.mesh.cloth(5, 5)).collide([Plane((0, -2, 0)), *bodies], itself=False)


def test_what_cannot_be_attached_is_refused():
    model = sheet()
    for where, to, message in (
        ([0], "bax", "unknown rigid body 'bax'; did you mean 'box'"),
        ([0], "", "unknown rigid body ''; known: ball, box"),
        ([0], 2, "0 to 1, not 2"),
        ([0], -1, "0 to 1, not -1"),
        ([0], True, "0 to 1, not True"),
        ([0], None, "0 to 1, not None"),
        ([], "box", "selection is empty"),
        ("botom", "box", "bottom"),
        ([99], "box", "99"),
    ):
        with pytest.raises(vv.InputError, match=message):
            model.attach(where, to=to)
    with pytest.raises(vv.InputError, match="stiffness of an attachment must be positive, not -1"):
        model.attach([0], to="box", stiffness=-1)
    with pytest.raises(vv.InputError, match="no rigid bodies"):
        vv.Model.of(vv.mesh.cloth(5, 5)).attach([0], to="box")
    with pytest.raises(vv.InputError, match="name of a body must be text, not 3"):
        vv.Body(Sphere((0, 0, 0), 1), name=3)
    twins = model.collide([vv.Body(Sphere((0, k, 0), 0.1), name="twin") for k in range(2)])
    with pytest.raises(vv.InputError, match="2 bodies are called 'twin'; give the number of one, 0 to 1"):
        twins.attach([0], to="twin")


def test_a_vertex_is_held_once():
    model = sheet().attach([0, 1], to="box")
    with pytest.raises(vv.InputError, match=r"vertex 1 is attached to body 0 \('box'\) already"):
        model.attach([1, 2], to="ball")
    with pytest.raises(vv.InputError, match="vertex 2 is pinned; it cannot be attached to 'ball'"):
        model.pin([2]).attach([2], to="ball")
    with pytest.raises(vv.InputError, match=r"vertex 0 is attached to body 0 \('box'\) and would be held twice"):
        model.pin([0])
    with pytest.raises(vv.InputError, match="call collide before attach"):
        model.collide([Plane()])
    assert model.attachments[0].vertices.tolist() == [0, 1]
    assert model.pinned.tolist() == [0, 1]


def test_a_state_without_the_forces_of_what_is_attached_is_refused():
    model = sheet()
    with pytest.raises(vv.InputError, match="other pins"):
        vv.Simulation(model.attach([0], to="box")).state = vv.Simulation(model).state
    with pytest.raises(vv.InputError, match="forces of the 1 vertices attached"):
        vv.Simulation(model.attach([0], to="box")).state = vv.Simulation(model.pin([0])).state
