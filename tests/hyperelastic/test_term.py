"""Bodies: gradient, Hessian and its diagonal are those of the energy; conversion, accumulation, bad input."""

import numpy as np
import pytest

import vivace as vv
from vivace.hyperelastic import HYPERELASTIC, Conversion, Hyperelastic
from vivace.hyperelastic.kernels.elements import gather

BAR = vv.mesh.bar(4, 3, 3, size=(0.3, 0.2, 0.2))
NEO = HYPERELASTIC["neo-hookean"].of_moduli(1e5, 0.4)
HELD = Conversion(way="held")


def body(conversion=True, name="neo-hookean"):
    return Hyperelastic(BAR, name, HYPERELASTIC[name].of_moduli(1e5, 0.4), conversion=conversion)


def moved(much, seed=0):
    return BAR.vertices + much * np.random.default_rng(seed).standard_normal(BAR.vertices.shape)


def gradient(term, q):
    out = np.zeros_like(q)
    term.add_gradient(q, None, out)
    return out


def held_body(q):
    """With interpolants of all kinds, and 1 for inverted elements."""
    term = body(HELD)
    term.interpolants[:] = np.random.default_rng(1).uniform(-0.3, 1.0, len(term)).clip(0)
    term.interpolants[term.stretches(q)[:, 2] < 0.1] = 1.0
    return term


