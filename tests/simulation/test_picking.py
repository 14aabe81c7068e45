"""What a ray takes."""

import numpy as np
import pytest

from simulation.held import DOWN, SOLVERS, sheet
from vivace import Budget, InputError, Model, Simulation, Wire, mesh
from vivace.simulation.picking import as_ray, first_triangle, picked_vertex


@pytest.fixture(params=SOLVERS)
def sim(request) -> Simulation:
    return Simulation(sheet(), solver=request.param, budget=Budget(iterations=20), threads=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_first_triangle_against_brute_force(seed):
    """The smallest t > 0 with o + t d in a triangle, by solving for t and the barycentric coordinates of each."""
    rng = np.random.default_rng(seed)
    points, triangles = rng.normal(size=(30, 3)), np.stack([rng.permutation(30)[:3] for _ in range(40)])
    hits = 0
    for _ in range(50):
        origin = 2 * rng.normal(size=3)
        o, d = as_ray(origin, 0.8 * rng.normal(size=3) - origin)
        found = []
        for number, (a, b, c) in enumerate(points[triangles]):
            u, v, t = np.linalg.solve(np.column_stack([b - a, c - a, -d]), o - a)
            if min(u, v, 1 - u - v) >= 0 and t > 0:
                found.append((t, number))
        mine = first_triangle(points, triangles, o, d)
        assert (mine is None) == (not found)
        if mine is not None:
            hits += 1
            assert mine[0] == min(found)[1]
            assert mine[1] == pytest.approx(min(found)[0], rel=1e-9)
    assert 5 < hits < 50


def test_a_ray_takes_the_nearest_corner_of_the_nearest_triangle():
    near, far = mesh.cloth(3, 3), mesh.cloth(3, 3).transformed(translate=(0, -1, 0))
    both = mesh.join([far, near])
    for i, (x, _, z) in enumerate(near.vertices):
        ray = as_ray((0.9 * x + 0.01, 5.0, 0.9 * z), DOWN)
        assert picked_vertex(both.vertices, both.triangles, *ray) == 9 + i
        ray = as_ray((0.9 * x + 0.01, -5.0, 0.9 * z), (0, 2, 0))
        assert picked_vertex(both.vertices, both.triangles, *ray) == i


def test_a_ray_may_miss():
    cloth = mesh.cloth(3, 3)
    ahead = as_ray((0, 1, 0), DOWN)
    assert picked_vertex(cloth.vertices, cloth.triangles, *ahead) is not None
    for origin, direction in (((0, 1, 0), (0, 1, 0)), ((2, 1, 0), DOWN), ((-1, 1, 0), (1, 0, 0))):
        assert picked_vertex(cloth.vertices, cloth.triangles, *as_ray(origin, direction)) is None


def test_without_triangles_a_ray_takes_the_vertex_it_passes():
    """Within 5% of the body's size, and before the origin only."""
    wire = mesh.Mesh.from_edges(np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]]), [[0, 1], [1, 2]])
    assert picked_vertex(wire.vertices, wire.triangles, *as_ray((1.05, 3, 0), DOWN)) == 1
    assert picked_vertex(wire.vertices, wire.triangles, *as_ray((1.2, 3, 0), DOWN)) is None
    assert picked_vertex(wire.vertices, wire.triangles, *as_ray((1.0, 3, 0), (0, 1, 0))) is None


@pytest.mark.parametrize(
    ("ray", "message"),
    [
        (((0, 1, 0), (0, 0, 0)), "direction of a ray must not be zero"),
        (((0, np.nan, 0), DOWN), "three finite numbers each"),
        (((0, 1, 0), (0, np.inf, 0)), "three finite numbers each"),
        (((0, 1), DOWN), "three finite numbers each"),
        ((("a", "b", "c"), DOWN), "three numbers each"),
        (((0, 1, 0), DOWN, 3), "a ray is a pair"),
    ],
)
def test_bad_rays_are_refused(sim, ray, message):
    with pytest.raises(InputError, match=message):
        sim.grab(ray)
    assert sim.grabbed == ()
    assert len(sim.targets) == 5


def test_a_wire_can_be_grabbed_by_a_ray():
    wire = mesh.Mesh.from_edges(np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]]), [[0, 1], [1, 2]])
    sim = Simulation(Model.of(wire, Wire()), solver="pbd", budget=Budget(iterations=5), threads=1)
    assert sim.grab(((2.0, 1.0, 0.0), DOWN)) == 2
    for _ in range(5):
        sim.step()
    np.testing.assert_array_equal(sim.positions[2], [2, 0, 0])
