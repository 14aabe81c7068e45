"""Hyperelastic bodies in the live app: they are grabbed, and coloured by how far their elements are converted."""

import numpy as np
import pytest

import vivace as vv
from viewer.conftest import running, until
from vivace.scenes import Scene
from vivace.viewer import messages as m
from vivace.viewer.colours import values_of


def scene():
    model = vv.Model.of(vv.mesh.bar(5, 3, 3), vv.neo_hookean(young=2e4)).pin("left")
    return Scene("soft-bar", model, 1 / 30)


@pytest.mark.slow
def test_a_bar_is_grabbed_and_coloured():
    made = scene()
    sim = made.simulate(threads=1)
    sim.budget = vv.Budget(iterations=8)
    with running(scene=made, sim=sim) as told:
        told.change(colour_by="conversion")
        number = told.frames().backdrop.number
        corner = int(np.argmax(made.model.mesh.vertices[:, 0]))
        before = sim.positions[corner].copy()
        target = np.add(before, (0.0, 0.3, 0.0)).tolist()
        told.change(gravity=0.0)  # no hand holds 40 kg up
        told.tell(m.Grab(0, corner, target, number, told.order()))
        until(lambda: sim.positions[corner, 1] > before[1] + 0.15, "the bar in the hand")
        told.tell(m.Release(0, told.order()))
        until(lambda: not sim.grabbed, "the release")
        view = told.frames().views[0]
        assert view.used == "newton-multigrid"
        assert np.isfinite(view.report.positions).all()


@pytest.mark.slow
def test_flattened_elements_have_the_colour_of_conversion():
    made = scene()
    sim = made.simulate(threads=1)
    sim.budget = vv.Budget(iterations=8)
    sim.positions = made.model.mesh.vertices * [0.08, 1.0, 1.0]
    with running(scene=made, sim=sim) as told:
        view = told.frames(1).views[0]
    values = values_of("conversion", view, np.zeros(0), made.model.terms)
    wanted = np.zeros(made.model.n)
    (term,) = made.model.terms
    np.maximum.at(wanted, term.vertices.ravel(), np.repeat(term.converted(view.report.positions.astype(float)), 4))
    np.testing.assert_array_equal(values.bytes, np.round(255 * wanted).astype(np.uint8))
    assert (values.low, values.high, values.unit) == (0.0, 100.0, "%")
    assert len(values_of("conversion", view, np.zeros(0)).bytes) == 0  # of a body that is not hyperelastic
