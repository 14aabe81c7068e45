"""The hand in the live app: its force, what it takes, and how a page is told that it has slipped."""

import numpy as np
import pytest

from viewer.browser import sim_of as sim_of_viewer
from viewer.conftest import until
from vivace.viewer import messages as m

HALF_CLOTH = 6 * 12 + 6


def sim_of(told):
    return sim_of_viewer(told)


def pull(told, vertex, target, pointer=0, client="1"):
    scene = told.session.newest.backdrop.number if told.session.newest else 1
    told.tell(m.Grab(pointer, vertex, list(target), scene, told.order()), client)


@pytest.mark.slow
def test_a_hand_that_pulls_too_far_slips_and_says_so(told):
    """Ten metres away, the cloth hanging from its corners: the page is told which pointer has lost it, and why."""
    told.change(hand_force=5.0)
    told.frames(2)
    pull(told, HALF_CLOTH, [0.0, 10.0, 0.0], pointer=3)
    until(lambda: any(isinstance(message, m.Slipped) for message, _ in told.said), "slipping")
    ((slipped, client),) = [(message, to) for message, to in told.said if isinstance(message, m.Slipped)]
    assert (slipped.pointer, client) == (3, "1")
    assert "at most 5 N" in slipped.text
    assert (sim_of(told).grabbed, told.session.running_scene.pointers.vertices) == ((), ())
    told.tell(m.Drag(3, [0.0, 9.0, 0.0], told.order()))  # the page may not know yet
    told.tell(m.Release(3, told.order()))
    told.settle()
    assert not told.notices()


@pytest.mark.slow
def test_the_force_of_the_hand_is_that_of_its_springs(told):
    """Changed while somebody holds on: w = share F ÷ reach."""
    told.change(grab_radius=0.1, hand_force=10.0)
    told.frames(2)
    pull(told, HALF_CLOTH, sim_of(told).positions[HALF_CLOTH])
    told.settle()
    first = sim_of(told).system.pin_weight.copy()
    (hand,) = sim_of(told).hands
    assert hand.force == 10.0
    told.change(hand_force=30.0)
    np.testing.assert_allclose(sim_of(told).system.pin_weight[hand.vertices], 3 * first[hand.vertices])


@pytest.mark.slow
def test_a_hand_takes_what_hangs_together_and_leaves_pins(told):
    told.change(grab_radius=0.3)
    told.frames(2)
    corner = int(sim_of(told).model.pinned[0])
    pull(told, corner + 1, sim_of(told).positions[corner + 1])
    told.settle()
    assert len(sim_of(told).grabbed) > 3
    assert corner not in sim_of(told).grabbed
