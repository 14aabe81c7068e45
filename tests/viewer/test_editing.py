"""Pins, cuts, undo and redo: each message's effect in the simulation."""

import numpy as np
import pytest

from viewer.conftest import SMALL, running, until
from vivace.mesh import connected_components
from vivace.viewer import Target
from vivace.viewer import messages as m
from vivace.viewer.editing import MOST_CUTS, corners, top_edge
from vivace.viewer.history import MOST_EDITS, History

ABOVE = [0.0, 3.0, 0.0]
ACROSS = [[-2.0, 0.0, 0.013], [2.0, 0.0, 0.013]]


def sim_of(told, k=0):
    return told.session.sims[k]


def number(told):
    return told.session.running_scene.backdrop.number


def pin(told, vertices, on=True, edit=1):
    told.tell(m.Pin(vertices, on, number(told), edit))
    told.settle()


def cut(told, stroke=ACROSS, eye=ABOVE):
    told.tell(m.Cut(eye, stroke, number(told)))
    told.settle()


def history(told, what):
    told.tell(m.History(what))
    told.settle()


def pieces(told):
    mesh = sim_of(told).model.mesh
    return connected_components(mesh.n_vertices, mesh.edges)[0]


@pytest.fixture
def paused(told):
    told.frames(1)
    told.change(paused=True)
    return told


# --- pins ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_pinned_vertex_stays_where_it_was(told):
    told.frames(5)
    told.change(paused=True)
    before = sim_of(told).positions
    was = sorted(sim_of(told).model.pinned.tolist())
    pin(told, [70, 71])
    assert sorted(sim_of(told).model.pinned.tolist()) == sorted([*was, 70, 71])
    told.change(paused=False)
    told.frames(15)
    moved = np.linalg.norm(sim_of(told).positions - before, axis=1)
    assert moved[[70, 71]].max() < 1e-3
    assert moved.max() > 0.05
    assert told.session.state.pins == len(was) + 2


@pytest.mark.slow
def test_what_is_unpinned_falls(told):
    told.frames(3)
    own = sim_of(told).model.pinned.tolist()
    pin(told, own, on=False)
    assert not len(sim_of(told).model.pinned)
    before = sim_of(told).positions[own, 1]
    told.frames(15)
    assert (sim_of(told).positions[own, 1] < before - 0.05).all()


def test_rules(paused):
    told = paused
    mesh = sim_of(told).model.mesh
    own = sorted(sim_of(told).model.pinned.tolist())
    for rule, wanted in (
        ("corners", mesh.groups["corners"]),
        ("top", mesh.groups["top"]),
        ("none", []),
        ("scene", own),
    ):
        told.tell(m.PinBy(rule))
        told.settle()
        assert sorted(sim_of(told).model.pinned.tolist()) == sorted(np.asarray(wanted).tolist()), rule


def test_pins_of_one_box_are_one_edit(paused):
    told = paused
    own = sorted(sim_of(told).model.pinned.tolist())
    first = number(told)
    for part in ([60, 61], [62, 63], [64]):
        told.tell(m.Pin(part, True, first, 7))  # all of them say the scene that the page had seen
    told.settle()
    assert set(sim_of(told).model.pinned) == {*own, 60, 61, 62, 63, 64}
    history(told, "undo")
    assert sorted(sim_of(told).model.pinned.tolist()) == own
    history(told, "redo")
    assert set(sim_of(told).model.pinned) == {*own, 60, 61, 62, 63, 64}


def test_a_pin_of_another_scene_is_nothing(paused):
    told = paused
    before = sim_of(told).model
    told.tell(m.Pin([3], True, 99, 1))
    told.settle()
    assert sim_of(told).model is before


def test_a_pin_of_no_vertex(paused):
    pin(paused, [10**6])
    assert "there is no vertex 1000000 to pin: the scene has 144" in paused.notices()


def test_pins_are_shown_while_paused(paused):
    told = paused
    before = told.session.newest.number
    pin(told, [70])
    newest = told.session.newest
    assert newest.number > before
    assert newest.backdrop.number == number(told)
    assert 70 in newest.backdrop.scene.model.pinned


