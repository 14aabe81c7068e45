"""Energy terms of a model's own: what they do to its motion, who takes them, and what is wrong with some."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from terms.test_terms import Drag, Triple, Well
from vivace import Blocks, Budget, Cloth, ElementTerm, InputError, Model, Simulation, System, Term, Wire, mesh
from vivace.bench.converged import converged
from vivace.energy.hessian import Hessian
from vivace.scenes import make_scene
from vivace.solvers import SOLVERS, Deadline, make_solver, minimise
from vivace.solvers.reference import polish

U = 2.0**-24


class Spring(ElementTerm):
    """k/2 (|d| - l)² between two vertices: what the constraint "spring" is, written as a term."""

    def __init__(self, pairs, rest, stiffness):
        super().__init__(pairs)
        self.stiffness = stiffness
        self.lengths = np.linalg.norm(rest[self.vertices[:, 0]] - rest[self.vertices[:, 1]], axis=1)

    def energies(self, x):
        return 0.5 * self.stiffness * (np.linalg.norm(x[:, 1] - x[:, 0], axis=1) - self.lengths) ** 2

    def gradients(self, x):
        d = x[:, 1] - x[:, 0]
        size = np.linalg.norm(d, axis=1)
        pull = (self.stiffness * (size - self.lengths) / size)[:, None] * d
        return np.stack([-pull, pull], axis=1)


class Linear(Term):
    """-f·q: a force. Without a Hessian, which is zero."""

    def __init__(self, force):
        self.force = np.asarray(force, np.float64)

    def energy(self, q, frame):
        return float(-np.sum(q @ self.force))

    def add_gradient(self, q, frame, out):
        out -= self.force


def bare(n=4, **options):
    """A square of loose vertices."""
    sheet = mesh.cloth(n, n)
    return Model(sheet, np.full(n * n, 0.02), (), np.array([0.0, -9.81, 0.0]), **options)


def stepped(model, frames=5, solver="newton", **options):
    sim = Simulation(model, solver=solver, budget=Budget(iterations=30, tolerance=1e-10), time_step=1 / 50, **options)
    sim.velocities = np.random.default_rng(0).normal(size=(model.n, 3))
    for _ in range(frames):
        report = sim.step()
    return sim, report


# --- motion -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_springs_as_a_term_move_as_springs_do():
    """The same energy, so the same minima, to float32's rounding in each of some steps."""
    base = bare().pin([0], stiffness=1e4)
    rest, edges = base.mesh.vertices, base.mesh.edges
    as_term, _ = stepped(base.add(Spring(edges, rest, 50.0)))
    as_constraint, _ = stepped(base.constrain("spring", edges, 50.0))
    reach = np.abs(as_constraint.positions).max()
    np.testing.assert_allclose(as_term.positions, as_constraint.positions, rtol=0, atol=40 * U * reach)
    free, _ = stepped(base)
    assert np.abs(free.positions - as_term.positions).max() > 0.05


@pytest.mark.parametrize("substeps", [1, 2])
def test_drag_slows_as_implicit_euler_has_it(substeps):
    """m (v' - v)/h = m g - c v': v' = (v + h g)/(1 + c h/m) in every step. The term reads q_n and h of the frame."""
    c, m, steps = 0.3, 0.02, 4 * substeps
    sim, _ = stepped(bare().add(Drag(c)), frames=4, substeps=substeps)
    v = np.random.default_rng(0).normal(size=(16, 3)).astype(np.float32).astype(np.float64)
    h = 1 / 50 / substeps
    for _ in range(steps):
        v = (v + h * np.array([0.0, -9.81, 0.0])) / (1 + c * h / m)
    # a velocity is a difference of two positions, of size 1, divided by h
    np.testing.assert_allclose(sim.velocities, v, rtol=0, atol=4 * steps * U * 2 / h)


def test_a_linear_term_is_a_force():
    """-f·q beside `apply_forces(f)`: the same motion, and one iteration, because ε is quadratic."""
    force = np.array([0.1, 0.2, -0.3])
    one, report = stepped(bare().add(Linear(force)), frames=3)
    other = Simulation(bare(), solver="newton", budget=Budget(iterations=2), time_step=1 / 50)
    other.velocities = np.random.default_rng(0).normal(size=(16, 3))
    other.apply_forces(np.broadcast_to(force, (16, 3)))
    for _ in range(3):
        other.step()
    np.testing.assert_allclose(one.positions, other.positions, rtol=0, atol=16 * U)
    assert report.sweeps <= 2


