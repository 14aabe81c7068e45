"""BDF2 against closed forms, its order of accuracy, and its promise: no energy out of nothing, whatever the solver."""

import json
from itertools import pairwise

import numpy as np
import pytest

from vivace import (
    Budget,
    Cloth,
    InputError,
    Model,
    Simulation,
    Solid,
    UnknownNameError,
    Wire,
    mesh,
)
from vivace.cli import main
from vivace.collisions.colliders import Plane
from vivace.mesh import Mesh
from vivace.scenes import load_scene, make_scene

G = 9.81
CONVERGED = Budget(iterations=20, tolerance=1e-9)  # of the residual at the start: what is left is rounding


def energy(sim):
    """T + U + pins + gravity's potential (J), in float64."""
    q, v, m = sim.positions.astype(float), sim.velocities.astype(float), sim.model.masses
    total = sim.system.potential(q) + 0.5 * float(m @ (v * v).sum(axis=1)) - float(m @ (q @ sim.gravity))
    for group in sim.system.pins:
        total += 0.5 * float(group.weights @ ((q[group.vertices[:, 0]] - sim.targets) ** 2).sum(axis=1))
    return total


def kinetic(sim):
    return 0.5 * float(sim.model.masses @ (sim.velocities.astype(float) ** 2).sum(axis=1))


def spinning(**options):
    """A free cloth that turns about a slanted axis."""
    sim = Simulation(Model.of(mesh.cloth(12, 12), Cloth(), gravity=(0, 0, 0)), integrator="bdf2", **options)
    sim.velocities = 3.0 * np.cross([0.3, 1.0, 2.0], sim.positions - sim.positions.mean(axis=0))
    return sim


def released(**options):
    """A bar that was 30 % longer a moment ago."""
    sim = Simulation(Model.of(mesh.bar(11, 3, 3), Solid(), gravity=(0, 0, 0)), integrator="bdf2", **options)
    sim.positions = sim.positions * [1.3, 1.0, 1.0]
    return sim


def swinging(**options):
    """A level cloth, let go of but for two corners."""
    model = Model.of(mesh.cloth(12, 12, plane="horizontal"), Cloth()).pin([0, 11])
    return Simulation(model, integrator="bdf2", **options)


ROUGH = ["auto", "vivace", "jacobi", "pbd-coloured"]
STEPS = [(1, 1, 1 / 30), (2, 1, 1 / 30), (3, 1, 1 / 100), (4, 4, 1 / 30), (16, 2, 1 / 15)]
QUICK = [("auto", STEPS[0]), ("auto", STEPS[3]), ("vivace", STEPS[1]), ("jacobi", STEPS[2])]
OTHERS = [(solver, steps) for solver in ROUGH for steps in STEPS if (solver, steps) not in QUICK]
OTHERS.append(("newton", STEPS[0]))  # in float64, and ten times as slow as all others


@pytest.mark.slow
@pytest.mark.parametrize("start", [spinning, released, swinging])
@pytest.mark.parametrize(("solver", "steps"), [*QUICK, *(pytest.param(*o, marks=pytest.mark.slow) for o in OTHERS)])
def test_it_never_gains_energy(start, solver, steps):
    """E_n <= E_0, and E_n <= E_k + LENT max T for all k < n; rounding may add SLACK = 1e-6 of the energy."""
    iterations, substeps, h = steps
    sim = start(solver=solver, budget=Budget(iterations=iterations), substeps=substeps, time_step=h)
    energies, moving = [energy(sim)], [kinetic(sim)]
    stored = 1e-3 if energies[0] < 1e-3 else energies[0]  # the swinging cloth has nothing but what it will fall
    for _ in range(30 if solver == "newton" else 120):
        sim.step()
        energies.append(energy(sim))
        moving.append(kinetic(sim))
    e, least = np.array(energies), np.minimum.accumulate(energies)
    assert np.isfinite(e).all()
    assert (e <= e[0] + 1e-5 * max(stored, max(moving))).all()
    fastest = max(moving) if substeps == 1 else max(stored, *moving)  # between frames it may be more than at their ends
    assert (e[1:] <= least[:-1] + 0.011 * fastest + 1e-5 * stored).all()


def oscillator(h, integrator, substeps=1):
    """Distance from 0.1 cos ωt after 0.8 s: two vertices on a spring, drawn apart by 0.1 m."""
    wire = Mesh.from_edges([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]], [[0, 1]])
    model = Model.of(wire, Wire(density=0.4, stretch=2.0), gravity=(0, 0, 0))
    options = {"solver": "newton", "budget": CONVERGED, "integrator": integrator}
    sim = Simulation(model, time_step=h * substeps, substeps=substeps, **options)
    sim.positions = [[0.0, 0.0, 0.0], [0.6, 0.0, 0.0]]
    for _ in range(round(0.8 / (h * substeps))):
        sim.step()
    omega = np.sqrt(2 * 2.0 / model.masses[0])
    return abs(float(np.diff(sim.positions[:, 0])[0]) - 0.5 - 0.1 * np.cos(0.8 * omega))


