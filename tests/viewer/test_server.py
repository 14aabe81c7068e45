"""The server: what it lets in, and what it does with clients that misbehave."""

import asyncio
import json
import urllib.error
import urllib.request
from contextlib import suppress
from functools import partial

import pytest
from websockets.asyncio.client import connect as connect_within
from websockets.exceptions import ConnectionClosed, InvalidStatus

from viewer.conftest import PATIENCE, until
from vivace.viewer import server as serving
from vivace.viewer.packing import unpack

connect = partial(connect_within, open_timeout=PATIENCE, ping_timeout=None)


def address(viewer, token=None):
    return f"ws://127.0.0.1:{viewer.port}/socket?token={viewer.gate.token if token is None else token}"


async def frames(socket, count, on_frame=None):
    """The headers of that many frames, each acknowledged; text and scenes go into the list too."""
    seen, others = [], []
    while len(seen) < count:
        message = await asyncio.wait_for(socket.recv(), PATIENCE)
        if isinstance(message, str):
            others.append(json.loads(message))
            continue
        header, arrays = unpack(message)
        if header["type"] == "scene":
            others.append({**header, "unpacked": arrays})
            continue
        seen.append({**header, "unpacked": arrays})
        await socket.send(json.dumps({"type": "drawn", "frame": header["frame"]}))
    return seen, others


async def closed(socket):
    """Read until the server closes the socket; its code."""
    try:
        while True:
            await asyncio.wait_for(socket.recv(), PATIENCE)
    except ConnectionClosed as error:
        return error.rcvd.code if error.rcvd else 1006


def in_client(viewer, work, patience=PATIENCE, **options):
    async def run():
        async with connect(address(viewer), max_size=None, **options) as socket:
            return await asyncio.wait_for(work(socket), patience)

    return asyncio.run(run())


@pytest.mark.slow
def test_a_client_gets_hello_state_scene_and_frames(viewer):
    seen, others = in_client(viewer, lambda socket: frames(socket, 5))
    assert others[0]["type"] == "hello"
    assert "state" in [message["type"] for message in others[1:3]]  # a newer one may come after what else is said
    scene = next(message for message in others if message["type"] == "scene")
    assert scene["vertices"] == 144
    assert len(scene["unpacked"]["triangles"]) == 3 * 242
    numbers = [frame["frame"] for frame in seen]
    assert numbers == sorted(set(numbers))
    view = seen[-1]["views"][0]
    assert view["sweeps"] > 0
    assert [stage for stage, _ in view["stages"]] == ["predict", "collide", "colour", "solve", "guard", "update"]
    assert len(seen[-1]["unpacked"]["positions0"]) == 3 * 144


async def published(viewer, count):
    """Wait until the simulation has published that many frames more; the number of the newest."""
    newest = viewer.session.newest
    wanted = (newest.number if newest else 0) + count

    async def wait():
        while viewer.session.newest is None or viewer.session.newest.number < wanted:
            await asyncio.sleep(0.005)

    await asyncio.wait_for(wait(), PATIENCE)
    return viewer.session.newest.number


async def received(socket, wanted, patience=PATIENCE):
    """What comes up to the first message that `wanted` is true of, unpacked; nothing is said to be drawn."""
    seen = []
    while not seen or not wanted(seen[-1]):
        message = await asyncio.wait_for(socket.recv(), patience)
        seen.append(json.loads(message) if isinstance(message, str) else unpack(message)[0])
    return seen


@pytest.mark.slow
def test_without_credit_there_is_no_second_frame(viewer):
    async def work(socket):
        seen = await received(socket, lambda message: message["type"] == "frame")
        await published(viewer, 10)  # the simulation did not wait
        for _ in range(2):  # the writer looks for a frame after every notice: the second comes after that
            await socket.send("nonsense")
            seen += await received(socket, lambda message: message["type"] == "notice")
        return seen

    assert [message["type"] for message in in_client(viewer, work)].count("frame") == 1


