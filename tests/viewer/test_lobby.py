"""The page that is there before the simulation is."""

import asyncio
import json
import subprocess
import sys
import urllib.request
from types import SimpleNamespace

import pytest
from websockets.exceptions import InvalidStatus

from vivace.backends.cpu.compiling import compilation, compile_now, described
from vivace.errors import InputError
from vivace.solvers import Budget
from vivace.viewer.choices import Target
from vivace.viewer.lobby import Lobby
from vivace.viewer.security import Gate, url_of
from vivace.viewer.starting import warm_up

from .conftest import PATIENCE, SMALL
from .test_server import closed, connect

LIGHT = """
import sys
import vivace.viewer.lobby
from vivace.cli.main import parser
parser("view")
heavy = [name for name in ("numba", "scipy", "vivace.solvers", "vivace.scenes", "vivace.mesh") if name in sys.modules]
print(heavy)
"""


@pytest.mark.slow
def test_nothing_big_is_loaded_for_it():
    """Numba, SciPy and the solvers take a second or two."""
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout.strip() == "[]"


def test_pages_are_told_what_is_done_and_to_come_again():
    async def look(address, lobby):
        async with connect(address) as socket:
            said = [json.loads(await socket.recv())]
            lobby.say("compiling", 3, 52)
            while said[-1]["done"] != 3:
                said.append(json.loads(await socket.recv()))
            await socket.send("nobody listens yet")
            await asyncio.to_thread(lobby.__exit__, None)
            return said, await closed(socket)

    lobby = Lobby(gate := Gate(), "127.0.0.1", 0).__enter__()
    lobby.say("loading")
    with urllib.request.urlopen(url_of("127.0.0.1", lobby.port, gate).partition("#")[0], timeout=PATIENCE) as page:
        assert b"Vivace" in page.read() or page.status == 200
    address = f"ws://127.0.0.1:{lobby.port}/socket?token={gate.token}"
    said, code = asyncio.run(asyncio.wait_for(look(address, lobby), PATIENCE))
    assert said[0] == {"type": "starting", "text": "loading", "done": None, "total": None, "failed": False}
    assert (said[-1]["text"], said[-1]["total"]) == ("compiling", 52)
    assert code == 1012
    with Lobby(gate, "127.0.0.1", lobby.port) as again:  # the port is free at once
        assert again.port == lobby.port


def test_without_the_key_nothing_is_told():
    async def look(address):
        async with connect(address):
            pass

    with Lobby(Gate(), "127.0.0.1", 0) as lobby, pytest.raises(InvalidStatus, match="403"):
        asyncio.run(asyncio.wait_for(look(f"ws://127.0.0.1:{lobby.port}/socket?token=old"), PATIENCE))


def test_a_port_that_is_taken_is_said():
    with Lobby(Gate(), "127.0.0.1", 0) as lobby, pytest.raises(InputError, match=f"port {lobby.port}"):
        Lobby(Gate(), "127.0.0.1", lobby.port).__enter__()


@pytest.mark.slow
def test_a_scene_that_is_not_there_is_said_and_ends_it(capsys):
    """With the nearest that there is."""
    from vivace.cli import main

    assert main(["view", "tableclot", "--no-browser", "--port", "0"]) == 1
    assert "tablecloth" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("target", [SMALL, Target("box-stack", {"n": 2})], ids=["soft", "rigid"])
def test_warming_up_leaves_no_trace(target):
    """Steps afterwards are those of a simulation that was never warmed up, bit for bit."""
    scene = target.load()
    cold, warm = scene.simulate(threads=1), scene.simulate(threads=1)
    before = warm.budget
    warm_up(warm)
    assert warm.budget == before
    cold.budget = warm.budget = Budget(iterations=5)
    for _ in range(3):
        cold.step()
        warm.step()
    assert warm.frames == cold.frames == 3
    assert (warm.positions == cold.positions).all()


def test_what_is_compiled_is_described():
    told = []
    with compilation(told.append):
        compile_now(_double, cache=False)(2.0)
    assert told == [described(_double)]
    assert told[0].endswith(": double")
    kernel = SimpleNamespace(__module__="vivace.collisions.kernels.distance", __name__="_root")
    assert described(kernel) == "collisions, distance: root"
    assert described(lambda: 0).count("<") == 0


def _double(x):
    return 2 * x