def pendulum(h, integrator):
    """Four links of 0.25 m, level at first, after 0.6 s."""
    points = np.zeros((5, 3))
    points[:, 0] = 0.25 * np.arange(5)
    wire = Mesh.from_edges(points, np.column_stack([np.arange(4), np.arange(1, 5)]))
    model = Model.of(wire, Wire(density=1.0, stretch=400.0)).pin([0], stiffness=1e4)
    options = {"solver": "newton", "budget": CONVERGED, "integrator": integrator}
    sim = Simulation(model, time_step=h, substeps=1, **options)
    for _ in range(round(0.6 / h)):
        sim.step()
    return sim.positions


@pytest.mark.slow
def test_order_of_accuracy_of_an_oscillator():
    """Errors fall as h for Euler and as h² for BDF2."""
    steps = [1 / 25, 1 / 50, 1 / 100]
    first = [oscillator(h, "euler") for h in steps]
    second = [oscillator(h, "bdf2") for h in steps]
    for coarse, fine in pairwise(first):
        assert 1.7 < coarse / fine < 2.3
    for coarse, fine in pairwise(second):
        assert 3.5 < coarse / fine < 4.5


@pytest.mark.slow
def test_order_of_accuracy_of_a_pendulum():
    """From h = 20 to 5 ms BDF2's error falls by about 16, Euler's by about 4."""
    exact = pendulum(1 / 800, "bdf2")
    errors = {
        name: [np.sqrt(np.mean((pendulum(h, name) - exact) ** 2)) for h in (1 / 50, 1 / 200)]
        for name in ("euler", "bdf2")
    }
    assert errors["euler"][0] / errors["euler"][1] < 4.5
    assert errors["bdf2"][0] / errors["bdf2"][1] > 10
    assert errors["bdf2"][1] < errors["euler"][1] / 5


@pytest.mark.slow
def test_free_fall_is_exact():
    """BDF2 has no error where the acceleration is constant: y = -g t²/2, v = -g t, up to rounding."""
    wire = Mesh.from_edges([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]], [[0, 1]])
    model = Model.of(wire, Wire(density=0.4, stretch=10.0))
    sim = Simulation(model, solver="newton", budget=Budget(iterations=4), integrator="bdf2", time_step=1 / 30)
    for _ in range(60):
        sim.step()
    assert sim.positions[:, 1] == pytest.approx(-G * 2.0**2 / 2, rel=1e-4)
    assert sim.velocities[:, 1] == pytest.approx(-G * 2.0, rel=1e-4)


@pytest.mark.slow
def test_air_and_viscosity_damp_as_they_should():
    """v' = -g - air v ends at g/air; a damped spring loses e^(-viscosity ω² t / 2) of its swing, to second order."""
    wire = Mesh.from_edges([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]], [[0, 1]])
    options = {"solver": "newton", "budget": CONVERGED, "integrator": "bdf2", "substeps": 1}
    sim = Simulation(Model.of(wire, Wire(density=0.4, stretch=10.0), air=2.0), time_step=1 / 60, **options)
    for _ in range(60):
        sim.step()
    assert sim.velocities[:, 1] == pytest.approx(-G / 2 * (1 - np.exp(-2.0)), rel=2e-3)

    model = Model.of(wire, Wire(density=0.4, stretch=2.0), gravity=(0, 0, 0), viscosity=0.01)
    omega2 = 2 * 2.0 / model.masses[0]
    decay = 0.01 * omega2 / 2
    turning = np.sqrt(omega2 - decay**2)
    errors = []
    for h in (1 / 50, 1 / 100):
        sim = Simulation(model, time_step=h, **options)
        sim.positions = [[0.0, 0.0, 0.0], [0.6, 0.0, 0.0]]
        for _ in range(round(0.8 / h)):
            sim.step()
        exact = 0.1 * np.exp(-0.8 * decay) * (np.cos(0.8 * turning) + decay / turning * np.sin(0.8 * turning))
        errors.append(abs(float(np.diff(sim.positions[:, 0])[0]) - 0.5 - exact))
    assert errors[1] < 1e-3
    assert 3.0 < errors[0] / errors[1] < 5.0


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "vivace"])
def test_threads_do_not_change_a_bit(solver):
    ends = []
    for threads in (1, 2):
        scene = make_scene("tablecloth", resolution=40)
        options = {"budget": Budget(iterations=8), "substeps": 4, "integrator": "bdf2"}
        sim = scene.simulate(solver=solver, threads=threads, **options)
        for _ in range(20):
            sim.step()
        ends.append((sim.positions, sim.velocities))
    assert np.array_equal(ends[0][0], ends[1][0])
    assert np.array_equal(ends[0][1], ends[1][1])


