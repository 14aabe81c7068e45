"""Thickness by parts: what two of them keep, of all that touches, told by closed forms and by searches of one each."""

from __future__ import annotations

import numpy as np
import pytest

import vivace as vv
from vivace.collisions import Box, Plane, Sphere, crossings
from vivace.collisions.collider_contacts import ColliderSearch
from vivace.collisions.contacts import Contacts, patch_ids
from vivace.collisions.impact_zones import SHARE
from vivace.collisions.kernels.triangles import SLOTS
from vivace.collisions.moving import MovingSearch, Poses
from vivace.collisions.patches import NEAR, triangles_of
from vivace.collisions.thickness import as_thicknesses, least_of_pairs, thickness_at, thickness_of_elements

THIN, THICK = 0.004, 0.012


def rows(points):
    out = np.zeros((len(points), 4), np.float32)
    out[:, :3] = points
    return out


def sheets(heights, names, n=6, side=0.1):
    """Square cloths one above the other, each turned a little."""
    made = []
    for k, height in enumerate(heights):
        one = vv.mesh.cloth(n, n, side, side).transformed(rotate=(0, 0.3 * k, 0))
        made.append((one.transformed(translate=(0, height, 0)), vv.Cloth(0.2)))
    return vv.Model.of(made, names=names, air=5.0)


# --- arrays -----------------------------------------------------------------------------------------------------------


def test_arrays_of_thickness():
    each, one = np.array([1.0, 2.0, 4.0, 3.0]), np.array([0.5])
    np.testing.assert_array_equal(thickness_at(each, np.array([2, 0])), [4.0, 1.0])
    assert thickness_at(one, np.array([2, 0])) == 0.5
    elements = np.array([[0, 1, 2], [1, 2, 3]])
    np.testing.assert_array_equal(thickness_of_elements(each, elements), [1.0, 2.0])
    np.testing.assert_array_equal(thickness_of_elements(one, elements), [0.5])
    rows_, none = np.array([[0, 1, 2, 3], [0, 1, 2, 3]]), np.zeros(4, bool)
    np.testing.assert_array_equal(least_of_pairs(each, rows_, 1, none), [0.5 * (1 + 2), 0.5 * (1 + 3)])
    np.testing.assert_array_equal(least_of_pairs(each, rows_, 1, np.arange(4) > 0), [1.0, 1.0])
    np.testing.assert_array_equal(least_of_pairs(each, rows_, 1, np.arange(4) < 2), [2.0, 3.0])
    np.testing.assert_array_equal(least_of_pairs(one, rows_, 1, none), [0.5, 0.5])


def test_how_fast_contacts_recover():
    """Of two sides the mean; a patch has its first vertex twice, and a wall but one."""
    each = Contacts(recovery=np.array([1.0, 2.0, 4.0, 3.0]))
    np.testing.assert_array_equal(each.recoveries(np.array([[0, 1, 2, 3], [1, 2, 3, 1]])), [2.0, 2.0])
    np.testing.assert_array_equal(each.recoveries(np.array([[2], [3]])), [4.0, 3.0])
    np.testing.assert_array_equal(Contacts(recovery=0.5).recoveries(np.zeros((3, 4), int)), [0.5] * 3)


def test_ids_tell_triangles():
    triangles, slots = np.array([0, 7, 123456]), np.array([0, 63, 5])
    np.testing.assert_array_equal(triangles_of(patch_ids(triangles, slots, np.array([3, 0, 9]), SLOTS)), triangles)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, "thick", None, True, np.array([0.1, np.nan]), [0.1, 0.2]])
def test_arrays_of_thickness_are_checked(bad):
    with pytest.raises(vv.InputError, match="must be a positive length in metres"):
        as_thicknesses(bad)


def test_arrays_of_thickness_have_one_for_each_vertex():
    with pytest.raises(vv.InputError, match="2 thicknesses for 3 vertices"):
        as_thicknesses(np.array([0.1, 0.2]), 3)
    with pytest.raises(vv.InputError, match="2 thicknesses for 3 vertices"):
        ColliderSearch([Plane()], np.array([0.1, 0.2])).find(rows(np.zeros((3, 3))), rows(np.zeros((3, 3))))


# --- searches: each vertex has what a search with its thickness for all finds -----------------------------------------


def flights(count, seed):
    rng = np.random.default_rng(seed)
    start = rng.uniform(-0.6, 0.6, (count, 3))
    return rows(start), rows(start + rng.normal(scale=0.05, size=(count, 3)))


