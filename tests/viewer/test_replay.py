"""Recordings shown again, and links: each message's effect."""

import numpy as np
import pytest

from viewer.conftest import running, until
from vivace.viewer import Target
from vivace.viewer import messages as m


def sim_of(told):
    return told.session.sims[0]


def record(told, frames=6):
    told.frames(1)
    told.tell(m.SetRecording(True))
    until(lambda: told.session.recording.frames >= frames, "frames")
    told.tell(m.SetRecording(False))
    told.settle()


def replay(told, frame, resume=False):
    told.tell(m.Replay(frame, resume))
    told.settle()


@pytest.mark.slow
def test_a_frame_is_shown_while_the_simulation_waits(told):
    record(told)
    told.settle()
    replay(told, 2)
    frames = sim_of(told).frames
    shown = told.session.newest
    np.testing.assert_array_equal(shown.views[0].vertices, told.session.recording.motion(2)[0].astype(np.float32))
    assert shown.time == pytest.approx(told.session.recording.seconds / told.session.recording.frames * 3)
    assert told.session.state.replay == 2
    told.rounds()
    assert sim_of(told).frames == frames
    replay(told, 4)
    assert not np.array_equal(told.session.newest.views[0].vertices, shown.views[0].vertices)
    replay(told, None)
    assert told.session.state.replay is None
    told.frames(2)
    assert sim_of(told).frames > frames


def test_the_live_frame_is_shown_again_while_paused(told):
    record(told)
    told.change(paused=True)
    replay(told, 1)
    replay(told, None)
    np.testing.assert_array_equal(told.session.newest.views[0].vertices, sim_of(told).positions)


@pytest.mark.slow
def test_the_simulation_goes_on_from_a_frame(told):
    record(told, 12)
    told.frames(10)
    told.change(paused=True)
    positions, velocities = told.session.recording.motion(5)
    replay(told, 5, resume=True)
    np.testing.assert_allclose(sim_of(told).positions, positions, atol=1e-6)
    np.testing.assert_allclose(sim_of(told).velocities, velocities, atol=1e-5)
    assert told.session.replay is None
    # And so it makes nearly the same step as then; substeps end with other velocities than their mean.
    before = sim_of(told).frames
    told.tell(m.Run("step"))
    until(lambda: sim_of(told).frames == before + 1, "a step")
    then = told.session.recording.motion(6)[0]
    moved = np.abs(then - positions).max()
    assert np.abs(sim_of(told).positions - then).max() < 0.5 * moved


def test_what_is_refused(told):
    told.frames(1)
    replay(told, 0)
    assert "there is no frame 0 of the recording: it has 0" in told.notices()[-1]
    told.tell(m.SetRecording(True))
    until(lambda: told.session.recording.frames >= 2, "frames")
    replay(told, 0)
    assert "stop the recording first" in told.notices()[-1]


def test_playing_and_recording_go_on_with_the_simulation(told):
    record(told)
    told.change(paused=True)
    replay(told, 1)
    told.change(paused=False)
    assert told.session.replay is None
    told.frames(2)
    replay(told, 1)
    told.tell(m.SetRecording(True))
    told.settle()
    assert told.session.replay is None
    assert told.session.recording.active


def test_nobody_pulls_at_the_past(told):
    record(told)
    replay(told, 1)
    told.tell(m.Grab(0, 5, [0.0, 0.0, 0.0], told.session.running_scene.backdrop.number, told.order()))
    told.settle()
    assert not sim_of(told).grabbed


def test_a_cut_body_does_not_go_on_from_a_frame_of_the_whole_one(told):
    record(told)
    told.change(paused=True)
    number = told.session.running_scene.backdrop.number
    middle = sim_of(told).positions.mean(axis=0)
    stroke = [(middle + np.array([x, 0.0, 0.013])).tolist() for x in (-2.0, 2.0)]
    told.tell(m.Cut((middle + np.array([0.0, 3.0, 0.0])).tolist(), stroke, number))
    told.settle()
    assert sim_of(told).model.n > 144
    replay(told, 1)  # looking at it is fine: it has a scene of its own
    assert len(told.session.newest.views[0].vertices) == told.session.newest.backdrop.scene.model.n == 144
    replay(told, 1, resume=True)
    assert "the recording is of another body" in told.notices()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["box-stack", "box-on-jelly"])
def test_rigid_bodies_are_shown_again(name):
    with running(Target(name, {})) as told:
        record(told, 4)
        replay(told, 0)
        first = told.session.newest.views[0].vertices.copy()
        replay(told, 3)
        assert first.shape == told.session.newest.views[0].vertices.shape
        assert not np.array_equal(first, told.session.newest.views[0].vertices)
        replay(told, 3, resume=True)
        assert "only scenes of soft bodies alone go on from a recorded frame" in told.notices()[-1]


# --- links -----------------------------------------------------------------------------------------------------------


def test_a_link_changes_settings(told):
    told.tell(m.Restore("tablecloth", m.Change(gravity=2.0, wind=3.0, colour_by="strain")))
    told.settle()
    settings = told.session.settings
    assert (settings.gravity, settings.wind, settings.colour_by) == (2.0, 3.0, "strain")
    np.testing.assert_allclose(sim_of(told).gravity, [0, -2.0, 0])


@pytest.mark.slow
def test_a_link_loads_a_scene_and_then_changes_settings(told):
    told.tell(m.Restore("bar", m.Change(gravity=2.0, solver="vivace", relaxation=1.5)))
    told.until_scene("bar")
    until(lambda: told.session.settings.solver == "vivace", "the solver")
    until(lambda: told.session.settings.relaxation == 1.5, "its relaxation")
    assert told.session.settings.gravity == 2.0


def test_a_link_to_no_scene_or_with_what_the_scene_has_not(told):
    told.tell(m.Restore("no-such-scene", m.Change()))
    told.settle()
    assert "no-such-scene" in told.notices()[-1]
    told.tell(m.Restore("tablecloth", m.Change(iterations=5, gravity=1.0)))
    told.settle()
    assert "the link's iterations: " in told.notices()[-1]
    assert told.session.settings.gravity == 1.0