@pytest.mark.slow
def test_reports_count_terms_in():
    """ε and ∇ε of the report are those of all terms, and its errors those of the minimum of all."""
    model = bare().pin([0]).add(Spring(mesh.cloth(4, 4).edges, mesh.cloth(4, 4).vertices, 50.0), Well(np.arange(16)))
    sim, report = stepped(model)
    q, frame = report.positions.astype(np.float64), report.frame
    without = System(replace(model, terms=()), 1 / 50)
    own = sum(term.energy(q, frame) for term in model.terms)
    assert own > 0
    assert report.energy == pytest.approx(without.energy(q, frame) + own, rel=1e-12)
    assert report.frame.h == pytest.approx(1 / 50)
    # what float32 positions leave: u |q| times the stiffness
    stiff = Hessian(sim.system)(q, frame).diagonal().reshape(-1, 3)
    assert report.gradient <= 2 * U * np.linalg.norm(stiff * q)
    assert report.relative_error == pytest.approx(0, abs=1e-5)
    assert report.position_error <= 1e-6
    # one iteration of a few is not the minimum, and they say so
    sim.budget = Budget(iterations=1)
    sim.velocities = 5 * np.random.default_rng(1).normal(size=(16, 3))
    early = sim.step()
    assert early.relative_error > 1e-6
    assert early.position_error > 1e-6


@pytest.mark.slow
def test_the_reference_and_newton_agree_on_terms():
    """`minimise` knows no Hessian of theirs but at its start; Newton's polish from there moves nothing but the rest."""
    model = bare(5).pin([0]).add(Spring(mesh.cloth(5, 5).edges, mesh.cloth(5, 5).vertices, 500.0))
    sim, report = stepped(model, frames=2)
    found = minimise(sim.system, report.frame, accuracy=1e-12)
    polished = polish(sim.system, report.frame, found.q, within=1e-9)
    assert found.converged
    assert polished.converged
    assert polished.energy <= found.energy * (1 + 64 * 2.0**-53)
    start = sim.system.energy(report.frame.start, report.frame)
    assert found.energy - polished.energy <= 1e-8 * (start - polished.energy)
    np.testing.assert_allclose(polished.q, report.positions, rtol=0, atol=1e-6)


def test_convergence_is_quadratic():
    """The Hessian of a convex term is exact: logarithms of ‖∇ε‖ fall by twice as much every time, 1.7 at least."""
    model = replace(bare(), gravity=np.zeros(3)).add(Well(np.arange(16)))
    system = System(model, 1.0)
    x = 5.0 + model.mesh.vertices
    frame = system.frame(x, np.zeros_like(x), np.zeros_like(x), model.targets)
    solver = make_solver("newton")
    solver.prepare(system, threads=1, seed=0)
    solver.see(frame)
    rows = [np.column_stack([a, np.zeros(16)]) for a in (frame.start, system.constant(frame))]
    trace = Deadline(Budget(iterations=30), None, trace=True)
    met = solver.solve(*rows, np.zeros((16, 4)), trace).residuals[:, 1]
    falls = -np.diff(np.log(met[met > 1e-12 * met[0]]))
    assert len(falls) > 4
    assert falls[-1] >= 1.7 * falls[-2] >= 1.7**2 * falls[-3]


# --- models -----------------------------------------------------------------------------------------------------------


def test_models_keep_their_terms():
    """Through pins, constraints, stiffening and grabs; systems with other terms do not share their structure."""
    well, drag = Well([0, 1]), Drag(1.0)
    model = bare().add(well).pin([3]).constrain("spring", [[0, 1]], 5.0).stiffened(2.0).add(drag)
    assert model.terms == (well, drag)
    assert "Well, Drag" in repr(model)
    sim = Simulation(model, solver="newton", budget=Budget(iterations=2))
    sim.step()
    sim.grab(5, (0.0, 1.0, 0.0))
    assert sim.model.terms == (well, drag)
    assert sim.step().finite
    one = System(model, 0.02)
    assert one.shares_structure(System(model.pin([7]), 0.02))
    assert not one.shares_structure(System(replace(model, terms=(well,)), 0.02))
    assert not one.shares_structure(System(replace(model, terms=(well, Drag(1.0))), 0.02))


REFUSING = [name for name in SOLVERS if not SOLVERS[name].takes_terms]
REFUSING += ["chebyshev(pbd-jacobi)", "lbfgs(multigrid)", "lattice(direct)", "pcg(vivace)"]


def test_newton_takes_terms():
    assert SOLVERS["newton"].takes_terms


