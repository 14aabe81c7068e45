"""Descent methods: every direction finds the minimum, none raises the energy; threads, states, options."""

import numpy as np
import pytest

from solvers.descent.bodies import MATERIALS, cube, frame_of, strained, tangled
from solvers.rounding import U, run
from vivace import Budget, InputError, Simulation, UnknownNameError
from vivace.solvers import make_solver
from vivace.solvers.descent.directions import DIRECTIONS
from vivace.solvers.descent.momentum import MOMENTA
from vivace.solvers.projective.potentials import far_too_high, last_positions

SOLVERS = ["descent", "newton-multigrid"]
ALL = [*(f"descent:direction={name}" for name in DIRECTIONS), "descent:momentum=nesterov", "descent:momentum=none"]


def prepared(what, system, threads=1):
    solver = make_solver(what)
    solver.prepare(system, threads=threads, seed=0)
    return solver


def rounding(system, frame, q):
    """What float32 positions leave unknown of ε (J): Σ Y_ii (4 u |q_i|)²/2 and the forces at its rim, r (4 u |q_i|)."""
    reach = 4 * U * np.linalg.norm(q, axis=1)
    force = np.linalg.norm(system.gradient(q, frame), axis=1)
    return float(system.diagonal @ reach**2 + force @ reach)


@pytest.mark.slow
@pytest.mark.parametrize("what", [*ALL, "newton-multigrid"])
def test_every_direction_finds_newtons_minimum(what):
    """(ε - ε*)/(ε(s) - ε*) is below 1e-4 after as many iterations as each may need, on a cube let go in mid-swing."""
    model = cube("neo-hookean", pinned=True)
    q = strained(model, noise=0.0)
    q[model.pinned] = model.targets
    system, frame = frame_of(model, q)
    newton = prepared("newton", system)
    best = system.energy(run(newton, system, frame, 40), frame)
    first = system.energy(frame.start, frame)
    slow = "gradient" in what or "none" in what
    found = system.energy(run(prepared(what, system), system, frame, 1500 if slow else 300), frame)
    assert found - best <= 1e-4 * (first - best) + rounding(system, frame, q)


@pytest.mark.slow
@pytest.mark.parametrize("iterations", [1, 4, 16, 96])
@pytest.mark.parametrize("name", MATERIALS)
@pytest.mark.parametrize("what", [*ALL, "newton-multigrid"])
def test_energy_never_rises(what, name, iterations):
    """ε(end) <= ε(start) but for rounding: from a body that was shaken, and from a tangle. No damping, h = 1/30 s."""
    if "newton" in what and iterations > 16:
        pytest.skip("16 Newton steps are to rounding already")
    for state in (strained, tangled):
        model = cube(name, n=3, early=True, pinned=True)
        system, frame = frame_of(model, state(model, 4))
        start = system.energy(frame.start, frame)
        end = run(prepared(what, system), system, frame, iterations)
        assert np.isfinite(end).all()
        after = system.energy(end, frame)
        assert after <= start + rounding(system, frame, frame.start) * 1e-3
        assert after < start


@pytest.mark.slow
@pytest.mark.parametrize("name", MATERIALS)
@pytest.mark.parametrize("what", [*ALL, "descent:lengths=paper", "newton-multigrid"])
def test_no_frame_of_a_hard_swing_raises_the_energy(what, name):
    """ε(end) <= ε(start) in float64, start being where the solver began; `benchmarks/descent_energy.py` has 300 frames.

    Thrown around its pins at 30 rad/s without damping: a radian a frame, so that predictions are far out of shape.
    """
    model = cube(name, n=3, pinned=True)
    rest = model.mesh.vertices
    for iterations in (1, 4):
        sim = Simulation(model, solver=what, budget=Budget(iterations=iterations), threads=1, substeps=1)
        sim.velocities = np.cross([9.0, 0.0, 30.0], rest - rest[model.pinned].mean(axis=0))
        for _ in range(6):
            report = sim.step()
            assert report.finite
            system, frame = sim.system, report.frame
            far = far_too_high(system, frame)
            begun = last_positions(system, frame)[:, :3].astype(np.float64) if far else frame.start
            start, end = (system.energy(q, frame) for q in (begun, report.positions.astype(np.float64)))
            assert end <= start + rounding(system, frame, begun) * 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("what", SOLVERS)
