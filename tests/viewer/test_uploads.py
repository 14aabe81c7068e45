"""Meshes over the socket: those that are taken, and very many that are not, after each of which the server is up."""

import asyncio
import json
import random
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

import vivace as vv
from viewer.conftest import PATIENCE, until
from viewer.test_server import connect
from vivace.errors import FileError, InputError
from vivace.viewer import uploads
from vivace.viewer.mesh_content import CHECKS, check_content
from vivace.viewer.mesh_process import read_in_process
from vivace.viewer.uploads import MOST_BYTES, announced, shown_name, suffix_of

PART = 4096


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A small closed surface in every format."""
    folder = tmp_path_factory.mktemp("meshes")
    ball = vv.mesh.ball(3, 0.5)
    used, numbers = np.unique(ball.triangles, return_inverse=True)
    surface = vv.mesh.Mesh.from_triangles(ball.vertices[used], numbers.reshape(-1, 3))
    found = {}
    for suffix in CHECKS:
        vv.mesh.save(surface, folder / f"ball{suffix}")
        found[suffix] = (folder / f"ball{suffix}").read_bytes()
    return found


async def send(viewer, name, data, size=None, **more):
    """What the server says to an upload."""
    address = f"ws://127.0.0.1:{viewer.port}/upload?token={viewer.gate.token}"
    async with connect(address, max_size=None) as socket:
        with suppress(ConnectionClosed):  # it may have been cut off
            await socket.send(json.dumps({"name": name, "size": len(data) if size is None else size, **more}))
            for at in range(0, len(data), PART):
                await socket.send(data[at : at + PART])
        return json.loads(await socket.recv())["error"]


def is_up(viewer):
    """The physics and the server answer."""
    assert viewer.session.ask(lambda: True).result(PATIENCE)
    assert not viewer.server._uploads._busy


# --- announcements ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not an announcement"),
        ("[]", "not an announcement"),
        ('{"name": "a.obj"}', "not an announcement"),
        ('{"name": "a.obj", "size": -1}', "not an announcement"),
        ('{"name": "a.obj", "size": 0}', "not an announcement"),
        ('{"name": "a.obj", "size": 1e99}', "not an announcement"),
        ('{"name": 3, "size": 1}', "not an announcement"),
        ('{"name": "a.obj", "size": 10, "kind": "stone"}', "not an announcement"),
        (json.dumps({"name": "a" * 300 + ".obj", "size": 10}), "not an announcement"),
        (json.dumps({"name": "a.obj", "size": MOST_BYTES + 1}), "64 MB is the most"),
        ('{"name": "a.exe", "size": 10}', "none of these"),
        ('{"name": "obj", "size": 10}', "none of these"),
        ('{"name": "a.gltf", "size": 10}', "none of these"),
        ('{"name": "a.obj.zip", "size": 10}', "none of these"),
        ("[" * 3000, "not an announcement"),
    ],
)
def test_announcements_that_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        announced(text)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("bunny.obj", "bunny"),
        ("../../etc/passwd.obj", "passwd"),
        ("C:\\Users\\me\\shirt.OBJ", "shirt"),
        ("\u202egnp.obj", "gnp"),
        ("<script>.obj", "script"),
        ("....obj", "mesh"),
        ("/.obj", "mesh"),
        ("a\0b.obj", "a-b"),
        ("x" * 200 + ".obj", "x" * 40),
    ],
)
def test_a_name_is_for_people_and_no_path(name, shown):
    assert shown_name(name) == shown
    assert suffix_of(name) == ".obj"


# --- contents --------------------------------------------------------------------------------------------------------


def glb(scene, data=b""):
    text = json.dumps(scene).encode()
    text += b" " * (-len(text) % 4)
    body = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(data), 0x004E4942) + data
    return b"glTF" + struct.pack("<II", 2, 12 + len(body)) + body


HOSTILE = {
    "empty.obj": b"",
    "text.obj": b"no vertices here\n",
    "binary.obj": bytes(range(256)) * 20,
    "zip.obj": b"PK\x03\x04" + bytes(200),
    "nan.obj": b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "inf.obj": b"v 0 0 1e999\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "far.obj": b"v 0 0 1e300\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "index.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 999999999\n",
    "negative.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf -9 -8 -7\n",
    "words.obj": b"v a b c\nf 1 2 3\n",
    "points.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\n",
    "flat.obj": b"v 0 0 0\nv 0 0 0\nv 0 0 0\nf 1 2 3\n",
    "short.ply": b"ply\nformat ascii 1.0\n",
    "bomb.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\nproperty float x\nproperty float y\n"
    b"property float z\nelement face 4000000000\nproperty list uchar int vertex_indices\nend_header\n" + bytes(64),
    "list.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
    b"property float z\nelement face 1\nproperty list uint int vertex_indices\nend_header\n"
    + bytes(36)
    + b"\xff\xff\xff\x7f"
    + bytes(12),
    "texture.ply": b"ply\nformat ascii 1.0\ncomment TextureFile /etc/passwd\nelement vertex 0\nproperty float x\n"
    b"property float y\nproperty float z\nelement face 0\nproperty list uchar int vertex_indices\nend_header\n",
    "count.stl": bytes(80) + b"\xff\xff\xff\xff" + bytes(50),
    "ascii.stl": b"solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n",
    "magic.glb": b"glTX" + bytes(40),
    "length.glb": b"glTF" + struct.pack("<IIII", 2, 2**31, 2**31, 0x4E4F534A),
    "json.glb": b"glTF" + struct.pack("<IIII", 2, 24, 4, 0x4E4F534A) + b"{{{{",
    "deep.glb": b"glTF" + struct.pack("<IIII", 2, 20 + 4000, 4000, 0x4E4F534A) + b"[" * 4000,
    "array.glb": glb([]),
    "numbers.glb": glb({"accessors": [{"count": "many"}]}),
    "draco.glb": glb({"extensionsRequired": ["KHR_draco_mesh_compression"]}),
    "meshopt.glb": glb({"extensionsUsed": ["EXT_meshopt_compression"]}),
    "file.glb": glb({"buffers": [{"uri": "../../etc/passwd", "byteLength": 4}]}),
    "image.glb": glb({"images": [{"uri": "file:///etc/passwd"}]}),
    "net.glb": glb({"buffers": [{"uri": "http://127.0.0.1:1/x.bin", "byteLength": 4}]}),
    "zeros.glb": glb({"accessors": [{"count": 2**31, "componentType": 5126, "type": "VEC3"}]}),
    "view.glb": glb({"bufferViews": [{"buffer": 0, "byteLength": 2**40}]}),
    "laughs.glb": glb({"nodes": [{"children": [k + 1, k + 1]} for k in range(30)] + [{}]}),
    "ring.glb": glb({"scenes": [{"nodes": [0]}], "nodes": [{"children": [1]}, {"children": [0]}]}),
    "nodes.glb": glb({"nodes": [{}] * 30_000}),
    "nothing.glb": glb({"asset": {"version": "2.0"}}),
    "header.msh": b"hello\n",
    "version.msh": b"$MeshFormat\n9.9 0 8\n$EndMeshFormat\n",
    "bomb.msh": b"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 9999999999 1 9999999999\n",
    "cut.msh": b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n3\n1 0 0 0\n",
    "header.vtk": b"hello\n",
    "bomb.vtk": b"# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 99999999999 float\n",
    "cells.vtk": b"# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 1 float\n0 0 0\n"
    b"CELLS 88888888 9\n",
    "cut.vtk": b"# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n0 0\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_with_a_sentence(name, tmp_path):
    path = tmp_path / f"upload{Path(name).suffix}"
    path.write_bytes(HOSTILE[name])
    with pytest.raises((FileError, InputError)) as caught:
        read_in_process(path, "mesh")
    text = str(caught.value)
    assert 10 < len(text) < 500
    assert str(tmp_path) not in text  # no path of ours
    assert "Traceback" not in text


@pytest.mark.parametrize("suffix", CHECKS)
def test_every_format_is_known_by_its_content(suffix, files):
    check_content(suffix, files[suffix])
    for other in CHECKS:
        if other not in (suffix, ".obj") and not (other == ".stl" and suffix in (".ply", ".msh", ".vtk", ".obj")):
            with pytest.raises(FileError, match="does not begin as such a file does"):
                check_content(other, files[suffix])


def mutated(rng, data):
    """The file with some bytes changed, cut out, repeated or cut off."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at, what = rng.randrange(len(data)), rng.random()
        if what < 0.5:
            data[at] = rng.randrange(256)
        elif what < 0.65:
            data[at : at + 4] = rng.choice([b"\xff\xff\xff\x7f", b"\0\0\0\0", b"nan ", b"1e99"])
        elif what < 0.8:
            del data[at : at + rng.randint(1, 40)]
        elif what < 0.9:
            data[at:at] = data[at : at + 20]
        else:
            del data[at:]
        if not data:
            return b"x"
    return bytes(data)


