"""The law of creases: its closed forms, its slow twin, and its energy."""

import numpy as np
import pytest

import vivace as vv
from vivace.constraints import CONSTRAINTS, LiveGroup, make_group
from vivace.mesh import cloth
from vivace.model.patches import patches

KINDS = ["creased-hinge", "creased-plate", "creased-dihedral"]
YIELD = 4.0


def curved(x, curvature):
    """A sheet in the plane y = 0 laid on a cylinder along z."""
    angle = curvature * x[:, 0]
    return np.stack([np.sin(angle) / curvature, (1 - np.cos(angle)) / curvature, x[:, 2]], axis=1)


def rows(x):
    return np.concatenate([x, np.zeros((len(x), 1))], axis=1).astype(np.float32)


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


@pytest.mark.parametrize("kind", ["creased-hinge", "creased-plate"])
def test_a_crease_has_a_side_and_turns_with_the_sheet(kind):
    """The energy at the creased shape is that of any turn below 30°, and much more on the other side.

    A quadratic surface through a circle is off by (κ e)², with the edge e, so that a plate is not quite at rest there.
    """
    sheet, bent, edge = cloth(11, 5, 0.1, 0.04), 10.0, 0.01
    off = (bent * edge) ** 2 if kind == "creased-plate" else 1e-4
    group = group_of(kind, sheet, crease=0.0)
    x = curved(sheet.vertices, bent)
    group.step(rows(x), 0.1)
    c, s = np.cos(0.4), np.sin(0.4)
    turned = x @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    mirrored = x * [1, -1, 1]
    flat = energy(group, rows(sheet.vertices)).sum()
    assert energy(group, rows(x)).sum() < off * flat
    assert energy(group, rows(turned)).sum() < off * flat
    assert energy(group, rows(mirrored)).sum() > 2 * flat


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
