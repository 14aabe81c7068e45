"""The same seed gives the same bits: whatever the number of threads, and again in the same process."""

import numpy as np
import pytest

from solvers.rounding import small_scene
from vivace import SOLVERS, Budget
from vivace.scenes import make_scene

FRAMES = 20
SCENES = {
    "tablecloth": lambda: make_scene("tablecloth", resolution=40),  # colours of several chunks for a team of threads
    "body": lambda: make_scene("armadillo", resolution=20),
    "body with volume": lambda: make_scene("bar", resolution=5),
}


def trajectory(scene, solver, threads, seed=0, frames=FRAMES):
    """Positions and velocities as bytes after every tenth frame."""
    sim = scene.simulate(solver=solver, budget=Budget(iterations=4), threads=threads, seed=seed)
    out = []
    for frame in range(frames):
        sim.step()
        if frame % 10 == 9:
            out.append(sim.positions.tobytes() + sim.velocities.tobytes())
    return out


@pytest.mark.slow
@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "newton"])  # slow; has a test of its own
@pytest.mark.parametrize("name", list(SCENES))
def test_threads_do_not_change_a_bit(name, solver):
    scene = SCENES[name]()
    frames = FRAMES if name == "tablecloth" else 10
    alone = trajectory(scene, solver, 1, frames=frames)
    assert trajectory(scene, solver, 2, frames=frames) == alone
    assert trajectory(scene, solver, 3, frames=frames) == alone


@pytest.mark.parametrize(
    "options", [{"relaxation": "printed", "omega": 1.2}, {"balance": True}, {"relaxation": "none"}]
)
def test_options_do_not_break_it(options):
    scene = SCENES["tablecloth"]()
    assert trajectory(scene, ("vivace", options), 1, frames=30) == trajectory(scene, ("vivace", options), 3, frames=30)


def test_two_runs_in_one_process_are_identical():
    scene = SCENES["tablecloth"]()
    assert trajectory(scene, "vivace", 2, frames=30) == trajectory(scene, "vivace", 2, frames=30)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "vivace", "lbfgs(multigrid)"])
def test_interleaved_simulations_do_not_disturb_each_other(solver):
    scene = small_scene("tablecloth")
    alone = trajectory(scene, solver, 2, frames=20)
    first = scene.simulate(solver=solver, budget=Budget(iterations=4), threads=2)
    other = small_scene("armadillo").simulate(solver=solver, budget=Budget(iterations=2), threads=2)
    out = []
    for frame in range(20):
        first.step()
        other.step()
        if frame % 10 == 9:
            out.append(first.positions.tobytes() + first.velocities.tobytes())
    assert out == alone


@pytest.mark.slow
def test_another_seed_is_another_colouring():
    scene, solver = SCENES["tablecloth"](), "vivace:colouring_algorithm=brooks-vizing"
    colours = []
    for seed in (0, 1, 0):
        sim = scene.simulate(solver=solver, budget=Budget(iterations=1), seed=seed)
        sim.step()
        colours.append(sim.colouring.colours)
        assert sim.colouring.seed == seed
    assert (colours[0] == colours[2]).all()
    assert (colours[0] != colours[1]).any()
    assert trajectory(scene, solver, 1, seed=0, frames=10) != trajectory(scene, solver, 1, seed=1, frames=10)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "vivace", "lbfgs(multigrid)"])
def test_threads_agree_with_a_tolerance_too(solver):
    """The sum of squares that the tolerance looks at is added up in one order: the same number of sweeps."""
    scene = SCENES["tablecloth"]()
    sweeps = []
    for threads in (1, 2, 3):
        sim = scene.simulate(solver=solver, budget=Budget(tolerance=0.05, iterations=500), threads=threads)
        sweeps.append([sim.step().sweeps for _ in range(10)] + [sim.positions.tobytes()])
    assert sweeps[0] == sweeps[1] == sweeps[2]


@pytest.mark.slow
def test_the_order_of_reading_does_not_matter():
    """Looking at energies and errors on the way changes nothing."""
    scene = small_scene("cube")
    quiet, watched = (scene.simulate(budget=Budget(iterations=3), threads=1) for _ in range(2))
    for _ in range(5):
        quiet.step()
        report = watched.step()
        assert np.isfinite([report.energy, report.relative_error]).all()
    np.testing.assert_array_equal(quiet.positions, watched.positions)
