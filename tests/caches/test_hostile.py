"""Files that were made to do harm, and meshes with bytes changed: an error of ours, or finite numbers."""

import io
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

import vivace as vv
from vivace import caches

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from caches_hostile import Touch, mutated


def test_nothing_of_an_npz_is_unpickled(tmp_path):
    canary = tmp_path / "canary"
    array = np.empty(1, object)
    array[0] = Touch(canary)
    for names in (("positions",), ("times", "positions")):
        buffer = io.BytesIO()
        np.savez(buffer, **dict.fromkeys(names, array))
        (tmp_path / "a.npz").write_bytes(buffer.getvalue())
        with pytest.raises(vv.FileError, match="cannot read"):
            caches.read(tmp_path / "a.npz")
    assert not canary.exists()
    np.load(tmp_path / "a.npz", allow_pickle=True)["positions"]
    assert canary.exists()  # it is a trap indeed


@pytest.mark.slow
@pytest.mark.parametrize("word", ["prepend references", "prepend payload"])
def test_nothing_that_a_usd_file_refers_to_is_opened(tmp_path, word):
    pytest.importorskip("pxr")
    vv.export([vv.mesh.cloth(3, 3).vertices], tmp_path / "other.usda", surface=vv.mesh.cloth(3, 3), time_step=1)
    text = f'#usda 1.0\ndef Mesh "a" (\n    {word} = @{tmp_path}/other.usda@\n)\n{{\n}}\n'
    (tmp_path / "a.usda").write_text(text)
    with pytest.raises(vv.FileError, match="other files"):
        caches.read(tmp_path / "a.usda")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".obj", ".ply", ".glb"])
def test_mutated_meshes_are_refused_or_read(tmp_path, suffix):
    path, random, said = tmp_path / f"a{suffix}", Random(3), []
    vv.mesh.save(vv.mesh.cloth(6, 6), path)
    whole = path.read_bytes()
    for _ in range(150):
        path.write_bytes(mutated(whole, random))
        try:
            found = vv.mesh.load(path, repair=True, split=True)
            assert np.isfinite(found.vertices).all()
        except (vv.FileError, vv.InputError) as error:
            said.append(str(error))
    assert len(said) > 30
    assert [text for text in said if f"a{suffix}" not in text] == []


def test_a_ply_that_promises_too_much(tmp_path):
    head = "ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\nproperty float x\nproperty float y\n"
    head += "property float z\nelement face 4000000000\nproperty list uint int vertex_indices\nend_header\n"
    (tmp_path / "a.ply").write_bytes(head.encode() + b"\xff" * 200)
    with pytest.raises(vv.FileError, match="promises"):
        vv.mesh.load(tmp_path / "a.ply")
    (tmp_path / "a.ply").write_bytes(head.replace("vertex 4000000000", "vertex 3").encode() + b"\xff" * 200)
    with pytest.raises(vv.FileError, match="promises"):
        vv.mesh.load(tmp_path / "a.ply")
