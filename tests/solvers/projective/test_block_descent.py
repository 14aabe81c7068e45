"""Newton steps vertex by vertex: fewer sweeps than Gauss-Seidel, and as safe."""

import numpy as np
import pytest

from solvers.rounding import ENERGY_SCENES, moving_frame, norms, run, shifts, small_scene, sweep_slack
from solvers.test_convergence import PROBLEMS, slowest_mode, small_cloth
from solvers.test_robustness import check_bounded
from vivace import Budget, InputError, System
from vivace.scenes import make_scene
from vivace.solvers import make_solver, minimise, options_of
from vivace.solvers.projective.block_descent import BlockDescent


def prepared(system, what="block-descent"):
    solver = make_solver(what)
    solver.prepare(system, threads=1, seed=0)
    return solver


def wild_frames(scene):
    """Steps from states that no good simulation would be in; at 0.3 s and 10 s nothing but the constraints matters."""
    model, rng = scene.model, np.random.default_rng(4)
    rest = model.mesh.vertices if scene.start is None else scene.start
    size, still = float(np.ptp(rest, axis=0).max()), np.zeros_like(rest)
    noise = size * rng.standard_normal(rest.shape)
    gravity = np.tile(model.gravity, (model.n, 1))
    for h in (scene.time_step, 0.3, 10.0):
        system = System(model, h)
        for q, v in ((rest, still), (rest, 100 * noise), (rest + 0.05 * noise, still), (noise, still), (-rest, still)):
            yield system, system.frame(q, v, gravity, model.targets)


def check_descent(solver, system, frame, sweeps):
    """ε(q^(k+1)) <= ε(q^k) + slack.

    A vertex lowers its energy as far as it can tell. It errs by Y_ii δ in r (see `rounding`), by as much again in the
    stored position, and by a few u in the sums that decide: together less than 8 Y_ii δ |p| for a step of |p|.
    """
    q, energy = frame.start, system.energy(frame.start, frame)
    first = energy
    for k in range(1, sweeps + 1):
        new = run(solver, system, frame, k)
        after = system.energy(new, frame)
        delta = np.maximum(shifts(system, frame, q), shifts(system, frame, new))
        slack = sweep_slack(system, frame, q, new, 1.0) + 8 * float(system.diagonal @ (delta * norms(new - q)))
        assert after <= energy + slack, f"sweep {k}"
        q, energy = new, after
    assert energy < first


@pytest.mark.slow
@pytest.mark.parametrize("name", ENERGY_SCENES)
def test_energy_never_rises(name):
    """In mid-motion and from wild states, over every named scene."""
    scene = small_scene(name)
    system, frame = moving_frame(scene)
    for damping in (0.001, 0.1, 1.0):
        check_descent(prepared(system, f"block-descent:damping={damping}"), system, frame, 8)
    for system, frame in wild_frames(scene):
        check_descent(prepared(system), system, frame, 4)


@pytest.mark.slow
def test_plain_newton_would_rise():
    """The test above can tell: there are steps in which an undamped Newton sweep, taken as it is, raises ε."""
    scene = small_scene("tablecloth")
    system, frame = next(pair for pair in wild_frames(scene) if pair[0].h == 0.3)
    solver = prepared(system)
    energies = [system.energy(frame.start, frame)]
    q, b, at = frame.start.copy(), system.constant(frame), {i: [] for i in range(system.n)}
    (group,) = system.springs
    for (i, j), w, rest in zip(group.vertices, group.weights, group.parameters[:, 0], strict=True):
        at[i].append((j, w, rest))
        at[j].append((i, w, rest))
    matrix = system.matrix.toarray()
    for _ in range(5):
        for i in solver.layout.order:
            r, block = b[i] - matrix[i] @ q, matrix[i, i] * np.eye(3)
            for j, w, rest in at[i]:
                d = q[i] - q[j]
                size = np.linalg.norm(d)
                r = r + w * rest / size * d
                block -= min(w, w * rest / size) * (np.eye(3) - np.outer(d, d) / size**2)
            q[i] += np.linalg.solve(0.999 * block + 0.001 * matrix[i, i] * np.eye(3), r)
        energies.append(system.energy(q, frame))
    assert max(np.diff(energies)) > 0.01 * energies[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PROBLEMS))
def test_reaches_the_reference_minimum(name):
    """ε(q) - ε(q*) <= Σ Y_ii δ²/(θ λ): what rounding can raise in a sweep, over the rate of the slowest mode.

    A residual of Y_ii δ moves a vertex by δ/θ in the softest direction. 30/λ sweeps are enough, as for Gauss-Seidel.
    """
    system, frame = moving_frame(PROBLEMS[name](), sweeps=200)
    reference = minimise(system, frame, accuracy=1e-14)
    solver, rate = prepared(system, "block-descent:damping=0.01"), slowest_mode(system)
    q = run(solver, system, frame, int(30 / rate))
    gap, gained = system.energy(q, frame) - reference.energy, system.energy(frame.start, frame) - reference.energy
    assert gained > 0
    assert -1e-9 * gained <= gap
    assert gap <= float(system.diagonal @ shifts(system, frame, q) ** 2) / (0.01 * rate)
    assert gap <= 1e-6 * gained


