"""Films: how many frames a second they have, how they are written, and what a killed writer leaves."""

import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from PIL import Image

from vivace import Model, mesh
from vivace.errors import FileError, InputError
from vivace.pictures import Film, save_animation
from vivace.pictures.film import FASTEST, SLOWEST, WRITERS, pace, write_film
from vivace.viewer.film_process import write_in_process

QUICK = {"size": (64, 48), "backend": "painter", "samples": 1}


# --- how many frames a second ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FASTEST)
@pytest.mark.parametrize("h", [1 / 15, 1 / 30, 1 / 50, 1 / 60, 1 / 119, 1 / 120, 1 / 121, 1 / 240, 0.0005, 1e-6])
def test_films_play_in_simulated_time(suffix, h):
    """every * h * fps = 1, with the fewest frames left out that the format allows."""
    every, fps = pace(h, suffix)
    assert every * h * fps == pytest.approx(1)
    assert SLOWEST <= fps <= FASTEST[suffix]
    if every > 1:
        assert 1 / ((every - 1) * h) > FASTEST[suffix]


@pytest.mark.parametrize(("suffix", "rate"), [(".mp4", 120), (".gif", 50), (".MP4", 60)])
def test_a_rate_that_the_format_has_is_kept_whole(suffix, rate):
    """However 1/rate is rounded: no frame is left out for a last digit."""
    for h in (1 / rate, np.nextafter(1 / rate, 0), np.nextafter(1 / rate, 1), 0.5 * (2 / rate)):
        every, fps = pace(h, suffix)
        assert every == 1
        assert fps == pytest.approx(rate)


def test_steps_that_are_too_long_play_as_slowly_as_it_goes():
    assert pace(1000.0, ".gif") == (1, SLOWEST)


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("fps", [0, -1, float("nan"), float("inf"), 0.99 * SLOWEST, 1000])
def test_one_refusal_for_speeds_that_cannot_be(tmp_path, small_sheet, suffix, fps):
    path = tmp_path / f"a{suffix}"
    said = []
    for write in (
        lambda: save_animation(path, [small_sheet[0]], small_sheet[1], fps=fps, **QUICK),
        lambda: write_film(path, iter(()), (64, 48), fps, ""),
    ):
        with pytest.raises(
            InputError, match=rf"0\.1 to {FASTEST[suffix]:g} frames a second, not .*change fps"
        ) as error:
            write()
        said.append(str(error.value))
    assert said[0] == said[1]
    assert not (tmp_path / "a.mp4").exists()


def test_a_gif_is_refused_what_an_mp4_may_have(tmp_path, small_sheet):
    with pytest.raises(InputError, match=r"0\.1 to 50 frames a second, not 60"):
        save_animation(tmp_path / "a.gif", [small_sheet[0]], small_sheet[1], fps=60, **QUICK)


# --- films of a model ------------------------------------------------------------------------------------------------


def film(count=9, h=1 / 240):
    model = Model.of(mesh.cloth(4, 4)).pin("top")
    moves = np.linspace(0, 0.3, count)[:, None, None] * np.array([0.0, 0.0, 1.0])
    return Film.of(model, model.mesh.vertices + moves, h, view=(0.5, 0.5, 1.0), settings={"seed": 3})


def read(path):
    """(pixels, delays, comment) of a GIF."""
    with Image.open(path) as image:
        pixels, delays = [], []
        for k in range(image.n_frames):
            image.seek(k)
            delays.append(image.info["duration"])
            pixels.append(np.asarray(image.convert("RGB"), float))
        return np.array(pixels), delays, image.info["comment"]


def test_thinning_keeps_the_time_and_is_done_once(tmp_path):
    thin = film().thinned(".gif")
    assert len(thin.frames) == 2  # of frames 0 and 5: at 48 a second
    assert thin.h == pytest.approx(5 / 240)
    again = thin.thinned(".gif")
    assert len(again.frames) == 2
    assert again.h == thin.h


@pytest.mark.slow
def test_a_film_has_its_frames_and_its_length(tmp_path):
    seen = []
    film(4, 1 / 50).write(tmp_path / "a.gif", lambda done, total: seen.append((done, total)))
    assert seen == [(k, 4) for k in range(1, 5)]
    pixels, delays, _ = read(tmp_path / "a.gif")
    assert len(pixels) == 4
    assert sum(delays) == 80  # ms


@pytest.mark.slow
def test_another_process_writes_the_same_film(tmp_path):
    """`vivace run` writes in its own process, the live app in another."""
    one, seen = film(), []
    one.thinned(".gif").write(tmp_path / "a.gif", backend="raster")
    write_in_process(one, tmp_path / "b.gif", lambda done, total: seen.append((done, total)))
    assert (seen[0], seen[-1]) == ((0, 2), (2, 2))  # at once, and when it is done
    assert seen == sorted(seen)
    (pixels, *about), (others, *about_other) = read(tmp_path / "a.gif"), read(tmp_path / "b.gif")
    assert about == about_other
    assert pixels.shape == others.shape
    assert pixels.std() > 10
    assert np.abs(pixels - others).mean() < 1  # of 255: graphics libraries may round otherwise in another process


@pytest.mark.slow
def test_what_stops_the_other_process_is_said_here(tmp_path):
    (tmp_path / "a.gif").mkdir()
    with pytest.raises(FileError, match=r"cannot write .*it is a folder"):
        write_in_process(film(), tmp_path / "a.gif", lambda done, total: None)


@pytest.mark.slow
def test_a_film_that_nobody_wants_any_longer(tmp_path):
    cancelled = threading.Event()

    def progress(done, total):
        if done:
            cancelled.set()

    with pytest.raises(FileError, match="cancelled"):
        write_in_process(film(count=2000, h=1 / 100), tmp_path / "a.mp4", progress, cancelled)
    assert not (tmp_path / "a.mp4").exists()


# --- killed writers --------------------------------------------------------------------------------------------------

WRITER = """
import pickle, sys
from pathlib import Path

film = pickle.loads(Path(sys.argv[1]).read_bytes())

def wait(done, total):
    if done == 2:
        print("half-way", flush=True)
        sys.stdin.read()

film.write(Path(sys.argv[2]), wait)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are asked for by their number on POSIX only")
def test_what_a_killed_film_left_goes_with_the_next(tmp_path):
    target, source = tmp_path / "out" / "cloth.gif", tmp_path / "film"
    source.write_bytes(pickle.dumps(film(3, 1 / 30)))
    command = [sys.executable, "-c", WRITER, str(source), str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "half-way\n"
        (left,) = target.parent.iterdir()
        film(2, 1 / 30).write(target)  # while the other one lives, its file is left alone
        assert sorted(target.parent.iterdir()) == sorted([left, target])
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert left.exists()
    film(2, 1 / 30).write(target)
    assert list(target.parent.iterdir()) == [target]
    with Image.open(target) as image:
        assert image.n_frames == 2