@pytest.mark.slow
def test_after_a_reset_what_was_pinned_is_held_where_it_starts(told):
    start = sim_of(told).positions
    told.frames(20)
    pin(told, [70])
    told.tell(m.Run("reset"))
    told.settle()
    told.frames(10)
    assert np.linalg.norm(sim_of(told).positions[70] - start[70]) < 1e-2
    assert 70 in sim_of(told).model.pinned


def test_rigid_bodies_have_no_pins():
    with running(Target("box-stack", {})) as told:
        told.frames(1)
        for message in (m.Pin([0], True, 1, 1), m.PinBy("top"), m.Cut(ABOVE, ACROSS, 1)):
            told.tell(message)
        told.settle()
        assert len([text for text in told.notices() if "for soft bodies, and box-stack has none" in text]) == 3


def test_top_and_corners_of_bodies_without_names():
    from vivace import mesh

    named = mesh.ball(4)
    body = mesh.Mesh.from_tets(named.vertices, named.tets)
    top = top_edge(body)
    assert body.vertices[top, 1].min() > body.vertices[:, 1].max() - 0.03
    assert 0 < len(corners(body)) <= 8
    sheet = mesh.cloth(6, 5)
    bare = mesh.Mesh.from_triangles(sheet.vertices, sheet.triangles)
    assert corners(bare).tolist() == sheet.groups["corners"].tolist()


# --- cuts ------------------------------------------------------------------------------------------------------------


def test_a_cut_keeps_positions_velocities_and_settings(told):
    told.frames(4)
    told.change(paused=True, stiffness=2.0, gravity=5.0)
    before, q, v = sim_of(told), sim_of(told).positions, sim_of(told).velocities
    cut(told)
    after = sim_of(told)
    assert after.model.n == before.model.n + 12
    assert pieces(told) == 2
    np.testing.assert_array_equal(after.positions[:144], q)
    np.testing.assert_allclose(after.velocities[:144], v, atol=1e-6)
    assert after.gravity[1] == -5.0
    np.testing.assert_allclose(after.model.groups[0].weights.max(), before.model.groups[0].weights.max())
    assert (after.budget, after.time_step) == (before.budget, before.time_step)
    newest = told.session.newest
    assert len(newest.views[0].vertices) == newest.backdrop.scene.model.n == after.model.n


@pytest.mark.slow
@pytest.mark.parametrize("target", [SMALL, Target("tablecloth", {"resolution": 16}), Target("cube", {"resolution": 5})])
def test_what_is_cut_goes_on(target):
    with running(target) as told:
        told.frames(4)
        middle = sim_of(told).positions.mean(axis=0)
        far = 3 * np.ptp(sim_of(told).positions, axis=0).max()
        tilt = 0.002 * far
        stroke = [(middle + np.array([s * far, 0.0, tilt])).tolist() for s in (-1, 1)]
        cut(told, stroke, (middle + np.array([0.0, 2 * far, 0.0])).tolist())
        assert pieces(told) >= 2
        told.frames(30)
        assert not [text for text in told.notices() if "lost" in text]
        assert np.isfinite(sim_of(told).positions).all()
        _, mean, _ = told.session.running_scene.backdrop.strain(sim_of(told).positions.astype(np.float32))
        assert mean < 0.05


@pytest.mark.slow
def test_a_free_half_falls(told):
    told.frames(2)
    cut(told)
    held = sim_of(told).model.pinned
    told.frames(15)
    _, piece = connected_components(sim_of(told).model.n, sim_of(told).model.mesh.edges)
    heights = [sim_of(told).positions[piece == k, 1].mean() for k in range(2)]
    loose = [k for k in range(2) if k not in set(piece[held])]
    if loose:
        assert heights[loose[0]] == min(heights)


def test_a_stroke_beside_the_body(paused):
    cut(paused, [[2.0, 0, 0], [3.0, 0, 0]])
    assert "the stroke parts nothing" in paused.notices()[-1]
    assert sim_of(paused).model.n == 144


def test_cuts_are_bounded(paused, monkeypatch):
    monkeypatch.setattr("vivace.viewer.editing.MOST_CUTS", 1)
    cut(paused)
    cut(paused, [[0.01, 0.0, -2.0], [0.01, 0.0, 2.0]])
    assert "has been cut 1 times, and 1 are the most" in paused.notices()[-1]
    assert MOST_CUTS == 40


