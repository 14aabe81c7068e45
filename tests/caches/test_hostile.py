"""Files that were made to do harm, and meshes with bytes changed: an error of ours, or finite numbers."""

import contextlib
import io
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

import vivace as vv
from vivace import caches

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from caches_hostile import Touch, mutated, traps


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


READING = """
import os, sys
from pathlib import Path
from vivace.caches import process, CACHES
import {library}
path, whole = Path(sys.argv[1]), Path(sys.argv[2])
for number in range({count}):
    whole.write_bytes((path.parent / f"{{number}}.mutated").read_bytes())
    if (child := os.fork()) == 0:
        os.dup2(os.open(path.parent / f"{{number}}.said", os.O_WRONLY | os.O_CREAT), 2)
        os._exit(process.main(str(path), str(path.parent / f"{{number}}.npz")))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "library"), [(".usdc", "pxr.UsdGeom"), (".abc", "alembic3d"), (".xdmf", "h5py")])
def test_mutated_caches_that_other_libraries_read(tmp_path, suffix, library):
    """What `caches.read` starts for such a file, forked from one that has loaded the library: 500 take minutes.

    It ends with arrays that are finite, with a sentence, or by a signal, which the caller makes a sentence of.
    """
    pytest.importorskip(library)
    path, random, count = tmp_path / f"a{suffix}", Random(5), 8 if suffix == ".usdc" else 12
    cloth = vv.mesh.cloth(6, 6)
    vv.export([cloth.vertices, cloth.vertices + 1], path, surface=cloth, time_step=1)
    where = path.with_suffix(".h5") if suffix == ".xdmf" else path
    whole = where.read_bytes()
    cases = traps(suffix, whole, tmp_path / "canary")
    cases += [mutated(whole, random) for _ in range(count - len(cases))]
    for number, data in enumerate(cases):
        (tmp_path / f"{number}.mutated").write_bytes(data)
    command = [sys.executable, "-c", READING.format(library=library, count=count), str(path), str(where)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    codes = [int(code) for code in done.stdout.split()]
    assert len(codes) == count
    for number, code in enumerate(codes):
        if code == 0:
            with contextlib.suppress(vv.FileError):  # the caller looks at the arrays as at those of any file
                assert np.isfinite(caches.read(tmp_path / f"{number}.npz").positions).all()
        elif code > 0:
            assert code == 1
            assert "refused: cannot read" in (tmp_path / f"{number}.said").read_text().splitlines()[-1]
    assert sum(code == 1 for code in codes) > count // 3


def test_links_of_hdf5_are_not_followed(tmp_path):
    h5py = pytest.importorskip("h5py")
    from vivace.caches.xdmf import Xdmf

    cloth = vv.mesh.cloth(3, 3)
    path = vv.export([cloth.vertices] * 2, tmp_path / "a.xdmf", surface=cloth, time_step=1)
    (tmp_path / "other.h5").write_bytes((tmp_path / "a.h5").read_bytes())
    for link in (
        h5py.ExternalLink(str(tmp_path / "other.h5"), "/positions/000001"),
        h5py.SoftLink("/positions/000000"),
    ):
        with h5py.File(tmp_path / "a.h5", "a") as file:
            del file["positions/000001"]
            file["positions/000001"] = link
        with pytest.raises(vv.FileError, match="link to elsewhere"):
            Xdmf.content(path)


@pytest.mark.parametrize(
    ("name", "instead", "message"),
    [
        ("positions", None, "its arrays have no positions"),
        ("triangles", None, "its arrays have no triangles"),
        ("positions", [1.0, 2.0], "positions is no group of frames"),
        ("positions", 1.0, "positions is no group of frames"),
    ],
)
def test_what_an_hdf5_lacks_is_named(tmp_path, name, instead, message):
    h5py = pytest.importorskip("h5py")
    from vivace.caches.xdmf import Xdmf

    cloth = vv.mesh.cloth(3, 3)
    path = vv.export([cloth.vertices] * 2, tmp_path / "a.xdmf", surface=cloth, time_step=1)
    with h5py.File(tmp_path / "a.h5", "a") as file:
        del file[name]
        if instead is not None:
            file[name] = instead
    with pytest.raises(vv.FileError, match=rf"cannot read .*a\.xdmf.*: .*{message}"):
        Xdmf.content(path)