def assert_as_each(found, alone, thick):
    """`found` is what `alone` of thin and thick ones found, for the vertices that are so."""
    for own, which in zip(alone, (~thick, thick), strict=True):
        mine = which[found.vertices[:, 0]]
        own = own.ordered(np.flatnonzero(which[own.vertices[:, 0]]))
        assert mine.any()
        for name in ("vertices", "planes", "friction", "ids"):
            np.testing.assert_array_equal(getattr(found, name)[mine], getattr(own, name))


@pytest.mark.parametrize("threads", [1, 2])
def test_vertices_against_colliders(threads):
    (q, s), thick = flights(1000, 0), np.random.default_rng(1).random(1000) < 0.5
    colliders = [Plane((0, -0.3, 0)), Box((0, 0, 0), (0.2, 0.1, 0.2), (0.2, 0.1, 0)), Sphere((0.4, 0, 0), 0.1)]
    each = np.where(thick, THICK, THIN)
    walls = ColliderSearch(colliders, each)
    assert_as_each(
        walls.find(q, s, threads), [ColliderSearch(colliders, t).find(q, s, 1) for t in (THIN, THICK)], thick
    )
    some = np.arange(0, 1000, 3)
    few = walls.find(q[some], s[some], threads, some)
    usual = walls.find(q, s, threads)
    usual = usual.ordered(np.flatnonzero(usual.vertices[:, 0] % 3 == 0))
    np.testing.assert_array_equal(few.planes, usual.planes)
    np.testing.assert_array_equal(some[few.vertices], usual.vertices)


def test_vertices_that_are_pushed_out_of_colliders():
    """Each to its own distance, also where only some are looked at."""
    walls = ColliderSearch([Plane()], np.array([THIN, THICK, THIN, THICK]))
    q = rows([[0, 0.05, 0]] * 4)
    x = rows([[0, -0.01, 0]] * 4)
    assert walls.keep_out(q, x, np.zeros(4, bool), 0.25 * np.array([THIN, THICK, THIN, THICK])) == 4
    np.testing.assert_allclose(x[:, 1], [THIN, THICK, THIN, THICK], atol=1e-7)
    x = rows([[0, -0.01, 0]] * 2)
    assert walls.keep_out(q[:2], x, np.zeros(2, bool), 0.001, np.array([3, 0])) == 2
    np.testing.assert_allclose(x[:, 1], [THICK, THIN], atol=1e-7)


def moving(thickness, n, triangles=None):
    shapes = [Box((0.3, 0.1, 0.0), (0.2, 0.1, 0.15), (0.2, 0.4, 0.1)), Sphere((-0.3, 0, 0), 0.2)]
    found = MovingSearch(
        *(shapes, np.tile([0.4, 0.3], (2, 1)), thickness, 5, np.full(2, np.inf), np.full(n, 1e-3)),
        triangles=triangles,
    )
    turns = np.tile(np.eye(3), (2, 1, 1))
    found.place(Poses(turns, np.zeros((2, 3))), Poses(turns, np.array([[0, 0.02, 0], [0.01, 0, 0]])))
    return found


@pytest.mark.parametrize("threads", [1, 2])
def test_vertices_against_rigid_bodies(threads):
    (q, s), thick = flights(1000, 2), np.random.default_rng(3).random(1000) < 0.5
    found = moving(np.where(thick, THICK, THIN), 1000).find(q, s, threads)
    assert_as_each(found, [moving(t, 1000).find(q, s, 1) for t in (THIN, THICK)], thick)


@pytest.mark.parametrize("threads", [1, 2])
def test_triangles_against_rigid_bodies(threads):
    """A triangle keeps a share of the least thickness of its corners."""
    rng = np.random.default_rng(4)
    x = (rng.uniform(-0.6, 0.6, (300, 1, 3)) + rng.normal(scale=0.15, size=(300, 3, 3))).reshape(-1, 3)
    q, s = rows(x), rows(x + rng.normal(scale=0.02, size=x.shape))
    triangles, thick = np.arange(900, dtype=np.int32).reshape(-1, 3), np.repeat(rng.random(300) < 0.5, 3)
    each = np.where(thick, THICK, THIN)
    each[::3] = np.where(thick[::3], 2 * THICK, THIN)  # one corner thicker still: the least counts
    patches = []
    for thickness in (each, THIN, THICK):
        bodies = moving(thickness, 900, triangles)
        bodies.find(q, s, threads)
        patches.append(bodies.patches)
    assert_as_each(patches[0], patches[1:], thick)
    again = moving(each, 900, triangles)
    pushed = [again.keep_out(q, y, np.zeros(900, bool), 0.25 * each, threads).ways for y in (s.copy(), s.copy())]
    np.testing.assert_array_equal(*pushed)


# --- at rest --------------------------------------------------------------------------------------------------------


