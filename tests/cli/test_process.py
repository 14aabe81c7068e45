"""The command as a process of its own: entry point, pipes, encodings, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from vivace import __version__

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


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_an_interrupt_leaves_nothing_behind(tmp_path):
    path = tmp_path / "run.npz"
    arguments = ["run", "bar", "--frames", "1000000", "--iterations", "1", "--out", str(path)]
    # A shell's background plans ignore SIGINT and hand that down; ask for Python's own handler.
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); import vivace.cli as c; "
    code += "print('ready', flush=True); sys.exit(c.main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.0)  # into the simulation; wherever it lands, the outcome is the same
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "vivace: interrupted" in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
