"""Colliders: distances against closed forms and brute force, gradients against differences, samples against both."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from vivace import InputError
from vivace.collisions import sampled
from vivace.collisions.collider_contacts import penetration
from vivace.collisions.colliders import Box, Capsule, Plane, Sphere
from vivace.collisions.furniture import armchair, table, tube
from vivace.collisions.kernels.sampling import square_to_triangle
from vivace.collisions.sampled import Sampled
from vivace.mesh import Mesh, ball, bar, torus

TURN = (0.3, -0.5, 0.2)
SHAPES = {
    "plane": Plane((0.1, 0.2, 0.3), (1, 2, -0.5)),
    "sphere": Sphere((0.1, -0.2, 0.05), 0.4),
    "box": Box((0.1, 0.0, -0.1), (0.5, 0.2, 0.3)),
    "turned": Box((0.1, 0.0, -0.1), (0.5, 0.2, 0.3), TURN),
    "rounded": Box((0.1, 0.0, -0.1), (0.5, 0.2, 0.3), TURN, 0.1),
    "capsule": Capsule((-0.3, 0.0, 0.1), (0.4, 0.3, 0.0), 0.15),
}
each_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())


def scatter(count: int, seed: int = 0, size: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-size, size, (count, 3))


def surface_of(body: Mesh, name: str = "surface") -> Mesh:
    return Mesh.from_triangles(body.vertices, body.triangles, name=name, repair=True)


def winding(mesh: Mesh, points: np.ndarray) -> np.ndarray:
    """Solid angles of all triangles over 4π: 1 inside, 0 outside."""
    total = np.zeros(len(points))
    for triangle in mesh.vertices[mesh.triangles]:
        a, b, c = (corner - points for corner in triangle)
        la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
        ab, bc, ca = ((x * y).sum(1) for x, y in ((a, b), (b, c), (c, a)))
        total += 2 * np.arctan2((a * np.cross(b, c)).sum(1), la * lb * lc + ab * lc + bc * la + ca * lb)
    return total / (4 * np.pi)


# --- closed forms -------------------------------------------------------------------------------------------------


def test_plane_and_sphere_and_capsule_are_their_closed_forms():
    x = scatter(500)
    normal = np.array([1, 2, -0.5]) / np.sqrt(5.25)
    np.testing.assert_allclose(SHAPES["plane"].distance(x), (x - [0.1, 0.2, 0.3]) @ normal, atol=1e-15)
    np.testing.assert_allclose(SHAPES["plane"].gradient(x), np.tile(normal, (500, 1)), atol=1e-15)
    away = x - [0.1, -0.2, 0.05]
    np.testing.assert_allclose(SHAPES["sphere"].distance(x), np.linalg.norm(away, axis=1) - 0.4, atol=1e-15)
    start, axis = np.array([-0.3, 0.0, 0.1]), np.array([0.7, 0.3, -0.1])
    along = np.clip((x - start) @ axis / (axis @ axis), 0, 1)
    gap = np.linalg.norm(x - start - along[:, None] * axis, axis=1)
    np.testing.assert_allclose(SHAPES["capsule"].distance(x), gap - 0.15, atol=1e-14)


@pytest.mark.parametrize("name", ["box", "turned"])
def test_a_box_is_as_far_as_its_nearest_triangle(name):
    box, x = SHAPES[name], scatter(300, 1, 0.5)
    mesh = box.surface()
    corners = mesh.vertices[mesh.triangles].reshape(-1)
    square = [min(square_to_triangle(corners, 9 * t, *p) for t in range(len(mesh.triangles))) for p in x]
    inside = winding(mesh, x) > 0.5
    assert 10 < inside.sum() < 290
    np.testing.assert_allclose(box.distance(x), np.where(inside, -1, 1) * np.sqrt(square), atol=1e-14)


def test_rounding_moves_the_surface_of_a_smaller_box_out():
    inner = Box((0.1, 0.0, -0.1), (0.4, 0.1, 0.2), TURN)
    x = scatter(500, 2)
    np.testing.assert_allclose(SHAPES["rounded"].distance(x), inner.distance(x) - 0.1, atol=1e-15)


@each_shape
def test_gradients_are_differences_of_distances(shape):
    x, step = scatter(400, 3), 1e-6
    slopes = np.stack([(shape.distance(x + e) - shape.distance(x - e)) / (2 * step) for e in step * np.eye(3)], axis=1)
    gradient = shape.gradient(x)
    np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1, atol=1e-14)
    # Central differences are off by step²/6 x third derivatives (1/d² here) and by rounding, 1e-16/step; the few
    # points within a step of a kink, half-way between two faces, are none of these 400.
    np.testing.assert_allclose(slopes, gradient, atol=1e-8)
    # Walking back by the distance along the gradient ends on the surface, but for points past a sharp inside edge.
    np.testing.assert_allclose(shape.distance(x - shape.distance(x)[:, None] * gradient), 0, atol=1e-14)


def test_the_middle_has_a_way_out():
    for shape in (Sphere((0, 0, 0), 1.0), Capsule((0, -1, 0), (0, 1, 0), 1.0), Box((0, 0, 0), (1, 1, 1))):
        np.testing.assert_array_equal(shape.distance([[0, 0, 0]]), -1)
        np.testing.assert_array_equal(np.linalg.norm(shape.gradient([[0, 0, 0]]), axis=1), 1)


@each_shape
def test_surfaces_lie_on_the_surface_and_face_out(shape):
    mesh = shape.surface()
    np.testing.assert_allclose(shape.distance(mesh.vertices), 0, atol=1e-14)
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    assert ((np.cross(b - a, c - a) * shape.gradient((a + b + c) / 3)).sum(1) > 0).all()
    if not isinstance(shape, Plane):
        assert len(np.unique(np.sort(mesh.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)), axis=0)) == len(mesh.edges)
        assert 2 * len(mesh.edges) == 3 * len(mesh.triangles)  # closed


# --- furniture ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_an_armchair_stands_on_the_floor_and_has_a_seat(scale):
    parts = armchair(scale)
    bounds = np.array([p.surface().bounds for p in parts])
    assert bounds[:, 0, 1].min() == pytest.approx(0, abs=1e-12)
    assert bounds[0, 1, 1] == pytest.approx(0.45 * scale)
    assert bounds[0, 1, 0] - bounds[0, 0, 0] == pytest.approx(0.7 * scale)
    assert bounds[1, 1, 1] > 0.9 * scale  # the back
    seat, above = [[0, 0.44 * scale, 0.1 * scale]], [[0, 0.46 * scale, 0.1 * scale]]
    assert penetration(parts, seat)[0] == pytest.approx(0.01 * scale)
    assert penetration(parts, above)[0] == 0
    lean = parts[1].gradient(np.array([[0, 0.7, 0.0]]) * scale)[0]
    assert lean[2] > 0.9
    assert lean[1] > 0  # whoever leans on it is held up


def test_table_and_tube():
    top = table(side=1.2, height=0.75, thickness=0.01)
    np.testing.assert_allclose(top.distance([[0, 0.76, 0], [0, 0.73, 0], [0.7, 0.745, 0]]), [0.01, 0.01, 0.1])
    np.testing.assert_allclose(tube(0.1, 1.0, 0.5).distance([[0, 0.7, 0], [0.7, 0.5, 0]]), [0.1, 0.1])
    assert tube(friction=0.2).friction == (0.2, 0.2)


# --- samples ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ring() -> Sampled:
    return Sampled.of(surface_of(torus(0.35, 0.15, 24, 2)), spacing=0.02, cache=False)


@pytest.mark.slow
def test_samples_are_exact_distances_and_signs_are_winding_numbers(ring):
    nz, ny, nx = ring.samples.shape
    chosen = np.random.default_rng(0).integers(0, [nx, ny, nz], (300, 3))
    x = np.array(ring.origin) + ring.spacing * chosen
    corners = ring.mesh.vertices[ring.mesh.triangles].reshape(-1)
    distance = np.sqrt([min(square_to_triangle(corners, 9 * t, *p) for t in range(len(corners) // 9)) for p in x])
    inside = winding(ring.mesh, x) > 0.5
    assert 20 < inside.sum() < 280
    stored = ring.samples[chosen[:, 2], chosen[:, 1], chosen[:, 0]]
    np.testing.assert_allclose(stored, np.where(inside, -1, 1) * distance, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ring.distance(x), stored, atol=1e-7)


@pytest.mark.slow
def test_the_sign_is_right_wherever_it_can_be_known(ring):
    """Trilinear values are off by at most √3/2 spacing: beyond that the sign must agree with the winding number."""
    x = scatter(2000, 4, 0.55)
    value, inside = ring.distance(x), winding(ring.mesh, x) > 0.5
    certain = np.abs(value) > 0.5 * np.sqrt(3) * ring.spacing
    assert certain.sum() > 1000
    np.testing.assert_array_equal(value[certain] < 0, inside[certain])
    assert ((value < 0) == inside).mean() > 0.99


@pytest.mark.parametrize("spacing", [0.05, 0.025])
def test_a_sampled_box_is_a_box_within_the_bound(spacing):
    """Interpolating a function with slope 1 between samples: Σ w |x - x_i| <= √(Σ w |x - x_i|²) <= √3/2 spacing."""
    exact = Box((0, 0, 0), (0.5, 0.25, 0.15))
    mesh = surface_of(bar(5, 4, 3, (1.0, 0.5, 0.3)))
    grid = Sampled.of(mesh, spacing=spacing, cache=False)
    x = scatter(10000, 5, 0.6)
    x = x[(np.abs(x) <= mesh.bounds[1] + 2 * spacing).all(axis=1)]
    error = np.abs(grid.distance(x) - exact.distance(x))
    assert error.max() <= 0.5 * np.sqrt(3) * spacing
    gap = np.array(exact.half) - np.abs(x)
    flat = gap[:, 1] < gap[:, [0, 2]].min(axis=1) - 2 * spacing  # only the top or the bottom matters in the whole cell:
    flat &= gap[:, [0, 2]].min(axis=1) > spacing  # the distance is linear, and so are the values between samples
    assert flat.sum() > 10
    assert error[flat].max() < 1e-7


@pytest.mark.slow
def test_the_error_along_a_sphere_falls_with_the_square_of_the_spacing():
    """At distance r from the centre a second derivative is 1/r: the error is at most 3/8 spacing² x 2/r near r."""
    mesh = Sphere((0, 0, 0), 0.5).surface()
    sagitta = 0.5 * (1 - np.cos(0.5 * mesh_angle(mesh)))
    x = scatter(4000, 6, 0.6)
    r = np.linalg.norm(x, axis=1)
    for spacing in (0.04, 0.02):
        near = (r > 0.4) & (r < 0.6)
        error = np.abs(Sampled.of(mesh, spacing, cache=False).distance(x[near]) - (r[near] - 0.5))
        assert error.max() < 0.375 * spacing**2 * 2 / 0.3 + sagitta


def mesh_angle(mesh: Mesh) -> float:
    """The largest angle that an edge of a triangulated ball is seen under from its centre."""
    a, b = mesh.vertices[mesh.edges[:, 0]], mesh.vertices[mesh.edges[:, 1]]
    return float(2 * np.arcsin(np.linalg.norm(a - b, axis=1) / 2 / np.linalg.norm(a, axis=1)).max())


@pytest.mark.slow
def test_gradients_of_samples_point_along_differences(ring):
    x, step = scatter(400, 7, 0.7), 1e-7
    slopes = np.stack([(ring.distance(x + e) - ring.distance(x - e)) / (2 * step) for e in step * np.eye(3)], axis=1)
    length = np.linalg.norm(slopes, axis=1)
    gradient = ring.gradient(x)
    np.testing.assert_allclose(np.linalg.norm(gradient, axis=1), 1, atol=1e-12)
    assert length.max() <= np.sqrt(3) + 1e-6  # what the walk relies on
    np.testing.assert_allclose(gradient * length[:, None], slopes, atol=1e-6)


@pytest.mark.slow
def test_outside_the_grid_the_distance_to_it_is_added(ring):
    far = np.array([[3.0, 0.0, 0.0], [0.1, -2.0, 0.0], [2.0, 2.0, 2.0]])
    top = np.array(ring.origin) + ring.spacing * (np.array(ring.samples.shape[::-1]) - 1)
    nearest = np.clip(far, ring.origin, top)
    expected = ring.distance(nearest) + np.linalg.norm(far - nearest, axis=1)
    np.testing.assert_allclose(ring.distance(far), expected, atol=1e-12)


@pytest.mark.slow
def test_a_cavity_is_outside_and_the_way_a_surface_faces_does_not_matter():
    outer, inner = surface_of(ball(8, 0.5)), surface_of(ball(8, 0.25))
    turned = inner.triangles[:, ::-1]
    both = np.concatenate([outer.vertices, inner.vertices])
    shell = Mesh.from_triangles(both, np.concatenate([outer.triangles, turned + outer.n_vertices]))
    inside_out = Mesh.from_triangles(both, shell.triangles[:, ::-1])
    x = [[0, 0, 0], [0.37, 0, 0], [0.7, 0, 0]]
    for mesh in (shell, inside_out):
        np.testing.assert_array_equal(np.sign(Sampled.of(mesh, 0.05, cache=False).distance(x)), [1, -1, 1])


def test_progress_is_told():
    told: list[tuple[str, int, int]] = []
    Sampled.of(surface_of(ball(4)), 0.2, progress=lambda *news: told.append(news), cache=False)
    assert [done for _, done, _ in told] == list(range(1, told[0][2] + 1))


# --- the cache ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_cache_saves_work_and_survives_broken_files(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    mesh = surface_of(ball(4))
    calls = []
    original = sampled._sample
    monkeypatch.setattr(sampled, "_sample", lambda *a: calls.append(1) or original(*a))
    first = Sampled.of(mesh, 0.1)
    (file,) = (tmp_path / "vivace").iterdir()
    again = Sampled.of(mesh, 0.1)
    assert len(calls) == 1
    np.testing.assert_array_equal(first.samples, again.samples)
    whole = file.read_bytes()
    for broken in (whole[: len(whole) // 2], b"", b"not a file", whole[:600] + bytes(64) + whole[664:]):
        file.write_bytes(broken)
        np.testing.assert_array_equal(Sampled.of(mesh, 0.1).samples, first.samples)
        assert file.read_bytes() == whole or np.load(file)["samples"].shape == first.samples.shape
    assert len(calls) == 5
    Sampled.of(mesh, 0.05)
    Sampled.of(mesh.transformed(scale=1.5), 0.1)
    assert len(calls) == 7
    assert len(list((tmp_path / "vivace").iterdir())) == 3
    Sampled.of(mesh, 0.1, cache=False)
    assert len(calls) == 8


def test_a_cache_that_cannot_be_written_is_none(tmp_path, monkeypatch):
    (tmp_path / "vivace").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Sampled.of(surface_of(ball(4)), 0.2).distance([[0, 0, 0]])[0] < 0


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sphere((0, 0, 0), -1), "radius must be a positive length"),
        (lambda: Sphere((0, 0, 0), float("nan")), "radius must be a positive length"),
        (lambda: Sphere((0, 0), 1), "centre must have shape"),
        (lambda: Sphere((0, np.nan, 0), 1), "centre must be finite"),
        (lambda: Sphere("here", 1), "centre must be numbers"),
        (lambda: Plane(normal=(0, 0, 0)), "must have a length"),
        (lambda: Plane(point=(0, np.inf, 0)), "point must be finite"),
        (lambda: Box((0, 0, 0), (1, 0, 1)), "must be positive lengths"),
        (lambda: Box((0, 0, 0), (1, 0.1, 1), rounding=0.2), "rounding must lie between 0 and"),
        (lambda: Box((0, 0, 0), (1, 1, 1), rotate=np.diag([1, 1, -1])), "must be a rotation"),
        (lambda: Capsule((0, 0, 0), (0, 0, 0), 1), "use a Sphere"),
        (lambda: Capsule((0, 0, 0), (0, 1, 0), 0), "radius must be"),
        (lambda: Plane(friction=-0.1), "static >= kinetic >= 0"),
        (lambda: Plane(friction=(0.2, 0.3)), "static >= kinetic >= 0"),
        (lambda: Plane(friction="rough"), "friction must be a coefficient"),
        (lambda: Plane(friction=(0.2, 0.1, 0.0)), "friction must be a coefficient"),
        (lambda: Plane().distance([0, 0, 0]), r"shape \(m, 3\)"),
        (lambda: Plane().distance([[0, np.nan, 0]]), "point 0 is not"),
        (lambda: armchair(scale=0), "scale must be"),
        (lambda: table(thickness=-1), "thickness must be"),
        (lambda: tube(radius="wide"), "radius must be"),
        (lambda: Sampled.of(surface_of(ball(4)), spacing=-1), "spacing must be a positive"),
        (lambda: Sampled.of(surface_of(ball(4)), spacing=1e-4), "choose one well above"),
        (lambda: Sampled.of(surface_of(ball(4)), spacing=0.2, cache=False, friction=-1), "static >= kinetic"),
    ],
)
def test_bad_values_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_open_and_badly_wound_meshes_are_refused():
    whole = surface_of(ball(4))
    with pytest.raises(InputError, match="not closed"):
        Sampled.of(Mesh.from_triangles(whole.vertices, whole.triangles[1:]))
    turned = whole.triangles.copy()
    turned[0] = turned[0, ::-1]
    with pytest.raises(InputError, match="normals consistent"):
        Sampled.of(Mesh.from_triangles(whole.vertices, turned))


def test_colliders_can_be_copied_compared_and_pickled(ring):
    assert Sphere((0, 0, 0), 1) == Sphere((0.0, 0.0, 0.0), 1.0) != Sphere((0, 0, 0), 2)
    for shape in (*SHAPES.values(), ring):
        for twin in (copy.deepcopy(shape), pickle.loads(pickle.dumps(shape))):
            np.testing.assert_array_equal(twin.distance([[0.1, 0.2, 0.3]]), shape.distance([[0.1, 0.2, 0.3]]))