def test_a_cut_ends_what_is_recorded(told):
    told.frames(1)
    told.tell(m.SetRecording(True))
    told.frames(2)
    cut(told)
    assert not told.session.recording.active
    assert any("the recording was ended" in text for text in told.notices())
    assert told.session.recording.frames > 0


@pytest.mark.slow
def test_both_halves_of_a_split_view_are_cut(told):
    told.frames(1)
    told.change(compare="vivace")
    until(lambda: len(told.session.sims) == 2, "the other simulation")
    told.change(paused=True)
    told.tell(m.Run("reset"))
    cut(told)
    told.change(paused=False)
    assert [sim.model.n for sim in told.session.sims] == [156, 156]
    assert told.session.settings.compare == "vivace"
    told.frames(3)


def test_changes_that_wait_are_bounded(told, monkeypatch):
    told.frames(1)
    held = []
    told.session.call(lambda: until(lambda: held, "the test"))  # the thread is busy
    for k in range(400):
        told.tell(m.Pin([k % 144], True, 1, k + 1))
    assert any("too many changes at once" in text for text in told.notices())
    held.append(True)
    told.settle()
    assert told.session.state.undo == "pin"


# --- undo and redo ---------------------------------------------------------------------------------------------------


def test_settings_are_taken_back_and_made_again(told):
    told.change(gravity=3.0)
    told.change(wind=5.0)
    assert told.session.state.undo == "wind"
    history(told, "undo")
    assert (told.session.settings.wind, told.session.settings.gravity) == (0.0, 3.0)
    assert told.session.state.redo == "wind"
    history(told, "undo")
    assert told.session.settings.gravity == pytest.approx(9.81)
    np.testing.assert_allclose(sim_of(told).gravity, [0, -9.81, 0])
    assert told.session.state.undo == ""
    history(told, "redo")
    history(told, "redo")
    assert (told.session.settings.wind, told.session.settings.gravity) == (5.0, 3.0)
    history(told, "redo")
    assert "there is nothing to redo" in told.notices()[-1]


def test_pausing_is_motion_and_is_not_taken_back(told):
    told.change(paused=True)
    assert told.session.state.undo == ""


def test_a_cut_is_taken_back(paused):
    told = paused
    q = sim_of(told).positions
    model = sim_of(told).model
    cut(told)
    assert told.session.state.undo == "cut"
    history(told, "undo")
    assert sim_of(told).model.n == 144
    np.testing.assert_allclose(sim_of(told).positions, q, atol=1e-6)
    np.testing.assert_array_equal(sim_of(told).model.mesh.triangles, model.mesh.triangles)
    history(told, "redo")
    assert sim_of(told).model.n == 156
    assert pieces(told) == 2


def test_reset_keeps_settings_pins_and_cuts(paused):
    told = paused
    told.change(wind=4.0)
    pin(told, [70])
    cut(told)
    told.tell(m.Run("reset"))
    told.settle()
    assert told.session.settings.wind == 4.0
    assert 70 in sim_of(told).model.pinned
    assert sim_of(told).model.n == 156
    history(told, "undo")
    history(told, "undo")
    assert (sim_of(told).model.n, 70 in sim_of(told).model.pinned) == (144, False)


@pytest.mark.slow
def test_another_scene_has_another_history(told):
    told.change(wind=4.0)
    told.tell(m.LoadScene("hanging-cloth"))
    told.until_scene("hanging-cloth")
    assert told.session.state.undo == ""


def test_a_slider_is_one_change():
    now = [0.0]
    kept = History(lambda: now[0])
    for value in (1.0, 2.0, 3.0):
        kept.changed({"wind": value - 1}, {"wind": value})
        now[0] += 0.3
    now[0] += 5
    kept.changed({"wind": 3.0}, {"wind": 9.0})
    assert kept.undo().before == {"wind": 3.0}
    first = kept.undo()
    assert (first.before, first.after) == ({"wind": 0.0}, {"wind": 3.0})
    assert kept.undo() is None


def test_the_history_is_bounded_and_forgets_what_was_undone():
    now = [0.0]
    kept = History(lambda: now[0])
    for value in range(200):
        now[0] += 2
        kept.changed({"wind": value}, {"wind": value + 1})
    for _ in range(MOST_EDITS):
        assert kept.undo() is not None
    assert kept.undo() is None
    kept.changed({"gravity": 1}, {"gravity": 2})
    assert kept.redo() is None
