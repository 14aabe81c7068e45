"""A state is all that a simulation carries on: whoever goes on from it makes the same steps, bit for bit."""

import json
from dataclasses import fields

import numpy as np
import pytest

import golden
from vivace import Budget, FileError, InputError, Simulation, State

FRAMES = 12
QUICK = {("tablecloth", "auto"), ("tablecloth", "grab"), ("fold", "auto"), ("tablecloth", "bdf2")}


def cases():
    for scene, solver in golden.cases():
        of_bodies = scene == "armadillo" and solver in ("auto", "direct", "newton-multigrid")
        heaped = scene == "cloth-heap" and "pbd" in solver
        if scene in ("tablecloth", "fold") or of_bodies or heaped:
            marks = () if (scene, solver) in QUICK else pytest.mark.slow
            yield pytest.param(scene, solver, marks=marks)


def simulation(scene, solver):
    options, set_before = golden.WAYS.get(solver, ({"solver": solver}, lambda sim, frame: None))
    sim = Simulation(
        golden.made(scene).model, time_step=1 / 30, budget=Budget(iterations=4), threads=1, seed=0, **options
    )
    return sim, set_before


def go_on(sim, set_before, first, frames=FRAMES):
    for frame in range(first, first + frames):
        set_before(sim, frame)
        sim.step()
    return sim.positions.tobytes() + sim.velocities.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(("scene", "solver"), cases())
def test_a_new_simulation_goes_on_with_the_same_bits(scene, solver, tmp_path):
    sim, set_before = simulation(scene, solver)
    try:
        go_on(sim, set_before, 0, 12)
    except InputError:
        pytest.skip("this solver does not know contacts")
    state, frames = sim.state, FRAMES if solver in golden.WAYS else 5
    expected = go_on(sim, set_before, 12, frames)
    other, _ = simulation(scene, solver)
    other.state = State.load(state.save(tmp_path / "state.npz"))
    assert (other.frames, other.time) == (state.frames, state.seconds)
    assert go_on(other, set_before, 12, frames) == expected
    if solver == "stiffness":  # it has another model by now
        return
    sim.state = state  # and back again
    assert go_on(sim, set_before, 12, frames) == expected


def test_a_copy_shares_nothing():
    sim, set_before = simulation("fold", "auto")
    go_on(sim, set_before, 0, 3)
    state = sim.state
    copy = state.copy()
    for item in fields(State):
        one, other = getattr(state, item.name), getattr(copy, item.name)
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
            assert not np.shares_memory(one, other)
    copy.positions += 1.0
    go_on(sim, set_before, 3, 1)
    assert not np.array_equal(sim.state.positions, state.positions)
    assert state.memory.keys() == copy.memory.keys()
    assert not any(np.shares_memory(state.memory[name], copy.memory[name]) for name in copy.memory)


def test_another_time_step_and_solver_go_on_with_it():
    sim, set_before = simulation("tablecloth", "vivace")
    go_on(sim, set_before, 0, 5)
    other = Simulation(golden.made("tablecloth").model, time_step=1 / 60, solver="pbd-coloured", threads=1)
    other.state = sim.state
    np.testing.assert_array_equal(other.positions, sim.positions)
    np.testing.assert_array_equal(other.velocities, sim.velocities)
    assert other.step().finite
    assert other.time == pytest.approx(5 / 30 + 1 / 60)


@pytest.mark.slow
def test_what_does_not_fit_is_refused_before_anything_changes():
    sim, set_before = simulation("tablecloth", "auto")
    go_on(sim, set_before, 0, 2)
    before = sim.state
    other, _ = simulation("armadillo", "auto")
    bdf2, _ = simulation("tablecloth", "bdf2")
    lost = before.copy()
    lost.positions[3] = np.nan
    unpinned = before.copy()
    unpinned.pinned, unpinned.targets = unpinned.pinned[:1], unpinned.targets[:1]
    for bad in (other.state, bdf2.state, lost, unpinned, None, "state.npz"):
        with pytest.raises(InputError):
            sim.state = bad
    assert sim.state.positions.tobytes() == before.positions.tobytes()
    assert sim.frames == before.frames


def test_files_that_are_no_states(tmp_path):
    sim, _ = simulation("tablecloth", "vivace")
    path = sim.state.save(tmp_path / "a.npz")
    with np.load(path) as file:
        about = json.loads(str(file["about"]))
    assert about["vivace"]
    assert about["solver"] == "vivace"
    whole = path.read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:cut])
        with pytest.raises(FileError, match="truncated"):
            State.load(path)
    np.savez(path, a=np.zeros(3))
    with pytest.raises(FileError, match="no state"):
        State.load(path)
    with pytest.raises(FileError, match="no such file"):
        State.load(tmp_path / "b.npz")
    with pytest.raises(InputError, match=r"\.npz"):
        sim.state.save(tmp_path / "a.txt")