@pytest.mark.parametrize("name", MATERIALS)
@pytest.mark.parametrize("iterations", [1, 4, 16])
def test_what_swings_without_damping_gains_nothing(what, name, iterations):
    """Kinetic, stored and gravity's energy together never exceed what they were by more than a hundredth.

    A single iteration of descent leaves more of a step than that; with one the sum may rise, but stays bounded.
    """
    model = cube(name, n=3, pinned=True)
    sim = Simulation(model, solver=what, budget=Budget(iterations=iterations), threads=1, time_step=1 / 30, substeps=1)
    rest = model.mesh.vertices
    sim.velocities = 2.0 * (rest - rest.mean(axis=0))[:, [2, 0, 1]] * 10

    def total():
        q, v = sim.positions.astype(np.float64), sim.velocities.astype(np.float64)
        falling = -float(model.masses @ (q - rest) @ model.gravity)
        return 0.5 * float(model.masses @ (v * v).sum(axis=1)) + model.terms[0].energy(q, None) + falling

    first = total()
    for _ in range(150):
        assert sim.step().finite
        assert total() <= (3.0 if iterations == 1 else 1.01) * first


@pytest.mark.slow
@pytest.mark.parametrize("what", ["descent", "descent:direction=l-bfgs", "descent:direction=nonlinear-cg", SOLVERS[1]])
@pytest.mark.parametrize("name", MATERIALS)
def test_threads_do_not_change_a_bit(what, name):
    """With a budget of iterations; 343 vertices, so that there is something to share."""
    model = cube(name, n=7, pinned=True)
    found = []
    for threads in (1, 2):
        sim = Simulation(model, solver=what, budget=Budget(iterations=9), threads=threads)
        sim.positions = strained(model)
        for _ in range(4):
            sim.step()
        found.append((sim.positions, sim.velocities))
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.slow
@pytest.mark.parametrize("untangle", [True, False])
@pytest.mark.parametrize("what", ["descent", "descent:momentum=none", "descent:direction=l-bfgs", SOLVERS[1]])
def test_states_go_on_with_the_same_bits(what, untangle):
    """A state that was saved and restored, in the same simulation and in a new one, gives the same frames.

    Where it is untangled the state is one in the middle of that: the step is so short that the next must hold it, too.
    """
    model = cube("neo-hookean", pinned=True, untangle=untangle)

    def new():
        step = 1 / 500 if untangle else 1 / 30
        return Simulation(model, solver=what, budget=Budget(iterations=24), threads=1, time_step=step)

    sim = new()
    sim.positions = tangled(model, 1)  # steps are taken back, so that there is something to remember
    for _ in range(1 if untangle else 3):
        sim.step()
    state = sim.state
    held = model.terms[0].converted(state.positions.astype(np.float64)) == 1
    assert held.all() or not untangle
    expected = []
    for _ in range(4):
        sim.step()
        expected.append(sim.positions)
    for other in (sim, new()):
        other.state = state
        for positions in expected:
            other.step()
            np.testing.assert_array_equal(other.positions, positions)


def test_bad_options_are_refused():
    with pytest.raises(UnknownNameError, match=r"jacobi"):
        make_solver("descent:direction=jacoby")
    with pytest.raises(UnknownNameError, match=r"chebyshev"):
        make_solver("descent:momentum=chebishev")
    with pytest.raises(UnknownNameError, match=r"paper"):
        make_solver("descent:lengths=longer")
    for bad in (
        "every=0",
        "every=1001",
        "history=0",
        "history=101",
        "check=0",
        "check=2.5",
        "shrink=0",
        "shrink=1",
        "shrink=-1",
    ):
        with pytest.raises(InputError, match=rf"{bad.partition('=')[0]} must "):
            make_solver(f"descent:{bad}")
    for bad in ("1", "-0.1", "0.9;1.0", "fast", "0.9;", "0.9*", "0.9*0", "0.9*-1;0.5*2", "0.9*inf", "0.9*nan", True):
        with pytest.raises(InputError, match="rho must lie in 0 to 1"):
            make_solver(("descent", {"rho": bad}))
    with pytest.raises(InputError, match="either all phases of rho have a length or none has"):
        make_solver("descent:rho=0.9*3;0.99")
    assert set(MOMENTA) == {"chebyshev", "nesterov", "none"}


