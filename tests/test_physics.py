"""The step against closed forms of implicit Euler.

Tolerances: u is float32's unit roundoff. A position of size |q| is stored with an error of u |q|, and a solve leaves a
few of them, ROUND u |q|; the velocity (q' - q)/h inherits twice that over h. Where the solver matters, its own gradient
∇ε at the result, in float64, says how far it is from converged.
"""

import numpy as np
import pytest

from solvers.rounding import U, norms, shifts, sweep_slack
from vivace import Budget, Cloth, Model, Simulation, Solid, Wire, mesh
from vivace.mesh import Mesh

ROUND = 4  # roundings between s and the stored position: inertia·s, tie·q, their difference, the store
EXACT = "vivace:relaxation=none"  # plain Gauss-Seidel: exact at once where vertices do not pull on each other


def pair(**world) -> Model:
    """Two vertices 0.5 m apart on a level spring: nothing acts between them while they move alike."""
    wire = Mesh.from_edges([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]], [[0, 1]])
    return Model.of(wire, Wire(density=0.4, stretch=10.0), **world)


def chain(links: int, length: float = 0.1) -> Mesh:
    points = np.zeros((links + 1, 3))
    points[:, 1] = -length * np.arange(links + 1)
    return Mesh.from_edges(points, np.column_stack([np.arange(links), np.arange(1, links + 1)]))


@pytest.mark.parametrize("h", [1 / 30, 1e-3])
def test_free_fall(h):
    """v_n = -g h n, so y_n = -g h² n (n + 1)/2, and y_(n+1) - 2 y_n + y_(n-1) = -g h² at every step.

    A rounding of ROUND u |y_k| at step k is also a velocity error that lasts: it moves y_n by n - k + 1 times that.
    """
    sim = Simulation(pair(), solver=EXACT, budget=Budget(iterations=2), time_step=h)
    heights = [0.0]
    for _ in range(100):
        sim.step()
        heights.append(float(sim.positions[0, 1]))
    y, n = np.array(heights), np.arange(101)
    exact = -9.81 * h**2 * n * (n + 1) / 2
    error = ROUND * U * np.abs(exact)
    assert (np.abs(y - exact) <= 2 * np.cumsum(np.cumsum(error))).all()
    second = y[2:] - 2 * y[1:-1] + y[:-2]
    assert (np.abs(second + 9.81 * h**2) <= 4 * error[2:] + ROUND * U * 9.81 * h**2).all()
    assert np.abs(y - exact).max() < 1e-3 * np.abs(exact[-1])  # the bound above is not a licence


@pytest.mark.parametrize("air", [0.5, 5.0, 100.0])
def test_air_drag(air):
    """v_(n+1) = (v_n - g h)/(1 + air h), whose limit is g/air.

    Each step errs by 2 ROUND u |y|/h, and errors shrink by 1 + air h a step: at most (1 + air h)/(air h) add up.
    """
    h = 1 / 30
    # The spring couples the two while they converge: each sweep gains a factor of (k/(k + m/h²))² = 1/100.
    sim = Simulation(pair(air=air), solver=EXACT, budget=Budget(iterations=8), time_step=h)
    v = 0.0
    for _ in range(60):
        sim.step()
        v = (v - 9.81 * h) / (1 + air * h)
        bound = 2 * ROUND * U * max(abs(float(sim.positions[0, 1])), 0.5) / h * (1 + air * h) / (air * h)
        assert sim.velocities[0, 1] == pytest.approx(v, abs=bound)


def test_hanging_chain():
    """At rest link j is longer by (weight below it)/k, and the pin gives way by (all the weight)/(its stiffness).

    A residual of r newtons at each vertex changes the force in a link by Σ r, so its stretch by √n ‖r‖/k; a link
    between rounded positions is known to 2 u |y|.
    """
    stiffness, links = 100.0, 6
    model = Model.of(chain(links), Wire(density=1.0, stretch=stiffness), air=2.0).pin([0], stiffness=1e4)
    sim = Simulation(model, budget=Budget(iterations=300), time_step=0.5, substeps=1)
    for _ in range(60):
        report = sim.step()
    y = sim.positions[:, 1].astype(np.float64)
    stretch = -np.diff(y) - 0.1
    below = np.array([model.masses[j + 1 :].sum() for j in range(links)]) * 9.81
    gradient = sim.system.gradient(report.positions.astype(np.float64), report.frame)
    settling = norms(sim.velocities).max() * model.masses.sum() * (1 / 0.5 + 2.0)  # m dv/h + air m v, in newtons
    bound = (np.sqrt(links + 1) * np.linalg.norm(gradient) + settling) / stiffness + 2 * U * np.abs(y).max()
    assert bound < 1e-3 * stretch.min()
    np.testing.assert_allclose(stretch, below / stiffness, rtol=0, atol=bound)
    assert -y[0] == pytest.approx((below[0] + 9.81 * model.masses[0]) / 1e4, abs=bound * stiffness / 1e4 + U)


