"""The guard: nothing passes through anything, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

import vivace as vv
from vivace.collisions import Plane, crossings
from vivace.collisions.contacts import ContactList, Contacts, feature_ids
from vivace.collisions.impact_zones import Guard
from vivace.scenes import make_scene

THICKNESS = 0.01


def rows(points):
    out = np.zeros((len(points), 4), np.float32)
    out[:, :3] = points
    return out


@pytest.fixture(scope="module")
def sheets():
    """Two sheets of 8 x 8 vertices, 2 cm apart, the upper one turned so that no edges are parallel."""
    lower = vv.mesh.cloth(8, 8, 0.3, 0.3)
    upper = vv.mesh.cloth(8, 8, 0.3, 0.3).transformed(rotate=(0.0, 0.4, 0.0), translate=(0.01, 0.02, 0.02))
    return vv.mesh.join([lower, upper])


@pytest.fixture(scope="module")
def guard(sheets):
    return Guard(sheets, THICKNESS, np.ones(sheets.n_vertices))


def nobody(sheets):
    return np.zeros(sheets.n_vertices, bool)


@pytest.mark.parametrize("fall", [0.03, 0.1, 1.0])
def test_a_sheet_does_not_fall_through_another(sheets, guard, fall):
    """Both move alike in the end, by their mean: momentum is kept."""
    q = rows(sheets.vertices)
    x = q.copy()
    x[64:, 1] -= fall
    wanted = x.copy()
    stuck = guard.keep_apart(q, x, Contacts(), nobody(sheets), 2)
    assert stuck > 0
    assert len(crossings(x, sheets.triangles)[0]) == 0
    means = [y[:, :3].mean(axis=0, dtype=np.float64) for y in (x, wanted)]
    np.testing.assert_allclose(*means, atol=2.0**-23 * max(fall, 0.2))
    assert not np.array_equal(x, wanted)
    # All the way, not only at its end: the order of the sheets is that of the beginning.
    for t in (0.25, 0.5, 0.75):
        assert len(crossings(q + np.float32(t) * (x - q), sheets.triangles)[0]) == 0


def test_what_does_not_cross_stays_as_it_is(sheets, guard):
    q = rows(sheets.vertices)
    x = q.copy()
    x[:, 1] -= 0.5
    x[64:, 1] -= 0.005
    wanted = x.copy()
    assert guard.keep_apart(q, x, Contacts(), nobody(sheets), 2) == 0
    assert np.array_equal(x, wanted)


@pytest.mark.slow
def test_zones_are_local(sheets, guard):
    """One vertex that pierces the sheet below stops with what it would pierce; the rest moves on."""
    q = rows(sheets.vertices)
    x = q.copy()
    x[:, 0] += 0.05
    x[64 + 27, 1] -= 0.05
    wanted = x.copy()
    stuck = guard.keep_apart(q, x, Contacts(), nobody(sheets), 2)
    assert 0 < stuck <= 24
    assert len(crossings(x, sheets.triangles)[0]) == 0
    assert np.count_nonzero((x != wanted).any(axis=1)) <= stuck


def test_a_wall_is_no_way_out(sheets, guard):
    """The lower sheet lies on the ground: the zone cannot sink into it, so the upper one stops."""
    q = rows(sheets.vertices)
    x = q.copy()
    x[64:, 1] -= 0.1
    lower = np.arange(64, dtype=np.int32)
    planes = np.tile(np.array([0, 1, 0, 0], np.float32), (64, 1))
    contacts = Contacts(
        ContactList(
            lower[:, None],
            np.ones((64, 1), np.float32),
            planes,
            np.zeros((64, 2), np.float32),
            feature_ids(lower, 0 * lower),
        )
    )
    guard.keep_apart(q, x, contacts, nobody(sheets), 2)
    assert len(crossings(x, sheets.triangles)[0]) == 0
    assert x[:64, 1].min() >= -1e-6
    assert np.count_nonzero(x[64:, 1] > x[:64, 1].max()) >= 50  # but for corners that hang over


@pytest.mark.slow
def test_held_vertices_stay_where_they_are_held(sheets, guard):
    q = rows(sheets.vertices)
    x = q.copy()
    x[64:, 1] -= 0.1
    held = nobody(sheets)
    held[:64] = True
    guard.keep_apart(q, x, Contacts(), held, 2)
    assert np.array_equal(x[:64], q[:64])
    assert len(crossings(x, sheets.triangles)[0]) == 0


@pytest.mark.slow
def test_what_crosses_already_may_move(sheets, guard):
    """Sheets that start entangled are not frozen for ever: their zones move as one, all others as they like."""
    q = rows(sheets.vertices)
    q[64:, 1] -= 0.02
    q[64:, 1] += 0.01 * np.sin(40 * q[64:, 0])
    assert len(crossings(q, sheets.triangles)[0]) > 0
    x = q.copy()
    x[:, 0] += 0.1
    guard.keep_apart(q, x, Contacts(), nobody(sheets), 2)
    np.testing.assert_allclose(x[:, 0], q[:, 0] + 0.1, atol=1e-6)


def test_threads_do_not_matter(sheets):
    results = []
    for threads in (1, 2, 3):
        q = rows(sheets.vertices)
        x = q + 0.05 * np.random.default_rng(0).standard_normal(q.shape).astype(np.float32)
        x[:, 3] = 0
        Guard(sheets, THICKNESS, np.ones(sheets.n_vertices)).keep_apart(q, x, Contacts(), nobody(sheets), threads)
        results.append(x)
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_what_is_not_finite_is_left_alone(sheets, guard):
    q = rows(sheets.vertices)
    x = q.copy()
    x[3, 1] = np.nan
    assert guard.keep_apart(q, x, Contacts(), nobody(sheets), 1) == 0


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["pbd-coloured", "pbd-jacobi", "pbd-vivace", "vivace", "auto"])
def test_sheets_thrown_at_each_other_never_cross(solver):
    """5 m/s, h = 1/60 s: 17 thicknesses a step and one iteration; the guard's promise holds for every solver."""
    lower = vv.mesh.cloth(9, 9, 0.3, 0.3)
    upper = lower.transformed(rotate=(0.0, 0.4, 0.0), translate=(0.01, 0.05, 0.02))
    model = vv.Model.of(vv.mesh.join([lower, upper]), vv.Cloth())
    model = model.collide([Plane((0, -0.02, 0), (0, 1, 0))], thickness=0.005)
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=1), time_step=1 / 60)
    v = np.zeros((model.n, 3))
    v[81:, 1] = -5.0
    sim.velocities = v
    for _ in range(15):
        report = sim.step()
        assert report.finite
        assert len(crossings(sim.positions, model.mesh.triangles)[0]) == 0
        assert list(report.stages) == ["predict", "collide", "colour", "solve", "guard", "update"]
    assert report.contacts > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solver", "h"),
    [("pbd-vivace", 0.05), ("pbd", 0.5), ("pbd-vivace", 0.5), ("pbd-coloured", 5.0), ("pbd-jacobi", 5.0)],
)
def test_no_step_is_too_long(solver, h):
    """A heap with one iteration a step and steps of up to five seconds: torn, but never through itself."""
    scene = make_scene("cloth-heap", scale=0.01, time_step=h)
    sim = scene.simulate(solver=solver, budget=vv.Budget(iterations=1))
    for _ in range(4):
        assert sim.step().finite
        assert len(crossings(sim.positions, scene.model.mesh.triangles)[0]) == 0


