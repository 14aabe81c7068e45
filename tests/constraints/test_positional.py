"""Constraints known by C(x) and its gradient, what ties bodies together, and how a user adds his own."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import vivace as vv
from vivace.constraints import CONSTRAINTS, Prepared, Role, constraint, make_group
from vivace.constraints.attachment import nearest_weights
from vivace.constraints.dihedral import angles
from vivace.energy.system import System, values
from vivace.model.materials import MATERIALS

EPS = float(np.finfo(float).eps)
TET = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
FOLD = np.array([[0.0, 0, 0], [1, 0, 0], [0.4, 1, 0], [0.6, -1, 0]])  # edge start, edge end, opposite, opposite: flat
BY_VALUE = ["volume", "dihedral"]


def one(name, rest, **options):
    return make_group(name, rest, [[0, 1, 2, 3]], 1.0, **options)


def value(group, q):
    c, gradient = values(group, np.asarray(q, np.float64))
    return float(c[0]), gradient[0]


def differences(group, q, h):
    """∂C/∂x by central differences, (4, 3)."""
    out = np.zeros((4, 3))
    for k, c in np.ndindex(4, 3):
        step = np.zeros((4, 3))
        step[k, c] = h
        out[k, c] = (value(group, q + step)[0] - value(group, q - step)[0]) / (2 * h)
    return out


def folded(angle):
    """FOLD with its second triangle turned about the edge: positive is a ridge, seen from where normals point."""
    q = FOLD.copy()
    q[3] = Rotation.from_rotvec([angle, 0, 0]).apply(FOLD[3])
    return q


# --- values and gradients -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_VALUE)
@pytest.mark.parametrize("seed", range(5))
def test_gradients_are_the_slopes(name, seed):
    """∇C by central differences: they err by h²/6 C''' and ε C/h; with h = 1e-5 and lengths of order 1 below 1e-8."""
    rng = np.random.default_rng(seed)
    group = one(name, (TET if name == "volume" else FOLD) + 0.2 * rng.normal(size=(4, 3)))
    q = (TET if name == "volume" else FOLD) + 0.2 * rng.normal(size=(4, 3))
    gradient = value(group, q)[1]
    assert np.abs(gradient).max() > 0.1
    np.testing.assert_allclose(gradient, differences(group, q, 1e-5), rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", BY_VALUE)
def test_rest_shapes_have_the_value_zero_wherever_they_are(name):
    """C(R x + t) = 0 at rest: to the rounding of positions about 10 m away, times the slope, of order 1."""
    rng = np.random.default_rng(7)
    rest = (TET if name == "volume" else FOLD) + 0.2 * rng.normal(size=(4, 3))
    group = one(name, rest)
    assert abs(value(group, rest)[0]) <= 4 * EPS
    turn = Rotation.from_rotvec([0.4, -1.1, 0.7])
    assert abs(value(group, turn.apply(rest) + np.array([10, -5, 3]))[0]) <= 100 * 10 * EPS


@pytest.mark.parametrize("name", BY_VALUE)
def test_moving_or_turning_the_whole_changes_nothing(name):
    """Σ_k ∇_k C = 0 and Σ_k x_k x ∇_k C = 0: C sees neither translation nor rotation."""
    rng = np.random.default_rng(3)
    base = TET if name == "volume" else FOLD
    group = one(name, base)
    q = base + 0.3 * rng.normal(size=(4, 3))
    gradient = value(group, q)[1]
    size = np.abs(gradient).sum()
    np.testing.assert_allclose(gradient.sum(axis=0), 0, atol=4 * EPS * size)
    np.testing.assert_allclose(np.cross(q, gradient).sum(axis=0), 0, atol=30 * EPS * size * np.abs(q).max())


def test_volume_is_signed():
    """C = V - V₀: a unit corner has V = 1/6; grown to twice its size 8/6; mirrored -1/6."""
    group = one("volume", TET)
    assert group.parameters[0, 0] == pytest.approx(1 / 6, rel=4 * EPS)
    assert value(group, 2 * TET)[0] == pytest.approx(7 / 6, rel=8 * EPS)
    assert value(group, TET * [1, 1, -1])[0] == pytest.approx(-2 / 6, rel=8 * EPS)
    assert value(one("volume", TET, scale=2.0), TET)[0] == pytest.approx(-1 / 6, rel=8 * EPS)


def test_volume_grows_along_its_gradient():
    """∇_k C is a third of the area of the opposite face, along its inner normal: it points to vertex k."""
    gradient = value(one("volume", TET), TET)[1]
    np.testing.assert_allclose(gradient[1:], np.eye(3) / 6, atol=4 * EPS)
    np.testing.assert_allclose(gradient[0], [-1 / 6] * 3, atol=4 * EPS)


def test_volume_energy_is_that_of_its_strain():
    """E = κ/2 (V - V₀)²/V₀: with 1% more volume κ/2 1e-4 V₀, the density of a strain of 1%."""
    kappa = 1e5
    group = make_group("volume", TET, [[0, 1, 2, 3]], kappa)
    c = value(group, TET * 1.01 ** (1 / 3))[0]
    assert 0.5 * group.weights[0] * c**2 == pytest.approx(0.5 * kappa * 1e-4 / 6, rel=1e-11)


@pytest.mark.parametrize("angle", [-3.0, -1.0, -1e-3, 0.0, 1e-3, 0.5, np.pi / 2, 3.0])
def test_dihedral_is_the_signed_angle(angle):
    """C = θ - θ₀, θ from the arc tangent: accurate to rounding even next to 0, where the arc cosine loses half."""
    group = one("dihedral", FOLD)
    assert value(group, folded(angle))[0] == pytest.approx(angle, abs=16 * EPS)
    assert angles(folded(angle)[None])[0] == pytest.approx(angle, abs=16 * EPS)
    assert value(one("dihedral", folded(angle)), folded(angle))[0] == pytest.approx(0, abs=16 * EPS)
    assert value(one("dihedral", folded(0.3)), folded(angle))[0] == pytest.approx(
        angle - 0.3 if angle - 0.3 >= -np.pi else angle - 0.3 + 2 * np.pi, abs=16 * EPS
    )


def test_dihedral_goes_the_short_way_round():
    """From θ₀ = 3 to θ = -3 it is not -6 but 2π - 6: the fold has passed half a turn."""
    c, gradient = value(one("dihedral", folded(3.0)), folded(-3.0))
    assert c == pytest.approx(2 * np.pi - 6, abs=32 * EPS)
    np.testing.assert_allclose(gradient, value(one("dihedral", FOLD), folded(-3.0))[1])


def test_dihedral_is_smooth_where_flat():
    """At θ = 0 the corners move it by 1/height: |∇_2 C| = |∇_3 C| = 1 here, and nothing blows up."""
    c, gradient = value(one("dihedral", FOLD), FOLD)
    assert c == 0
    np.testing.assert_allclose(np.linalg.norm(gradient[2:], axis=1), 1, rtol=8 * EPS)
    np.testing.assert_allclose(gradient[2], gradient[3], atol=8 * EPS)
    np.testing.assert_allclose(gradient, differences(one("dihedral", FOLD), FOLD, 1e-5), atol=1e-8)


def test_dihedral_and_hinge_agree_on_small_angles():
    """3|e|²/A (θ - θ₀)² and 3/A ‖Σ c x‖² are the same energy to first order: the next term is θ²/12, 1e-5 here."""
    angle = 0.01
    bent = folded(angle)
    mine = make_group("dihedral", FOLD, [[0, 1, 2, 3]], 1.0)
    other = make_group("hinge", FOLD, [[0, 1, 2, 3]], 1.0)
    vector = other.operator[0, 0] @ bent
    energy = other.weights[0] * vector @ vector
    assert mine.weights[0] * value(mine, bent)[0] ** 2 == pytest.approx(energy, rel=angle**2)


DEGENERATE = {
    "edge without length": (1, FOLD[0]),
    "first triangle without area": (2, [0.5, 0, 0]),
    "second triangle without area": (3, [0.2, 0, 0]),
}


@pytest.mark.parametrize("case", list(DEGENERATE))
def test_a_triangle_without_area_has_no_angle(case):
    """Finite, and no gradient to move along; nor in float32, as solvers see it."""
    k, point = DEGENERATE[case]
    q = FOLD.copy()
    q[k] = point
    c, gradient = value(one("dihedral", folded(0.4)), q)
    assert c == 0
    np.testing.assert_array_equal(gradient, 0)
    single = np.full((4, 3), np.nan, np.float32)
    assert CONSTRAINTS["dihedral"].evaluate(q.astype(np.float32), np.array([0.4], np.float32), single) == 0
    np.testing.assert_array_equal(single, 0)


def test_a_flat_tetrahedron_knows_the_way_out():
    """V = 0, C = -V₀, and a gradient across its plane."""
    q = TET.copy()
    q[3] = [0.3, 0.3, 0]
    c, gradient = value(one("volume", TET), q)
    assert c == pytest.approx(-1 / 6)
    np.testing.assert_allclose(gradient[:, :2], 0, atol=EPS)
    assert gradient[3, 2] == pytest.approx(1 / 6)
    c, gradient = value(one("volume", TET), np.zeros((4, 3)))
    assert c == pytest.approx(-1 / 6)
    np.testing.assert_array_equal(gradient, 0)


@pytest.mark.parametrize("name", BY_VALUE)
def test_far_from_the_origin_float32_loses_nothing_but_the_positions(name):
    """1000 m away, in float32: positions are rounded by 2⁻²⁴ 1000 m = 6e-5 m, and C errs by that times its slopes."""
    base = TET if name == "volume" else FOLD
    group = one(name, base)
    q = base + 0.2 * np.random.default_rng(0).normal(size=(4, 3))
    near, gradient = value(group, q)
    single = np.empty((4, 3), np.float32)
    far = group.kind.evaluate((q + 1000).astype(np.float32), group.parameters[0].astype(np.float32), single)
    moved = 2.0**-24 * 1000 * np.sqrt(3)
    assert abs(far - near) <= 1.1 * moved * np.linalg.norm(gradient, axis=1).sum()


def test_energy_and_gradient_of_the_system_see_them():
    """∇ε by central differences in float64, with constraints by value among the others."""
    model = vv.Model.of(vv.mesh.cube(2, side=0.5), vv.Jelly(stretch=100.0, volume=1e4, bend=0.1))
    system, rng = System(model, 0.01), np.random.default_rng(0)
    q = model.mesh.vertices + 0.05 * rng.normal(size=(model.n, 3))
    frame = system.frame(q, np.zeros_like(q), np.zeros_like(q), model.targets)
    at = q + 0.02 * rng.normal(size=q.shape)
    along, h = rng.normal(size=q.shape), 1e-5
    slope = (system.energy(at + h * along, frame) - system.energy(at - h * along, frame)) / (2 * h)
    assert slope == pytest.approx(float(np.sum(system.gradient(at, frame) * along)), rel=1e-6)


# --- attachments ----------------------------------------------------------------------------------------------------


def nearest_by_force(point, triangle, m=100):
    """The smallest distance to points u, v on a grid over the triangle."""
    u, v = np.meshgrid(np.linspace(0, 1, m + 1), np.linspace(0, 1, m + 1))
    some = u + v <= 1
    shares = np.stack([1 - u - v, u, v])[:, some].T
    return np.linalg.norm(shares @ triangle - point, axis=1).min()


@pytest.mark.parametrize("seed", range(6))
def test_nearest_point_of_a_triangle(seed):
    """Against a grid of points: none is nearer, and the best is farther by half a cell at most, of the longest edge."""
    rng = np.random.default_rng(seed)
    triangles, points = rng.normal(size=(30, 3, 3)), 2 * rng.normal(size=(30, 3))
    weights = nearest_weights(points, triangles)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=8 * EPS)
    assert (weights >= -8 * EPS).all()
    for point, triangle, share in zip(points, triangles, weights, strict=True):
        mine = np.linalg.norm(share @ triangle - point)
        forced = nearest_by_force(point, triangle)
        cell = np.linalg.norm(triangle - np.roll(triangle, 1, axis=0), axis=1).max() / 100
        assert mine <= forced + 1e-12
        assert forced <= mine + cell


FLAT = np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0]])


@pytest.mark.parametrize(
    ("point", "weights"),
    [
        ([1, 1, 5], [0.5, 0.25, 0.25]),  # above the inside
        ([1, -3, 1], [0.75, 0.25, 0]),  # edges
        ([-2, 3, 0], [0.25, 0, 0.75]),
        ([3, 3, -1], [0, 0.5, 0.5]),
        ([-1, -2, 2], [1, 0, 0]),  # corners
        ([9, -1, 0], [0, 1, 0]),
        ([-1, 9, 0], [0, 0, 1]),
        ([0, 4, 0], [0, 0, 1]),  # on a corner
    ],
)
def test_attachment_holds_the_nearest_point(point, weights):
    """A x = x_v - Σ share_k x_k, inside, on an edge and at a corner."""
    rest = np.vstack([[point], FLAT]).astype(float)
    group = make_group("attachment", rest, [[0, 1, 2, 3]], 10.0)
    np.testing.assert_allclose(group.operator[0, 0], [1, *(-np.array(weights))], atol=8 * EPS)
    assert group.weights[0] == 10


def test_attachment_to_a_triangle_without_area():
    """It is a segment, or a point: nearest to that."""
    line = np.array([[[0.0, 0, 0], [1, 0, 0], [2, 0, 0]], [[1.0, 1, 1]] * 3])
    points = np.array([[1.5, 1, 0], [0.0, 0, 0]])
    shares = nearest_weights(points, line)
    near = np.einsum("mk,mkc->mc", shares, line)
    np.testing.assert_allclose(near, [[1.5, 0, 0], [1, 1, 1]], atol=8 * EPS)


def test_attachment_takes_weights_that_add_up_to_one():
    rest = np.vstack([[[1.0, 1, 1]], FLAT])
    group = make_group("attachment", rest, [[0, 1, 2, 3]], 10.0, weights=[0.2, 0.3, 0.5])
    np.testing.assert_allclose(group.operator[0, 0], [1, -0.2, -0.3, -0.5])
    with pytest.raises(vv.InputError, match="weights of an attachment must add up to 1"):
        make_group("attachment", rest, [[0, 1, 2, 3]], 10.0, weights=[0.2, 0.3, 0.6])
    with pytest.raises(vv.InputError):
        make_group("attachment", rest, [[0, 1, 2, 3]], 10.0, weights=[0.5, 0.5])


def test_weld_pulls_two_vertices_together():
    """E = w/2 |x_0 - x_1|²"""
    group = make_group("weld", TET, [[0, 1]], 10.0)
    np.testing.assert_array_equal(group.operator, [[[1.0, -1.0]]])
    assert group.kind.role is Role.QUADRATIC


@pytest.mark.parametrize(("solver", "sideways"), [("vivace", 0.01), ("pbd-coloured", 0.1)])
def test_welds_and_attachments_hold_in_both_kinds_of_solvers(solver, sideways):
    """At rest they carry what hangs on them: k Σ_c A_c x = -m g, to 1% of the weight; air brings it to rest.

    Sideways a position based solver leaves more: λ is one number for C = ‖A x‖, whose gradient turns on the way from
    the prediction, h² g = 1 cm below, to the result, where C is 1 cm too; so its rest is not quite that of the energy.
    """
    sheet = vv.mesh.cloth(3, 3, width=0.2, height=0.2, plane="vertical")
    both = vv.mesh.join([sheet, sheet.transformed(translate=(0, -0.3, 0))])
    model = vv.Model.of(both, vv.Cloth(density=10.0, stretch=500.0), air=5.0).pin(range(9))
    weight = float(model.masses[9:].sum()) * 9.81
    model = model.constrain("weld", [[9, 6], [11, 8]], 200.0).constrain("attachment", [[10, 7, 6, 4]], 200.0)
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=40), threads=1)
    for _ in range(300):
        sim.step()
    x = sim.positions.astype(float)
    held = [np.einsum("mk,mkc->mc", group.operator[:, 0], x[group.vertices]) for group in model.groups[-2:]]
    pull = 200.0 * np.concatenate(held).sum(axis=0)
    assert pull[1] == pytest.approx(-weight, rel=0.01)
    np.testing.assert_allclose(pull[[0, 2]], 0, atol=sideways * weight)


# --- registering one's own --------------------------------------------------------------------------------------------


def named(name):
    """`name` with a number, because a registry takes each once."""
    return f"{name} {len(CONSTRAINTS)}"


def refuses(message, cls, **options):
    name = named("refused")
    known = set(CONSTRAINTS)
    with pytest.raises(vv.InputError, match=re.escape(message)):
        constraint(name, **options)(cls)
    assert set(CONSTRAINTS) == known


class Nothing:
    @staticmethod
    def prepare(rest):
        return Prepared(parameters=np.zeros((len(rest), 0)))


def test_registering_by_value_is_checked():
    refuses("has no evaluate(x, parameters, gradient)", Nothing, vertices=2, rows=0, role=Role.POSITION)
    refuses("rows must be 0, not 1", Nothing, vertices=2, rows=1, role=Role.POSITION)
    refuses("must be at least 1, not 0 and 0", Nothing, vertices=0, rows=0, role=Role.POSITION)
    refuses("must be at least 1, not 2 and 0", Nothing, vertices=2, rows=0)
    without = type("Without", (), {"evaluate": staticmethod(lambda x, parameters, gradient: 0.0)})
    refuses("has no prepare", without, vertices=2, rows=0, role=Role.POSITION)


def registered(evaluate, vertices=2):
    name = named("own")
    cls = type("Own", (Nothing,), {"evaluate": staticmethod(evaluate)})
    constraint(name, vertices=vertices, rows=0, role=Role.POSITION)(cls)
    return name


def fails(x, parameters, gradient):
    return x[7, 0]


def forgets_a_vertex(x, parameters, gradient):
    gradient[0] = 1.0
    return 0.0


def returns_nothing(x, parameters, gradient):
    gradient[:] = 0.0


def is_not_finite(x, parameters, gradient):
    gradient[:] = 0.0
    return np.nan


def test_evaluate_is_tried_out_where_its_mistakes_have_a_message():
    cases = {
        fails: "evaluate(x, parameters, gradient) fails at rest: IndexError",
        forgets_a_vertex: "evaluate must return C and write gradient[k, c] for every vertex k, all finite",
        returns_nothing: "evaluate must return C",
        is_not_finite: "evaluate must return C",
    }
    for function, message in cases.items():
        name = registered(function)
        with pytest.raises(vv.InputError, match=re.escape(message)):
            make_group(name, TET, [[0, 1]], 1.0)


@constraint("test-height", vertices=1, rows=0, parameters=("height",), role=Role.POSITION)
class Height:
    """Keeps a vertex at the height where it was."""

    @staticmethod
    def prepare(rest):
        return Prepared(parameters=rest[:, 0, 1:2])

    @staticmethod
    def evaluate(x, parameters, gradient):
        gradient[0, 0], gradient[0, 1], gradient[0, 2] = 0.0, 1.0, 0.0
        return x[0, 1] - parameters[0]


@constraint("test-rope", vertices=2, rows=1, parameters=("length",))
class Rope:
    """Resists being longer than its length, and nothing else."""

    @staticmethod
    def prepare(rest, slack=1.0):
        length = slack * np.linalg.norm(rest[:, 0] - rest[:, 1], axis=1)
        return Prepared(operator=[[1.0, -1.0]], parameters=length[:, None])

    @staticmethod
    def project(z, parameters, p):
        size = np.sqrt(z[0, 0] ** 2 + z[0, 1] ** 2 + z[0, 2] ** 2)
        scale = parameters[0] / size if size > parameters[0] else 1.0
        for c in range(3):
            p[0, c] = scale * z[0, c]


@pytest.mark.parametrize("solver", ["pbd", "pbd-coloured", "pbd-jacobi", "pbd-vivace"])
def test_ones_own_constraints_work_in_position_based_solvers(solver):
    """Two balls of 1 kg at heights held by k = 1000 N/m sink by m g/k = 9.81 mm; a rope between them stops one that is
    pulled away by F, at its length and F/k'. Closed forms of rest, reached with air, to 1%."""
    wire = vv.mesh.Mesh.from_edges(np.array([[0.0, 0, 0], [1, 0, 0]]), [[0, 1]])
    base = vv.Model.of(wire, vv.Wire(density=2.0, stretch=1.0), air=10.0)
    own = tuple(group for group in base.groups if group.kind.name != "spring")
    model = vv.Model(base.mesh, base.masses, own, base.gravity, air=10.0)
    model = model.constrain("test-height", [0, 1], 1000.0).constrain("test-rope", [[0, 1]], 500.0, slack=1.5)
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=20), threads=1)
    sim.apply_forces([[-5.0, 0, 0], [5.0, 0, 0]])
    for _ in range(400):
        sim.step()
    x = sim.positions
    np.testing.assert_allclose(x[:, 1], -9.81 / 1000, rtol=0.01)
    assert x[1, 0] - x[0, 0] == pytest.approx(1.5 + 5.0 / 500, rel=1e-3)


def test_a_rope_that_is_slack_does_nothing():
    """p = z inside the set, so C = 0 and two free vertices fall as they would alone: bits of the prediction."""
    wire = vv.mesh.Mesh.from_edges(np.array([[0.0, 0, 0], [1, 0, 0]]), [[0, 1]])
    base = vv.Model.of(wire, vv.Wire())
    model = vv.Model(base.mesh, base.masses, (), base.gravity).constrain("test-rope", [[0, 1]], 500.0, slack=1.5)
    sim = vv.Simulation(model, solver="pbd-coloured", budget=vv.Budget(iterations=5), threads=1)
    for _ in range(10):
        report = sim.step()
        np.testing.assert_array_equal(report.positions, report.frame.s.astype(np.float32))


@pytest.mark.parametrize("solver", ["vivace", "auto", "jacobi", "gauss-seidel", "lbfgs(multigrid)", "block-descent"])
@pytest.mark.parametrize("name", ["jelly", "dihedral", "own"])
def test_projective_solvers_refuse_constraints_by_value(solver, name):
    """With the constraint's name and the remedy, and before anything has moved."""
    cloth = vv.mesh.cloth(3, 3)
    model = {
        "jelly": lambda: vv.Model.of(vv.mesh.cube(2), vv.Jelly()),
        "dihedral": lambda: vv.Model.of(cloth, vv.Cloth(bending="dihedral")),
        "own": lambda: vv.Model.of(cloth).constrain("test-height", [0], 1.0),
    }[name]()
    sim = vv.Simulation(model, solver=solver, budget=vv.Budget(iterations=2), threads=1)
    kind = {"jelly": "volume", "own": "test-height"}.get(name, name)
    with pytest.raises(vv.InputError, match=f"'{kind}'.*position based solver such as pbd-coloured"):
        sim.step()
    np.testing.assert_array_equal(sim.positions, model.mesh.vertices.astype(np.float32))


def test_newton_asks_for_the_energy_and_takes_them():
    """They are part of its Hessian: ten iterations are as good as a hundred, ∇ε at float32's 1e-7 m x stiffness."""
    model = vv.Model.of(vv.mesh.cube(2, side=0.5), vv.Jelly(stretch=1e3, volume=1e4)).pin([0])
    gradients = []
    for iterations in (1, 10, 100):
        sim = vv.Simulation(model, solver="newton", budget=vv.Budget(iterations=iterations), threads=1)
        sim.velocities = np.random.default_rng(0).normal(size=(model.n, 3))
        gradients.append(sim.step().gradient)
    assert gradients[0] > 10 * gradients[1]
    assert gradients[1] <= 2 * gradients[2]
    assert gradients[2] < 1e-6 * 30e3


# --- materials --------------------------------------------------------------------------------------------------------


def names(model):
    return [group.kind.name for group in model.groups]


def test_jelly_has_springs_volumes_and_if_asked_bending():
    """A spring for each edge, a volume for each tetrahedron, an angle for each hinge of the surface; ρ V of mass."""
    cube = vv.mesh.cube(3, side=0.5)
    model = vv.Model.of(cube, vv.Jelly(density=900.0))
    assert names(model) == ["spring", "volume"]
    assert [len(group) for group in model.groups] == [len(cube.edges), len(cube.tets)]
    assert model.masses.sum() == pytest.approx(900 * 0.125, rel=1e-12)
    bent = vv.Model.of(cube, vv.Jelly(bend=1.0))
    assert names(bent) == ["spring", "dihedral", "volume"]
    assert len(bent.groups[1]) == len(cube.hinges)
    assert names(vv.Model.of(cube, vv.Jelly(bend=1.0, bending="isometric"))) == ["spring", "curved-hinge", "volume"]
    assert names(vv.Model.of(cube, vv.Jelly(volume=0.0))) == ["spring"]
    assert MATERIALS["jelly"] is vv.Jelly


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"density": 0.0}, "Jelly: density must be positive, not 0.0"),
        ({"stretch": 0.0}, "Jelly: stretch must be positive, not 0.0"),
        ({"volume": -1.0}, "Jelly: volume must be zero or positive, not -1.0"),
        ({"bend": float("nan")}, "Jelly: bend must be a finite number, not nan"),
        ({"stretch": "hard"}, "Jelly: stretch must be a finite number, not 'hard'"),
        ({"bending": "dihedrals"}, "unknown bending 'dihedrals'; did you mean 'dihedral'?"),
    ],
)
def test_jelly_refuses(options, message):
    with pytest.raises(vv.InputError, match=re.escape(message)):
        vv.Jelly(**options)


def test_jelly_needs_tetrahedra():
    with pytest.raises(vv.InputError, match=r"jelly needs tetrahedra, and mesh .* has none"):
        vv.Model.of(vv.mesh.cloth(3, 3), vv.Jelly())


def test_cloth_bends_by_the_angle_if_asked():
    cloth = vv.mesh.cloth(4, 4)
    model = vv.Model.of(cloth, vv.Cloth(bending="dihedral"))
    assert names(model) == ["spring", "dihedral"]
    assert len(model.groups[1]) == len(cloth.hinges)
    assert names(vv.Model.of(cloth, vv.Cloth())) == ["spring", "hinge"]
    assert names(vv.Model.of(cloth, vv.Cloth(bend=0.0, bending="dihedral"))) == ["spring"]
    with pytest.raises(vv.UnknownNameError, match="unknown bending 'isometrik'; did you mean 'isometric'"):
        vv.Cloth(bending="isometrik")
    with pytest.raises(vv.UnknownNameError, match="unknown bending 'xyz'; known: dihedral, isometric"):
        vv.Cloth(bending="xyz")
