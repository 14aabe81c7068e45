"""Every solver reaches the minimum of the step's energy; the reference is right about where it is."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.optimize

from solvers.rounding import moving_frame, norms, run, shifts, sweep_slack
from vivace import Budget, Cloth, Model, Solid, mesh
from vivace.scenes import Scene
from vivace.solvers import make_solver, minimise, relative_error
from vivace.solvers.projective.gauss_seidel import GaussSeidel


def small_cloth() -> Scene:
    sheet = mesh.cloth(8, 8)
    return Scene("cloth", Model.of(sheet, Cloth(stretch=50.0, bend=1e-3)).pin("top-corners"), 1 / 30)


def small_body(poisson_ratio=0.0) -> Scene:
    body = mesh.bar(5, 3, 3)
    return Scene("body", Model.of(body, Solid(youngs_modulus=5e4, poisson_ratio=poisson_ratio)).pin("left"), 1 / 30)


PROBLEMS = {"cloth": small_cloth, "body": small_body, "body with volume": lambda: small_body(0.3)}


@pytest.fixture(scope="module", params=list(PROBLEMS))
def problem(request):
    system, frame = moving_frame(PROBLEMS[request.param](), sweeps=200)
    return system, frame, minimise(system, frame, accuracy=1e-14)


def slowest_mode(system) -> float:
    """λ, the smallest eigenvalue of D⁻½ Y D⁻½: Jacobi's error in its slowest mode shrinks by 1 - λ a sweep."""
    root = 1 / np.sqrt(system.diagonal)
    return float(np.linalg.eigvalsh(root[:, None] * system.matrix.toarray() * root)[0])


@pytest.mark.parametrize("name", ["vivace", "vivace:relaxation=none", "jacobi:omega=0.5", "gauss-seidel"])
def test_solvers_reach_the_reference_minimum(problem, name):
    """ε(q) - ε(q*) <= slack/λ: a sweep contracts the gap by at least 1 - λ and rounding adds `sweep_slack` each time.

    30/λ sweeps over fresh projections are enough: (1 - λ)^(30/λ) < 1e-13. ω of the slack is 1, or what the solver uses.
    """
    system, frame, reference = problem
    solver = make_solver(name)
    solver.prepare(system, threads=1, seed=0)
    rate = slowest_mode(system) * (0.5 if name.startswith("jacobi") else 1.0)
    q = run(solver, system, frame, int(30 / rate) * max(1, solver.refresh))
    omega = 1.0 if "none" in name else solver.omega
    gap = system.energy(q, frame) - reference.energy
    gained = system.energy(frame.start, frame) - reference.energy
    assert gained > 0
    assert -1e-9 * gained <= gap <= sweep_slack(system, frame, q, q, omega) / rate
    assert relative_error(system, frame, q, reference) == pytest.approx(gap / gained)


