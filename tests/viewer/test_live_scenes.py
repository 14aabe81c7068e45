"""Scenes as the page starts them: they keep their shape, and the default one comes to rest."""

import numpy as np
import pytest

from vivace import Budget
from vivace.viewer.choices import LIVE, SUBSTEPS, Target
from vivace.viewer.edges import Edges


def test_what_is_given_goes_before_what_is_usual():
    assert Target("s0", {"scale": 0.02}).load().model.n < Target("s0", {}).load().model.n
    assert Target("s0", {}).load().substeps == SUBSTEPS["s0"] > 1
    assert set(SUBSTEPS) - {"falling-cube"} <= set(LIVE)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parameters"), [("s0", {}), ("cloth-heap", {"scale": 0.01})])
def test_cloth_of_position_based_scenes_is_not_rubber(name, parameters):
    """Mean stretch of at most 2 %, 30 % at the most, while it falls and lies; eight sweeps a substep, the least."""
    scene = Target(name, parameters).load()
    sim, edges = scene.simulate(budget=Budget(iterations=8 * SUBSTEPS[name])), Edges(scene.model.mesh)
    for _ in range(75):
        sim.step()
        _, mean, largest = edges.strain(sim.positions)
        assert mean < 0.02
        assert largest < 0.30


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("armadillo", {"resolution": 16}), ("bar", {}), ("cube", {}), ("double-helix", {}), ("box-on-jelly", {})],
)
def test_soft_bodies_are_firm_enough_for_hands(name, parameters):
    """Mean stretch of at most 2 %, 30 % at the most, while they sag, swing and are fallen on."""
    scene = Target(name, parameters).load()
    sim, edges = scene.simulate(budget=Budget(iterations=16)), Edges(scene.model.mesh)
    for _ in range(round(1 / scene.time_step)):
        sim.step()
        _, mean, largest = edges.strain(sim.positions)
        assert mean < 0.02
        assert largest < 0.30


@pytest.mark.slow
def test_the_tablecloth_comes_to_rest():
    """With the fewest rounds that a step may have, after six seconds: 2 mm/s at a quarter of the vertices' number."""
    scene = Target("tablecloth", {"resolution": 50}).load()
    sim = scene.simulate(budget=Budget(iterations=8))
    for _ in range(round(6 / scene.time_step)):
        before = sim.positions.copy()
        sim.step()
    assert np.linalg.norm(sim.positions - before, axis=1).mean() / scene.time_step < 2e-3
