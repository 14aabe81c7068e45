"""Vertices over time through every format and back: the same numbers, triangles, UVs, names, units and times."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

import vivace as vv
from vivace import caches
from vivace.caches import CACHES, Animation, Cache, is_installed

SIDE, FRAMES, H = 7, 5, 1 / 30
NAMES = [
    "a.npz",
    "a.pc2",
    "a.mdd",
    "o/a-###.obj",
    "p/####.ply",
    "a.usd",
    "a.usdc",
    "a.usda",
    "a.abc",
    "a.glb",
    "a.xdmf",
]


def wave(frames=FRAMES, side=SIDE):
    """A sheet with a wave in it, and UVs."""
    u, v = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side))
    uvs = np.stack([u.ravel(), v.ravel()], axis=1).astype(np.float32)
    k = np.arange(side * side).reshape(side, side)
    a, b, c, d = k[:-1, :-1].ravel(), k[:-1, 1:].ravel(), k[1:, 1:].ravel(), k[1:, :-1].ravel()
    triangles = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]).astype(np.int32)
    heights = [0.1 * np.sin(6 * uvs[:, 0] + 0.3 * f) for f in range(frames)]
    positions = np.stack([np.column_stack([uvs[:, 0], y, uvs[:, 1] - 3]) for y in heights]).astype(np.float32)
    return Animation(H * np.arange(frames), positions, triangles, uvs, "a wave")


def kind_of(name):
    kind = CACHES[os.path.splitext(name)[1]]
    if not is_installed(kind):
        pytest.skip(f"{kind.needs} is not installed")
    return kind


def test_every_format_is_tried():
    assert {os.path.splitext(name)[1] for name in NAMES} == set(CACHES)


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "up"), [("m", "y"), ("cm", "z")])
@pytest.mark.parametrize("name", NAMES)
def test_round_trip(tmp_path, name, unit, up):
    """Equal bits in metres; in centimetres, within two roundings of float32. glTF adds displacements: within two."""
    kind, given = kind_of(name), wave()
    if kind.metric and unit != "m":
        with pytest.raises(vv.InputError, match="in metres"):
            vv.export(given, tmp_path / name, unit=unit, up=up)
        return
    assert vv.export(given, tmp_path / name, unit=unit, up=up) == tmp_path / name
    found = caches.read(tmp_path / name)
    exact = unit == "m" and not kind.metric
    np.testing.assert_allclose(found.positions, given.positions, rtol=0, atol=0 if exact else 2 * 2.4e-7)
    np.testing.assert_array_equal(found.triangles, given.triangles)
    np.testing.assert_allclose(found.uvs, given.uvs, atol=6e-8)
    np.testing.assert_allclose(found.times, given.times, atol=1e-7)
    assert (found.name, found.unit, found.up) == ("a wave", unit, up)
    assert not [left for left in os.listdir(tmp_path) if left.startswith(".")]


@pytest.mark.slow
def test_numbers_in_files_are_those_of_the_unit(tmp_path):
    """An independent reader sees centimetres with z up: (x, y, z) is at 100 (x, -z, y)."""
    pxr = pytest.importorskip("pxr.UsdGeom")
    given = wave()
    vv.export(given, tmp_path / "a.usdc", unit="cm", up="z", settings={"budget": 8})
    from pxr import Usd

    stage = Usd.Stage.Open(str(tmp_path / "a.usdc"))
    mesh = pxr.Mesh(stage.GetDefaultPrim())
    assert pxr.GetStageMetersPerUnit(stage) == 0.01
    assert pxr.GetStageUpAxis(stage) == "Z"
    assert stage.GetTimeCodesPerSecond() == pytest.approx(30)
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, FRAMES - 1)
    assert '"budget": 8' in stage.GetRootLayer().documentation
    x, y, z = given.positions[3].T.astype(np.float64)
    np.testing.assert_allclose(mesh.GetPointsAttr().Get(3), 100 * np.column_stack([x, -z, y]), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(pxr.PrimvarsAPI(mesh).GetPrimvar("st").Get(), given.uvs)


@pytest.mark.slow
def test_trimesh_reads_the_first_frame_of_a_glb_and_each_ply(tmp_path):
    import trimesh

    given = wave()
    vv.export(given, tmp_path / "a.glb")
    (first,) = trimesh.load(tmp_path / "a.glb").geometry.values()
    np.testing.assert_array_equal(np.asarray(first.vertices, np.float32), given.positions[0])
    vv.export(given, tmp_path / "p" / "##.ply")
    for k, positions in enumerate(given.positions):
        read = trimesh.load(tmp_path / "p" / f"{k:02d}.ply", process=False)
        np.testing.assert_array_equal(np.asarray(read.vertices, np.float32), positions)


@pytest.mark.slow
def test_a_simulation_is_stepped_and_its_first_pose_is_there(tmp_path):
    """Frame k is where the simulation is after k steps."""
    make = lambda: vv.Simulation(  # noqa: E731
        vv.Model.of(vv.mesh.cloth(6, 6)).pin("top-corners"), budget=vv.Budget(iterations=2), time_step=1 / 60
    )
    vv.export(make(), tmp_path / "a.pc2", frames=3)
    found, sim = caches.read(tmp_path / "a.pc2"), make()
    assert found.times[-1] == pytest.approx(3 / 60)
    for k in range(4):
        np.testing.assert_array_equal(found.positions[k], np.asarray(sim.positions, np.float32))
        sim.step()


def test_another_surface_follows(tmp_path):
    """What is written is `at(positions)` of the surface given, with its UVs."""
    given = wave()
    fine = SimpleNamespace(triangles=[[0, 1, 2]], at=lambda q: q[[0, 3, 5]] + 1, uvs=[[0, 0], [1, 0], [1, 1]], name="f")
    vv.export(given, tmp_path / "a.npz", surface=fine)
    found = caches.read(tmp_path / "a.npz")
    np.testing.assert_array_equal(found.positions, given.positions[:, [0, 3, 5]] + np.float32(1))
    assert found.name == "f"
    assert found.uvs.tolist() == fine.uvs


def test_what_is_wrong_is_said_before_anything_is_written(tmp_path):
    given = wave()
    for path, options, words in [
        ("a.usx", {}, "did you mean"),
        ("a.npz", {"unit": "cn"}, r"did you mean .*'cm'"),
        ("a.npz", {"up": "w"}, "known"),
        ("a.obj", {}, "say where the number goes"),
        ("a.npz", {"frames": 0}, "1 or more"),
    ]:
        with pytest.raises(vv.InputError, match=words):
            vv.export(given, tmp_path / path, **options)
    with pytest.raises(vv.InputError, match="time_step"):
        vv.export(given.positions, tmp_path / "a.npz", surface=given.triangles)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("dear")
    with pytest.raises(vv.FileError, match=r"diary\.txt"):
        vv.export(given, tmp_path / "mine" / "###.obj")
    assert sorted(os.listdir(tmp_path)) == ["mine"]


@pytest.mark.parametrize("name", ["a.npz", "o/a-###.obj", "a.mdd"])
def test_a_failed_export_leaves_what_was_there(tmp_path, name):
    given = wave()
    vv.export(given, tmp_path / name)
    bad = given.positions.copy()
    bad[3, 4, 1] = np.nan
    with pytest.raises(vv.InputError, match=r"frame 3 .* vertex 4"):
        vv.export(iter(bad), tmp_path / name, surface=given.triangles, time_step=H)
    np.testing.assert_array_equal(caches.read(tmp_path / name).positions, given.positions)


def test_a_sequence_with_fewer_frames_replaces_a_longer_one(tmp_path):
    vv.export(wave(9), tmp_path / "s" / "###.ply")
    vv.export(wave(2), tmp_path / "s" / "###.ply")
    assert sorted(os.listdir(tmp_path / "s")) == ["000.ply", "001.ply"]


KILLED = """
import sys, itertools
sys.path.insert(0, {tests!r})
from caches.test_caches import wave, wave_surface, H
from vivace.caches import Cache
given = wave()
with Cache({path!r}, wave_surface(), time_step=H) as cache:
    for k in itertools.count():
        cache.add(given.positions[k % 5])
        if k == 40:
            print("on", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.usdc", "a.glb", "o/###.obj", "a.xdmf"])
def test_killed_while_writing(tmp_path, name):
    """After kill -9 there is no half file; the next export cleans up and finishes."""
    kind_of(name)
    tests = os.path.dirname(os.path.dirname(__file__))
    text = KILLED.format(tests=tests, path=str(tmp_path / name))
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"on\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = os.listdir(tmp_path)
    assert left
    assert all(entry.startswith(".") for entry in left)
    vv.export(wave(), tmp_path / name)
    assert not [entry for entry in os.listdir(tmp_path) if entry.startswith(".")]
    assert len(caches.read(tmp_path / name)) == FRAMES


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.npz", "a.pc2", "a.mdd", "a.glb", "p/##.ply", "o/##.obj"])
def test_damaged_files_are_refused_or_read(tmp_path, name):
    """Bytes changed, removed and repeated: an error of ours, or an animation of finite numbers; never more memory."""
    vv.export(wave(2, 4), tmp_path / name)
    where = tmp_path / name.replace("##", "00")
    whole, random_ = where.read_bytes(), random.Random(7)
    refused = 0
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(random_.randint(1, 4)):
            data[random_.randrange(min(len(data), random_.choice([64, 4000])))] = random_.randrange(256)
        if random_.random() < 0.5:
            del data[random_.randrange(len(data)) :]
        where.write_bytes(data)
        try:
            found = caches.read(tmp_path / name, time_step=H)
            assert np.isfinite(found.positions).all()
            assert found.positions.nbytes <= 2 * len(whole)
        except (vv.FileError, vv.InputError) as error:
            refused += "cannot read" in str(error)
    assert refused > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.usdc", "a.abc", "a.xdmf"])
def test_damaged_files_of_other_libraries_end_a_process_only(tmp_path, name):
    kind_of(name)
    vv.export(wave(2, 4), tmp_path / name)
    where = tmp_path / name.replace("xdmf", "h5")
    whole = where.read_bytes()
    where.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(vv.FileError, match="cannot read"):
        caches.read(tmp_path / name)


def test_a_header_that_promises_too_much(tmp_path):
    """Two thousand million frames in sixty bytes: nothing is allocated."""
    (tmp_path / "a.pc2").write_bytes(
        b"POINTCACHE2\0" + np.array([1, 2**30], "<i4").tobytes() + bytes(8) + b"\xff\xff\xff\x7f"
    )
    with pytest.raises(vv.FileError, match="promises"):
        caches.read(tmp_path / "a.pc2")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if "usd" not in name and "abc" not in name])
