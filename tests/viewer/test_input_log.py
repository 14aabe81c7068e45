"""What people did, as a log: replayed to the same bits, edited, made by another solver; nothing in it is trusted."""

import json

import numpy as np
import pytest

from viewer.conftest import PATIENCE, SMALL, Told, running, until
from vivace.errors import FileError, InputError
from vivace.solvers import Budget
from vivace.viewer import Target
from vivace.viewer import messages as m
from vivace.viewer.input_log import read_input
from vivace.viewer.input_replay import Replay, bits
from vivace.viewer.session import Session


def saved(told, path, read=bits):
    """The log of a session, and what is read of it after the last step that it has: its bits."""

    def take():
        path.write_text(session.input.text())
        return read(session)

    session = told.session
    return session.ask(take).result(PATIENCE)


def replayed(path, **options):
    again = Replay(read_input(path), threads=1, **options)
    for _ in again.frames():
        pass
    return again


def pull(told, vertex, target):
    """Grab, drag and let go, some frames apart."""
    scene = told.session.running_scene.backdrop.number
    told.tell(m.Grab(0, vertex, list(target), scene, told.order()))
    told.frames(3)
    told.tell(m.Drag(0, [target[0], target[1] + 0.3, target[2]], told.order()))
    told.frames(4)
    told.tell(m.Release(0, told.order()))
    told.frames(2)


@pytest.mark.slow
def test_a_replay_has_the_bits_of_the_session(tmp_path):
    """Grabs, settings, a pin and its undoing, another solver and a reset; with sweeps as a budget."""
    path = tmp_path / "log.jsonl"
    with running(SMALL) as told:
        told.frames(2)
        pull(told, 70, (0.1, 0.1, 0.1))
        told.change(gravity=3.0, wind=2.0)
        told.change(solver="vivace")
        scene = told.session.running_scene.backdrop.number
        told.tell(m.Pin([5, 6], True, scene, 1))
        told.frames(3)
        told.tell(m.History("undo"))
        told.tell(m.Run("reset"))
        told.frames(3)
        pull(told, 40, (0.2, 0.0, 0.0))
        expected = saved(told, path)
    again = replayed(path)
    assert bits(again) == expected
    assert again.settings.gravity == 3.0


@pytest.mark.slow
def test_rigid_bodies_are_replayed_to_the_bit(tmp_path):
    """Their steps have iterations, which are settings."""
    path, session = tmp_path / "log.jsonl", Session(Target("box-stack", {"n": 3}), threads=1)
    told = Told(session)
    session.start()
    try:
        told.frames(4)
        told.change(gravity=5.0, iterations=7)
        told.frames(4)
        expected = saved(told, path)
    finally:
        session.stop()
    assert bits(replayed(path)) == expected


@pytest.fixture
def log(tmp_path):
    """A log by hand: a vertex is held for ten frames."""
    lines = [
        {"file": "vivace input", "format": 1, "scene": {"name": "tablecloth", "parameters": SMALL.parameters},
         "solver": "vivace", "frames": 12, "settings": {"gravity": 9.81}},
        {"frame": 2, "client": "1", "type": "grab", "pointer": 0, "vertex": 70, "target": [0, 0.4, 0], "scene": 1,
         "order": 1},
        {"frame": 9, "client": "1", "type": "release", "pointer": 0, "order": 2},
        {"rounds": [[12, 8, 1]]},
    ]  # fmt: skip
    path = tmp_path / "log.jsonl"

    def write(change=None):
        told = json.loads(json.dumps(lines))
        if change is not None:
            change(told)
        path.write_text("\n".join(map(json.dumps, told)))
        return path

    return write


