"""Newton's method: the lowest energy of all, fast near it, and never a step up."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from solvers.rounding import ENERGY_SCENES, U64, U, moving_frame, norms, rows, shifts, small_scene
from vivace import Budget, Cloth, InputError, Jelly, Model, Prepared, Role, Simulation, Solid, System, constraint, mesh
from vivace.constraints import CONSTRAINTS
from vivace.energy.hessian import Hessian
from vivace.mesh.topology import boundary_edges
from vivace.scenes import make_scene
from vivace.solvers import Deadline, Reference, make_solver, minimise, relative_error
from vivace.solvers.projective import newton as module
from vivace.solvers.reference import polish


def wide(points):
    """(n, 3) to float64 rows of four: the solver computes in float64 whatever it is given."""
    return np.column_stack([points, np.zeros(len(points))])


def solved(system, frame, budget, single=False):
    """Positions and outcome of `newton`, from the problem in float64 (or as a simulation would hand it over)."""
    solver = make_solver("newton")
    solver.prepare(system, threads=1, seed=0)
    pack = rows if single else wide
    out = np.full((system.n, 4), np.nan, np.float32 if single else np.float64)
    outcome = solver.solve(pack(frame.start), pack(system.constant(frame)), out, Deadline.of(Budget(**budget)))
    assert (out[:, 3] == 0).all()
    return out[:, :3].astype(np.float64), outcome


def rounding(system, frame):
    """What float64 leaves of an energy (J): a few units of its largest value, and of ∇ε·q for the rounding of q."""
    q = frame.start
    pull = norms(system.gradient(q, frame))
    return 16 * U64 * (system.energy(q, frame) + float(pull @ norms(q)))


@pytest.fixture(scope="module", params=ENERGY_SCENES)
def problem(request):
    return moving_frame(small_scene(request.param))


@pytest.mark.slow
def test_reaches_the_lowest_energy(problem):
    """ε(newton) <= ε(minimise) on every scene; and the gradient has vanished next to the first guess's."""
    system, frame = problem
    reference = minimise(system, frame, accuracy=1e-9)
    q, outcome = solved(system, frame, {"tolerance": 1e-9, "iterations": 200})
    assert outcome.stopped == "tolerance"
    assert outcome.note == ""
    assert system.energy(q, frame) <= reference.energy + rounding(system, frame)
    first = np.linalg.norm(system.gradient(frame.start, frame))
    assert np.linalg.norm(system.gradient(q, frame)) <= 1e-9 * first
    # both tell the same relative error of another's result, to ten times minimise's accuracy
    vivace = make_solver("vivace")
    vivace.prepare(system, threads=1, seed=0)
    out = np.zeros((system.n, 4), np.float32)
    vivace.solve(rows(frame.start), rows(system.constant(frame)), out, Deadline.of(Budget(iterations=8)))
    other = out[:, :3].astype(np.float64)
    truth = Reference(q, system.energy(q, frame), 0.0, outcome.sweeps, True)
    error = relative_error(system, frame, other, truth)
    assert 0 < error < 1
    if reference.converged:
        assert relative_error(system, frame, other, reference) == pytest.approx(error, abs=1e-8)


@pytest.mark.slow
def test_energy_never_rises(problem):
    system, frame = problem
    solver = make_solver("newton")
    solver.prepare(system, threads=1, seed=0)
    out, energies = wide(frame.start), [system.energy(frame.start, frame)]
    for _ in range(6):  # one at a time, each from where the last ended
        solver.solve(out.copy(), wide(system.constant(frame)), out, Deadline.of(Budget(iterations=1)))
        energies.append(system.energy(out[:, :3], frame))
    assert energies[1] < energies[0]
    assert (np.diff(energies) <= rounding(system, frame)).all()


def test_known_of_a_frame_is_enough(problem):
    """`System.around` differs from `evaluate` by one constant, with dampings too; their gradients agree to rounding."""
    system, _ = problem
    m = system.model
    system = System(Model(m.mesh, m.masses.copy(), m.groups, m.gravity.copy(), air=0.7, viscosity=0.02), system.h)
    rng = np.random.default_rng(0)
    x = m.mesh.vertices
    frame = system.frame(x, rng.normal(size=x.shape), np.broadcast_to(m.gravity, x.shape), m.targets + 0.01)
    evaluate = system.around(frame.start, system.constant(frame))
    gaps = []
    for size in (0.0, 1e-3, 0.1):
        q = frame.start + size * rng.normal(size=x.shape)
        (energy, gradient), (got, got_gradient) = system.evaluate(q, frame), evaluate(q)
        gaps.append(energy - got)
        scale = abs(system.matrix) @ norms(q) + norms(system.constant(frame))
        assert (norms(gradient - got_gradient) <= 32 * U64 * (scale + norms(gradient))).all()
    assert np.ptp(gaps) <= 64 * U64 * energy