CASES = {
    "plain": lambda: (body(False), moved(0.008)),
    "smooth": lambda: (body(), moved(0.04)),
    "held": lambda: (held_body(moved(0.04)), moved(0.04)),
    "corotated": lambda: (body(name="corotated"), moved(0.04)),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_gradient_and_hessian_are_derivatives(case):
    """Along random directions v: dε = ∇ε·v and d∇ε = H v; diagonal blocks are those of H."""
    term, q = CASES[case]()
    assert np.isfinite(term.energy(q))
    if case != "plain":
        assert (term.stretches(q)[:, 2] < 0).sum() > 5
    matrix = vv.Blocks(term.vertices, term.hessians(q, positive=False)).matrix(len(q))
    for seed in range(5):
        v = 1e-8 * np.random.default_rng(seed).standard_normal(q.shape)
        slope = np.sum(gradient(term, q) * v)
        assert term.energy(q + v) - term.energy(q - v) == pytest.approx(2 * slope, rel=1e-4, abs=1e-10 * term.energy(q))
        change = gradient(term, q + v) - gradient(term, q - v)
        expected = 2 * (matrix @ v.ravel()).reshape(-1, 3)
        assert np.linalg.norm(change - expected) < 1e-4 * np.linalg.norm(expected)
    full = matrix.toarray().reshape(len(q), 3, len(q), 3)
    blocks = term.diagonal_blocks(q, positive=False)
    np.testing.assert_allclose(blocks, np.einsum("icid->icd", full), atol=1e-12 * np.abs(full).max())
    np.testing.assert_array_equal(term.diagonal(q, positive=False), np.einsum("icc->ic", blocks))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_positive_hessians(case):
    """No negative eigenvalue in any element, none of the sum, and none of the diagonal blocks."""
    term, q = CASES[case]()
    blocks = term.hessians(q)
    assert np.linalg.eigvalsh(blocks).min() > -1e-12 * np.abs(blocks).max()
    assert np.linalg.eigvalsh(term.hessians(q, positive=False)).min() < -1e-6 * np.abs(blocks).max()
    diagonal = term.diagonal_blocks(q)
    summed = vv.Blocks(term.vertices, blocks).matrix(len(q)).toarray().reshape(len(q), 3, len(q), 3)
    np.testing.assert_allclose(diagonal, np.einsum("icid->icd", summed), atol=1e-12 * np.abs(summed).max())
    assert np.linalg.eigvalsh(diagonal).min() > 0


@pytest.mark.slow
def test_energy_and_gradient_in_one_pass():
    term, q = body(), moved(0.03)
    out = np.ones_like(q)
    energy = term.add(q, None, out)
    assert energy == pytest.approx(term.energy(q), rel=1e-14)
    assert energy == pytest.approx(term.energies(q).sum(), rel=1e-14)
    np.testing.assert_allclose(out - 1, gradient(term, q), atol=1e-9)


@pytest.mark.slow
def test_no_net_force_or_torque():
    """Translations and rotations cost nothing: Σ f = 0, Σ q x f = 0, and a turned body has turned forces."""
    term, q = body(), moved(0.03)
    f = gradient(term, q)
    assert np.abs(f.sum(axis=0)).max() < 1e-10 * np.abs(f).max()
    assert np.abs(np.cross(q, f).sum(axis=0)).max() < 1e-10 * np.abs(f).max()


@pytest.mark.slow
def test_pieces_make_the_same_whole():
    """Passes over parts of the elements, in any order, and gathering of parts: the same to the last bit."""
    term, q = body(), moved(0.03)
    whole = gradient(term, q)
    e, loops, m = term.elements, term.loops, len(term)
    energies, shares = np.empty(m), np.empty((4 * m, 3))
    for begin, end in ((m // 2, m), (0, 7), (7, m // 2)):
        loops.force_pass(begin, end, q, *e.of, term.interpolants, energies, e.slots, shares)
    out = np.zeros_like(q)
    gather(10, len(q), e.starts, shares, out)
    gather(0, 10, e.starts, shares, out)
    np.testing.assert_array_equal(out, whole)
    np.testing.assert_array_equal(energies, term.energies(q))


@pytest.mark.slow
def test_float32_rows_of_four():
    """The same pass over what solvers have: float32 positions in rows of four."""
    term, q = body(), moved(0.01).astype(np.float32)
    rows = np.zeros((len(q), 4), np.float32)
    rows[:, :3] = q
    e, m = term.elements, len(term)
    energies, shares = np.empty(m), np.zeros((4 * m, 4), np.float32)
    term.loops.force_pass(0, m, rows, *e.of, term.interpolants, energies, e.slots, shares)
    np.testing.assert_allclose(energies, term.energies(q.astype(np.float64)), rtol=1e-4)
    expected = gradient(term, q.astype(np.float64))
    out = np.zeros((len(q), 4))
    gather(0, len(q), e.starts, shares.astype(np.float64), out)
    np.testing.assert_allclose(out[:, :3], expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.slow
def test_several_materials_in_one_body():
    """Constants of each element: the energy of half a body of each."""
    soft, stiff = np.array(NEO), 3 * np.array(NEO)
    half = np.arange(len(BAR.tets)) % 2 == 0
    mixed = Hyperelastic(BAR, "neo-hookean", np.where(half[:, None], soft, stiff))
    q = moved(0.01)
    expected = np.where(half, body().energies(q), 3 * body().energies(q))
    np.testing.assert_allclose(mixed.energies(q), expected, rtol=1e-12)
    np.testing.assert_allclose(body().scaled(3.0).energies(q), 3 * body().energies(q), rtol=1e-12)


@pytest.mark.slow
def test_interpolants_fall_slowly():
    """Eq. 45 in a term: 1 for a flattened element, and L less in every update after it is at rest again."""
    term = body(HELD).copy()
    flat = BAR.vertices * [1.0, 0.01, 1.0]
    term.update(flat)
    assert (term.interpolants == 1).all()
    for k in range(1, 30):
        term.update(BAR.vertices)
        np.testing.assert_allclose(term.converted(flat), max(1 - 0.05 * k, 0), atol=1e-12)
    smooth = body()
    assert (smooth.converted(flat) == 1).all()
    assert (smooth.converted(BAR.vertices) == 0).all()
    assert (body(False).converted(flat) == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [vv.neo_hookean, vv.mooney_rivlin, vv.stable_neo_hookean, vv.corotated, vv.stvk])
def test_an_inverted_bar_comes_back(kind):
    """Mirrored inside out in its middle, or crumpled at random: Newton's method finds the bar as it was made."""
    model = vv.Model.of(BAR, kind(young=1e5, poisson=0.3), gravity=(0, 0, 0), air=5.0).pin("left")
    term = model.terms[0]
    sim = vv.Simulation(model, solver="newton", budget=vv.Budget(iterations=60, tolerance=1e-9), time_step=0.2)
    start = moved(0.04)
    start[BAR.groups["left"]] = BAR.vertices[BAR.groups["left"]]
    sim.positions = start
    assert (term.stretches(start)[:, 2] < 0).sum() > 10
    for _ in range(40):
        sim.step()
    assert term.stretches(sim.positions.astype(np.float64)).min() > 0.99


def test_bad_bodies_are_refused():
    with pytest.raises(vv.InputError, match="mesh of tetrahedra"):
        Hyperelastic(vv.mesh.cloth(3, 3), "neo-hookean", NEO)
    with pytest.raises(vv.UnknownNameError, match="neo-hookean"):
        Hyperelastic(BAR, "neo-hokean", NEO)
    with pytest.raises(vv.InputError, match="s1 must be positive"):
        Hyperelastic(BAR, "neo-hookean", (1.0, -1.0))
    with pytest.raises(vv.InputError, match="2 constants are needed"):
        Hyperelastic(BAR, "neo-hookean", "soft")
    with pytest.raises(vv.InputError, match="conversion"):
        Hyperelastic(BAR, "neo-hookean", NEO, conversion="yes")
    each = np.tile(NEO, (len(BAR.tets), 1))
    each[17, 0] = np.nan
    with pytest.raises(vv.InputError, match="tetrahedron 17: neo-hookean: s0"):
        Hyperelastic(BAR, "neo-hookean", each)
    with pytest.raises(vv.InputError, match="shape"):
        Hyperelastic(BAR, "neo-hookean", each[:5])


def test_inverted_and_flat_tetrahedra_at_rest_are_refused():
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1e-14]])
    for last, word in ((3, "inverted"), (4, "flat")):
        tets = [[0, 1, 2, 3], [0, 2, 1, last] if last == 3 else [0, 1, 2, last]]
        bad = object.__new__(vv.mesh.Mesh)
        bad.__dict__.update(vertices=corners, tets=np.array(tets), n_vertices=5, is_volumetric=True, name="bad")
        with pytest.raises(vv.InputError, match=f"tetrahedron 1 is {word}"):
            Hyperelastic(bad, "neo-hookean", NEO)
