"""A state of rigid bodies is all that a simulation carries on: whoever goes on from it makes the same steps."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import vivace as vv
from vivace import FileError, InputError, RigidSimulation, RigidState


def simulation(solver: str = "contact-sets", threads: int = 1) -> RigidSimulation:
    """Boxes that fall on each other, one of them thrown, and a floor that moves."""
    floor = vv.Body(vv.collisions.Plane(), path=lambda t: (np.array([0, 0.02 * np.sin(5 * t), 0]), np.zeros(3)))
    boxes = [
        vv.Body(vv.collisions.Box((0.02 * k, 0.11 + 0.21 * k, 0), (0.1, 0.1, 0.1)), spin=(0, 0, k), restitution=0.2)
        for k in range(4)
    ]
    sim = RigidSimulation([floor, *boxes], solver=solver, budget=vv.Budget(iterations=12), threads=threads)
    sim.forces[2] = (1.0, 0, 0, 0, 0.1, 0)
    return sim


def go_on(sim: RigidSimulation, frames: int) -> bytes:
    for _ in range(frames):
        sim.step()
    return b"".join(part.tobytes() for part in (sim.positions, sim.orientations, sim.velocities, sim.spins))


@pytest.mark.parametrize("solver", ["contact-sets", pytest.param("jacobi", marks=pytest.mark.slow)])
def test_the_same_bits_again(solver, tmp_path):
    """Warm starts, what is held and the time of paths included."""
    sim = simulation(solver)
    go_on(sim, 10)
    first, second = sim.grab(1, sim.positions[1]), sim.grab(4, sim.positions[4] + 0.05, (0.3, 1.0, 0.0))
    sim.release(first)
    go_on(sim, 10)
    state = sim.state
    assert len(state.impulses)  # something touches: there is something to start from
    expected = go_on(sim, 15)
    other = simulation(solver, threads=2)
    other.state = RigidState.load(state.save(tmp_path / "state.npz"))
    assert (other.frames, other.time, other.grabbed) == (20, state.time, (second,))
    assert go_on(other, 15) == expected
    sim.state = state
    assert go_on(sim, 15) == expected
    sim.state = state
    sim.impulses[:] = 0.0  # and that it can tell: without warm starts the bits are others
    assert go_on(sim, 15) != expected


def test_numbers_of_grabs_are_given_once(tmp_path):
    sim = simulation()
    sim.release(sim.grab(1, sim.positions[1]))
    other = simulation()
    other.state = sim.state
    assert other.grab(1, other.positions[1]) == 2


def test_a_copy_shares_nothing():
    sim = simulation()
    go_on(sim, 3)
    state = sim.state
    copy = state.copy()
    before = state.positions.copy()
    for item in fields(RigidState):
        one, other = getattr(state, item.name), getattr(copy, item.name)
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
            assert not np.shares_memory(one, other)
    assert not any(np.shares_memory(state.contacts[name], copy.contacts[name]) for name in copy.contacts)
    sim.state = state
    go_on(sim, 2)
    np.testing.assert_array_equal(state.positions, before)


def test_what_does_not_fit_is_refused_before_anything_changes():
    sim = simulation()
    sim.grab(1, sim.positions[1])
    go_on(sim, 3)
    before = sim.state
    lost, fewer, unknown, held = (before.copy() for _ in range(4))
    lost.spins[1] = np.nan
    fewer.positions = fewer.positions[:2]
    unknown.impulses = np.zeros((99, 4))
    held.grabs[0, 1] = 0  # the floor
    others = RigidSimulation([vv.Body(vv.collisions.Sphere((0, 0, 0), 1))]).state
    for bad, message in (
        (lost, "spins"),
        (fewer, "positions"),
        (others, "positions"),
        (unknown, "contacts do not belong"),
        (held, "not free"),
        (None, "RigidState, not None"),
        ("state.npz", "RigidState"),
    ):
        with pytest.raises(InputError, match=message):
            sim.state = bad
    after = sim.state
    assert after.positions.tobytes() == before.positions.tobytes()
    assert (after.frames, sim.grabbed) == (3, (1,))


def test_files_that_are_no_states(tmp_path):
    path = simulation().state.save(tmp_path / "a.npz")
    with pytest.raises(FileError, match="no state"):
        vv.State.load(path)
    whole = path.read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:cut])
        with pytest.raises(FileError, match="truncated"):
            RigidState.load(path)
    soft = vv.Simulation(vv.Model.of(vv.mesh.cloth(3, 3))).state.save(tmp_path / "soft.npz")
    with pytest.raises(FileError, match="no state"):
        RigidState.load(soft)
    with pytest.raises(InputError, match=r"\.npz"):
        simulation().state.save(tmp_path / "a.txt")
