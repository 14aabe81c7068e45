"""The law of creases: its closed forms, its slow twin, and its energy."""

import numpy as np
import pytest

import vivace as vv
from vivace.constraints import CONSTRAINTS, LiveGroup, make_group
from vivace.mesh import cloth
from vivace.model.patches import patches

KINDS = ["creased-hinge", "creased-plate", "creased-dihedral"]
YIELD = 4.0
TURN = np.array([[np.cos(0.4), np.sin(0.4), 0], [-np.sin(0.4), np.cos(0.4), 0], [0, 0, 1]])


def curved(x, curvature):
    """A sheet in the plane y = 0 laid on a cylinder along z."""
    angle = curvature * x[:, 0]
    return np.stack([np.sin(angle) / curvature, (1 - np.cos(angle)) / curvature, x[:, 2]], axis=1)


def rows(x):
    return exact(x).astype(np.float32)


def exact(x):
    """Rows in float64."""
    return np.concatenate([x, np.zeros((len(x), 1))], axis=1)


def group_of(kind, sheet, **law):
    at = patches(sheet.vertices, sheet.triangles) if kind == "creased-plate" else sheet.hinges
    return LiveGroup.of(make_group(kind, sheet.vertices, at, 1e-3, **law))


def curvatures(group, sheet, value):
    """The curvature along x of the constraints, of parameters in their own measure."""
    if group.kind.name == "creased-plate":
        return value
    rest = sheet.vertices[group.vertices]
    across = np.abs(rest[:, 1, 0] - rest[:, 0, 0]) < 1e-9  # edges along z bend by all of it
    unit = group.parameters[:, 5 if group.kind.name == "creased-hinge" else 2] / YIELD
    return (value / unit)[across]


def energy(group, q):
    """w/2 |z - p|² or w/2 C² of each."""
    if group.kind.name == "creased-dihedral":
        c = np.array(
            [
                group.kind.evaluate(q[v, :3], p, np.zeros((4, 3)))
                for v, p in zip(group.vertices, group.parameters, strict=True)
            ]
        )
        return 0.5 * group.weights * c**2
    z = np.einsum("mrk,mkc->mrc", group.operator, q[group.vertices, :3].astype(float))
    p = np.zeros_like(z)
    for m in range(len(z)):
        group.kind.project(z[m], group.parameters[m], p[m])
    return 0.5 * group.weights * np.square(z - p).sum(axis=(1, 2))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("hardening", "creep"), [(0.0, 0.0), (0.5, 0.0), (0.5, 0.2)])