def test_phases_of_rho():
    """Several ρ are phases of equal length; each begins with ω = 1."""
    momentum = MOMENTA["chebyshev"]("0.5;0.9")
    momentum.begin(8)
    seen, q = [], np.zeros((1, 4), np.float32)
    for _ in range(8):
        momentum.next(q, np.zeros((1, 4), np.float32))
        seen.append((momentum.rho, momentum._omega))
    assert [rho for rho, _ in seen[:3]] == [0.5] * 3
    assert [rho for rho, _ in seen[4:]] == [0.9] * 4
    assert [omega for _, omega in seen][::4] == [1.0, 1.0]


def test_phases_of_unequal_length():
    """Lengths are in proportion to the iterations of a step: 1 and 3 of 4, 2 and 6 of 8; each begins with ω = 1."""
    for iterations in (4, 8, 12):
        momentum, q = MOMENTA["chebyshev"]("0.5*1;0.9*3"), np.zeros((1, 4), np.float32)
        momentum.begin(iterations)
        seen = []
        for _ in range(iterations + 2):  # beyond what was told the last goes on
            seen.append(momentum.rho)
            momentum.next(q, np.zeros((1, 4), np.float32))
        assert seen == [0.5] * (iterations // 4) + [0.9] * (3 * iterations // 4 + 2)


def test_the_papers_step_lengths():
    """α_t/γ begins each step [fratarcangeli2018, section 3.2.2]: it grows by 1/γ where nothing is taken back."""
    model = cube("neo-hookean", n=3, pinned=True)
    sim = Simulation(model, solver="descent:lengths=paper,momentum=none", budget=Budget(iterations=1), threads=1)
    sim.prepare()
    solver, lengths, taken_back = sim.solver, [sim.solver._length], []
    for _ in range(6):
        taken_back.append("taken back" in sim.step().note)
        lengths.append(solver._length)
    ratios = np.array(lengths[1:]) / lengths[:-1]
    np.testing.assert_allclose(ratios[~np.array(taken_back)], 1 / 0.7)
    assert not all(taken_back)
    assert any(taken_back)  # it is too long sooner or later
    assert (ratios[np.array(taken_back)] < 1 + 1e-9).all()


@pytest.mark.slow
def test_a_longer_history_leaves_less_of_a_step():
    """And nonlinear CG, with the exact step, less than L-BFGS with a history of one [fratarcangeli2018, 3.1]."""
    model = cube("stvk", n=4, pinned=True)
    system, frame = frame_of(model, strained(model))
    newton = prepared("newton", system)
    newton.see(frame)
    best = system.energy(run(newton, system, frame, 40), frame)
    left = {
        what: system.energy(run(prepared(f"descent:direction={what}", system), system, frame, 16), frame) - best
        for what in ("l-bfgs,history=1", "l-bfgs,history=8", "nonlinear-cg")
    }
    assert left["nonlinear-cg"] < left["l-bfgs,history=1"]
    assert left["l-bfgs,history=8"] < left["l-bfgs,history=1"]


@pytest.mark.slow
def test_a_converged_step_does_not_cost_the_next_its_step_length():
    """What rounding takes back says nothing about step lengths: after frames at rest, a swing is followed as before.

    200 iterations from rest, twenty times; then a push. Little may be left of its gradient, as with a new solver.
    """
    model = cube("neo-hookean", pinned=True, gravity=(0, 0, 0))
    for frames in (0, 20):
        sim = Simulation(model, solver="descent", budget=Budget(iterations=200), threads=1, substeps=1)
        for _ in range(frames):
            sim.step()
        if frames:
            assert sim.solver._length == sim.solver._first
        sim.solver.forget = lambda: None  # velocities are set, and what the solver has learned stays
        sim.velocities = 3.0 * (model.mesh.vertices - model.mesh.vertices[model.pinned].mean(axis=0))[:, [2, 1, 0]]
        frame = sim.step().frame
        begun, left = (
            np.linalg.norm(sim.system.gradient(q, frame)) for q in (frame.start, sim.positions.astype(float))
        )
        assert left < 0.01 * begun