@pytest.mark.slow
def test_soft_pin_sags_by_weight_over_stiffness():
    """A pin is a spring: m g = K (target - y) at rest."""
    wire = chain(1)
    model = Model.of(wire, Wire(density=20.0, stretch=1e4), air=20.0).pin([0, 1], stiffness=100.0)
    sim = Simulation(model, budget=Budget(iterations=200), time_step=1 / 30)
    for _ in range(300):
        sim.step()
    sag = model.targets[:, 1] - sim.positions[:, 1]
    assert sag == pytest.approx(model.masses.sum() * 9.81 / 200.0, rel=1e-3)


BODIES = {
    "cloth": lambda **world: Model.of(mesh.cloth(6, 6), Cloth(stretch=100.0, bend=1e-3), **world),
    "curved cloth": lambda **world: Model.of(curved(), Cloth(stretch=100.0, bend=1e-3), **world),
    "solid": lambda **world: Model.of(mesh.cube(3, 0.3), Solid(youngs_modulus=2e4), **world),
    "solid with volume": lambda **world: Model.of(
        mesh.cube(3, 0.3), Solid(youngs_modulus=2e4, poisson_ratio=0.4), **world
    ),
}


def curved() -> Mesh:
    sheet = mesh.cloth(6, 6)
    bent = sheet.vertices.copy()
    bent[:, 1] = 0.3 * bent[:, 0] ** 2
    return Mesh.from_triangles(bent, sheet.triangles)


@pytest.mark.slow
@pytest.mark.parametrize("viscosity", [0.0, 0.01])
@pytest.mark.parametrize("body", list(BODIES))
def test_linear_momentum(body, viscosity):
    """Internal and viscous forces add up to nothing: Σ m (v' - v) = h Σ m g + h Σ_i ∇ε_i; ∇ε is what is left unsolved.

    Velocities are known to 2 ROUND u |q|/h. Without external forces the drift of each step is therefore at most
    h √n ‖∇ε‖ + Σ m 2 ROUND u |q|/h, and with a tolerance t on the residual ‖∇ε‖ shrinks like t ‖∇ε(s)‖.
    """
    h = 1 / 60
    model = BODIES[body](gravity=(0, 0, 0), viscosity=viscosity)
    sim = Simulation(model, solver="gauss-seidel", budget=Budget(tolerance=1e-3, iterations=2000), time_step=h)
    rng = np.random.default_rng(4)
    sim.velocities = rng.normal(size=(model.n, 3))
    m = model.masses[:, None]
    for _ in range(30):
        before = sim.velocities.astype(np.float64)
        report = sim.step()
        change = (m * (sim.velocities - before)).sum(axis=0)
        q = report.positions.astype(np.float64)
        gradient = sim.system.gradient(q, report.frame)
        rounding = float(m[:, 0] @ (2 * ROUND * U * (norms(q) + norms(report.frame.previous)))) / h
        np.testing.assert_allclose(change, h * gradient.sum(axis=0), rtol=0, atol=rounding)
        assert np.linalg.norm(change) <= h * np.sqrt(model.n) * np.linalg.norm(gradient) + 2 * rounding
        if report.stopped == "tolerance":  # the last sweep met 1e-3 of the first's residual, and left less than it met
            start = np.linalg.norm(sim.system.gradient(report.frame.start, report.frame))
            off = abs(sim.system.off).multiply(1 / sim.system.diagonal[None, :])
            reach = float(np.sqrt(off.sum(axis=0).max() * off.sum(axis=1).max()))  # >= ‖|Y - D| D⁻¹‖
            # each sweep's residuals, met one after the other, are within reach of the gradient at its start
            force_rounding = np.linalg.norm(sim.system.diagonal * shifts(sim.system, report.frame, q))
            assert np.linalg.norm(gradient) <= 2 * reach * 1e-3 * (1 + 2 * reach) * start + force_rounding


