"""The wind in a simulation: a plate, a gale, nothing at all."""

from dataclasses import replace

import numpy as np
import pytest

from vivace import (
    SOLVERS,
    Budget,
    Cloth,
    InputError,
    Model,
    Simulation,
    Solid,
    Wire,
    mesh,
)
from vivace.scenes import make_scene
from vivace.simulation.wind import AIR_DENSITY, PLATE

H = 1 / 30
K = 0.5 * AIR_DENSITY * PLATE  # kg/m³


def plate(density=2.0, **options) -> Simulation:
    """A free horizontal square of 1 m², without gravity."""
    model = Model.of(mesh.cloth(8, 8), Cloth(density=density, stretch=1e3), gravity=(0, 0, 0))
    return Simulation(model, budget=Budget(iterations=10), **{"time_step": H, "threads": 1, **options})


@pytest.mark.parametrize("form", ["velocity", "verlet"])
@pytest.mark.parametrize("solver", ["vivace", "pbd-coloured"])
def test_a_plate_across_the_wind(solver, form):
    """m dv/dt = ½ρC A (w - v)², in semi-implicit steps: v += h k (w - v)/(1 + h k), k = ½ρC (w - v)/density.

    On a sheet of equal triangles every vertex is pushed alike, and the plate stays flat.
    """
    sim, w, v = plate(solver=solver, form=form), 6.0, 0.0
    sim.wind = (0, w, 0)
    for _ in range(20):
        k = K * (w - v) / 2.0
        v += H * k * (w - v) / (1 + H * k)
        sim.step()
        np.testing.assert_allclose(sim.velocities, np.tile([0, v, 0], (64, 1)), atol=1e-4)
    assert 0.5 * w < v < w
    # and in time as the differential equation has it: v = w - w/(1 + w K t/density)
    assert v == pytest.approx(w - w / (1 + w * K * 20 * H / 2.0), rel=0.05)


def test_wind_along_a_surface_does_nothing():
    sim = plate()
    sim.wind = (3, 0, -4)
    before = sim.positions
    for _ in range(5):
        sim.step()
    np.testing.assert_allclose(sim.positions, before, atol=1e-5)  # what the solver's rounding leaves


def test_wind_moves_with_the_body():
    """Only u = wind - v counts: a sheet that flies with the wind feels none."""
    sim = plate()
    sim.wind = (1, 2, 3)
    sim.velocities = np.tile([1, 2, 3], (64, 1))
    for _ in range(5):
        sim.step()
    np.testing.assert_allclose(sim.velocities, np.tile([1, 2, 3], (64, 1)), atol=1e-4)


def test_a_closed_body_has_the_drag_of_one_plate():
    """½ρC A w² of a cube's cross-section: half of C in front, half behind."""
    body = mesh.cube(4)
    model = Model.of(body, Solid(density=50.0), gravity=(0, 0, 0))
    sim = Simulation(model, budget=Budget(iterations=30), time_step=1e-3, threads=1)
    sim.wind = (0, 0, 50.0)
    sim.step()
    side = np.ptp(body.vertices[:, 0])
    force = K * side**2 * 50.0**2
    momentum = (model.masses[:, None] * sim.velocities).sum(axis=0)
    np.testing.assert_allclose(momentum, [0, 0, 1e-3 * force], atol=0.02 * 1e-3 * force)


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in ("newton", "chebyshev")])
def test_without_wind_nothing_changes(solver):
    """The same bits: wind that was never set, zero, and one that has blown over."""
    scene = make_scene("tablecloth", resolution=10)
    first, second = (scene.simulate(solver=solver, budget=Budget(iterations=3), threads=1) for _ in range(2))
    second.wind = (5, 0, 0)
    second.wind = (0, -0.0, 0)
    for _ in range(4):
        first.step()
        second.step()
    np.testing.assert_array_equal(first.positions, second.positions)


def test_a_wire_does_not_feel_it():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])
    sims = [
        Simulation(Model.of(mesh.Mesh.from_edges(points, [[0, 1], [1, 2]]), Wire()), budget=Budget(iterations=3))
        for _ in range(2)
    ]
    sims[0].wind = (0, 0, 30)
    for sim in sims:
        sim.step()
    np.testing.assert_array_equal(sims[0].positions, sims[1].positions)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "vivace", "pbd-coloured", "pbd-jacobi", "jacobi"])