def settled(model, solver="auto", threads=1, steps=60, h=1 / 120, iterations=8):
    sim = vv.Simulation(model, solver=solver, time_step=h, budget=vv.Budget(iterations=iterations), threads=threads)
    for _ in range(steps):
        sim.step()
    return sim


def layers(sim, names):
    return [float(np.median(np.array(sim.positions)[sim.model.mesh.select(name), 1])) for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["pbd-coloured", "pbd-vivace"])
def test_a_stack_of_three_at_rest(solver):
    """t_a above the floor, (t_a + t_b)/2 and (t_b + t_c)/2 above each other; nothing has crossed."""
    names, t = ["a", "b", "c"], np.array([THICK, THIN, 0.008])
    apart = np.array([t[0], 0.5 * (t[0] + t[1]), 0.5 * (t[1] + t[2])])
    model = sheets(np.cumsum(apart) + 0.001 * np.arange(1, 4), names)
    model = model.collide([Plane()], thickness=dict(zip(names, t.tolist(), strict=True)))
    sim = settled(model, solver, steps=30)
    assert np.diff(layers(sim, names), prepend=0.0) == pytest.approx(apart, rel=0.01)
    assert len(crossings(sim.positions, model.mesh.triangles)[0]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("below", [THIN, THICK])
def test_two_sheets_at_rest_in_projective_dynamics(below):
    """The same, whichever is below; nearly converged, as contacts between surfaces have no memory."""
    t = np.array([below, THIN + THICK - below])
    apart = np.array([t[0], 0.5 * (t[0] + t[1])])
    model = sheets(np.cumsum(apart) + 0.001 * np.arange(1, 3), ["a", "b"])
    model = model.collide([Plane()], thickness={"a": t[0], "b": t[1]})
    sim = settled(model, iterations=40)
    assert np.diff(layers(sim, ["a", "b"]), prepend=0.0) == pytest.approx(apart, rel=0.05)
    assert len(crossings(sim.positions, model.mesh.triangles)[0]) == 0


@pytest.mark.slow
def test_the_same_bits_with_more_threads_and_after_a_checkpoint(tmp_path):
    names = ["a", "b"]
    model = sheets([0.02, 0.035], names).collide([Plane()], thickness={"a": THICK, "b": THIN}, sleep=0.05)
    ends = [np.array(settled(model, threads=threads, steps=12, h=1 / 60).positions) for threads in (1, 2)]
    np.testing.assert_array_equal(*ends)
    sim = settled(model, steps=6, h=1 / 60)
    sim.save(tmp_path / "sim.vivace")
    again = vv.load(tmp_path / "sim.vivace")
    np.testing.assert_array_equal(again.model.collisions.thicknesses, model.collisions.thicknesses)
    for _ in range(6):
        again.step()
    np.testing.assert_array_equal(again.positions, ends[0])


@pytest.mark.slow
def test_what_lies_on_rigid_bodies_and_animated_meshes_keeps_its_own():
    """Each vertex its own t above what has none."""
    names, t = ["a", "b"], {"a": THICK, "b": THIN}
    parts = [vv.mesh.cloth(6, 6, 0.1, 0.1).transformed(translate=(0.3 * k, 0.02, 0)) for k in range(2)]
    one = vv.Model.of([(part, vv.Cloth(0.2)) for part in parts], names=names, air=5.0)
    ground = vv.mesh.cloth(3, 3, 2.0, 2.0)
    still = vv.caches.Animation([0.0], ground.vertices[None], ground.triangles)
    for thing in (vv.Body(Box((0, -0.5, 0), (2, 0.5, 2)), fixed=True), vv.AnimatedMesh(still)):
        sim = settled(one.collide([thing], thickness=t, itself=False), steps=60, h=1 / 60)
        assert layers(sim, names) == pytest.approx([THICK, THIN], rel=0.1)


@pytest.mark.slow
def test_nothing_passes_through_what_is_thin():
    """A ball falls on a thick and a thin cloth that are held, and the guard lets nothing through."""
    model = sheets([0.0, 0.01], ["thin", "thick"], n=9, side=0.3).pin(np.arange(9))
    ball = vv.Body(Sphere((0.15, 0.12, 0.15), 0.05), mass=0.2, velocity=(0, -3, 0))
    model = model.collide([ball], thickness={"thin": 0.001, "thick": 0.008})
    sim = vv.Simulation(model, time_step=1 / 60, budget=vv.Budget(iterations=4))
    for _ in range(20):
        sim.step()
        assert len(crossings(sim.positions, model.mesh.triangles)[0]) == 0


def test_shares_are_powers_of_two():
    """So that a share of one thickness has the bits that it always had, in whatever order it is taken."""
    assert {np.frexp(share)[0] for share in (SHARE, NEAR)} == {0.5}