def test_reference_is_stationary_and_lowest(problem):
    """∇ε(q*) vanishes next to ∇ε(s), and ε(q*) is below the energy of every solver's result."""
    system, frame, reference = problem
    assert reference.converged
    start = np.linalg.norm(system.gradient(frame.start, frame))
    end = np.linalg.norm(system.gradient(reference.q, frame))
    assert reference.gradient == pytest.approx(end / start)
    # |∇ε|² <= 2 L (what is left to gain), for a curvature of at most L = ‖Y‖; 1e-9 of the gain is left at the very most
    gained = system.energy(frame.start, frame) - reference.energy
    assert end <= np.sqrt(2 * abs(system.matrix).sum(axis=1).max() * 1e-9 * gained)
    for name in ("vivace", "jacobi", "gauss-seidel"):
        solver = make_solver(name)
        solver.prepare(system, threads=1, seed=0)
        for sweeps in (1, 5, 50):
            assert system.energy(run(solver, system, frame, sweeps), frame) >= reference.energy


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_reference_agrees_with_scipy(name):
    """The same minimum as BFGS of SciPy on a problem of a few unknowns: energies to 1e-9 of what was gained."""
    scenes = {
        "cloth": lambda: Scene("c", Model.of(mesh.cloth(3, 3), Cloth(stretch=50.0)).pin("top-corners"), 1 / 30),
        "body": lambda: Scene("b", Model.of(mesh.cube(2, 0.2), Solid(youngs_modulus=1e4)).pin("left"), 1 / 30),
        "body with volume": lambda: Scene(
            "v", Model.of(mesh.cube(2, 0.2), Solid(youngs_modulus=1e4, poisson_ratio=0.4)).pin("left"), 1 / 30
        ),
    }
    system, frame = moving_frame(scenes[name]())
    reference = minimise(system, frame, accuracy=1e-14)
    # In units of each vertex's own stiffness, x = D^½ q, SciPy's first guess of the Hessian is a good one.
    root = np.sqrt(system.diagonal)[:, None]

    def energy(x):
        return system.energy(x.reshape(-1, 3) / root, frame)

    def gradient(x):
        return (system.gradient(x.reshape(-1, 3) / root, frame) / root).ravel()

    options = {"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-12}
    found = scipy.optimize.minimize(
        energy, (frame.start * root).ravel(), jac=gradient, method="L-BFGS-B", options=options
    )
    gained = energy((frame.start * root).ravel()) - reference.energy
    assert reference.energy == pytest.approx(found.fun, abs=1e-9 * gained)
    assert reference.energy <= found.fun + 1e-12 * gained


@pytest.mark.slow
def test_relative_error_has_its_fixed_points(problem):
    """(ε(q) - ε*) / (ε(s) - ε*): 1 at the prediction, 0 at the minimum, infinite where q is not finite."""
    system, frame, reference = problem
    assert relative_error(system, frame, frame.start, reference) == 1.0
    assert relative_error(system, frame, reference.q, reference) == pytest.approx(0.0, abs=1e-12)  # rounding of a sum
    for bad in (np.nan, np.inf):
        q = reference.q.copy()
        q[3, 1] = bad
        assert relative_error(system, frame, q, reference) == np.inf
    assert relative_error(system, frame, frame.start) == pytest.approx(1.0)
    assert relative_error(system, frame, reference.q) == pytest.approx(0.0, abs=1e-5)  # minimise's own accuracy


@pytest.mark.slow
def test_relative_error_of_a_problem_without_anything_to_gain():
    """At rest without gravity the first guess is the minimum: there is no error to speak of."""
    model = Model.of(mesh.cloth(4, 4), gravity=(0, 0, 0))
    sim = Scene("rest", model, 1 / 30).simulate(budget=Budget(iterations=1))
    frame = sim.system.frame(model.mesh.vertices.copy(), np.zeros((16, 3)), np.zeros((16, 3)), np.zeros((0, 3)))
    assert np.isnan(relative_error(sim.system, frame, frame.start))


@pytest.mark.parametrize("algorithm", ["brooks-vizing", "greedy", "luby"])
@pytest.mark.parametrize("omega", [1.0, 1.9])
def test_colours_in_turn_are_gauss_seidel_in_that_order(problem, algorithm, omega):
    """Vertices of a colour do not see each other: the parallel sweep equals the serial one, bit for bit."""
    system, frame, _ = problem
    coloured = make_solver(("vivace", {"omega": omega, "ramp": 0, "refresh": 0, "colouring_algorithm": algorithm}))
    coloured.prepare(system, threads=2, seed=3)

    @dataclass(eq=False)
    class InOrder(GaussSeidel):
        def visiting_order(self, system, threads, seed):
            return coloured.layout.order

    serial = InOrder(omega=omega)
    serial.prepare(system, threads=1, seed=0)
    for sweeps in (1, 7):
        np.testing.assert_array_equal(run(coloured, system, frame, sweeps), run(serial, system, frame, sweeps))


@pytest.mark.parametrize("omega", [1.0, 0.6])
def test_jacobi_step_has_its_closed_form(problem, omega):
    """q¹ = s + ω D⁻¹ (b(s) - Y s), every vertex from the same s, to one update's rounding δ."""
    system, frame, _ = problem
    solver = make_solver(("jacobi", {"omega": omega}))
    solver.prepare(system, threads=1, seed=0)
    residual = system.right_hand_side(frame.start, frame) - system.matrix @ frame.start
    expected = frame.start + omega * residual / system.diagonal[:, None]
    got = run(solver, system, frame, 1)
    assert (
        norms(got - expected) <= np.maximum(shifts(system, frame, frame.start), shifts(system, frame, expected))
    ).all()


def test_gauss_seidel_step_has_its_closed_form():
    """(D + L) q¹ = b - U q⁰ for a matrix with constant b: hinges, inertia and pins without springs."""
    sheet = mesh.cloth(6, 6)
    base = Model.of(sheet, Cloth(bend=1e-2)).pin("corners", stiffness=100.0)
    model = Model(sheet, base.masses.copy(), base.groups[1:], base.gravity.copy())
    sim = Scene("hinges", model, 1 / 30).simulate(budget=Budget(iterations=3), threads=1)
    sim.velocities = np.random.default_rng(0).normal(size=(36, 3))
    sim.step()
    system, frame = sim.system, sim.step().frame
    matrix = system.matrix.toarray()
    b = system.constant(frame)
    expected = np.linalg.solve(np.tril(matrix), b - np.triu(matrix, 1) @ frame.start)
    solver = make_solver("gauss-seidel")
    solver.prepare(system, threads=1, seed=0)
    # errors made at earlier vertices travel: (D + L)⁻¹ D of the per-vertex δ
    travel = np.abs(np.linalg.inv(np.tril(matrix))) * system.diagonal
    bound = travel @ np.maximum(shifts(system, frame, frame.start), shifts(system, frame, expected))
    assert (norms(run(solver, system, frame, 1) - expected) <= bound).all()
