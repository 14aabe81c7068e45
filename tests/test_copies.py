"""What cannot be copied says so; what a fork leaves behind does not matter."""

from __future__ import annotations

import copy
import os
import pickle

import numpy as np
import pytest

import vivace as vv
from vivace.errors import InputError


def simulation(threads: int = 2) -> vv.Simulation:
    model = vv.Model.of(vv.mesh.cloth(12, 12), vv.Cloth(stretch=100.0)).pin("top-corners")
    return vv.Simulation(model, budget=vv.Budget(iterations=10), threads=threads)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, copy.copy, lambda sim: pickle.loads(pickle.dumps(sim))])
def test_a_simulation_is_not_copied_with_its_addresses(duplicate):
    """Its plans point into its arrays: a copy would step the original, or freed memory."""
    sim = simulation()
    sim.step()
    with pytest.raises((InputError, TypeError)):
        duplicate(sim)


@pytest.mark.slow
def test_a_forked_child_gets_the_same_bits():
    sim = simulation()
    sim.step()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        other = simulation()
        for _ in range(3):
            other.step()
        os.write(write, other.positions.tobytes())
        os._exit(0)
    os.close(write)
    received = b""
    while part := os.read(read, 1 << 16):
        received += part
    os.waitpid(child, 0)
    here = simulation()
    for _ in range(3):
        here.step()
    np.testing.assert_array_equal(np.frombuffer(received, np.float32).reshape(-1, 3), here.positions)


@pytest.mark.slow
def test_tolerance_stops_on_a_pinned_body():
    """Stiff pins leave rounding in the residual that no sweep removes; it is not asked for."""
    sim = simulation()
    sim.budget = vv.Budget(tolerance=1e-3)
    reports = [sim.step() for _ in range(10)]
    assert {report.stopped for report in reports} == {"tolerance"}


def test_a_slow_first_step_does_not_starve_the_next(monkeypatch):
    """The reserve for what follows the sweeps is a quarter of the budget at most."""
    sim = simulation()
    sim.budget = vv.Budget(ms=8)
    sim.step()
    sim._after_ns = 10**9
    assert sim.step().sweeps > 1
