"""Pins and cuts in links and saved scenes of the live app."""

import numpy as np
import pytest

from viewer.conftest import PATIENCE, running, until
from vivace.errors import InputError
from vivace.scenes import load_scene
from vivace.scenes.edits import MOST_CUTS, Edits
from vivace.viewer import Target
from vivace.viewer import messages as m
from vivace.viewer.edit_text import LONGEST, edits_of, text_of
from vivace.viewer.server import _scene_file

SMALL = Target("tablecloth", {"resolution": 12, "table": False})
EYE = [0.0, 3.0, 0.0]
STROKE = [[-0.7, 0.0, 0.02], [0.1, 0.0, 0.02]]


def test_letters_and_back():
    edits = Edits(1600, (np.array([[12, 13], [44, 45]]), np.array([[3, 1]])), (0, 1, 2, 39, 81))
    text = text_of(edits)
    assert text == "1600_c12-13.44-45_c3-1_p0-2.39.81"
    again = edits_of(text)
    assert again.table() == edits.table()
    assert text_of(None) == ""
    assert edits_of("") is None
    for few in (Edits(9), Edits(9, (), ())):
        assert edits_of(text_of(few)).table() == few.table()


@pytest.mark.parametrize(
    "text",
    [
        *("x", "1600_", "1600_c", "1600_c1", "1600_c1-2.", "1600_p1-", "1600_p3_c1-2", "1600_p1\n", "_c1-2"),
        *("1600_p9-1", "1600_p0-9999999", "\u0661600_p1", "1" * 9, "9" * LONGEST),
        "9" + "_c1-2" * (MOST_CUTS + 1),
    ],
)
def test_damaged_letters_are_refused(text):
    with pytest.raises(InputError):
        edits_of(text)


@pytest.mark.slow
def test_a_link_restores_pins_and_cuts(tmp_path):
    """In another session: the same triangles, the same pins; undo takes them back one by one; a file has them, too."""
    with running(SMALL) as told:
        told.frames(1)
        session = told.session
        assert session.edited.text == ""
        told.tell(m.Cut(EYE, STROKE, 1))
        until(lambda: len(session.running_scene.cuts) == 1, "the cut")
        told.tell(m.Pin([30, 40], True, 2, 1))
        until(lambda: "pin" in session.state.undo, "the pins")
        told.settle()
        text, model = session.edited.text, session.running_scene.model
        assert [message for message, _ in told.said if isinstance(message, m.Edited)][-1].text == text
        saved = tmp_path / "saved.toml"
        saved.write_text(session.ask(lambda: _scene_file(session)).result(PATIENCE), encoding="utf-8")
        told.tell(m.History("undo"))
        told.tell(m.History("undo"))
        until(lambda: session.edited.text == "", "nothing left")
        told.tell(m.History("redo"))
        until(lambda: session.edited.text.count("_c") == 1, "the cut again")
    read = load_scene(saved)
    np.testing.assert_array_equal(read.model.mesh.triangles, model.mesh.triangles)
    np.testing.assert_array_equal(np.sort(read.model.pinned), np.sort(model.pinned))
    with running(SMALL) as told:
        told.frames(1)
        session = told.session
        told.tell(m.RestorePart(text[:7], True))
        told.tell(m.RestorePart(text[7:], False))
        told.tell(m.Restore("tablecloth", m.Change(gravity=5.0), 12, True))
        until(lambda: session.edited.text == text, "pins and cuts")
        running_scene = session.running_scene
        np.testing.assert_array_equal(running_scene.model.mesh.triangles, model.mesh.triangles)
        np.testing.assert_array_equal(np.sort(running_scene.model.pinned), np.sort(model.pinned))
        assert session.settings.gravity == 5.0
        told.frames(2)
        told.tell(m.History("undo"))
        told.tell(m.History("undo"))
        until(lambda: session.edited.text == "", "nothing left")
        told.tell(m.RestorePart(text, True))
        told.tell(m.Restore("tablecloth", m.Change(), 14, True))  # of another body
        until(lambda: any("of a body of 144 vertices, and this one has 196" in one for one in told.notices()), "a word")
        assert session.running_scene.model.n == 196


@pytest.mark.slow
def test_a_saved_scene_is_edited_further(tmp_path):
    """Cuts of the file come first, then those of the page; links have the latter only."""
    with running(SMALL) as told:
        told.frames(1)
        told.tell(m.Cut(EYE, STROKE, 1))
        until(lambda: len(told.session.running_scene.cuts) == 1, "the cut")
        saved = tmp_path / "saved.toml"
        saved.write_text(told.session.ask(lambda: _scene_file(told.session)).result(PATIENCE), encoding="utf-8")
    with running(Target(str(saved), {})) as told:
        told.frames(1)
        session = told.session
        assert session.edited.text == ""
        told.tell(m.Cut(EYE, [[0.13, 0.0, -0.7], [0.13, 0.0, -0.2]], 1))
        until(lambda: session.edited.text.count("_c") == 1, "another")
        saved.write_text(session.ask(lambda: _scene_file(session)).result(PATIENCE), encoding="utf-8")
        model = session.running_scene.model
    read = load_scene(saved)
    np.testing.assert_array_equal(read.model.mesh.triangles, model.mesh.triangles)


@pytest.mark.slow
def test_parts_that_never_end_are_refused(told):
    told.frames(1)
    told.tell(m.RestorePart("1", True))
    for _ in range(LONGEST // 3500 + 2):
        told.tell(m.RestorePart("1" * 3500, False))
        told.settle()
    assert any("letters at most" in one for one in told.notices())
    assert len(told.session.parts.get("1", "")) <= LONGEST
    told.session.leave("1")
    told.settle()
    assert not told.session.parts
