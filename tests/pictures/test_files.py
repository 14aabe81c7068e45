import builtins
import json
import re
import subprocess

import numpy as np
import pytest
from PIL import Image

from vivace import __version__
from vivace.errors import FileError, InputError, MissingExtraError
from vivace.pictures import Camera, save_animation, save_picture

QUICK = {"size": (128, 96), "backend": "painter", "samples": 1}
SETTINGS = {"scene": "wavy sheet", "seed": np.int64(7), "where": np.array([1.0, 2.0])}
RECORDED = {"vivace": __version__, "scene": "wavy sheet", "seed": 7, "where": [1.0, 2.0]}


@pytest.mark.slow
def test_picture_has_its_size_content_and_settings(tmp_path, sheet):
    path = tmp_path / "new" / "sheet.png"
    note = save_picture(path, *sheet, size=(320, 200), backend="painter", settings=SETTINGS)
    assert note == "drawn with painter"
    with Image.open(path) as image:
        assert image.size == (320, 200)
        assert json.loads(image.text["vivace"]) == RECORDED
        assert b"tEXt" in path.read_bytes()
        assert np.asarray(image).std() > 10
    assert [p.name for p in path.parent.iterdir()] == ["sheet.png"]


def test_the_same_picture_has_the_same_bytes(tmp_path, small_sheet):
    for name in ("a.png", "b.png"):
        save_picture(tmp_path / name, *small_sheet, settings=SETTINGS, **QUICK)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.slow
def test_gif_reads_back(tmp_path, small_frames, small_sheet):
    path, seen = tmp_path / "sheet.gif", []
    save_animation(
        path,
        small_frames,
        small_sheet[1],
        fps=30,
        settings=SETTINGS,
        progress=lambda done, total: seen.append((done, total)),
        **QUICK,
    )
    assert seen == [(k, 5) for k in range(1, 6)]
    with Image.open(path) as image:
        assert image.size == (128, 96)
        assert image.n_frames == 5
        assert image.info["loop"] == 0
        assert json.loads(image.info["comment"]) == RECORDED
        delays = []
        for k in range(5):
            image.seek(k)
            delays.append(image.info["duration"])
    assert sum(delays) == 170  # 5 frames at 30 a second, to the nearest hundredth


@pytest.mark.slow
def test_mp4_reads_back(tmp_path, small_frames, small_sheet):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / "sheet.mp4"
    options = {**QUICK, "size": (129, 97)}
    save_animation(path, np.array(small_frames), small_sheet[1], fps=25, settings=SETTINGS, **options)
    reader = ffmpeg.read_frames(str(path))
    about = next(reader)
    frames = [np.frombuffer(frame, np.uint8).reshape(96, 128, 3) for frame in reader]
    assert about["size"] == (128, 96)
    assert about["codec"].startswith("h264")
    assert about["pix_fmt"].startswith("yuv420p")
    assert about["fps"] == 25
    assert len(frames) == 5
    assert all(frame.std() > 10 for frame in frames)
    told = subprocess.run([ffmpeg.get_ffmpeg_exe(), "-i", str(path)], capture_output=True, text=True, check=False)
    assert json.loads(re.search(r"comment\s*: (.*)", told.stderr)[1]) == RECORDED


@pytest.mark.slow
def test_a_generator_is_drawn_as_it_comes(tmp_path, small_frames, small_sheet):
    seen = []
    save_animation(
        tmp_path / "sheet.gif",
        (frame for frame in small_frames),
        small_sheet[1],
        camera=Camera((1, 2, 4), (0, 0, 0)),
        colours=lambda number: small_frames[number][:, 1],
        colour_range=(-0.2, 0.9),
        progress=lambda done, total: seen.append((done, total)),
        **QUICK,
    )
    assert seen[-1] == (5, None)
    with Image.open(tmp_path / "sheet.gif") as image:
        assert image.n_frames == 5


@pytest.mark.parametrize("name", ["sheet.avi", "sheet"])
def test_unknown_suffixes_name_the_known_ones(tmp_path, small_sheet, name):
    with pytest.raises(InputError, match=r"written as \.mp4 or \.gif, not"):
        save_animation(tmp_path / name, [small_sheet[0]], small_sheet[1], **QUICK)
    with pytest.raises(InputError, match=r"written as \.png, not"):
        save_picture(tmp_path / name, *small_sheet, **QUICK)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
@pytest.mark.parametrize("camera", [None, Camera((1, 2, 4), (0, 0, 0))])
def test_no_frames(tmp_path, small_sheet, suffix, camera):
    with pytest.raises(InputError, match="at least one frame"):
        save_animation(tmp_path / f"a{suffix}", iter([]), small_sheet[1], camera=camera, **QUICK)
    assert not list(tmp_path.iterdir())


def test_mp4_without_ffmpeg_says_which_extra_brings_it(tmp_path, small_sheet, monkeypatch):
    honest = builtins.__import__

    def without(name, *rest):
        if name.startswith("imageio"):
            raise ImportError(name)
        return honest(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r'writing an MP4 .*pip install "vivace\[pictures\]"'):
        save_animation(tmp_path / "a.mp4", [small_sheet[0]], small_sheet[1], **QUICK)
    assert not list(tmp_path.iterdir())
    save_animation(tmp_path / "a.gif", [small_sheet[0]], small_sheet[1], **QUICK)
    assert (tmp_path / "a.gif").stat().st_size > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.gif", "a.mp4"])
def test_an_error_halfway_keeps_the_file_that_was_there(tmp_path, small_sheet, name):
    if name.endswith("mp4"):
        pytest.importorskip("imageio_ffmpeg")
    positions, triangles = small_sheet
    (tmp_path / name).write_bytes(b"before")
    with pytest.raises(InputError, match="only 2 positions"):
        save_animation(tmp_path / name, [positions, positions, positions[:2]], triangles, **QUICK)
    assert (tmp_path / name).read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_places_that_cannot_be_written(tmp_path, small_sheet):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder.png").mkdir()
    for path in (tmp_path / "file" / "a.png", tmp_path / "folder.png"):
        with pytest.raises(FileError, match="cannot write"):
            save_picture(path, *small_sheet, **QUICK)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "folder.png"]
