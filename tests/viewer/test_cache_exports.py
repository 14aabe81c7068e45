"""Recordings of the live app as caches: through the page's protocol, read back."""

import io
import json
import zipfile

import numpy as np
import pytest

import vivace as vv
from viewer.conftest import PATIENCE, running
from vivace.caches import CACHES, is_installed
from vivace.errors import MissingExtraError
from vivace.viewer import Target, exports
from vivace.viewer.cache_exports import recorded_cache
from vivace.viewer.exports import RECORDING_FORMATS, Cancelled, Work, recording_file

CACHED = ["usdc", "glb", "abc", "pc2", "mdd", "obj", "ply", "xdmf"]


@pytest.fixture(scope="module")
def recorded():
    """A recording of a few steps of a cloth."""
    with running() as told:
        told.session.ask(
            lambda: told.session.recording.begin(told.session.scene, told.session.settings, told.session.sims[0])
        ).result(PATIENCE)
        told.frames(5)
        told.session.ask(told.session.recording.end).result(PATIENCE)
        yield told.session.recording


def unpacked(name, body, folder):
    """The path of the cache in a file that was downloaded."""
    form = RECORDING_FORMATS[name]
    if not form.suffix.endswith(".zip"):
        path = folder / f"a.{name}"
        path.write_bytes(body)
        return path
    with zipfile.ZipFile(io.BytesIO(body)) as packed:
        packed.extractall(folder)
    found = sorted(folder.glob(f"*/*.{name}"))
    return found[0].parent if CACHES[f".{name}"].sequence else found[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", CACHED)
def test_a_recording_as_a_cache(recorded, name, tmp_path):
    """Positions are those of the recording, within the roundings of the format; times are those of the steps."""
    if not is_installed(CACHES[f".{name}"]):
        pytest.skip(f"{CACHES[f'.{name}'].needs} is not installed")
    form, said = RECORDING_FORMATS[name], []
    path = tmp_path / f"made.{form.suffix}"
    recorded_cache(recorded, f".{name}").write(path, lambda done, total: said.append((done, total)))
    found = vv.caches.read(unpacked(name, path.read_bytes(), tmp_path))
    frames, mesh, h, title, _ = recorded.surfaces()
    np.testing.assert_allclose(found.positions, frames, atol=5e-7)
    np.testing.assert_array_equal(found.triangles, mesh.triangles)
    assert found.time_step == pytest.approx(h, rel=1e-4)
    assert found.name == title
    assert said[-1] == (len(frames), len(frames))
    assert "/" in form.media_type


@pytest.mark.slow
def test_a_process_of_its_own_writes_it_and_tells_how_far_it_is(recorded, tmp_path):
    said = []
    kind, body = recording_file(recorded, "obj", None, Work(said.append))
    assert kind == "application/zip"
    found = vv.caches.read(unpacked("obj", body, tmp_path))
    np.testing.assert_array_equal(found.positions, recorded.surfaces()[0])
    assert said[0].done == 0
    assert said[-1].total == recorded.frames
    assert "OBJ" in said[0].label or "ready" in said[0].label


@pytest.mark.slow
def test_rigid_bodies_are_written_as_their_surfaces(tmp_path):
    with running(Target("box-on-jelly", {})) as told:
        session = told.session
        session.ask(lambda: session.recording.begin(session.scene, session.settings, session.sims[0])).result(PATIENCE)
        told.frames(3)
        session.ask(session.recording.end).result(PATIENCE)
        recorded_cache(session.recording, ".mdd").write(tmp_path / "made.zip")
        frames, triangles, _, _, _ = session.recording.surfaces()
    found = vv.caches.read(unpacked("mdd", (tmp_path / "made.zip").read_bytes(), tmp_path))
    np.testing.assert_array_equal(found.positions, np.stack(frames))
    np.testing.assert_array_equal(found.triangles, triangles)
    assert found.n_vertices > session.sims[0].model.n


def test_what_is_not_installed_is_not_offered_and_says_what_to_install(recorded, monkeypatch):
    offered = {choice.name for choice in exports.choices(RECORDING_FORMATS)}
    assert {"mp4", "gif", "npz", "glb", "pc2", "mdd", "obj", "ply"} <= offered
    monkeypatch.setattr(exports, "find_spec", lambda name: None)
    assert not {"usdc", "abc", "xdmf"} & {choice.name for choice in exports.choices(RECORDING_FORMATS)}
    with pytest.raises(MissingExtraError, match=r"vivace\[caches\]"):
        recording_file(recorded, "usdc", None, Work(lambda progress: None))


@pytest.mark.slow
def test_it_can_be_cancelled(recorded):
    work = Work(lambda progress: None)
    work.cancelled.set()
    with pytest.raises(Cancelled):
        recording_file(recorded, "glb", None, work)


def test_the_mesh_of_a_file_comes_out_as_it_is_there(tmp_path):
    """A seam's vertices are there twice again, in the file's unit."""
    (tmp_path / "a.obj").write_text(
        "v 0 0 0\nv 100 0 0\nv 100 100 0\nv 0 100 0\nv 100 0 0\nv 200 0 0\nv 200 100 0\nv 100 100 0\n"
        "f 1 2 3 4\nf 5 6 7 8\n"
    )
    mesh = vv.mesh.load(tmp_path / "a.obj", unit="cm")

    class Recorded:
        def surfaces(self):
            return np.stack([mesh.vertices] * 2), mesh, 0.1, "a", {"x": 1}

    cache = recorded_cache(Recorded(), ".obj")
    cache.write(tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as packed:
        text = packed.read("a/a-0000.obj").decode()
    assert text.count("\nv ") == 8
    assert "\nf 5 6 7 8\n" in text
    assert json.loads(text.splitlines()[0].removeprefix("# vivace "))["unit"] == "cm"
