"""The command as a process of its own: entry point, pipes, encodings, Ctrl-C."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from vivace import __version__, load

COMMAND = [sys.executable, "-m", "vivace"]
PATIENCE = 600  # s: where kernels have not been compiled yet, the first command compiles them


def run(*arguments, **options):
    text = [str(argument) for argument in arguments]
    return subprocess.run([*COMMAND, *text], capture_output=True, text=True, timeout=PATIENCE, **options)


@pytest.mark.slow
def test_python_m_vivace():
    result = run("run", "bar", "--set", "resolution=3", "--iterations", 2, "--frames", 1, "--json")
    assert result.returncode == 0
    assert result.stderr == ""
    assert json.loads(result.stdout)["settings"]["version"] == __version__


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_under_standard_output():
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*COMMAND, "list", "scenes"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE
        )
    assert result.returncode == 1
    assert "Traceback" not in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("list", "--json"), ("list",)])
def test_a_reader_that_leaves_early(arguments):
    """As `vivace list | head -0`: quiet, without a traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        result = subprocess.run(
            [*COMMAND, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=PATIENCE
        )
    finally:
        os.close(writing)
    assert result.stderr == ""


@pytest.mark.slow
def test_a_terminal_without_unicode():
    environment = dict(os.environ, PYTHONIOENCODING="ascii")
    command = ("run", "bar", "--set", "resolution=3", "--iterations", 2, "--frames", 1, "--error-samples", 0)
    result = run(*command, "--quiet", env=environment)
    assert result.returncode == 0
    assert "Traceback" not in result.stderr


CODE = """
import signal, sys, threading, os
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background plans ignore it, and hand that down
import vivace.cli as c
from vivace.bench import frames
made, add = [], frames.FrameLog.add
def counted(log, row, arrays):
    add(log, row, arrays)
    made.append(row)
    if len(made) == 20:
        print("running", flush=True)
frames.FrameLog.add = counted
print("ready", flush=True)
sys.exit(c.main(sys.argv[1:]))
"""


@contextmanager
def begun(*arguments, code="", **options):
    """A command in a process of its own that takes Ctrl-C; `code` comes first."""
    command = [sys.executable, "-c", f"{code}\n{CODE}", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    with subprocess.Popen(command, **pipes) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


ENDLESS = ("run", "bar", "--set", "resolution=3", "--frames", 1000000, "--iterations", 1, "--quiet")
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


@pytest.mark.slow
@posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_with_what_was_done(tmp_path, number, code):
    """Whole frames in whole files, one line, and a checkpoint of the last frame from which the run goes on."""
    path = tmp_path / "run.npz"
    arguments = (*ENDLESS, "--out", path, "--trace", tmp_path / "run.csv", "--checkpoint-every", 1000)
    with begun(*arguments) as process:
        assert process.stdout.readline() == "running\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert out == ""
    assert len(err.splitlines()) == 1
    frames = int(re.match(r"vivace: interrupted; (\d+) of 1000000 frames were made; wrote ", err)[1])
    assert frames >= 20
    with np.load(path) as file:
        assert len(file["positions"]) == frames
    assert len((tmp_path / "run.csv").read_text().splitlines()) == frames + 1
    assert load(tmp_path / "run.vivace").frames == frames


@pytest.mark.slow
@posix
def test_an_interrupt_before_the_first_frame_leaves_nothing_behind(tmp_path):
    path = tmp_path / "run.npz"
    code = "import os, signal; from vivace.scenes import Scene; "
    code += "Scene.simulate = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)"  # in the warm-up
    with begun(*ENDLESS, "--out", path, code=code) as process:
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err == "vivace: interrupted; files are whole or not there\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_interrupt_while_something_is_compiled_is_one_line(tmp_path):
    """It leaves an object of LLVM half made, which cannot be taken apart: nobody wants to read of that."""
    code = "from llvmlite.binding import value\ndef stop(*_): raise KeyboardInterrupt\nvalue.ValueRef.__init__ = stop"
    with begun(*ENDLESS, code=code, env=dict(os.environ, NUMBA_CACHE_DIR=str(tmp_path))) as process:
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert err == "vivace: interrupted; files are whole or not there\n"


@pytest.mark.slow
@posix
def test_the_terminal_is_left_as_it_was(tmp_path):
    """The cursor that a progress bar hides is shown again after the last bar."""
    import pty

    terminal, end = pty.openpty()
    text = b""
    with begun("colour", "tablecloth", "--set", "resolution=20", "--repeat", 1000000, stderr=end) as process:
        os.close(end)
        while b"colouring by" not in text:
            text += os.read(terminal, 65536)
        process.send_signal(signal.SIGINT)
        with suppress(OSError):
            while data := os.read(terminal, 65536):
                text += data
        process.wait(timeout=PATIENCE)
    assert process.returncode == 130
    assert text.rfind(b"\x1b[?25h") > text.rfind(b"\x1b[?25l") >= 0
    assert text.decode().rstrip().endswith("vivace: interrupted; files are whole or not there")
