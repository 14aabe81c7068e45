"""Mesh files of scenes: their units, and finer surfaces that they show."""

import json

import numpy as np
import pytest

import vivace as vv
from vivace.cli.main import main
from vivace.errors import FileError
from vivace.mesh import cloth, save
from vivace.scenes import load_scene


@pytest.fixture
def files(tmp_path):
    """A coarse sheet and a fine one, in centimetres."""
    for name, n in (("cage", 4), ("fine", 9)):
        save(cloth(n, n).transformed(scale=100), tmp_path / f"{name}.obj")
    return tmp_path


def test_a_mesh_file_in_centimetres_that_shows_a_finer_one(files):
    scene = load_scene(files / "cage.obj", unit="cm", surface=files / "fine.obj")
    mesh = scene.model.mesh
    assert (mesh.n_vertices, mesh.surface.n_vertices) == (16, 81)
    np.testing.assert_allclose(mesh.bounds, cloth(4, 4).bounds)
    np.testing.assert_allclose(mesh.surface.at(mesh.vertices), cloth(9, 9).vertices, atol=1e-12)


def test_a_scene_file_names_both_beside_it(files):
    (files / "a.toml").write_text('[mesh]\nfile = "cage.obj"\nunit = "cm"\nsurface = "fine.obj"\nscale = 2.0\n')
    mesh = load_scene(files / "a.toml").model.mesh
    np.testing.assert_allclose(mesh.surface.at(mesh.vertices), 2 * cloth(9, 9).vertices, atol=1e-12)
    assert mesh.surface.unit == "cm"
    (files / "a.toml").write_text('[mesh]\nfile = "cage.obj"\nsurface = "none.obj"\n')
    with pytest.raises(FileError, match=r"none\.obj"):
        load_scene(files / "a.toml")


@pytest.mark.slow
def test_a_run_is_written_in_the_unit_of_its_mesh(files, capsys):
    out = files / "a.pc2"
    options = ["--set", "unit=cm", "--set", f"surface={files / 'fine.obj'}", "--frames", "2", "--iterations", "2"]
    assert main(["run", str(files / "cage.obj"), *options, "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    found = vv.caches.read(out)
    assert (found.unit, found.n_vertices) == ("cm", 81)
    np.testing.assert_allclose(found.positions[0], cloth(9, 9).vertices, atol=1e-6)
    main(["run", str(files / "cage.obj"), *options, "--out", str(out), "--unit", "mm", "--json"])
    assert vv.caches.read(out).unit == "mm"