@pytest.mark.slow
def test_substeps_in_one_job_are_steps():
    """Four substeps of a frame, walked without Python, are four frames of a quarter."""
    ends = []
    for frames, substeps, h in ((10, 4, 1 / 30), (40, 1, 1 / 120)):
        sim = swinging(solver="auto", budget=Budget(iterations=2 * substeps), substeps=substeps, time_step=h)
        for _ in range(frames):
            sim.step()
        ends.append(sim.positions)
    assert ends[0] == pytest.approx(ends[1], abs=1e-5)


@pytest.mark.slow
def test_history_begins_anew():
    """Assigned velocities are those of the next step, whatever was before; changed pins change nothing else."""
    sim = spinning(solver="auto", budget=Budget(iterations=4), substeps=1, time_step=1 / 100)
    for _ in range(10):
        sim.step()
    sim.velocities = np.tile([0.0, 0.0, 5.0], (sim.model.n, 1))
    before = sim.positions
    sim.step()
    assert (sim.positions - before)[:, 2].mean() == pytest.approx(0.05, rel=1e-3)
    assert sim.velocities[:, 2].mean() == pytest.approx(5.0, rel=1e-3)
    for change in ({"time_step": 1 / 50}, {"substeps": 2}, {"solver": "auto"}, {"gravity": (0, 0, 0)}):
        for name, value in change.items():
            setattr(sim, name, value)
        for _ in range(3):
            assert sim.step().finite
    sim.grab(70)
    sim.step()
    sim.release()
    assert sim.step().finite


@pytest.mark.slow
def test_what_touches_does_not_bounce():
    """A cloth that falls flat on the ground stays there, as with Euler; wind does not lift it for ever."""
    sheet = mesh.cloth(8, 8, plane="horizontal").transformed(translate=[0, 0.3, 0])
    model = Model.of(sheet, Cloth()).collide([Plane((0, 0, 0), (0, 1, 0))], friction=0.5)
    sim = Simulation(model, budget=Budget(iterations=10), integrator="bdf2")
    heights = []
    for _ in range(60):
        sim.step()
        heights.append(sim.positions[:, 1].max())
    landed = int(np.argmin(heights))
    assert max(heights[landed:]) < 0.02
    assert np.abs(sim.velocities).max() < 0.02


@pytest.mark.slow
def test_wind_drives():
    model = Model.of(mesh.cloth(10, 10, plane="vertical"), Cloth()).pin("top")
    sim = Simulation(model, budget=Budget(iterations=16), integrator="bdf2")
    sim.wind = (0, 0, 6)
    for _ in range(60):
        assert sim.step().finite
    assert sim.positions[:, 2].mean() > 0.05


def test_refusals():
    model = Model.of(mesh.cloth(4, 4), Cloth())
    with pytest.raises(InputError, match="verlet"):
        Simulation(model, integrator="bdf2", form="verlet")
    with pytest.raises(UnknownNameError, match="integrator"):
        Simulation(model, integrator="bdf3")
    assert Simulation(model).integrator == "euler"


@pytest.mark.slow
def test_scenes_and_the_command_line(tmp_path, capsys):
    path = tmp_path / "scene.toml"
    path.write_text('scene = "tablecloth"\n[parameters]\nresolution = 8\n[world]\nintegrator = "bdf2"\n')
    scene = load_scene(path)
    assert scene.integrator == scene.simulate().integrator == "bdf2"
    path.write_text('[mesh]\ngenerator = "cloth"\nnx = 4\nny = 4\n[world]\nintegrator = "bdf2"\n')
    assert load_scene(path).simulate(integrator="euler").integrator == "euler"
    path.write_text('[mesh]\ngenerator = "cloth"\nnx = 4\nny = 4\n[world]\nintegrator = "rk4"\n')
    with pytest.raises(UnknownNameError, match="rk4"):
        load_scene(path)
    run = ["run", "tablecloth", "--set", "resolution=8", "--iterations", "4", "--frames", "2", "--error-samples", "0"]
    assert main([*run, "--integrator", "bdf2", "--json"]) == 0
    assert '"integrator": "bdf2"' in json.dumps(json.loads(capsys.readouterr().out))