def taut(name):
    """A model and a start that stretch every constraint, so that nothing has to be left out of the Hessian."""
    if name == "cloth":
        sheet = mesh.cloth(7, 7)
        x = 1.3 * sheet.vertices
        border = np.unique(boundary_edges(sheet.triangles))
        return Model.of(sheet, Cloth(stretch=50.0)).pin(border, target=x[border]), x
    body = mesh.cube(3, 0.3)
    return Model.of(body, Solid(youngs_modulus=1e4)).pin([0]), 1.3 * body.vertices


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cloth", "body"])
def test_convergence_is_quadratic(name):
    """‖∇ε‖ that the iterations meet falls as r_(k+1) ∝ r_k²: its logarithm by twice as much every time, 1.7 at least.

    Until rounding: r of 2⁻⁵³ Y q cannot be told from zero.
    """
    model, q = taut(name)
    system = System(model, 1 / 30)
    v = 0.3 * np.random.default_rng(0).normal(size=q.shape)
    frame = system.frame(q, v, np.broadcast_to(model.gravity, q.shape), model.targets)
    met = np.array([solved(system, frame, {"iterations": k})[1].residual for k in range(1, 10)])
    floor = 100 * U64 * np.linalg.norm(system.diagonal[:, None] * q)
    falls = -np.diff(np.log(met[met > floor]))
    assert len(falls) >= 2
    assert falls[-1] >= 1.7 * falls[-2]


# --- constraints known by their value ---------------------------------------------------------------------------------


def valued(name):
    """A model whose bending or volume is known by its value alone, and the problem of a step in mid-motion."""
    if name == "dihedral":
        model = Model.of(mesh.cloth(6, 6), Cloth(stretch=200.0, bend=1e-3, bending="dihedral")).pin("top-corners")
    elif name == "volume":
        model = Model.of(mesh.cube(4, side=0.3), Jelly(stretch=200.0, volume=2e4)).pin("top")
    else:
        model = Model.of(mesh.cube(3, side=0.3), Jelly(stretch=100.0, volume=1e4, bend=1e-2), viscosity=0.01).pin([0])
    system, x = System(model, 1 / 30), model.mesh.vertices
    v = 0.5 * np.random.default_rng(0).normal(size=x.shape)
    return system, system.frame(x, v, np.broadcast_to(model.gravity, x.shape), model.targets)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dihedral", "volume", "both"])
def test_constraints_by_value_end_at_the_minimum(name):
    """Where L-BFGS, which is told no second derivatives but once at its start, ends too; in as few iterations as ever.

    The gradient is 1e-9 of the first, so positions are right to 1e-9 of it over the smallest stiffness, the inertia.
    """
    system, frame = valued(name)
    assert system.positional
    q, outcome = solved(system, frame, {"tolerance": 1e-9, "iterations": 200})
    assert outcome.stopped == "tolerance"
    assert outcome.note == ""
    assert outcome.sweeps <= 40
    first = np.linalg.norm(system.gradient(frame.start, frame))
    assert np.linalg.norm(system.gradient(q, frame)) <= 1e-9 * first
    reference = minimise(system, frame, accuracy=1e-13)
    assert reference.converged
    assert system.energy(q, frame) <= reference.energy + rounding(system, frame)
    gap = system.energy(frame.start, frame) - reference.energy
    assert reference.energy - system.energy(q, frame) <= 1e-9 * gap
    near = polish(system, frame, reference.q, within=1e-10)
    np.testing.assert_allclose(q, near.q, rtol=0, atol=1e-9 * first / system.inertia.min() + 1e-9)


@pytest.mark.slow
def test_without_their_hessian_it_would_take_longer(monkeypatch):
    """The same steps with a Hessian that does not know volumes: after ten the gradient is a thousand times as large."""
    system, frame = valued("volume")
    gradients = []
    for known in (True, False):
        if not known:
            monkeypatch.setattr(Hessian, "others", lambda self, q, frame: csr_matrix((3 * system.n, 3 * system.n)))
        q, _ = solved(system, frame, {"iterations": 10})
        gradients.append(np.linalg.norm(system.gradient(q, frame)))
    assert gradients[1] > 1e3 * gradients[0]


class Stretch:
    """A spring by its value, C = |x1 - x0| - l: not linear, and convex where it is stretched."""

    @staticmethod
    def prepare(rest):
        return Prepared(parameters=np.linalg.norm(rest[:, 1] - rest[:, 0], axis=1)[:, None])

    @staticmethod
    def evaluate(x, parameters, gradient):
        size = np.sqrt((x[1, 0] - x[0, 0]) ** 2 + (x[1, 1] - x[0, 1]) ** 2 + (x[1, 2] - x[0, 2]) ** 2)
        for c in range(3):
            gradient[1, c] = (x[1, c] - x[0, c]) / size
            gradient[0, c] = -gradient[1, c]
        return size - parameters[0]