def test_memory_does_not_grow_with_frames(tmp_path, name):
    """From the 50th frame to the 200th less is kept than two of them take; `benchmarks/caches.py` has whole films."""
    kind_of(name)
    given = wave(1, 20)
    tracemalloc.start()
    try:
        with Cache(tmp_path / name, given_surface(given), time_step=H) as cache:
            kept = []
            for k in range(200):
                cache.add(given.positions[0] + np.float32(0.001 * k))
                if k in (50, 199):
                    gc.collect()
                    kept.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert kept[1] - kept[0] < 2 * given.positions[0].nbytes


@pytest.mark.slow
def test_usd_is_saved_again_and_again(tmp_path, monkeypatch):
    """After each save the file is opened anew; what was there before it, and faces, UVs and names, stay."""
    kind_of("a.usdc")
    from vivace.caches import usd

    given = wave(frames=7)
    for most in (1, 2, 512):
        monkeypatch.setattr(usd, "MOST_FRAMES", most)
        found = caches.read(vv.export(given, tmp_path / f"{most}.usdc"))
        assert np.array_equal(found.positions, given.positions)
        assert np.array_equal(found.triangles, given.triangles)
        assert np.array_equal(found.uvs, given.uvs)
        assert np.allclose(found.times, given.times, atol=1e-9)
        assert found.name == given.name


def given_surface(given):
    return SimpleNamespace(triangles=given.triangles, at=lambda q: q, uvs=given.uvs)


def test_nothing_added_is_no_file(tmp_path):
    with pytest.raises(vv.InputError, match="not a frame"), Cache(tmp_path / "a.npz", wave_surface(), time_step=H):
        pass
    assert not os.listdir(tmp_path)


def wave_surface():
    return SimpleNamespace(triangles=wave().triangles, at=lambda q: q)