@pytest.mark.parametrize("solver", REFUSING)
def test_solvers_that_cannot_refuse_terms(solver):
    """In one sentence that names the term and who can, and before anything has moved."""
    model = Model.of(mesh.cloth(5, 5), Cloth()).add(Well([0, 1]))
    sim = Simulation(model, solver=solver, budget=Budget(iterations=2), threads=1)
    with pytest.raises(InputError, match=r"cannot minimise the model's own energy term Well; choose solver .*'newton'"):
        sim.step()
    np.testing.assert_array_equal(sim.positions, model.mesh.vertices.astype(np.float32))
    sim.solver = "newton"
    assert sim.step().finite


def test_what_else_does_not_go_with_terms():
    """BDF2 balances energies that it measures itself; a cached trajectory would not know one term from another."""
    model = bare().add(Well([0]))
    with pytest.raises(InputError, match='"bdf2" cannot balance the energy of the term Well; take integrator="euler"'):
        Simulation(model, solver="newton", integrator="bdf2")
    scene = make_scene("hanging-cloth", resolution=4)
    with pytest.raises(InputError, match="there is no converged motion"):
        converged(replace(scene, model=scene.model.add(Well([0]))), 2)


def test_a_solver_must_have_seen_the_frame():
    system = System(bare().add(Drag(1.0)), 0.02)
    solver = make_solver("newton")
    solver.prepare(system, threads=1, seed=0)
    rows = np.zeros((16, 4), np.float32)
    with pytest.raises(InputError, match=r"need the step's frame; call solver.see\(frame\)"):
        solver.solve(rows, rows, rows.copy(), Deadline.of(Budget(iterations=1)))


# --- mistakes ---------------------------------------------------------------------------------------------------------


class Bad(Linear):
    """A term with one thing wrong."""

    def __init__(self, **wrong):
        super().__init__([0.0, 0.0, 1.0])
        for name, function in wrong.items():
            setattr(self, name, function)


def fails(*_):
    raise ZeroDivisionError("by nought")


def spoils(q, frame):
    q[0] += 1.0
    return 0.0


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (Bad(energy=fails), r"term Bad: energy\(q, frame\) fails at rest: ZeroDivisionError\('by nought'\)"),
        (Bad(add_gradient=fails), r"term Bad: add_gradient\(q, frame, out\) fails at rest"),
        (Bad(hessian=fails), r"term Bad: hessian\(q, frame\) fails at rest"),
        (Bad(energy=lambda q, frame: np.inf), "must return a finite number at rest, not inf"),
        (Bad(energy=lambda q, frame: None), "must return a finite number at rest, not None"),
        (Bad(energy=lambda q, frame: q), "must return a finite number at rest, not"),
        (Bad(energy=spoils), "term Bad changes the positions it is given"),
        (Bad(add_gradient=lambda q, frame, out: out.fill(np.nan)), "gradient at rest is not finite"),
        (Bad(hessian=lambda q, frame: [np.eye(3)]), "gives Blocks or sparse matrices, not ndarray"),
        (Bad(hessian=lambda q, frame: sp.identity(3)), r"must have shape \(48, 48\), not \(3, 3\)"),
        (
            Bad(hessian=lambda q, frame: Blocks(np.array([[0, 1]]), np.zeros((1, 3, 3)))),
            r"blocks of 1 elements of 2 vertices have shape \(1, 6, 6\), not \(1, 3, 3\)",
        ),
        (
            Bad(hessian=lambda q, frame: Blocks(np.array([[16]]), np.zeros((1, 3, 3)))),
            r"element 0 refers to vertices \[16\], but there are vertices 0 to 15 only",
        ),
        (Triple([[0, 1, 2], [3, 4, -1]]), r"term Triple: element 1 refers to vertices \[3, 4, -1\]"),
        (Well, "an instance of a class derived from vivace.Term, not <class"),
        ("well", "an instance of a class derived from vivace.Term, not 'well'"),
    ],
)
def test_mistakes_come_with_a_message(term, message):
    with pytest.raises(InputError, match=message):
        bare().add(term)


@pytest.mark.parametrize("vertices", [[0.5, 1.0], [[[0]]], [[]], "abc"])
def test_elements_need_vertices(vertices):
    with pytest.raises(InputError, match="Well needs whole-number vertices of shape"):
        Well(vertices)


def test_a_term_that_forgot_its_vertices():
    class Forgetful(Well):
        def __init__(self):
            pass

    with pytest.raises(InputError, match=r"term Forgetful has no vertices; call super\(\).__init__\(vertices\)"):
        bare().add(Forgetful())


def test_no_elements_are_no_energy():
    sim, report = stepped(Model.of(mesh.cloth(3, 3), Wire()).add(Well(np.zeros((0, 1), int))), frames=1)
    assert report.finite
    assert sim.model.terms[0].energy(sim.positions.astype(np.float64), report.frame) == 0.0