@pytest.mark.slow
def test_convergence_with_values_is_quadratic(monkeypatch):
    """As with springs, because the whole second derivative is there, and positive: not ∇C ∇Cᵀ alone."""
    monkeypatch.setattr(CONSTRAINTS, "_things", dict(CONSTRAINTS))
    constraint("stretch", vertices=2, rows=0, parameters=("length",), role=Role.POSITION)(Stretch)
    taut_model, q = taut("cloth")
    pins = [group for group in taut_model.groups if group.kind.name == "pin"]
    model = Model(taut_model.mesh, taut_model.masses.copy(), tuple(pins), taut_model.gravity.copy())
    system = System(model.constrain("stretch", model.mesh.edges, 50.0), 1 / 30)
    v = 0.3 * np.random.default_rng(0).normal(size=q.shape)
    frame = system.frame(q, v, np.broadcast_to(model.gravity, q.shape), model.targets)
    met = np.array([solved(system, frame, {"iterations": k})[1].residual for k in range(1, 10)])
    floor = 100 * U64 * np.linalg.norm((system.diagonal[:, None] + 400.0) * q)
    falls = -np.diff(np.log(met[met > floor]))
    assert len(falls) >= 2
    assert falls[-1] >= 1.7 * falls[-2]


@pytest.mark.slow
def test_float32_hand_over_costs_float32():
    """start and constant in float32 move the result by no more than they round: δ of a sweep, contracted by Y⁻¹ D."""
    system, frame = moving_frame(make_scene("cube", resolution=4))
    exact, _ = solved(system, frame, {"tolerance": 1e-9})
    q, _ = solved(system, frame, {"tolerance": 1e-9}, single=True)
    travel = np.abs(np.linalg.inv(system.matrix.toarray())) * system.diagonal
    assert (norms(q - exact) <= 2 * travel @ shifts(system, frame, exact)).all()


def test_far_from_the_origin():
    """A kilometre away the answer is that at home, to float32's 6e-5 m there; in float64 to 1e-9 m."""
    sheet = mesh.cloth(8, 8, plane="vertical")
    away = np.array([1000.0, -300.0, 200.0])
    found = []
    for shift in (np.zeros(3), away):
        model = Model.of(sheet.transformed(translate=shift), Cloth(stretch=1e3)).pin("top")
        system = System(model, 1 / 30)
        x = model.mesh.vertices
        frame = system.frame(x, np.zeros_like(x), np.broadcast_to(model.gravity, x.shape), model.targets)
        found.append([solved(system, frame, {"tolerance": 1e-8}, single)[0] - shift for single in (False, True)])
        assert np.isfinite(found[-1]).all()
    reach = np.linalg.norm(away) + 1
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found[1][1], found[0][0], rtol=0, atol=20 * U * reach)


STATES = {
    "at a point": lambda x: np.full_like(x, 0.25),
    "inside out": lambda x: x * [-1.0, 1.0, 1.0],
    "flat": lambda x: x * [1.0, 0.0, 1.0],
    "torn": lambda x: x + np.random.default_rng(0).normal(size=x.shape) * 10,
}


@pytest.mark.slow
@pytest.mark.parametrize("state", list(STATES))
@pytest.mark.parametrize("name", ["cube", "tablecloth"])
@pytest.mark.parametrize("iterations", [1, 8])
def test_bad_states_stay_finite_and_descend(name, state, iterations):
    scene = make_scene(name, resolution=5 if name == "tablecloth" else 3)
    sim = scene.simulate(solver="newton", budget=Budget(iterations=iterations), threads=1)
    sim.positions = STATES[state](scene.model.mesh.vertices)
    for _ in range(5):
        report = sim.step()
        assert report.finite
        assert np.isfinite(sim.velocities).all()
        start = sim.system.energy(report.frame.start, report.frame)
        assert report.energy <= start * (1 + 64 * U)


@pytest.mark.slow
def test_threads_do_not_change_a_bit():
    scene = small_scene("bar")
    runs = []
    for threads in (1, 2):
        sim = scene.simulate(solver="newton", budget=Budget(iterations=2), threads=threads)
        for _ in range(4):
            sim.step()
        runs.append(sim.positions.tobytes() + sim.velocities.tobytes())
    assert runs[0] == runs[1]


# --- budgets --------------------------------------------------------------------------------------------------------


