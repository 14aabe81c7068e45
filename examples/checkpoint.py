"""Checkpoints: all that a simulation carries from step to step, written to a file, and gone on with bit for bit.

`sim.state` is a copy of positions, velocities, forces, what is grabbed, contact forces and what solvers remember;
assign one to go back, or to go on in another process. The same bits need the same model, solver and a budget of
iterations; the number of threads may differ. With another solver or time step a state goes on too, but not with the
same bits. `sim.save(path)` writes model and settings, too, and `vivace.load(path)` is a simulation ready to step.
"""

import tempfile
from pathlib import Path

import numpy as np

import vivace as vv
from vivace.collisions import Sphere


def simulation(threads):
    """A cloth that falls on a ball."""
    cloth = vv.mesh.cloth(16, 16, width=0.5, height=0.5)
    model = vv.Model.of(cloth, vv.Cloth(stretch=1e3)).collide([Sphere((0, -0.25, 0), 0.2)], friction=0.5)
    return vv.Simulation(model, budget=vv.Budget(iterations=8), time_step=1 / 60, threads=threads)


def test_final() -> None:
    """A run that goes on from a file ends in the bits of one that never stopped; positions alone are not enough."""
    sim = simulation(threads=1)
    reports = [sim.step() for _ in range(25)]
    assert reports[-1].contacts > 0
    with tempfile.TemporaryDirectory() as folder:
        state = vv.State.load(sim.state.save(Path(folder) / "cloth.npz"))
    print(state)

    restored, poorer = simulation(threads=2), simulation(threads=1)
    restored.state = state
    poorer.positions, poorer.velocities = state.positions, state.velocities  # but no contact forces, nor the time
    for run in (sim, restored, poorer):
        for _ in range(10):
            run.step()
    assert np.array_equal(restored.positions, sim.positions)
    assert np.array_equal(restored.velocities, sim.velocities)
    assert (restored.time, restored.frames) == (sim.time, sim.frames)
    assert not np.array_equal(poorer.positions, sim.positions)

    sim.state = state  # and back to where it was
    assert np.array_equal(sim.positions, state.positions)
    assert sim.time == state.seconds

    with tempfile.TemporaryDirectory() as folder:
        whole = vv.load(sim.save(Path(folder) / "cloth.vivace"))  # needs no `simulation()`: the model is in the file
    sim.step(), whole.step()
    assert np.array_equal(whole.positions, sim.positions)


if __name__ == "__main__":
    test_final()