@pytest.mark.slow
def test_gravity_moves_the_centre_of_mass_like_a_point():
    """Σ m v_n / Σ m = -g h n whatever the body does inside, plus h Σ ∇ε / Σ m a step from what is left unsolved."""
    h = 1 / 60
    model = BODIES["solid"](viscosity=0.005)
    sim = Simulation(model, budget=Budget(iterations=60), time_step=h)
    sim.velocities = np.random.default_rng(5).normal(size=(model.n, 3))
    m, total = model.masses, model.masses.sum()
    expected = m @ sim.velocities / total
    bound = 0.0
    for _ in range(20):
        report = sim.step()
        expected = expected + h * np.array([0, -9.81, 0])
        q = report.positions.astype(np.float64)
        gradient = sim.system.gradient(q, report.frame)
        bound += h * np.abs(gradient.sum(axis=0)).max() / total + 4 * ROUND * U * norms(q).max() / h
        np.testing.assert_allclose(m @ sim.velocities / total, expected, rtol=0, atol=bound)


def spin(h: float, seconds: float) -> tuple[Simulation, list]:
    """A cube turning freely about z at 2 rad/s, and (L before, L after, what the identity predicts, its rounding)."""
    model = Model.of(mesh.cube(3, 0.3), Solid(youngs_modulus=2e5), gravity=(0, 0, 0))
    sim = Simulation(model, solver="gauss-seidel", budget=Budget(iterations=400), time_step=h)
    x = model.mesh.vertices
    sim.velocities = np.cross([0.0, 0.0, 2.0], x)
    m = model.masses[:, None]
    steps = []
    for _ in range(round(seconds / h)):
        q0, v0 = sim.positions.astype(np.float64), sim.velocities.astype(np.float64)
        report = sim.step()
        q1, v1 = sim.positions.astype(np.float64), sim.velocities.astype(np.float64)
        gradient = sim.system.gradient(report.positions.astype(np.float64), report.frame)
        before, after = (m * np.cross(q0, v0)).sum(axis=0), (m * np.cross(q1, v1)).sum(axis=0)
        predicted = before + (m * h * np.cross(v1, v0)).sum(axis=0) + h * np.cross(q1, gradient).sum(axis=0)
        rounding = float((m[:, 0] * norms(q1) * 4 * ROUND * U * norms(q1)).sum()) / h
        steps.append((before, after, predicted, rounding))
    return sim, steps


@pytest.mark.slow
def test_angular_momentum_of_a_free_body():
    """L' = L + h Σ m v' × v: implicit Euler's own loss, nothing else; internal forces have no moment at q'.

    From m v' = m v + h f(q') with Σ q' × f(q') = 0 and q' = q + h v'. It is first order: over a fixed time half the
    step loses half as much, to a relative O(ω h).
    """
    losses = []
    for h in (1 / 60, 1 / 120):
        _, steps = spin(h, 0.5)
        for _, after, predicted, rounding in steps:
            np.testing.assert_allclose(after, predicted, rtol=0, atol=rounding)
        losses.append(1 - steps[-1][1][2] / steps[0][0][2])
        assert losses[-1] > 0
    assert losses[0] / losses[1] == pytest.approx(2.0, abs=2 * 2.0 / 60)


@pytest.mark.parametrize("h", [1 / 60, 1 / 200])
def test_mass_on_a_spring(h):
    """x_n = a Re (1 + i ω h)^-n: amplitude (1 + ω² h²)^(-n/2) and phase n arctan(ω h), for motion along the spring.

    The pin's own stiffness K in series shifts ω² by k/K, a relative error of n ω h k/K at step n. A rounding δ moves x
    by δ and v by δ/h, which counts δ (1 + 1/(ω h)) in the amplitude, and decays like it.
    """
    k, pin, amplitude = 40.0, 4e7, 0.02
    model = Model.of(chain(1), Wire(density=2.0, stretch=k), gravity=(0, 0, 0)).pin([0], stiffness=pin)
    sim = Simulation(model, solver=EXACT, budget=Budget(iterations=30), time_step=h)
    start = model.mesh.vertices.copy()
    start[1, 1] -= amplitude
    sim.positions = start
    omega = np.sqrt(k / model.masses[1])
    decay = 1 / np.sqrt(1 + (omega * h) ** 2)
    rounding = 2 * ROUND * U * 0.12 * (1 + 1 / (omega * h)) / (1 - decay)
    for n in range(1, 121):
        sim.step()
        x = -float(sim.positions[1, 1]) - 0.1
        exact = amplitude * ((1 + 1j * omega * h) ** -n).real
        assert x == pytest.approx(exact, abs=rounding + amplitude * n * omega * h * k / pin + U * 0.1)
    assert rounding < 1e-2 * amplitude


