"""The parts of a session by themselves: colours, the background worker, priorities, recordings."""

import threading

import numpy as np
import pytest

import vivace as vv
from viewer.conftest import until
from vivace.errors import InputError
from vivace.scenes import make_scene
from vivace.viewer import priority
from vivace.viewer.background_worker import BackgroundWorker
from vivace.viewer.colours import LEAST_STRAIN, values_of
from vivace.viewer.edges import Edges
from vivace.viewer.exports import Work, write_recording
from vivace.viewer.priority import Preference
from vivace.viewer.recordings import Recording
from vivace.viewer.running_scene import RunningScene


@pytest.fixture(scope="module")
def view():
    """A cloth on a table after half a second."""
    scene = make_scene("tablecloth", resolution=16, table=True)
    running = RunningScene(scene, scene.simulate(solver="vivace", budget=vv.Budget(iterations=10), threads=1))
    for _ in range(15):
        (one,) = running.step()
    return one


@pytest.mark.slow
def test_strain_in_percent(view):
    scene = make_scene("tablecloth", resolution=16, table=True)
    strain, mean, largest = Edges(scene.model.mesh).strain(np.ascontiguousarray(view.report.positions))
    assert 0 < mean < largest
    values = values_of("strain", view, strain)
    assert values.unit == "%"
    assert values.high >= 100 * LEAST_STRAIN
    shown = values.low + values.bytes / 255 * (values.high - values.low)
    np.testing.assert_allclose(shown, np.minimum(100 * strain, values.high), atol=values.high / 255)


def test_contacts_are_those_of_the_step(view):
    bytes_ = values_of("contact", view, np.zeros(0)).bytes
    np.testing.assert_array_equal(np.flatnonzero(bytes_), view.report.touching)
    assert view.report.contacts >= len(view.report.touching) > 0


def test_residuals_are_the_gradient(view):
    """On a logarithmic scale of four decades."""
    values = values_of("residual", view, np.zeros(0))
    report = view.report
    forces = report.forces()
    assert np.linalg.norm(forces) == pytest.approx(report.gradient)
    shown = values.high * 10.0 ** (4 * (values.bytes / 255 - 1))
    inside = (forces > values.low) & (forces < values.high)
    np.testing.assert_allclose(np.log10(shown[inside]), np.log10(forces[inside]), atol=4 / 255)


def test_graph_colours(view):
    np.testing.assert_array_equal(values_of("graph", view, np.zeros(0)).bytes, view.labels)
    assert len(values_of("plain", view, np.zeros(0)).bytes) == 0


# --- the background worker--------------------------------------------------------------------------------------------


def test_the_newest_job_wins():
    done, begun, gate = [], threading.Event(), threading.Event()
    worker = BackgroundWorker(lambda finish: finish(), lambda: None)

    def slow():
        begun.set()
        gate.wait()
        return lambda: done.append("first")

    worker.submit("first", slow, print)
    begun.wait()
    worker.submit("second", lambda: lambda: done.append("second"), print)
    worker.submit("third", lambda: lambda: done.append("third"), print)
    assert worker.busy == "third"
    gate.set()
    until(lambda: worker.busy == "")
    worker.stop()
    assert done == ["third"]


def test_what_fails_is_said():
    said = []
    worker = BackgroundWorker(lambda finish: finish(), lambda: None)

    def fail():
        raise InputError("no such thing")

    worker.submit("a", fail, lambda error: said.append(str(error)))
    until(lambda: said and worker.busy == "")
    worker.stop()
    assert said == ["no such thing"]


# --- priorities -----------------------------------------------------------------------------------------------------


def test_physics_that_leaves_no_time_is_not_preferred(monkeypatch):
    asked = []
    monkeypatch.setattr(priority.os, "SCHED_RR", 2, raising=False)
    monkeypatch.setattr(priority.os, "SCHED_OTHER", 0, raising=False)
    monkeypatch.setattr(priority.os, "sched_param", lambda p: p, raising=False)
    monkeypatch.setattr(priority.os, "sched_setscheduler", lambda *a: asked.append(a[1]), raising=False)
    preference = Preference()
    preference.update(0.2)
    assert set(asked) == {2}
    count = len(asked)
    preference.update(0.2)
    assert len(asked) == count  # once
    for _ in range(40):
        preference.update(1.5)
    assert asked[-1] == 0
    asked.clear()
    for _ in range(40):
        preference.update(0.3)
    assert set(asked) == {2}


def test_the_physics_and_its_helpers_are_preferred_and_nobody_else(monkeypatch):
    """Threads are found in the team's own list: what somebody calls theirs does not matter."""
    asked, end = set(), threading.Event()
    helper, other = (threading.Thread(target=end.wait, name=name) for name in ("helper", "vivace-1"))
    helper.start()
    other.start()
    monkeypatch.setattr(priority, "helper_threads", lambda: (helper,))
    monkeypatch.setattr(priority.os, "SCHED_RR", 2, raising=False)
    monkeypatch.setattr(priority.os, "sched_param", lambda p: p, raising=False)
    monkeypatch.setattr(priority.os, "sched_setscheduler", lambda *a: asked.add(a[0]), raising=False)
    try:
        Preference().update(0.1)
    finally:
        end.set()
        helper.join()
        other.join()
    assert asked == {helper.native_id, threading.get_native_id()}


def test_without_the_right_nothing_happens(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(priority.os, "sched_setscheduler", refuse, raising=False)
    preference = Preference()
    preference.update(0.1)
    preference.end()


# --- recordings -----------------------------------------------------------------------------------------------------


def test_a_recording_ends_when_it_is_full(monkeypatch, view):
    monkeypatch.setattr("vivace.viewer.recordings.MOST_BYTES", 10_000)
    scene = make_scene("tablecloth", resolution=16)
    running, recording = RunningScene(scene, scene.simulate(threads=1)), Recording()
    recording.begin(scene, running.settings, running.sims[0])
    while recording.active:
        recording.add(view.report.positions, 0.033)
    assert recording.full
    assert recording.frames == 4  # of 3,072 bytes
    assert recording.seconds == pytest.approx(4 * 0.033)


@pytest.mark.slow
def test_an_mp4_or_what_to_install(tmp_path, view):
    scene = make_scene("tablecloth", resolution=16)
    running, recording, seen = RunningScene(scene, scene.simulate(threads=1)), Recording(), []
    recording.begin(scene, running.settings, running.sims[0])
    for _ in range(3):
        recording.add(view.report.positions, 0.033)
    recording.end()
    write_recording(
        recording, tmp_path / "film.mp4", None, Work(lambda progress: seen.append((progress.done, progress.total)))
    )
    assert (tmp_path / "film.mp4").read_bytes()[4:8] == b"ftyp"
    assert (seen[0], seen[-1]) == ((0, 3), (3, 3))
