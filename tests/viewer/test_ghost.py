"""The ghost of the converged motion, beside the live one."""

import numpy as np
import pytest

from vivace.solvers import Budget
from vivace.viewer import Target, ghost
from vivace.viewer import messages as m
from vivace.viewer.frames import frame_message
from vivace.viewer.ghost import _reference
from vivace.viewer.packing import unpack

from .conftest import SMALL, running, until

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(ghost, "SECONDS", 0.4)


def states(told):
    return [message for message, _ in told.said if isinstance(message, m.GhostState)]


def give(told, iterations):
    """So many iterations a step, from some frames on."""
    sim = told.session.sims[0]
    told.session.call(lambda: setattr(sim, "budget", Budget(iterations=iterations)))
    told.settle()
    told.frames(2)


def shown(told):
    """A snapshot with a ghost."""
    return until(lambda: (new := told.session.newest) and new.ghost and new, "a ghost")


def test_both_motions_are_shown_with_their_distance():
    with running() as told:
        give(told, 2)
        told.tell(m.SetGhost(on=True))
        snapshot = shown(told)
        frames = snapshot.ghost.frames
        assert frames == 13  # 0.4 s of 33 ms, and where it began
        seen = {}
        while len(seen) < frames:
            seen[snapshot.ghost.frame] = snapshot
            snapshot = shown(told)
        for k, one in seen.items():
            apart = np.linalg.norm(one.views[0].vertices.astype(float) - one.ghost.positions, axis=1)
            assert one.ghost.rms == pytest.approx(np.sqrt(np.mean(apart**2)))
            assert one.ghost.largest == pytest.approx(apart.max())
            assert one.ghost.seconds == pytest.approx(k * told.session.settings.time_step)
        assert seen[0].ghost.largest == 0  # both begin at the same place
        assert seen[frames - 1].ghost.largest > 1e-4  # two iterations are not enough
        last = states(told)[-1]
        assert last.phase == "showing"
        assert last.distances[-1][1] == pytest.approx(seen[frames - 1].ghost.rms)
        header, arrays = unpack(frame_message(seen[5], 16))
        places = arrays["ghost"].reshape(-1, 3) * np.array(header["ghost"]["scale"]) + header["ghost"]["low"]
        np.testing.assert_allclose(places, seen[5].ghost.positions, atol=2e-5)
        told.tell(m.SetGhost(on=False))
        until(lambda: told.session.newest.ghost is None, "its end")
        assert states(told)[-1].phase == "off"


def test_a_converged_simulation_is_its_own_ghost():
    with running() as told:
        give(told, 1200)
        told.tell(m.SetGhost(on=True))
        until(lambda: states(told) and states(told)[-1].phase == "showing", "a ghost")
        assert max(rms for _, rms, _ in states(told)[-1].distances) < 0.01


def test_the_live_simulation_goes_on_while_it_is_computed(monkeypatch):
    """However long that takes: here, until it has been looked at."""
    import threading

    looked = threading.Event()
    real = _reference

    def slow(sim):
        make = real(sim)

        def wait():
            looked.wait()
            return make()

        return wait

    monkeypatch.setattr(ghost, "_reference", slow)
    with running() as told:
        told.tell(m.SetGhost(on=True))
        snapshot = told.frames(30)
        assert snapshot.ghost is None
        assert told.session.ghost.on
        looked.set()
        shown(told)


def test_whoever_pulls_at_the_body_sees_it_again():
    with running() as told:
        told.frames(2)
        told.tell(m.SetGhost(on=True))
        snapshot = shown(told)
        told.tell(m.Grab(0, 70, [0, 0.3, 0], snapshot.backdrop.number, told.order()))
        until(lambda: told.session.newest.ghost is None, "its end")
        assert not told.session.ghost.on


def test_a_change_too_early_is_said(monkeypatch):
    monkeypatch.setattr(ghost, "SECONDS", 1e3)  # a thread that waits here is never too late
    monkeypatch.setattr(ghost, "FEWEST", 20_000)
    with running() as told:
        told.frames(2)
        told.tell(m.SetGhost(on=True))
        told.change(gravity=3.0)
        until(lambda: any("given up" in text for text in told.notices()), "a word about it")
        assert not told.session.ghost.on


def test_another_scene_ends_it():
    with running() as told:
        told.frames(2)
        told.tell(m.SetGhost(on=True))
        shown(told)
        told.tell(m.LoadScene("box-stack"))
        told.until_scene("box-stack")
        until(lambda: not told.session.ghost.on, "its end")


@pytest.mark.parametrize(
    ("target", "why"),
    [(Target("box-stack", {"n": 2}), "rigid"), (SMALL, "too many")],
    ids=["rigid", "large"],
)
def test_where_there_is_none_it_is_said(monkeypatch, target, why):
    monkeypatch.setattr(ghost, "MOST_BYTES", 1000)
    with running(target) as told:
        told.tell(m.SetGhost(on=True))
        told.settle()
        assert any(why in text for text in told.notices())
        assert not told.session.ghost.on