@pytest.mark.parametrize("seed", range(200))
def test_mutated_files_are_read_or_refused_by_their_content(seed, files):
    rng = random.Random(seed)
    suffix = rng.choice(list(CHECKS))
    with suppress(FileError):
        check_content(suffix, mutated(rng, files[suffix]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_mutated_files_are_read_or_refused(seed, files, tmp_path):
    """Whatever it is, it is a mesh with finite vertices or a sentence."""
    rng = random.Random(1000 + seed)
    suffix = list(CHECKS)[seed % len(CHECKS)]
    path = tmp_path / f"upload{suffix}"
    path.write_bytes(mutated(rng, files[suffix]))
    with suppress(FileError, InputError):
        assert np.isfinite(read_in_process(path, "mesh").vertices).all()


# --- over the socket -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("suffix", CHECKS)
def test_a_mesh_of_every_format_becomes_the_scene(viewer, files, suffix):
    until(lambda: viewer.session.newest is not None or viewer.session.watchers == 0)
    assert asyncio.run(send(viewer, f"my ball{suffix.upper()}", files[suffix], kind="shell")) == ""
    until(lambda: viewer.session.scene.name == "my ball", "the ball")
    state = viewer.session.state
    assert (state.kind, state.kinds) == ("shell", ["jelly", "shell", "cloth"])
    assert viewer.session.scene.model.mesh.n_vertices > 20


@pytest.mark.slow
def test_uploads_that_misbehave(viewer, files):
    async def misbehave():
        obj = files[".obj"]
        assert "does not begin" in await send(viewer, "a.ply", obj)
        assert "was not taken" in await send(viewer, "a.obj", HOSTILE["nan.obj"])
        assert "more came than" in await send(viewer, "a.obj", obj, size=10)
        assert "none of these" in await send(viewer, "../../../etc/passwd", obj)
        assert "64 MB is the most" in await send(viewer, "a.obj", b"", size=2**40)
        address = f"ws://127.0.0.1:{viewer.port}/upload?token={viewer.gate.token}"
        async with connect(address) as socket:  # goes away in the middle
            await socket.send(json.dumps({"name": "a.obj", "size": 10_000}))
            await socket.send(b"v 0 0 0\n")
        await free()
        async with connect(address) as socket:  # a message longer than any may be
            await socket.send(json.dumps({"name": "a.obj", "size": 10_000}))
            await socket.send(b"v" * 5000)
            await socket.wait_closed()
            assert socket.close_code == 1009
        await free()
        async with connect(address) as socket:  # text where bytes should be
            await socket.send(json.dumps({"name": "a.obj", "size": 10_000}))
            await socket.send("v 0 0 0")
            assert "announced" in json.loads(await socket.recv())["error"]
        await free()
        async with connect(address) as first:  # two at a time
            await first.send(json.dumps({"name": "a.obj", "size": 10_000}))
            while not viewer.server._uploads._busy:
                await asyncio.sleep(0.01)
            assert "one at a time" in await send(viewer, "b.obj", obj)
        await free()

    async def free():
        while viewer.server._uploads._busy:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(misbehave(), 600))
    is_up(viewer)
    assert viewer.session.scene.name == "tablecloth"


def test_an_upload_that_stalls_is_given_up(monkeypatch):
    monkeypatch.setattr(uploads, "PATIENCE", 0.01)

    async def stalled():
        yield json.dumps({"name": "a.obj", "size": 100})
        await asyncio.sleep(60)

    async def wait():
        with pytest.raises(InputError, match="nothing came"):
            await uploads.receive(aiter(stalled()))

    asyncio.run(wait())


@pytest.mark.parametrize(
    ("query", "host", "origin"),
    [
        ("", "127.0.0.1", None),
        ("?token=wrong", "127.0.0.1", None),
        ("?token={token}", "127.0.0.1", "http://evil.example"),
        ("?token={token}", "evil.example", None),
    ],
)
def test_the_gate_is_that_of_the_other_socket(viewer, query, host, origin):
    async def knock():
        address = f"ws://{host}:{viewer.port}/upload{query.format(token=viewer.gate.token)}"
        with pytest.raises(InvalidStatus) as caught:
            async with connect(address, host="127.0.0.1", port=viewer.port, origin=origin):
                pass
        assert caught.value.response.status_code == 403

    asyncio.run(knock())


@pytest.mark.slow
def test_names_and_uvs_of_a_file_come_through_the_process(tmp_path):
    from vivace.viewer.mesh_process import read_in_process

    (tmp_path / "a.obj").write_text(
        "o Flag\ng hem\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3 4/4\n"
    )
    mesh = read_in_process(tmp_path / "a.obj", "mine")
    assert mesh.name == "mine"
    assert mesh.groups["hem"].tolist() == [0, 1, 2, 3]
    assert mesh.surface.polygons.counts.tolist() == [4]
    assert mesh.surface.uvs.tolist() == [[0, 0], [1, 0], [1, 1], [0, 1]]


@pytest.mark.slow
def test_the_process_loads_no_more_than_meshes_need():
    """Every upload waits for its imports: those of simulations would take a second more."""
    code = "import sys, vivace.viewer.mesh_process; print([m for m in sys.modules if m.startswith('vivace.')])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'vivace.mesh'" in loaded
    for room in ("scenes", "simulation", "solvers", "model"):
        assert f"'vivace.{room}'" not in loaded


@pytest.mark.slow
def test_sheets_that_meet_at_an_edge_are_parted(tmp_path):
    """Three triangles at one edge are no surface; what was sent is taken all the same."""
    points = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\n"
    (tmp_path / "a.obj").write_text(points + "f 1 2 3\nf 2 1 4\nf 1 2 5\n")
    mesh = read_in_process(tmp_path / "a.obj", "fins")
    assert len(mesh.triangles) == 3
    assert mesh.n_vertices > 5