def test_stops_before_the_deadline_would_be_missed(monkeypatch):
    """A clock on which an iteration takes 10 ms (and nothing else any time): 35 ms are good for three."""
    system, frame = moving_frame(make_scene("hanging-cloth", resolution=5))
    solver = make_solver("newton")
    solver.prepare(system, threads=1, seed=0)
    out = np.zeros((system.n, 4), np.float32)
    for ms, iterations in ((35, 3), (29, 2), (1, 1)):
        reads = iter(range(1000))
        clock = SimpleNamespace(perf_counter_ns=lambda reads=reads: (next(reads) + 1) // 2 * 10_000_000)
        monkeypatch.setattr(module, "time", clock)
        deadline = Deadline(Budget(ms=ms), ms * 1_000_000)
        outcome = solver.solve(rows(frame.start), rows(system.constant(frame)), out, deadline)
        assert (outcome.sweeps, outcome.stopped) == (iterations, "time")
        assert outcome.swept_ns == iterations * 10_000_000


def test_tolerance_is_relative_to_the_first_gradient():
    system, frame = moving_frame(make_scene("hanging-cloth", resolution=5))
    first = np.linalg.norm(system.gradient(frame.start, frame))
    for tolerance in (0.3, 1e-2, 1e-6):
        _, outcome = solved(system, frame, {"tolerance": tolerance})
        assert outcome.stopped == "tolerance"
        assert outcome.residual <= tolerance * first
        before, last = solved(system, frame, {"iterations": outcome.sweeps - 1})
        assert last.residual > tolerance * first
        assert outcome.residual == pytest.approx(np.linalg.norm(system.gradient(before, frame)), rel=1e-6)
    # less than rounding allows is not asked for
    assert solved(system, frame, {"tolerance": 1e-300})[1].sweeps < 20


def test_nothing_left_to_do():
    """Without constraints the prediction is the minimum, and the first gradient zero: one iteration, nothing moves."""
    body = Model.of(mesh.cube(2), Solid())
    system = System(Model(body.mesh, body.masses.copy(), (), body.gravity.copy()), 1 / 30)
    x = body.mesh.vertices
    frame = system.frame(x, np.ones_like(x), np.zeros_like(x), np.zeros((0, 3)))
    q, outcome = solved(system, frame, {"tolerance": 0.1})
    assert (outcome.sweeps, outcome.stopped, outcome.residual) == (1, "tolerance", 0.0)
    np.testing.assert_array_equal(q, frame.s)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [{"tolerance": 1e-9}, {"iterations": 500}, {"ms": 1e6}], ids=str)
def test_where_no_step_leads_down_it_says_so_and_ends(monkeypatch, budget):
    """As at triangles without area, where energies jump: whatever iterations are left, each would be the same."""
    tried = []
    monkeypatch.setattr(module, "backtrack", lambda *given, **options: tried.append(1))
    model = Model.of(mesh.cloth(6, 6), Cloth(bending="dihedral")).pin("top-corners")
    report = Simulation(model, solver="newton", budget=Budget(**budget), substeps=1).step()
    assert len(tried) == 1
    assert report.note == "no step lowers the energy"
    assert report.finite
    assert report.stopped == ("time" if "ms" in budget else "iterations")


def test_solver_must_be_prepared():
    empty = np.zeros((1, 4), np.float32)
    with pytest.raises(InputError, match="solver 'newton' has not been prepared for a system"):
        make_solver("newton").solve(empty, empty, empty, Deadline.of(Budget(iterations=1)))


# --- when the factorisation fails -----------------------------------------------------------------------------------


def test_indefinite_matrices_have_no_solution():
    matrix, b = csr_matrix(np.diag([2.0, -1.0, 4.0])), np.ones((1, 3))
    assert np.isnan(module.solved(matrix, 0.0, b)).all()
    np.testing.assert_allclose(module.solved(abs(matrix), 0.5, b), [[1 / 3, 1 / 1.5, 1 / 6]])


@pytest.mark.parametrize(
    ("failures", "note"),
    [(1, "diagonal was raised by 1e-10"), (3, "diagonal was raised by 0.01"), (4, "could not be factorised")],
)
def test_a_failed_factorisation_is_tried_again_with_a_shift(monkeypatch, failures, note):
    """Whatever had to be done, the energy falls, and the outcome tells."""
    system, frame = moving_frame(make_scene("hanging-cloth", resolution=5))
    solve, calls = module.solved, []

    def fail_at_first(matrix, shift, b):
        calls.append(shift)
        return np.full(b.shape, np.nan) if len(calls) <= failures else solve(matrix, shift, b)

    monkeypatch.setattr(module, "solved", fail_at_first)
    q, outcome = solved(system, frame, {"iterations": 1})
    assert calls == list(module.SHIFTS[: failures + 1])
    assert note in outcome.note
    assert system.energy(q, frame) < system.energy(frame.start, frame)
