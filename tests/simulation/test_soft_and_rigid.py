"""Soft and rigid bodies in one step: momentum, weight, friction with what moves, and nothing through anything."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import vivace as vv
from vivace.collisions import Box, Plane, Sampled, Sphere

THICKNESS = 0.005


def sheet(n: int = 14, side: float = 0.6, gravity=(0.0, -9.81, 0.0)) -> vv.Model:
    cloth = vv.mesh.cloth(n, n, width=side, height=side, plane="horizontal")
    return vv.Model.of(cloth, vv.Cloth(density=0.2, stretch=1e3, bend=1e-4), gravity=gravity)


def hit(iterations: int = 64, threads: int | None = None) -> vv.Simulation:
    """A ball that flies into a cloth that nothing holds, without gravity."""
    ball = vv.Body(Sphere((0.03, 0.13, 0.02), 0.1), mass=0.2, velocity=(0.0, -3.0, 0.0))
    model = sheet(gravity=(0, 0, 0)).collide([ball], thickness=THICKNESS, itself=False)
    return vv.Simulation(model, time_step=1 / 60, substeps=2, budget=vv.Budget(iterations=iterations), threads=threads)


def momentum(sim: vv.Simulation) -> np.ndarray:
    soft = (sim.model.masses[:, None] * sim.velocities).sum(axis=0)
    return soft + (sim.bodies.masses[:, None] * sim.bodies.velocities).sum(axis=0)


@pytest.mark.slow
def test_momentum_goes_from_the_ball_to_the_cloth():
    """What one side gains the other loses, within what the solver leaves unsolved."""
    sim = hit()
    before = momentum(sim)
    for _ in range(12):
        sim.step()
    assert sim.bodies.velocities[0, 1] > -2.6  # it has given some of its 3 m/s away
    assert sim.velocities[:, 1].mean() < -1.0
    assert momentum(sim) == pytest.approx(before, abs=0.01 * 0.6)


@pytest.mark.slow
def test_no_vertex_is_inside_the_ball():
    sim = hit(8)
    for _ in range(12):
        sim.step()
        away = np.linalg.norm(sim.positions - sim.bodies.positions[0], axis=1)
        assert away.min() > 0.1 + 0.5 * THICKNESS


@pytest.mark.slow
def test_a_box_lies_on_a_soft_cube_with_its_weight():
    cube = vv.mesh.cube(4, side=0.2)
    model = vv.Model.of(cube, vv.Solid(density=1000, youngs_modulus=3e4))
    box = vv.Body(Box((0.0, 0.155, 0.0), (0.05, 0.05, 0.05)), mass=1.0)
    model = model.collide([Plane((0, -0.1 - THICKNESS, 0)), box], thickness=THICKNESS, itself=False)
    sim = vv.Simulation(model, time_step=1 / 60, substeps=2, budget=vv.Budget(iterations=32))
    for _ in range(90):
        report = sim.step()
    assert np.abs(sim.bodies.velocities).max() < 0.01
    assert np.abs(sim.bodies.positions[0, [0, 2]]).max() < 0.003
    # the foot carries both: a box of 1 kg and a cube of 8 kg
    foot = sim.solver.contact_forces()
    on_floor = (foot.ids & (2**31 - 1)) == 0
    assert foot.forces[on_floor, 1].sum() == pytest.approx(9 * 9.81, rel=0.02)
    assert foot.forces[~on_floor, 1].sum() == pytest.approx(-9.81, rel=0.03)
    assert report.bodies is not None
    assert report.bodies.contacts == 0


def carried(friction: float) -> tuple[float, float]:
    """How far a cloth goes with the box that it lies on, and how far the box goes."""

    def path(time):
        return np.array([0.5 * 0.8 * min(time, 0.5) ** 2 + 0.4 * max(time - 0.5, 0.0), 0.0, 0.0]), np.zeros(3)

    box = vv.Body(Box((0.0, -0.1 - THICKNESS, 0.0), (0.5, 0.1, 0.5)), path=path)
    model = sheet(10, 0.4).collide([box], thickness=THICKNESS, itself=False, friction=friction)
    sim = vv.Simulation(model, time_step=1 / 60, budget=vv.Budget(iterations=16))
    for _ in range(60):
        sim.step()
    return float(sim.positions[:, 0].mean()), float(sim.bodies.positions[0, 0])


@pytest.mark.slow
def test_a_cloth_goes_with_a_box_that_is_moved():
    """Friction holds it up to μ g = 2.9 m/s², and the box speeds up with 0.8 m/s²."""
    cloth, box = carried(0.3)
    assert box == pytest.approx(0.3, abs=1e-6)
    assert cloth == pytest.approx(box, abs=0.005)


@pytest.mark.slow
def test_without_friction_the_box_is_pulled_from_under_it():
    assert abs(carried(0.0)[0]) < 1e-3


@pytest.mark.slow
def test_any_solver_follows_bodies_on_a_path():
    box = vv.Body(
        Box((0.0, -0.1 - THICKNESS, 0.0), (0.5, 0.1, 0.5)), path=lambda t: (np.array([0, 0.3 * t, 0]), np.zeros(3))
    )
    for solver in ("vivace", "pbd-vivace", "gauss-seidel"):
        model = sheet(8, 0.4).collide([box], thickness=THICKNESS, itself=False)
        sim = vv.Simulation(model, time_step=1 / 60, solver=solver, budget=vv.Budget(iterations=8))
        for _ in range(20):
            sim.step()
        lift = 0.3 * 20 / 60
        assert sim.positions[:, 1] == pytest.approx(lift, abs=0.004), solver


@pytest.mark.slow
def test_the_same_bits_again_from_a_state_and_with_other_threads(tmp_path):
    sim, other = hit(16, threads=1), hit(16, threads=2)
    for _ in range(5):
        sim.step(), other.step()
    assert (sim.positions == other.positions).all()
    assert (sim.bodies.positions == other.bodies.positions).all()
    path = sim.state.save(tmp_path / "state.npz")
    for _ in range(4):
        sim.step()
    again = hit(16)
    again.state = vv.State.load(path)
    for _ in range(4):
        again.step()
    assert (sim.positions == again.positions).all()
    assert (sim.bodies.orientations == again.bodies.orientations).all()


@pytest.mark.slow
@pytest.mark.parametrize("mass", [1e-3, 100.0])
def test_light_and_heavy_bodies_stay_finite_in_long_steps(mass):
    """Without the stiffness of contacts in the answer of bodies a light one would be thrown off at once."""
    ball = vv.Body(Sphere((0.03, 0.12, 0.02), 0.1), mass=mass)
    model = sheet().pin("corners").collide([ball], thickness=THICKNESS, itself=False)
    sim = vv.Simulation(model, time_step=1 / 30, substeps=1, budget=vv.Budget(iterations=4))
    for _ in range(40):
        assert sim.step().finite
        assert np.abs(sim.bodies.velocities).max() < 20.0


# --- triangles against bodies ---------------------------------------------------------------------------------------

EDGE = 0.12  # m: of a coarse cloth


def net(body: vv.Body, iterations: int, substeps: int, *, held=True, threads=None, solver="auto") -> vv.Simulation:
    """A body over a cloth of 6 x 6 vertices."""
    model = sheet(6, 5 * EDGE, (0.0, -9.81, 0.0) if held else (0.0, 0.0, 0.0))
    model = (model.pin("corners") if held else model).collide([body], thickness=THICKNESS, itself=False)
    budget = vv.Budget(iterations=iterations)
    return vv.Simulation(model, time_step=1 / 60, substeps=substeps, budget=budget, threads=threads, solver=solver)


def nearest(sim: vv.Simulation) -> float:
    """How far the cloth is from the body, by its distance at points all over the triangles, in m."""
    i, j = np.meshgrid(np.arange(13), np.arange(13), indexing="ij")
    weights = np.stack([12 - i - j, i, j], axis=-1)[i + j <= 12] / 12
    turned = Rotation.from_quat(np.roll(sim.bodies.orientations[0], -1)).as_matrix()
    made = sim.bodies.shapes[0]
    points = np.einsum("gk,tkx->tgx", weights, sim.positions[sim.model.mesh.triangles]).reshape(-1, 3)
    seen = (points - sim.bodies.positions[0]) @ turned
    if isinstance(made, Box):
        return float(Box((0, 0, 0), made.half).distance(seen).min())
    return float(Sphere((0, 0, 0), made.radius).distance(seen).min())


@pytest.mark.slow
def test_too_few_iterations_for_bodies_that_give_way_are_told():
    """Six a substep are enough, four are not, and nothing is said when the ball has left the cloth; each thing once."""
    for iterations, told in ((12, 0), (8, 1)):
        sim = hit(iterations)
        notes = [sim.step().note for _ in range(8)]
        assert notes[0].count("bodies that give way need 6 iterations a substep") == told
        assert notes[-1] == ""


@pytest.mark.slow
def test_a_ball_smaller_than_an_edge_is_caught_and_carried():
    """From half a metre between the vertices of the cloth; when it has come down, by its weight."""
    ball = vv.Body(Sphere((0.02, 0.5, 0.01), EDGE / 3), mass=0.05)
    sim, shares = net(ball, 32, 2), []
    for frame in range(110):
        sim.step()
        assert sim.bodies.positions[0, 1] > -0.1
        assert nearest(sim) > -1e-4
        if frame >= 80:
            shares.append(-sim.solver.contact_forces().forces[:, 1].sum() / (0.05 * 9.81))
    assert np.mean(shares) == pytest.approx(1.0, abs=0.03)
    assert np.abs(sim.bodies.velocities[0, 1]) < 0.1


@pytest.mark.slow
def test_a_heavy_ball_does_not_fall_through_a_cloth_that_it_stretches():
    """20 kg on 70 g for two seconds: edges become more than twice as long, and vertices alone would let it through."""
    sim, longest = net(vv.Body(Sphere((0.03, 0.1, 0.01), 0.06), mass=20.0), 16, 1), 0.0
    edges = sim.model.mesh.edges
    for _ in range(120):
        sim.step()
        longest = max(longest, np.linalg.norm(np.diff(sim.positions[edges], axis=1), axis=2).max())
        assert sim.bodies.positions[0, 1] > sim.positions[:, 1].min()
        assert nearest(sim) > -0.02  # a third of its radius, in steps of 1/60 s
    assert longest > 2 * EDGE


@pytest.mark.slow
@pytest.mark.parametrize("turn", [(0.6155, 0.0, np.pi / 4), (0.0, 0.3, np.pi / 4)])
def test_corners_and_edges_of_a_box_are_carried(turn):
    """A small box falls on a corner, or on an edge, and comes to lie."""
    rotate = Rotation.from_euler("xyz", turn).as_matrix()
    sim = net(vv.Body(Box((0.02, 0.15, 0.01), (0.03, 0.03, 0.03), rotate=rotate), mass=0.1), 32, 2)
    for _ in range(60):
        sim.step()
        assert nearest(sim) > -0.003
    assert -0.1 < sim.bodies.positions[0, 1] < 0.0


def small_hit(threads: int | None = None, iterations: int = 64) -> vv.Simulation:
    """A small ball that flies between the vertices of a cloth that nothing holds, without gravity."""
    ball = vv.Body(Sphere((0.03, 0.07, 0.01), EDGE / 3), mass=0.1, velocity=(0.0, -3.0, 0.0))
    return net(ball, iterations, 2, held=False, threads=threads)


@pytest.mark.slow
def test_momentum_goes_from_a_small_ball_to_the_cloth():
    sim = small_hit()
    before = momentum(sim)
    for _ in range(10):
        sim.step()
    assert sim.bodies.velocities[0, 1] > -2.4
    assert sim.velocities[:, 1].mean() < -1.0
    assert momentum(sim) == pytest.approx(before, abs=0.01 * 0.3)


@pytest.mark.slow
def test_small_balls_have_the_same_bits_again_from_a_state_and_with_other_threads(tmp_path):
    sim, other = small_hit(1, 16), small_hit(2, 16)
    for _ in range(3):
        report, _ = sim.step(), other.step()
    assert report.contacts
    assert (sim.positions == other.positions).all()
    path = sim.state.save(tmp_path / "state.npz")
    again = small_hit(iterations=16)
    again.state = vv.State.load(path)
    for _ in range(3):
        sim.step(), again.step()
    assert (sim.positions == again.positions).all()
    assert (sim.bodies.orientations == again.bodies.orientations).all()


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["multigrid", "lbfgs(multigrid)", "newton-multigrid"])
def test_all_solvers_that_push_bodies_carry_a_small_ball(solver):
    sim = net(vv.Body(Sphere((0.02, 0.06, 0.01), EDGE / 3), mass=0.05), 32, 2, solver=solver)
    for _ in range(30):
        sim.step()
        assert nearest(sim) > -1e-3
    assert sim.bodies.positions[0, 1] > -0.1


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["vivace", "pbd", "pbd-coloured", "pbd-jacobi", "pbd-vivace", "lattice(multigrid)"])
def test_any_solver_follows_a_small_ball_on_a_path(solver):
    """It comes up between vertices, and takes the cloth along."""
    ball = vv.Body(Sphere((0.02, -0.05, 0.01), EDGE / 3), path=lambda t: (np.array([0, 0.4 * t, 0]), np.zeros(3)))
    sim = net(ball, 16, 2, solver=solver)
    for _ in range(15):
        sim.step()
        assert nearest(sim) > -1e-3
    assert sim.positions[:, 1].max() > 0.02


def test_what_does_not_go_together_is_refused():
    ball = vv.Body(Sphere((0, 0.3, 0), 0.1))
    model = sheet(6).collide([ball], itself=False)
    with pytest.raises(vv.InputError, match="bdf2"):
        vv.Simulation(model, integrator="bdf2")
    for solver in ("pbd", "vivace"):
        with pytest.raises(vv.InputError, match="rigid bodies that are free"):
            vv.Simulation(model, solver=solver).step()
    sampled = Sampled.of(Sphere((0, 0, 0), 0.1).surface(), spacing=0.05, cache=False)
    with pytest.raises(vv.InputError, match="ConvexMesh"):
        vv.Simulation(sheet(6).collide([sampled, ball], itself=False))
    plain = vv.Simulation(sheet(6).collide([Plane((0, -1, 0))], itself=False))
    with pytest.raises(vv.InputError, match="poses"):
        vv.Simulation(model).state = plain.state
