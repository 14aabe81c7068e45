"""What the page may say, and how it is taken."""

import json
import random
from contextlib import suppress
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivace.errors import InputError
from vivace.viewer import messages as m
from vivace.viewer.messages import FROM_PAGE, decode, encode, plain
from vivace.viewer.packing import pack, quantised, unpack
from vivace.viewer.typescript import TARGET, typescript

GOOD = [
    m.Grab(0, 17, [0.0, 1.0, 2.0], 1, 5, [17, 18, 19], [0.5, 0.25, 0.25]),
    m.Drag(3, [0.5, -1.0, 9.0], 6),
    m.Release(0, 7),
    m.Change(solver="jacobi", budget_ms=4.0, paused=True, colour_by="strain"),
    m.Run("reset"),
    m.LoadScene("bar"),
    m.AddBody("box"),
    m.Remake(resolution=40, kind="jelly"),
    m.SetRecording(True),
    m.Save("recording", "gif", [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),
    m.Cancel(),
    m.SetGhost(True),
    m.Pin([3, 4], True, 1, 2),
    m.PinBy("corners"),
    m.Cut([0.0, 0.0, 3.0], [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], 1),
    m.History("undo"),
    m.Replay(7),
    m.Restore("bar", m.Change(gravity=1.0)),
    m.RestorePart("144_c1-2_p0-9", True),
    m.Drawn(12),
]


@pytest.mark.parametrize("message", GOOD, ids=lambda message: message.type)
def test_what_the_page_says_arrives(message):
    assert decode(json.dumps(plain(message))) == message


def test_every_message_of_the_page_is_tested():
    assert {message.type for message in GOOD} == set(FROM_PAGE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "17",
        '"grab"',
        "{}",
        '{"type": 3}',
        '{"type": "explode"}',
        '{"type": "drawn"}',
        '{"type": "drawn", "frame": "1"}',
        '{"type": "drawn", "frame": -1}',
        '{"type": "drawn", "frame": 1.5}',
        '{"type": "drawn", "frame": 1, "extra": 2}',
        '{"type": "drawn", "frame": 1e400}',
        '{"type": "drag", "pointer": 0, "target": [0, 0], "order": 1}',
        '{"type": "grab", "pointer": 0, "vertex": 1, "target": [0, 0, 0], "scene": 1, "order": 1, "corners": [1, 2]}',
        '{"type": "grab", "pointer": 0, "vertex": 1, "target": [0, 0, 0], "scene": 1, "order": 1, "weights": [9, 0]}',
        '{"type": "change", "iterations": 0}',
        '{"type": "change", "hand_force": 0}',
        '{"type": "change", "hand_force": 1e9}',
        '{"type": "add_body", "shape": "../mesh.obj"}',
        '{"type": "add_body"}',
        '{"type": "change", "iterations": 2.5}',
        '{"type": "drag", "pointer": 0, "target": [0, 0, NaN], "order": 1}',
        '{"type": "drag", "pointer": 0, "target": [0, 0, 1e9], "order": 1}',
        '{"type": "drag", "pointer": 0, "target": [0, 0, null], "order": 1}',
        '{"type": "drag", "pointer": 11, "target": [0, 0, 0], "order": 1}',
        '{"type": "grab", "pointer": 0, "vertex": -1, "target": [0, 0, 0], "scene": 1, "order": 1}',
        '{"type": "change", "budget_ms": 0}',
        '{"type": "change", "budget_ms": 34}',
        '{"type": "change", "time_step": 0}',
        '{"type": "change", "stiffness": -1}',
        '{"type": "change", "paused": 1}',
        '{"type": "change", "colour_by": "rainbow"}',
        '{"type": "change", "solver": "%s"}' % ("x" * 200),
        '{"type": "run", "what": "rm -rf"}',
        '{"type": "save", "what": "/etc/passwd"}',
        '{"type": "pin", "vertices": [], "on": true, "scene": 1, "edit": 1}',
        '{"type": "pin", "vertices": [-1], "on": true, "scene": 1, "edit": 1}',
        json.dumps({"type": "pin", "vertices": [1] * 501, "on": True, "scene": 1, "edit": 1}),
        '{"type": "pin_by", "rule": "../all"}',
        '{"type": "cut", "eye": [0, 0, 0], "stroke": [[0, 0, 0]], "scene": 1}',
        '{"type": "cut", "eye": [0, 0, 1e9], "stroke": [[0, 0, 0], [1, 0, 0]], "scene": 1}',
        json.dumps({"type": "cut", "eye": [0, 0, 0], "stroke": [[0, 0, 0]] * 97, "scene": 1}),
        '{"type": "history", "what": "all"}',
        '{"type": "replay", "frame": -1}',
        '{"type": "restore", "scene": "bar", "settings": {"gravity": 1e9}}',
        '{"type": "restore", "scene": "bar", "settings": {"colour_by": "none"}}',
        "[" * 3000,
    ],
)
def test_what_makes_no_sense_is_refused(text):
    with pytest.raises(InputError):
        decode(text)