@pytest.mark.slow
def test_the_newest_frame_wins(viewer):
    async def work(socket):
        first = (await received(socket, lambda message: message["type"] == "frame"))[-1]["frame"]
        newest = await published(viewer, 10)
        await socket.send(json.dumps({"type": "drawn", "frame": first}))
        second = (await received(socket, lambda message: message["type"] == "frame"))[-1]["frame"]
        return newest, second

    newest, second = in_client(viewer, work)
    assert second >= newest


@pytest.mark.parametrize("token", ["", "wrong", "%00"])
def test_a_wrong_token_is_refused(viewer, token):
    async def run():
        async with connect(address(viewer, token)):
            pass

    with pytest.raises(InvalidStatus, match="403"):
        asyncio.run(run())
    assert not viewer.server.clients


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1"])
def test_a_page_of_another_origin_is_refused(viewer, origin):
    async def run():
        async with connect(address(viewer), origin=origin):
            pass

    with pytest.raises(InvalidStatus, match="403"):
        asyncio.run(run())


def get(viewer, path, **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{viewer.port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return response.status, response.read(), response.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


@pytest.mark.parametrize(
    "path", ["/nothing", "/../pyproject.toml", "/%2e%2e/server.py", "/etc/passwd", "//etc/passwd", "/page/", "/files/"]
)
def test_no_path_leaves_the_page(viewer, path):
    assert get(viewer, path)[0] in (403, 404)


def test_another_host_name_is_refused(viewer):
    assert get(viewer, "/", Host="evil.example")[0] == 403


def test_files_need_the_token(viewer):
    viewer.server._files["recording.mp4"] = "video/mp4", b"film"
    assert get(viewer, "/files/recording.mp4")[0] == 403
    assert get(viewer, f"/files/recording.mp4?token={viewer.gate.token}")[1] == b"film"
    assert get(viewer, f"/files/other.mp4?token={viewer.gate.token}")[0] == 404


@pytest.mark.slow
def test_an_oversized_message_closes_its_own_socket_only(viewer):
    async def run():
        async with connect(address(viewer), max_size=None) as good, connect(address(viewer), max_size=None) as bad:
            await bad.send("x" * 100_000)
            assert await closed(bad)
            return await frames(good, 5)

    assert len(asyncio.run(run())[0]) == 5


@pytest.mark.slow
def test_a_flood_closes_its_own_socket_only(viewer):
    async def run():
        async with connect(address(viewer), max_size=None) as good, connect(address(viewer), max_size=None) as bad:
            with suppress(ConnectionClosed):
                for _ in range(20_000):
                    await bad.send('{"type": "release", "pointer": 0, "order": 1}')
            assert await closed(bad) == 1008
            return await frames(good, 5)

    assert len(asyncio.run(run())[0]) == 5


def test_too_many_clients(viewer, monkeypatch):
    monkeypatch.setattr(serving, "MOST_CLIENTS", 2)

    async def run():
        async with connect(address(viewer)), connect(address(viewer)), connect(address(viewer)) as third:
            return await closed(third)

    assert asyncio.run(run()) == 1013


@pytest.mark.slow
def test_faults_are_answered_and_then_end_the_talk(viewer):
    async def work(socket):
        with suppress(ConnectionClosed):
            for k in range(serving.MOST_FAULTS + 20):
                await socket.send(f'{{"type": "nonsense {k}"}}')
                await asyncio.sleep(0)
        return await closed(socket)

    assert in_client(viewer, work) == 1008
    until(lambda: not viewer.server.clients)


@pytest.mark.slow
def test_a_change_reaches_everybody(viewer):
    async def run():
        async with connect(address(viewer), max_size=None) as one, connect(address(viewer), max_size=None) as two:
            await one.send(json.dumps({"type": "change", "budget_ms": 5.0}))
            while True:
                _, others = await frames(two, 1)
                states = [message for message in others if message["type"] == "state"]
                if any(state["settings"]["budget_ms"] == 5.0 for state in states):
                    return

    asyncio.run(asyncio.wait_for(run(), PATIENCE))
    assert viewer.session.sims[0].budget.ms == 5.0


@pytest.mark.slow
def test_what_a_client_held_falls_when_it_goes(viewer):
    async def work(socket):
        seen, _ = await frames(socket, 1)
        grab = {
            "type": "grab",
            "pointer": 0,
            "vertex": 70,
            "target": [0, 0.3, 0],
            "scene": seen[0]["scene"],
            "order": 1,
        }
        await socket.send(json.dumps(grab))
        seen, _ = await frames(socket, 4)
        return seen[-1]["views"][0]["held"]

    assert in_client(viewer, work) == [70]
    until(lambda: viewer.session.sims[0].grabbed == ())


@pytest.mark.slow
def test_the_scene_can_be_saved(viewer, tmp_path):
    async def work(socket):
        await socket.send(json.dumps({"type": "change", "budget_ms": 5.5, "stiffness": 2.0, "wind": 3.0}))
        await socket.send(json.dumps({"type": "save", "what": "scene"}))
        while True:
            _, others = await frames(socket, 1)
            for message in others:
                if message["type"] == "download":
                    return message

    found = in_client(viewer, work)
    assert found["name"] == "tablecloth.toml"
    _, body, headers = get(viewer, f"/{found['path']}?token={viewer.gate.token}")
    assert headers["Content-Disposition"] == "attachment"
    path = tmp_path / "saved.toml"
    path.write_bytes(body)
    from vivace.scenes import load_scene

    scene = load_scene(path)
    assert scene.budget.ms == 5.5
    sim = scene.simulate(threads=1)
    assert sim.model.n == 144
    assert sim.wind[0] == pytest.approx(3.0)
    assert sim.model.groups[0].weights[0] == pytest.approx(viewer.session.sims[0].model.groups[0].weights[0])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["npz", "gif", "glb", "obj"])
def test_a_recording_can_be_saved(viewer, tmp_path, form):
    import numpy as np

    async def work(socket):
        await frames(socket, 1)
        await socket.send(json.dumps({"type": "set_recording", "on": True}))
        await frames(socket, 6)
        await socket.send(json.dumps({"type": "set_recording", "on": False}))
        await frames(socket, 2)
        await socket.send(json.dumps({"type": "change", "paused": True}))  # a film is drawn at a low priority
        save = {"type": "save", "what": "recording", "format": form, "eye": [1, 1, 2], "target": [0, 0, 0]}
        await socket.send(json.dumps(save))

        def over(message):
            return message["type"] == "download" or message.get("level", "info") != "info"

        return (await received(socket, over, 5 * PATIENCE))[-1]

    found = in_client(viewer, work, 6 * PATIENCE)
    assert found["type"] == "download", found
    _, body, _ = get(viewer, f"/{found['path']}?token={viewer.gate.token}")
    path = tmp_path / found["name"]
    path.write_bytes(body)
    if form == "npz":
        recording = np.load(path)
        assert recording["positions"].shape == (viewer.session.recording.frames, 144, 3)
        assert json.loads(str(recording["settings"]))["scene"] == "tablecloth"
    else:
        assert body[:4] == {"gif": b"GIF8", "glb": b"glTF", "obj": b"PK\3\4"}[form]
        assert path.suffix == {"obj": ".zip"}.get(form, f".{form}")


@pytest.mark.slow
def test_without_a_recording_there_is_nothing_to_save(viewer):
    async def work(socket):
        await socket.send(json.dumps({"type": "save", "what": "recording", "format": "npz"}))
        while True:
            _, others = await frames(socket, 1)
            for message in others:
                if message["type"] == "notice":
                    return message["text"]

    assert "no recording" in in_client(viewer, work)