@pytest.mark.parametrize("irregular", [False, True])
@pytest.mark.parametrize("speed", [20.0, 1e4])
def test_a_gale_leaves_light_cloth_whole(solver, irregular, speed):
    """h = 1/15 s and 0.05 kg/m²: no vertex of a flag is ever much faster than the air."""
    flag = mesh.cloth(12, 12, plane="vertical", irregular=irregular)
    model = Model.of(flag, Cloth(density=0.05, stretch=500.0)).pin("left")
    sim = Simulation(model, solver=solver, budget=Budget(iterations=15), time_step=1 / 15, threads=1)
    sim.wind = (0.6 * speed, 0.1 * speed, 0.8 * speed)
    for _ in range(150):
        assert sim.step().finite
        fastest = np.linalg.norm(sim.velocities, axis=1).max()
        assert fastest < 3 * speed
    if speed < 100 and "jacobi" not in solver:  # which in 15 iterations leaves cloth long
        x = sim.positions
        assert np.linalg.norm(x - x[flag.groups["left"]].mean(axis=0), axis=1).max() < 2.5


def test_no_vertex_becomes_faster_than_the_air():
    """One step from rest: |Δv| <= max u·n over its triangles, on any surface, light as it may be, at any h."""
    rng = np.random.default_rng(3)
    sheet = mesh.cloth(9, 9, irregular=True)
    bumpy = replace(sheet, vertices=sheet.vertices + 0.05 * rng.normal(size=sheet.vertices.shape))
    masses = rng.uniform(1e-6, 1e-2, bumpy.n_vertices)
    for h in (1e-3, 1 / 15, 1.0):
        sim = Simulation(Model(bumpy, masses, (), np.zeros(3)), budget=Budget(iterations=1), time_step=h, threads=1)
        sim.wind = (3, 40, -20)
        sim.step()
        x = bumpy.vertices[bumpy.triangles]
        n = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
        through = np.abs(n @ [3, 40, -20]) / np.linalg.norm(n, axis=1)
        most = np.zeros(bumpy.n_vertices)
        np.maximum.at(most, bumpy.triangles.ravel(), np.repeat(through, 3))
        assert (np.linalg.norm(sim.velocities, axis=1) <= most * (1 + 1e-5) + 1e-6 / h).all()


@pytest.mark.slow
def test_falling_ends_at_the_speed_where_drag_carries_the_weight():
    """d g = K v²/(1 + h K v/d), d the cloth's density: a sheet that falls flat, in a wind too weak to matter."""
    model = Model.of(mesh.cloth(6, 6), Cloth(density=0.2, stretch=1e3))
    sim = Simulation(model, budget=Budget(iterations=10), time_step=1 / 100, substeps=1, threads=1)
    sim.wind = (1e-6, 0, 0)
    for _ in range(400):
        sim.step()
    weight = 0.2 * 9.81
    half = 0.5 * weight * (1 / 100) * K / 0.2
    assert -sim.velocities[:, 1].mean() == pytest.approx((half + np.sqrt(half**2 + K * weight)) / K, rel=1e-3)


@pytest.mark.slow
def test_threads_do_not_change_a_bit():
    scene = make_scene("tablecloth", resolution=70)  # enough for helpers to be woken
    sims = [scene.simulate(solver="vivace", budget=Budget(iterations=3), threads=threads) for threads in (1, 2, 3)]
    for sim in sims:
        sim.wind = (3, 1, -2)
        for _ in range(10):
            sim.step()
    for sim in sims[1:]:
        np.testing.assert_array_equal(sim.positions, sims[0].positions)


def test_wind_is_kept_when_other_things_change():
    """Through a new time step, another stiffness, a grab: as a simulation that is made like that."""
    sim = plate(solver="vivace", time_step=0.05)
    sim.wind = (1, 6, 0)
    sim.time_step = H
    sim.replace_model(sim.model.stiffened(2.0))
    sim.grab(0)
    np.testing.assert_array_equal(sim.wind, [1, 6, 0])
    other = Simulation(sim.model, solver="vivace", budget=Budget(iterations=10), time_step=H, threads=1)
    other.wind = (1, 6, 0)
    for _ in range(3):
        sim.step()
        other.step()
    np.testing.assert_array_equal(sim.positions, other.positions)


def test_wind_is_a_copy_and_checked():
    sim = plate()
    assert sim.wind.tolist() == [0, 0, 0]
    given = np.array([1.0, 2, 3])
    sim.wind = given
    given[:] = 9
    sim.wind[:] = 7
    assert sim.wind.tolist() == [1, 2, 3]
    for bad in ((1, 2), (0, np.nan, 0), "north", 5.0, (1e39, 0, 0)):
        with pytest.raises(InputError, match="wind must"):
            sim.wind = bad
    assert sim.wind.tolist() == [1, 2, 3]
