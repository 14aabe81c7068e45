"""Terms: each one's gradient and Hessian against differences of what comes before it, and the sums of all."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from energy.test_equations import MODELS
from vivace import Blocks, Cloth, ElementTerm, Frame, Jelly, Model, Prepared, Role, System, Term, constraint, mesh
from vivace.constraints import CONSTRAINTS, make_group
from vivace.energy import Projected, Quadratic, Springs, Valued
from vivace.energy import hessian as hessian_module
from vivace.energy.hessian import Hessian
from vivace.terms.kernels.curvature import add_blocks
from vivace.terms.pieces import Alike, Congruent, as_matrix, summed
from vivace.terms.term import pieces_of

H = 1 / 50
U64 = 2.0**-53


class Well(ElementTerm):
    """|x|⁴/4 of single vertices: convex, and not quadratic."""

    def energies(self, x):
        return 0.25 * np.sum(x**2, axis=(1, 2)) ** 2

    def gradients(self, x):
        return np.sum(x**2, axis=(1, 2))[:, None, None] * x


class Triple(ElementTerm):
    """det [x0, x1, x2]: linear in each vertex, so that its Hessian is indefinite everywhere."""

    def energies(self, x):
        return np.linalg.det(x)

    def gradients(self, x):
        return np.stack([np.cross(x[:, 1], x[:, 2]), np.cross(x[:, 2], x[:, 0]), np.cross(x[:, 0], x[:, 1])], axis=1)


class Drag(Term):
    """c/(2h) ‖q - q_n‖², as a sparse matrix: a term that reads the frame."""

    def __init__(self, c):
        self.c = c

    def energy(self, q, frame):
        return float(0.5 * self.c / frame.h * np.sum((q - frame.previous) ** 2))

    def add_gradient(self, q, frame, out):
        out += self.c / frame.h * (q - frame.previous)

    def hessian(self, q, frame):
        return sp.identity(q.size) * (self.c / frame.h)


def jelly():
    return Model.of(mesh.cube(3), Jelly(stretch=50.0, volume=300.0, bend=2.0), viscosity=0.02).pin([0, 1]).pin([5])


def folded():
    sheet = mesh.cloth(4, 4)
    return Model.of(sheet, Cloth(stretch=50.0, bend=1.0, bending="dihedral")).pin("top-corners")


def owned():
    model = Model.of(mesh.cloth(3, 3), Cloth(stretch=50.0, bend=0.1)).pin([0])
    return model.add(Well(np.arange(9)), Triple([[0, 4, 8], [2, 4, 6]]), Drag(0.3))


ALL = {**MODELS, "jelly": jelly, "folded": folded, "owned": owned}


def problem(name, seed=0):
    """A system, a frame and a state in which every projected constraint is stretched, and values are what they are."""
    model = ALL[name]()
    system, rng = System(model, H), np.random.default_rng(seed)
    x = model.mesh.vertices
    v, a = rng.normal(size=(2, *x.shape))
    frame = system.frame(x, v, a, model.targets + 0.1)
    return system, frame, 1.15 * x + 0.01 * rng.normal(size=x.shape)


TERMS = [(name, k) for name in ALL for k in range(len(System(ALL[name](), H).objective.terms))]


def gradient_of(term, q, frame):
    out = np.zeros_like(q)
    term.add_gradient(q, frame, out)
    return out


def dense(term, q, frame):
    """What a term tells of its Hessian."""
    return sum(as_matrix(piece, len(q)).toarray() for piece in pieces_of(term, q, frame))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "k"), TERMS)
def test_gradients_are_the_slopes_of_energies(name, k):
    """(E(q + t d) - E(q - t d))/(2t) = ∇E·d + O(t²) + O(u E/t), t = 1e-6: 1e-12 of third derivatives, 1e-10 of E."""
    system, frame, q = problem(name)
    term, rng, t = system.objective.terms[k], np.random.default_rng(1), 1e-6
    gradient = gradient_of(term, q, frame)
    for _ in range(5):
        d = rng.normal(size=q.shape)
        slope = (term.energy(q + t * d, frame) - term.energy(q - t * d, frame)) / (2 * t)
        scale = np.linalg.norm(gradient) * np.linalg.norm(d) + abs(term.energy(q, frame))
        assert abs(slope - np.sum(gradient * d)) <= 1e-8 * scale
    assert np.linalg.norm(gradient) > 0


@pytest.mark.parametrize(("name", "k"), TERMS)
def test_hessians_are_the_slopes_of_gradients(name, k, monkeypatch):
    """Column by column, to 1e-7 of the largest entry, like the differences they are made of; nothing is clamped."""
    monkeypatch.setattr("vivace.terms.curvature.clamped", lambda c: 0.5 * (c + np.swapaxes(c, 1, 2)))
    system, frame, q = problem(name)
    term, t, columns = system.objective.terms[k], 1e-5, []
    for j in range(q.size):
        step = np.zeros(q.size)
        step[j] = t
        step = step.reshape(q.shape)
        rise = gradient_of(term, q + step, frame) - gradient_of(term, q - step, frame)
        columns.append(rise.ravel() / (2 * t))
    expected = np.array(columns).T
    got = dense(term, q, frame)
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize(("name", "k"), TERMS)
def test_energy_and_gradient_at_once_are_those_one_by_one(name, k):
    system, frame, q = problem(name)
    term, out = system.objective.terms[k], np.ones(q.shape)
    energy = term.add(q, frame, out)
    assert energy == term.energy(q, frame)
    expected = np.ones(q.shape)
    term.add_gradient(q, frame, expected)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", ALL)
def test_the_objective_is_the_sum_of_its_terms(name):
    """To the rounding of sums of so many terms."""
    system, frame, q = problem(name)
    objective = system.objective
    energies = [term.energy(q, frame) for term in objective.terms]
    bound = 2 * len(energies) * U64 * np.sum(np.abs(energies))
    assert abs(objective.energy(q, frame) - np.sum(energies)) <= bound
    energy, gradient = objective.evaluate(q, frame)
    assert energy == objective.energy(q, frame) == system.energy(q, frame)
    np.testing.assert_array_equal(gradient, objective.gradient(q, frame))
    parts = [gradient_of(term, q, frame) for term in objective.terms]
    scale = np.sum(np.abs(parts), axis=0)
    assert (np.abs(gradient - np.sum(parts, axis=0)) <= 2 * len(parts) * U64 * scale).all()
    assert system.potential(q) == pytest.approx(sum(t.energy(q, None) for t in objective.stored), rel=1e-14)
    hessian = sum(dense(term, q, frame) for term in objective.terms)
    scale = np.abs(hessian).max()
    np.testing.assert_allclose(objective.hessian(q, frame).toarray(), hessian, rtol=0, atol=1e-14 * scale)


@pytest.mark.parametrize("name", ALL)
def test_newtons_hessian_is_that_sum_but_for_negative_blocks(name, monkeypatch):
    """The assembly with its pattern made once agrees with the plain sum where nothing is clamped."""
    monkeypatch.setattr(hessian_module, "clamped", lambda c: c)
    system, frame, q = problem(name)
    got, expected = Hessian(system)(q, frame).toarray(), system.objective.hessian(q, frame).toarray()
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


STATES = {
    "as it is": lambda x: x,
    "deformed": lambda x: x + 0.1 * np.random.default_rng(1).normal(size=x.shape),
    "compressed": lambda x: 0.5 * x,
    "flat": lambda x: x * [1.0, 0.0, 1.0],
    "inverted": lambda x: x * [-1.0, 1.0, 1.0],
    "at a point": lambda x: np.zeros_like(x),
    "far away": lambda x: x + 1e4,
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", ["jelly", "folded", "owned"])
def test_newtons_hessian_is_positive_definite_whatever_the_state(name, state):
    """Symmetric, and at least the inertia, which nothing lowers: to the rounding of its largest entry."""
    system, frame, _ = problem(name)
    q = STATES[state](system.model.mesh.vertices)
    got = Hessian(system)(q, frame).toarray()
    assert np.isfinite(got).all()
    scale = np.abs(got).max()
    assert np.abs(got - got.T).max() <= 1e-13 * scale
    assert np.linalg.eigvalsh(got)[0] >= 0.99 * system.inertia.min() - 1e-13 * scale


def test_negative_eigenvalues_of_blocks_and_nothing_else_are_left_out():
    """Of Triple: the difference to what it tells is the sum of its blocks' negative parts, by NumPy's eigenvalues."""
    system, frame, q = problem("owned")
    term = Triple([[0, 4, 8], [2, 4, 6]])
    bare = Model(system.model.mesh, system.model.masses, (), system.model.gravity).add(term)
    system = System(bare, H)
    negative = np.zeros((27, 27))
    for corners, block in zip(term.vertices, term.hessians(q[term.vertices]), strict=True):
        values, vectors = np.linalg.eigh(block)
        assert values[0] < -0.1 < 0.1 < values[-1]
        index = (3 * corners[:, None] + np.arange(3)).ravel()
        negative[np.ix_(index, index)] += vectors @ np.diag(np.minimum(values, 0)) @ vectors.T
    got = Hessian(system)(q, frame).toarray()
    np.testing.assert_allclose(system.objective.hessian(q, frame).toarray() - got, negative, rtol=0, atol=1e-9)


def test_blocks_that_are_not_finite_are_left_out():
    class Broken(Well):
        def hessians(self, x):
            blocks = super().hessians(x)
            blocks[np.abs(x).max(axis=(1, 2)) > 2] = np.nan
            return blocks

    model = Model.of(mesh.cloth(3, 3)).add(Broken(np.arange(9)))
    system = System(model, H)
    others = Hessian(system).others
    q = np.ones((9, 3))
    whole = others(q, None).toarray()
    q[4] = 3.0
    got = others(q, None).toarray()
    assert not got[12:15].any()
    np.testing.assert_allclose(np.delete(got, [12, 13, 14], 0), np.delete(whole, [12, 13, 14], 0), rtol=0, atol=1e-9)


# --- constraints known by their value ---------------------------------------------------------------------------------


class Stretch:
    """A spring by its value: C = |x1 - x0| - l."""

    @staticmethod
    def prepare(rest, scale=1.0):
        return Prepared(parameters=scale * np.linalg.norm(rest[:, 1] - rest[:, 0], axis=1)[:, None])

    @staticmethod
    def evaluate(x, parameters, gradient):
        size = np.sqrt((x[1, 0] - x[0, 0]) ** 2 + (x[1, 1] - x[0, 1]) ** 2 + (x[1, 2] - x[0, 2]) ** 2)
        for c in range(3):
            gradient[1, c] = (x[1, c] - x[0, c]) / size
            gradient[0, c] = -gradient[1, c]
        return size - parameters[0]


@pytest.fixture
def stretch(monkeypatch):
    """Registered while a test runs."""
    monkeypatch.setattr(CONSTRAINTS, "_things", dict(CONSTRAINTS))
    constraint("stretch", vertices=2, rows=0, parameters=("length",), role=Role.POSITION)(Stretch)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.7, 1.0, 1.3])
@pytest.mark.usefixtures("stretch")
def test_a_spring_by_its_value_is_the_spring_by_its_projection(scale):
    """w/2 (|d| - l)² = w/2 ‖d - l d/|d|‖²: energy, gradient and Hessian, whose negative part (scale > 1) both leave."""
    sheet = mesh.cloth(4, 4)
    pairs, weights = sheet.edges, np.linspace(1.0, 9.0, len(sheet.edges))
    valued = Valued(make_group("stretch", sheet.vertices, pairs, weights, scale=scale))
    springs = Springs(make_group("spring", sheet.vertices, pairs, weights, scale=scale), 16)
    q = sheet.vertices + 0.01 * np.random.default_rng(0).normal(size=(16, 3))
    assert valued.energy(q, None) == pytest.approx(springs.energy(q, None), rel=1e-12)
    np.testing.assert_allclose(gradient_of(valued, q, None), gradient_of(springs, q, None), rtol=0, atol=1e-13)
    blocks = [hessian_module._definite(piece) for piece in valued.hessian(q, None)]
    got, expected = summed(16, blocks).toarray(), dense(springs, q, None)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["jelly", "folded"])
def test_where_values_are_zero_the_first_part_is_all(name):
    """C = 0: w ∇C ∇Cᵀ, of rank one for each constraint and without negative eigenvalues, to rounding."""
    system, _, _ = problem(name)
    x = system.model.mesh.vertices
    for term in system.objective.stored:
        if isinstance(term, Valued):
            for piece in term.hessian(x, None):
                values = np.linalg.eigvalsh(piece.blocks)
                assert (np.abs(values[:, :-1]) <= 1e-12 * values[:, -1:]).all()
                assert (values[:, -1] > 0).all()


def test_a_value_without_second_derivatives_keeps_its_first_part(monkeypatch):
    """Where differences are not finite: w ∇C ∇Cᵀ alone."""
    import vivace.energy.stored as module

    system, _, q = problem("jelly")
    term = next(term for term in system.objective.stored if isinstance(term, Valued))
    monkeypatch.setattr(module, "slopes_jacobian", lambda f, x: np.full((len(x), 12, 12), np.inf))
    (piece,) = term.hessian(q, None)
    c, slopes = module.values(term.group, q)
    slopes = slopes.reshape(len(c), 12)
    expected = term.group.weights[:, None, None] * slopes[:, :, None] * slopes[:, None, :]
    np.testing.assert_allclose(piece.blocks, expected, rtol=1e-12, atol=0)


# --- pieces -----------------------------------------------------------------------------------------------------------


def test_adding_blocks_matches_its_slow_twin():
    """Corners a, b of an element add its 3 x 3 block (a, b) to entry (i_a, i_b), repeated vertices included."""
    rng = np.random.default_rng(3)
    n, m, k = 7, 20, 3
    vertices, blocks = rng.integers(0, n, size=(m, k)).astype(np.int32), rng.normal(size=(m, 3 * k, 3 * k))
    expected = np.zeros((3 * n, 3 * n))
    for corners, block in zip(vertices, blocks, strict=True):
        for a, i in enumerate(corners):
            for b, j in enumerate(corners):
                expected[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] += block[3 * a : 3 * a + 3, 3 * b : 3 * b + 3]
    np.testing.assert_allclose(Blocks(vertices, blocks).matrix(n).toarray(), expected, rtol=0, atol=1e-13)
    halves = [Blocks(vertices[:7], blocks[:7]), Blocks(vertices[7:], blocks[7:])]
    np.testing.assert_allclose(summed(n, halves).toarray(), expected, rtol=0, atol=1e-13)
    pattern = sp.csr_matrix(np.ones((n, n)))
    out = np.zeros((n * n, 3, 3))
    add_blocks(pattern.indptr, pattern.indices, out, vertices, blocks)
    got = out.reshape(n, n, 3, 3).transpose(0, 2, 1, 3).reshape(3 * n, 3 * n)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)


def test_pieces_as_matrices():
    """Alike: diagonal and coupling times I; Congruent: w Aᵀ C A, and w AᵀA ⊗ I without C."""
    off = sp.csr_matrix([[0.0, 2.0], [2.0, 0.0]])
    expected = np.kron([[3.0, 2.0], [2.0, 5.0]], np.eye(3))
    np.testing.assert_array_equal(as_matrix(Alike(np.array([3.0, 5.0]), off), 2).toarray(), expected)
    np.testing.assert_array_equal(as_matrix(Alike(np.ones(2)), 2).toarray(), np.eye(6))
    np.testing.assert_array_equal(as_matrix(sp.identity(6), 2).toarray(), np.eye(6))
    a, w = np.array([[[1.0, -1.0]]]), np.array([4.0])
    c = np.diag([1.0, 0.5, 0.25]).reshape(1, 1, 3, 1, 3)
    pair = np.array([[1.0, -1.0], [-1.0, 1.0]])
    got = as_matrix(Congruent(np.array([[0, 1]]), a, w, c), 2).toarray()
    np.testing.assert_array_equal(got, np.kron(4 * pair, np.diag([1.0, 0.5, 0.25])))
    got = as_matrix(Congruent(np.array([[0, 1]]), a, w), 2).toarray()
    np.testing.assert_array_equal(got, np.kron(4 * pair, np.eye(3)))


def test_what_projective_dynamics_is_made_of():
    """Every group of a model is one term, in the order springs, projections, quadratic ones, values."""
    system, _, _ = problem("everything")
    kinds = [type(term).__name__ for term in system.objective.terms]
    assert kinds == ["Inertia", "Viscosity", "Pins", "Pins", "Springs", "Projected", "Projected"]
    kinds = [type(term).__name__ for term in problem("jelly")[0].objective.terms]
    assert kinds == ["Inertia", "Viscosity", "Pins", "Pins", "Springs", "Valued", "Valued"]
    kinds = [type(term).__name__ for term in problem("owned")[0].objective.terms]
    assert kinds == ["Inertia", "Pins", "Springs", "Quadratic", "Well", "Triple", "Drag"]
    assert issubclass(Quadratic, Projected)
    assert isinstance(Frame(*[np.zeros((1, 3))] * 4).h, float)