def test_a_strip_on_a_cylinder_keeps_what_the_closed_form_says(kind, hardening, creep):
    """(1/r - κ_y)/(1 + H), or as much of it as has crept in the time that it was held."""
    sheet, bent, held = cloth(21, 5, 0.2, 0.04), 10.0, 0.1
    group = group_of(kind, sheet, crease=YIELD, hardening=hardening, creep=creep)
    for _ in range(10):
        group.step(rows(curved(sheet.vertices, bent)), held / 10)
    share = 1.0 if creep == 0 else 1 - np.exp(-(1 + hardening) * held / creep)
    wanted = share * (bent - YIELD) / (1 + hardening)
    kept = curvatures(group, sheet, group.parameters[:, 0])
    np.testing.assert_allclose(np.abs(kept), wanted, rtol=0.02)
    assert len(np.unique(np.sign(kept))) == 1  # all on one side
    flowed = group.parameters[:, {"creased-hinge": 4, "creased-plate": 6, "creased-dihedral": 1}[kind]]
    np.testing.assert_allclose(curvatures(group, sheet, flowed), wanted, rtol=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_below_the_yield_nothing_changes(kind):
    """Not one bit of what it is at rest."""
    sheet = cloth(21, 5, 0.2, 0.04)
    group = group_of(kind, sheet, crease=YIELD)
    before = group.parameters.copy()
    assert not group.step(rows(curved(sheet.vertices, 0.95 * YIELD)), 0.1)
    assert group.parameters.tobytes() == before.tobytes()
    assert group.step(rows(curved(sheet.vertices, 1.1 * YIELD)), 0.1)
    assert group.parameters.tobytes() != before.tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_flowing_never_raises_the_energy_where_a_crumpled_sheet_is(kind, seed):
    """Of any constraint, from a flat or a creased rest shape, beside what the turn of its normal changes."""
    rng, sheet = np.random.default_rng(seed), cloth(9, 9, 0.2, 0.2)
    group = group_of(kind, sheet, crease=YIELD, hardening=0.3, creep=0.05)
    x = sheet.vertices.copy()
    fell = False
    for _ in range(6):
        x = x + 0.003 * rng.standard_normal(x.shape)
        q = rows(x)
        group.step(q, 0.0)  # turns the normals alone: nothing flows in no time
        before = energy(group, q)
        group.step(q, 0.02)
        after = energy(group, q)
        assert (after <= before * (1 + 1e-6) + 1e-15).all()
        fell = fell or (after < 0.9 * before).any()
    assert fell


@pytest.mark.parametrize("kind", KINDS)
def test_the_compiled_flow_is_its_slow_twin(kind):
    """The same function, not compiled, on every constraint alone."""
    rng, sheet = np.random.default_rng(1), cloth(7, 7, 0.2, 0.2)
    group = group_of(kind, sheet, crease=YIELD, hardening=0.3, creep=0.05)
    slow = group.parameters.copy()
    for _ in range(3):
        q = rows(sheet.vertices + 0.004 * rng.standard_normal(sheet.vertices.shape))
        group.step(q, 0.02)
        for m, at in enumerate(group.vertices):
            group.kind.flow(q[at, :3].astype(float), group.operator[m], slow[m], 0.02)
    np.testing.assert_allclose(group.parameters, slow, rtol=1e-9, atol=1e-12)


def at_rest_on_a_circle(kind, cells, bent=10.0):
    """Energies of a sheet that keeps all of a circle: there, turned by 0.4, and mirrored; as parts of flat's."""
    sheet = cloth(cells + 1, cells // 2 + 1, 0.1, 0.05)
    group = group_of(kind, sheet, crease=0.0)
    x = curved(sheet.vertices, bent)
    group.step(exact(x), 0.1)
    flat = energy(group, exact(sheet.vertices))
    there, turned, mirrored = (energy(group, exact(y)) for y in (x, x @ TURN, x * [1, -1, 1]))
    bends = flat > 1e-6 * flat.max()  # not hinges whose edge is along the bend
    return there[bends] / flat[bends], turned[bends] / flat[bends], mirrored.sum() / flat.sum()


def test_a_crease_of_a_hinge_has_a_side_and_turns_with_the_sheet():
    """The energy at the creased shape is that of any turn below 30°, and much more on the other side."""
    there, turned, mirrored = at_rest_on_a_circle("creased-hinge", 10)
    assert there.mean() < 1e-4
    assert turned.mean() < 1e-4
    assert mirrored > 2


def test_a_crease_of_a_plate_on_a_circle_errs_by_the_edges_as_its_fit_does():
    """A circle is no quadratic: beside its normal curvature a plate sees a tangential one, which it is not at rest in.

    That is κ² e with the edges e where its six vertices are all on one side, at the boundary, and their energy falls
    with e²; where they are around it, with e⁴.
    """
    coarse, fine = at_rest_on_a_circle("creased-plate", 10), at_rest_on_a_circle("creased-plate", 20)
    for k in (0, 1):  # there, and turned
        assert coarse[k].max() < 0.1**2  # κ e = 0.1
        assert coarse[k].max() / fine[k].max() == pytest.approx(4.0, rel=0.02)
        assert np.median(coarse[k]) / np.median(fine[k]) == pytest.approx(16.0, rel=0.02)
    assert min(coarse[2], fine[2]) > 2


@pytest.mark.parametrize("seed", range(3))
def test_a_crease_of_a_plate_is_exact_where_the_sheet_is_quadratic(seed):
    """κ̄ is the second derivatives of any quadratic height, and the plate at rest there, turned or not, to rounding.

    Each plate has its own height over the plane of its triangle, which vanishes at the three corners.
    """
    rng, sheet = np.random.default_rng(seed), cloth(6, 5, 0.1, 0.08, irregular=True, seed=seed)
    group = group_of("creased-plate", sheet, crease=0.0)
    for at, operator, parameters in zip(group.vertices, group.operator, group.parameters, strict=True):
        x = sheet.vertices[at].copy()
        xx, zz, xz = rng.uniform(-10, 10, 3)
        plane = np.column_stack([np.ones(6), x[:, 0], x[:, 2]])
        height = 0.5 * xx * x[:, 0] ** 2 + 0.5 * zz * x[:, 2] ** 2 + xz * x[:, 0] * x[:, 2]
        x[:, 1] = height - plane @ np.linalg.solve(plane[:3], height[:3])
        side = np.sign(np.cross(x[1] - x[0], x[2] - x[0])[1])  # of the normal; the weft is the normal times the warp x
        group.kind.flow(x, operator, parameters, 0.0)
        expected = [side * xx, side * zz, -np.sqrt(2) * xz]
        np.testing.assert_allclose(parameters[:3], expected, atol=1e-9 * np.abs(expected).max())
        for y in (x, x @ TURN):
            z, p = operator @ y, np.zeros((3, 3))
            group.kind.project(z, parameters, p)
            np.testing.assert_allclose(z, p, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["creased-hinge", "creased-plate"])
def test_what_is_flat_is_bent_by_all_of_its_crease(kind):
    """z = 0 has no direction: then it is that of the last normal, w/2 κ̄², and not no energy at all."""
    sheet = cloth(11, 5, 0.1, 0.04)
    group = group_of(kind, sheet, crease=0.0)
    group.step(rows(curved(sheet.vertices, 10.0)), 0.1)
    for parameters in group.parameters:
        rest, p = parameters[: group.kind.rows], np.zeros((group.kind.rows, 3))
        group.kind.project(np.zeros_like(p), parameters, p)
        n = parameters[group.kind.rows :][:3]
        np.testing.assert_allclose(p, np.outer(rest, n), atol=1e-12 * np.abs(rest).max())


@pytest.mark.parametrize(("kind", "plain"), [("creased-plate", "plate"), ("creased-hinge", "hinge")])
def test_what_has_not_yielded_has_the_energy_of_what_cannot(kind, plain):
    """To the bit: the same operators and weights, and p = 0; before and after steps below the yield."""
    rng, sheet = np.random.default_rng(0), cloth(7, 6, 0.2, 0.2, irregular=True)
    at = patches(sheet.vertices, sheet.triangles) if plain == "plate" else sheet.hinges
    group, other = group_of(kind, sheet, crease=1e4), make_group(plain, sheet.vertices, at, 1e-3)
    assert group.operator.tobytes() == other.operator.tobytes()
    assert group.weights.tobytes() == other.weights.tobytes()
    q = rows(sheet.vertices + 0.01 * rng.standard_normal(sheet.vertices.shape))
    z = np.einsum("mrk,mkc->mrc", other.operator, q[other.vertices, :3].astype(float))
    expected = 0.5 * other.weights * np.square(z).sum(axis=(1, 2))
    for _ in range(2):
        assert energy(group, q).tobytes() == expected.tobytes()
        assert not group.step(q, 0.1)


def test_a_curved_plate_that_has_not_yielded_is_a_curved_plate():
    """The same curvatures at rest, to the bit, and the same energy within 30° of its normals, to rounding."""
    rng, sheet = np.random.default_rng(0), cloth(9, 5, 0.2, 0.1)
    x = curved(sheet.vertices, 6.0)
    at = patches(x, sheet.triangles)
    group = LiveGroup.of(make_group("creased-plate", x, at, 1e-3, crease=1e4))
    other = make_group("curved-plate", x, at, 1e-3)
    assert group.parameters[:, :3].tobytes() == other.parameters.tobytes()
    z = np.einsum("mrk,mkc->mrc", other.operator, (x + 1e-4 * rng.standard_normal(x.shape))[other.vertices])
    for k in range(len(z)):
        p, plain = np.zeros((3, 3)), np.zeros((3, 3))
        group.kind.project(z[k], group.parameters[k], p)
        other.kind.project(z[k], other.parameters[k], plain)
        np.testing.assert_allclose(p, plain, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("material", [vv.Cloth, vv.Sheet])
@pytest.mark.parametrize("name", ["crease", "hardening", "creep"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), "much", True, [1.0]])
def test_the_law_is_checked(material, name, value):
    """By the material, and by the constraint of whoever makes it alone."""
    with pytest.raises(vv.InputError, match=name):
        material(**{"crease": 1.0, name: value})
    sheet = cloth(3, 3)
    with pytest.raises(vv.InputError, match=name):
        make_group("creased-hinge", sheet.vertices, sheet.hinges, 1.0, **{name: value})


@pytest.mark.parametrize("material", [vv.Cloth, vv.Sheet])
@pytest.mark.parametrize("given", [{"hardening": 1.0}, {"creep": 0.1}])
def test_hardening_without_a_crease_is_refused(material, given):
    with pytest.raises(vv.InputError, match="give crease too"):
        material(**given)


def test_what_flows_says_how_much():
    """A constraint with flow and without flowing parameters, or the other way round, is refused."""
    kind = CONSTRAINTS["creased-dihedral"]
    assert kind.flow is not None
    assert kind.flowing == 2

    class Wrong:
        prepare = staticmethod(kind.prepare)
        evaluate = staticmethod(kind.evaluate)
        flow = staticmethod(kind.flow)

    with pytest.raises(vv.InputError, match="go together"):
        vv.constraint("wrong-crease", vertices=4, rows=0, parameters=("a",), role=kind.role)(Wrong)