@pytest.mark.slow
def test_a_log_is_edited_and_made_by_another_solver_or_budget(log):
    once = bits(replayed(log()))
    assert bits(replayed(log())) == once
    assert bits(replayed(log(), budget=Budget(iterations=8))) == once
    assert bits(replayed(log(), budget=Budget(iterations=30))) != once
    assert replayed(log(), solver="newton").sims[0].solver.name == "newton"
    later = log(lambda lines: lines[1].update(frame=4))
    assert bits(replayed(later)) != once
    assert read_input(later).events[0].frame == 4


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda lines: lines[0].update(file="film"), "line 1: not an input log"),
        (lambda lines: lines[0].update(format=9), "format 9"),
        (lambda lines: lines[0].update(frames=10**12), "frames must be a whole number"),
        (lambda lines: lines[0]["scene"].update(name="tableclth"), "did you mean 'tablecloth'"),
        (lambda lines: lines[0]["scene"].update(parameters={"resolution": 10**6}), "much more than its usual"),
        (lambda lines: lines[0]["scene"].update(parameters={"file": "/etc/passwd"}), "unknown parameter"),
        (lambda lines: lines[0]["settings"].update(gravity=1e9), "gravity"),
        (lambda lines: lines[1].update(target=[1e99, 0, 0]), "line 2: grab"),
        (lambda lines: lines[1].update(vertex=-1), "line 2: grab"),
        (lambda lines: lines[1].update(type="load_scene", name="/etc/passwd"), "line 2: "),
        (lambda lines: lines[1].update(type="save"), "line 2: "),
        (lambda lines: lines[1].update(frame=11), "order of their frames"),
        (lambda lines: lines[1].update(frame=99), "frame must be a whole number from 0 to 12"),
        (lambda lines: lines[3].update(rounds=[[1, 2]]), "line 4: rounds"),
        (lambda lines: lines[3].update(rounds=[[1, 2, 10**9]]), "line 4: rounds"),
    ],
)
def test_logs_are_not_trusted(log, change, told):
    with pytest.raises(FileError, match=told):
        read_input(log(change))


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"file": "vivace input"}', "\x00" * 100])
def test_what_is_no_log_is_refused(tmp_path, text):
    path = tmp_path / "log.jsonl"
    path.write_text(text)
    with pytest.raises(FileError, match="line 1"):
        read_input(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="not text"):
        read_input(path)


def test_a_log_of_a_file_opens_nothing_by_itself(log):
    path = log(lambda lines: lines[0].update(scene={"name": "/etc/passwd", "named": False}))
    with pytest.raises(InputError, match="say where it is, by --scene"):
        Replay(read_input(path))


@pytest.mark.slow
def test_messages_that_make_no_sense_are_passed_over(log):
    """A vertex that is not there is refused as it would have been live, and the rest goes on."""
    path = log(lambda lines: lines[1].update(vertex=10**6))
    again = replayed(path)
    assert again.sims[0].frames == 12


TABLE = Target("tablecloth", {"resolution": 16})


def stroke(told):
    """Cut through the middle, seen from above."""
    middle = told.session.sims[0].positions.mean(axis=0)
    line = [(middle + np.array([x, 0.0, 0.013])).tolist() for x in (-2.0, 2.0)]
    return m.Cut((middle + np.array([0.0, 3.0, 0.0])).tolist(), line, told.session.running_scene.backdrop.number)


@pytest.mark.slow
def test_cuts_are_replayed_to_the_bit(tmp_path):
    """A stroke, a hand at what it cut off, the cut taken back and made again."""
    path = tmp_path / "log.jsonl"
    with running(SMALL) as told:
        told.frames(4)
        told.tell(stroke(told))
        told.frames(3)
        assert told.session.sims[0].model.n > 144
        pull(told, 150, (0.1, 0.2, 0.1))
        told.tell(m.History("undo"))
        told.frames(2)
        assert told.session.sims[0].model.n == 144
        told.tell(m.History("redo"))
        told.frames(3)
        expected = saved(told, path)
    again = replayed(path)
    assert len([text for text in again.notes if "the film ends with frame" in text]) == 1
    assert again.sims[0].model.n > 144
    assert bits(again) == expected


@pytest.mark.slow
def test_bodies_that_were_thrown_in_and_things_that_were_moved_are_replayed_to_the_bit(tmp_path):
    """A ball that is caught and thrown, a box, the table that is taken along, and a cut with all of them there."""
    path = tmp_path / "log.jsonl"
    with running(TABLE) as told:
        told.frames(3)
        for shape in ("ball", "box"):
            told.tell(m.AddBody(shape))
            count = 1 + (shape == "box")
            until(lambda: getattr(told.session.running_scene, "added", 0) == count, "a body")  # noqa: B023
            told.frames(4)
        running_scene = told.session.running_scene
        pull(told, running_scene.mesh.first, (0.1, 1.2, 0.1))
        number = running_scene.backdrop.number
        told.tell(m.Grab(1, 0, [0.0, 0.4, 0.0], number, told.order(), thing=0))
        for k in range(1, 5):
            told.frames(1)
            told.tell(m.Drag(1, [0.05 * k, 0.4, 0.02 * k], told.order()))
        told.frames(2)
        told.tell(m.Release(1, told.order()))
        told.frames(2)
        told.tell(stroke(told))
        told.frames(3)
        expected, poses = saved(told, path, lambda session: (bits(session), body_bits(session)))
        assert not [text for text in told.notices() if "cannot" in text]
    again = replayed(path)
    assert len(again.sims[0].bodies) >= 2
    assert bits(again) == expected
    assert body_bits(again) == poses


def body_bits(session):
    """Where the rigid bodies of the first simulation are, and how they are turned."""
    bodies = session.sims[0].bodies
    return bodies.positions.tobytes(), bodies.orientations.tobytes(), bodies.velocities.tobytes()