def test_a_lost_simulation_says_so():
    """What is not finite has no contacts, and the report tells; as without collisions."""
    model = vv.Model.of(vv.mesh.cloth(12, 12)).collide([Plane((0, -0.1, 0), (0, 1, 0))])
    sim = vv.Simulation(model, solver="pbd-vivace:plain=True", budget=vv.Budget(iterations=30), time_step=1 / 30)
    with np.errstate(all="ignore"):
        finite = [sim.step().finite for _ in range(10)]
    assert not finite[-1]


@pytest.mark.slow
def test_without_the_guard_they_do():
    """The test above can fail."""
    lower = vv.mesh.cloth(9, 9, 0.3, 0.3)
    upper = lower.transformed(rotate=(0.0, 0.4, 0.0), translate=(0.01, 0.05, 0.02))
    model = vv.Model.of(vv.mesh.join([lower, upper]), vv.Cloth()).collide(thickness=0.005, guard=False)
    sim = vv.Simulation(model, solver="vivace", budget=vv.Budget(iterations=1), time_step=1 / 60)
    v = np.zeros((model.n, 3))
    v[81:, 1] = -20.0
    sim.velocities = v
    crossed = 0
    for _ in range(10):
        sim.step()
        crossed += len(crossings(sim.positions, model.mesh.triangles)[0])
    assert crossed > 0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scale"), [("cloth-heap", 0.025), ("noodles", 0.025), ("s2", 0.05)])
def test_heaps_hold(name, scale):
    """A second of each heap at a twentieth or a fortieth of its size: no edge ever pierces a triangle."""
    scene = make_scene(name, scale=scale)
    sim = scene.simulate()
    for k in range(round(1.0 / scene.time_step)):
        report = sim.step()
        assert report.finite
        if k % 10 == 0:
            assert len(crossings(sim.positions, scene.model.mesh.triangles)[0]) == 0, k