def sweeps_to(error, what, system, frame, reference):
    start = system.energy(frame.start, frame)
    solver = prepared(system, what)
    for k in range(1, 200):
        energy = system.energy(run(solver, system, frame, k), frame)
        if energy - reference.energy <= error * (start - reference.energy):
            return k
    raise AssertionError(f"{what} does not get to {error}")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "factor"), [("cloth", 4), ("body", 1.5)])
def test_fewer_sweeps_than_gauss_seidel(name, factor):
    """To a tenth of the first guess's error: less than a quarter of the sweeps on cloth, two thirds on a body."""
    system, frame = moving_frame(PROBLEMS[name](), sweeps=200)
    reference = minimise(system, frame)
    block, plain = (sweeps_to(0.1, what, system, frame, reference) for what in ("block-descent", "gauss-seidel"))
    assert factor * block < plain


def test_full_damping_is_gauss_seidel():
    """θ = 1 solves Y_ii p = r: the same as vivace without relaxation, to the rounding of a few sweeps."""
    system, frame = moving_frame(small_cloth())
    q = run(prepared(system, "block-descent:damping=1"), system, frame, 3)
    expected = run(prepared(system, "vivace:relaxation=none,refresh=0"), system, frame, 3)
    assert norms(q - expected).max() <= 20 * shifts(system, frame, q).max()


REDUCED = {"tablecloth": 16, "armadillo": 16, "bar": 3, "flattened-body": 16}


@pytest.mark.slow
@pytest.mark.parametrize("sweeps", [1, 2, 5, 40])
@pytest.mark.parametrize("name", list(REDUCED))
def test_any_number_of_sweeps_is_stable(name, sweeps):
    scene = make_scene(name, resolution=REDUCED[name], time_step=0.033)
    sim = scene.simulate(solver="block-descent", budget=Budget(iterations=sweeps), threads=1)
    check_bounded(sim, 300 if sweeps < 40 else 100, calms=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tablecloth", "armadillo"])
def test_threads_do_not_change_a_bit(name):
    scene = make_scene(name, resolution=40 if name == "tablecloth" else 20)
    ends = []
    for threads in (1, 2):
        sim = scene.simulate(solver="block-descent", budget=Budget(iterations=4), threads=threads)
        for _ in range(20):
            sim.step()
        ends.append(sim.positions.tobytes() + sim.velocities.tobytes())
    assert ends[0] == ends[1]


@pytest.mark.slow
def test_degenerate_states_stay_finite():
    """All vertices at one point, on one line, and 1e4 m/s in all directions."""
    for name in ("tablecloth", "cube", "armadillo"):
        scene, rng = small_scene(name), np.random.default_rng(3)
        for shape in (0.0, [1.0, 0.0, 0.0], 1.0):
            sim = scene.simulate(solver="block-descent", budget=Budget(iterations=3), threads=1)
            sim.positions = scene.model.mesh.vertices * shape
            if shape == 1.0:
                sim.velocities = 1e4 * rng.standard_normal((scene.model.n, 3))
            for _ in range(20):
                assert sim.step().finite
                assert np.isfinite(sim.velocities).all()


def test_adapts_to_changed_pins():
    """After `adapt` the sweeps are those of a solver prepared for the new system, bit for bit."""
    scene = small_scene("tablecloth")
    system, frame = moving_frame(scene)
    changed = System(scene.model.pin([60], stiffness=50.0), scene.time_step, like=system)
    targets = np.concatenate([frame.targets, frame.start[[60]]])
    frame = changed.frame(frame.previous, np.ones_like(frame.s), np.zeros_like(frame.s), targets)
    solver = prepared(system)
    assert solver.adapt(changed)
    np.testing.assert_array_equal(run(solver, changed, frame, 3), run(prepared(changed), changed, frame, 3))
    assert not solver.adapt(System(scene.model, 0.5))


def test_options():
    assert options_of(BlockDescent) == {
        "omega": 1.0,
        "damping": 0.001,
        "colouring_algorithm": "greedy-smallest-last",
        "balance": False,
    }
    for bad in ("damping=0", "damping=1.1", "damping=nan", "damping=much"):
        with pytest.raises(InputError, match=r"damping must lie in 0\.001 to 1"):
            make_solver(f"block-descent:{bad}")
    with pytest.raises(InputError, match=r"omega must lie in \(0, 1\]"):
        make_solver("block-descent:omega=1.5")
    with pytest.raises(InputError, match="colouring"):
        make_solver("block-descent:colouring_algorithm=none")