def test_bytes_are_not_a_message():
    with pytest.raises(InputError):
        decode(b'{"type": "drawn", "frame": 1}')


@pytest.mark.slow
@given(
    st.text(max_size=200) | st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(json.dumps)
)
def test_no_text_breaks_the_decoder(text):
    with suppress(InputError):
        decode(text)


def test_settings_and_changes_have_the_same_names():
    """Every setting can be changed, and nothing else."""
    assert {item.name for item in fields(m.Change)} == {item.name for item in fields(m.Settings)}


def test_the_pages_types_are_those_of_the_server():
    """`python -m vivace.viewer.typescript` writes them."""
    if not TARGET.is_file():
        pytest.skip("the page's sources are not here")
    assert TARGET.read_text(encoding="utf-8") == typescript()


def test_types_follow_a_change_of_the_messages(monkeypatch):
    """The test above can fail."""
    before = typescript()
    monkeypatch.setattr(m.Drawn, "type", "seen")
    assert typescript() != before


def test_messages_to_the_page_are_json():
    said = json.loads(encode(m.Notice("error", "no such solver")))
    assert said == {"type": "notice", "level": "error", "text": "no such solver"}


def test_arrays_come_out_as_they_went_in():
    rng = np.random.default_rng(0)
    arrays = {
        "a": rng.integers(0, 255, 7).astype(np.uint8),
        "b": rng.integers(0, 65535, (5, 3)).astype(np.uint16),
        "none": np.zeros(0, np.uint8),
        "c": rng.normal(size=(4, 3)).astype(np.float32),
        "d": rng.integers(0, 9, 3).astype(np.uint32),
    }
    header = m.FrameData(3, 1, 0.5, 1.0, "", "plain", {"1": 4}, [], [], None, {})
    said, got = unpack(pack(header, arrays))
    assert said["type"] == "frame"
    assert said["orders"] == {"1": 4}
    for name, array in arrays.items():
        np.testing.assert_array_equal(got[name], array.ravel())
        assert said["arrays"][name]["offset"] % 4 == 0  # or the page could not take a view of it


@pytest.mark.parametrize("seed", range(5))
def test_quantised_positions_are_within_half_a_step(seed):
    """low + scale * value differs from the position by scale/2 at most, and float32's own rounding."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3, 3)
    points = (rng.normal(size=(500, 3)) * scale + rng.normal(size=3) * 5 * scale).astype(np.float32)
    values, low, step = quantised(points)
    assert values.dtype == np.uint16
    rounding = 4 * np.finfo(np.float32).eps * np.abs(points).max()
    assert (np.abs(low + step * values - points) <= 0.5001 * step + rounding).all()


def test_a_point_is_quantised_too():
    values, low, step = quantised(np.ones((4, 3), np.float32))
    np.testing.assert_allclose(low + step * values, 1.0, atol=1e-9)


def test_twenty_thousand_vertices_fit_in_a_quarter_megabyte():
    """The arrays of a frame: 240 KB in float32, half that in uint16."""
    points = np.random.default_rng(1).normal(size=(20_000, 3)).astype(np.float32)
    header = m.FrameData(1, 1, 0.0, 1.0, "", "plain", {}, [], [], None, {})
    assert len(pack(header, {"positions0": points})) <= 250_000
    assert len(pack(header, {"positions0": quantised(points)[0]})) <= 125_000


def test_random_bytes_of_good_messages_never_break_the_decoder():
    rng = random.Random(0)
    texts = [json.dumps(plain(message)) for message in GOOD]
    for _ in range(500):
        text = list(rng.choice(texts))
        for _ in range(rng.randint(1, 5)):
            text[rng.randrange(len(text))] = chr(rng.randrange(1, 300))
        with suppress(InputError):
            decode("".join(text))
