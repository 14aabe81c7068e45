"""Files to download: what they hold, by readers that are not ours, and how far they are."""

import io

import meshio
import numpy as np
import pytest
import trimesh

from viewer.conftest import running
from vivace.errors import InputError, UnknownNameError
from vivace.registry import Registry
from vivace.viewer import Target, exports
from vivace.viewer import messages as m
from vivace.viewer.exports import (
    POSE_FORMATS,
    RECORDING_FORMATS,
    Cancelled,
    Work,
    pose_file,
    recording_file,
    recording_format,
)


def read(name, body, tmp_path):
    """Vertices and triangles, by trimesh; PLY by meshio."""
    if name == "ply":
        path = tmp_path / "pose.ply"
        path.write_bytes(body)
        found = meshio.read(path)
        return found.points, found.cells_dict["triangle"]
    mesh = trimesh.load(io.BytesIO(body), file_type=name, process=False, force="mesh")
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


@pytest.fixture(scope="module")
def shown():
    with running() as told:
        told.frames(4)
        told.change(paused=True)
        yield told.session.newest


@pytest.mark.parametrize("name", list(POSE_FORMATS))
def test_a_pose_is_what_is_seen(shown, name, tmp_path):
    kind, body = pose_file(shown.backdrop.triangles, shown.views[0], name)
    vertices, triangles = read(name, body, tmp_path)
    assert "/" in kind
    np.testing.assert_allclose(vertices, shown.views[0].vertices, atol=1e-6)
    np.testing.assert_array_equal(triangles, shown.backdrop.triangles)


@pytest.mark.slow
def test_a_pose_of_soft_and_rigid_bodies(tmp_path):
    with running(Target("box-on-jelly", {})) as told:
        shown = told.frames(2)
        _, body = pose_file(shown.backdrop.triangles, shown.views[0], "glb")
    vertices, triangles = read("glb", body, tmp_path)
    used = np.unique(shown.backdrop.triangles)
    assert (len(vertices), len(triangles)) == (len(used), len(shown.backdrop.triangles))
    np.testing.assert_allclose(vertices, shown.views[0].vertices[used], atol=1e-5)


def test_what_there_is_no_format_for(shown):
    with pytest.raises(UnknownNameError, match="format of poses"):
        pose_file(shown.backdrop.triangles, shown.views[0], "../../etc/passwd")
    with pytest.raises(InputError, match="a wire has no triangles"):
        pose_file(np.zeros((0, 3), int), shown.views[0], "obj")


def test_a_format_of_ones_own(monkeypatch):
    formats = Registry("format of recordings")
    for name in RECORDING_FORMATS:
        formats.register(name)(RECORDING_FORMATS[name])
    monkeypatch.setattr(exports, "RECORDING_FORMATS", formats)

    @recording_format("count", "How many frames", "text/plain")
    def count(recording, path, camera, work):
        path.write_text(str(recording.frames))

    class Kept:
        frames = 5

    assert recording_file(Kept(), "count", None, Work(lambda progress: None)) == ("text/plain", b"5")
    assert exports.choices(formats)[-1] == m.FormatChoice("count", "How many frames")


def test_progress_is_said_at_once_seldom_and_with_an_estimate():
    now, said = [0.0], []
    work = Work(said.append, clock=lambda: now[0])
    work.progress(0, 100)
    assert (said[-1].done, said[-1].total, said[-1].seconds_left) == (0, 100, None)
    for done in range(1, 101):
        now[0] += 0.1
        work.progress(done, 100)
    assert said[-1].done == 100
    assert len(said) == pytest.approx(100 * 0.1 / exports.EVERY_S, abs=3)
    halfway = next(one for one in said if one.done >= 50)
    assert halfway.seconds_left == pytest.approx(0.1 * (100 - halfway.done), rel=0.05)


def test_nobody_wants_it_any_longer():
    work = Work(lambda progress: None)
    work.cancelled.set()
    with pytest.raises(Cancelled):
        work.progress(3, 9)