@pytest.mark.parametrize("viscosity", [0.002, 0.05])
def test_viscous_spring(viscosity):
    """m v' = m v - h k (x' + τ v') with x' = x + h v': a spring that also resists its rate of strain, τ the viscosity.

    Solved for x': (m/h² + k (1 + τ/h)) x' = m/h² (x + h v) + k τ/h x. Errors are as in `test_mass_on_a_spring`, and
    decay no slower.
    """
    h, k, pin, amplitude = 1 / 60, 40.0, 4e7, 0.02
    wire = Wire(density=2.0, stretch=k)
    model = Model.of(chain(1), wire, gravity=(0, 0, 0), viscosity=viscosity).pin([0], stiffness=pin)
    sim = Simulation(model, solver=EXACT, budget=Budget(iterations=30), time_step=h)
    start = model.mesh.vertices.copy()
    start[1, 1] -= amplitude
    sim.positions = start
    m = model.masses[1]
    omega = np.sqrt(k / m)
    decay = 1 / np.sqrt(1 + (omega * h) ** 2)
    rounding = 2 * ROUND * U * 0.12 * (1 + 1 / (omega * h)) / (1 - decay)
    x, v = amplitude, 0.0
    for n in range(1, 61):
        sim.step()
        new = (m / h**2 * (x + h * v) + k * viscosity / h * x) / (m / h**2 + k * (1 + viscosity / h))
        x, v = new, (new - x) / h
        got = -float(sim.positions[1, 1]) - 0.1
        assert got == pytest.approx(x, abs=rounding + amplitude * n * omega * h * k / pin + U * 0.1)


@pytest.mark.slow
def test_moving_pins_drag_the_body():
    """K (target - q) is the force that moves all of it: Σ m ((v' - v)/h - g).

    So the pinned vertex is within force/K of its target at every step of the way.
    """
    h, pin = 1 / 60, 1e5
    model = Model.of(chain(4), Wire(density=1.0, stretch=500.0)).pin([0], stiffness=pin)
    sim = Simulation(model, budget=Budget(iterations=400), time_step=h, substeps=1)
    masses = model.masses[:, None]
    for n in range(1, 61):
        target = np.array([[0.5 * np.sin(0.1 * n), 0.2 * np.sin(0.05 * n), 0.0]])
        sim.targets = target
        before = sim.velocities.astype(np.float64)
        report = sim.step()
        force = (masses * ((sim.velocities - before) / h - model.gravity)).sum(axis=0)
        q = sim.positions.astype(np.float64)
        gradient = sim.system.gradient(report.positions.astype(np.float64), report.frame)
        held = pin
        left = np.abs(gradient.sum(axis=0)).max() + float(masses.sum()) * 4 * ROUND * U * norms(q).max() / h**2
        offset = target[0] - q[0]
        np.testing.assert_allclose(held * offset, force, rtol=0, atol=left + held * 2 * U * norms(q)[0])
        assert np.linalg.norm(offset) <= (np.linalg.norm(force) + 2 * left) / held + 2 * U * norms(q)[0]
    assert np.abs(sim.positions[0] - target[0]).max() < 1e-3


@pytest.mark.parametrize("body", list(BODIES))
def test_rest_stays_at_rest(body):
    """Without gravity the total energy is what rounding the rest shape stores, P; no step adds more than its slack.

    So m |v|²/2 <= P + Σ slack at all times, and no vertex moves farther than n h times that speed.
    """
    h, sweeps, frames = 1 / 30, 10, 20
    model = BODIES[body](gravity=(0, 0, 0))
    sim = Simulation(model, solver="vivace:relaxation=none", budget=Budget(iterations=sweeps), time_step=h)
    rest = sim.positions
    x = rest.astype(np.float64)
    frame = sim.system.frame(x, np.zeros_like(x), np.zeros_like(x), np.zeros((0, 3)))
    stored = sim.system.potential(x)
    slack = sweeps * sweep_slack(sim.system, frame, x, x, 1.0)
    # the velocity of a step is rounded, too: m/2 (2 u |q|/h)²
    slack += 0.5 * float(model.masses @ (2 * U * norms(x) / h) ** 2)
    speed = np.sqrt(2 * (stored + frames * slack) / model.masses)
    for _ in range(frames):
        sim.step()
        assert (norms(sim.velocities) <= speed + 2 * U * norms(x) / h).all()
    assert (norms(sim.positions.astype(np.float64) - x) <= frames * (h * speed + 2 * U * norms(x))).all()
