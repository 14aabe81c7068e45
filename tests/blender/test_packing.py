"""The extension's zip: what Blender looks for is in it, and says so."""

import ast
import json
import tomllib
import zipfile

import pytest

import vivace as vv
from vivace.blender.packing import FILES, build_extension, manifest
from vivace.cli import main


@pytest.mark.slow
def test_the_zip_has_manifest_and_modules(tmp_path, capsys):
    """From the command line; twice the same bytes."""
    for name in ("a.zip", "b.zip"):
        assert main(["blender-extension", "--no-wheels", "--out", str(tmp_path / name), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["out"] == str(tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        told = tomllib.loads(archive.read("blender_manifest.toml").decode())
        modules = [name for name in archive.namelist() if name.endswith(".py")]
    assert told["id"] == "vivace"
    assert told["version"] == vv.__version__
    assert told["type"] == "add-on"
    assert len(told["tagline"]) <= 64
    assert not told["tagline"].endswith(".")
    assert sorted(modules) == sorted(path.name for path in FILES.glob("*.py"))
    assert "wheels" not in told


def test_wheels_of_a_folder_are_listed_but_not_what_blender_has(tmp_path):
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    names = ["vivace-0.1.0-py3-none-any.whl", "numba-0.60.0-cp311-cp311-manylinux_2_17_x86_64.whl"]
    for name in [*names, "numpy-1.26.4-cp311-cp311-manylinux_2_17_x86_64.whl"]:
        (wheels / name).write_bytes(name.encode())
    with zipfile.ZipFile(build_extension(tmp_path / "x.zip", wheels=wheels)) as archive:
        told = tomllib.loads(archive.read("blender_manifest.toml").decode())
        assert sorted(told["wheels"]) == sorted(f"./wheels/{name}" for name in names)
        assert told["platforms"] == ["linux-x64"]
        for name in told["wheels"]:
            assert archive.read(name[2:]).decode() == name.rpartition("/")[2]


def test_bad_requests(tmp_path):
    with pytest.raises(vv.InputError, match="zip"):
        build_extension(tmp_path / "x.tar", wheels=False)
    with pytest.raises(vv.InputError, match="no wheel of vivace"):
        build_extension(tmp_path / "x.zip", wheels=tmp_path)
    assert not (tmp_path / "x.zip").exists()


@pytest.mark.slow
def test_nothing_outside_the_extension_imports_bpy():
    """And the extension imports of the package only what needs no Blender."""
    for file in FILES.parents[1].rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        tree = ast.walk(ast.parse(text)) if "bpy" in text else ()  # what does not say the name does not import it
        named = [node for node in tree if isinstance(node, (ast.Import, ast.ImportFrom))]
        whole = {getattr(node, "module", None) or alias.name for node in named for alias in node.names}
        names = {name.partition(".")[0] for name in whole}
        assert "bpy" not in names or file.parent == FILES, file


def test_the_manifest_is_toml_whatever_the_wheels():
    assert tomllib.loads(manifest())["permissions"]["files"]
    assert tomllib.loads(manifest(["a-1-py3-none-win_amd64.whl"]))["platforms"] == ["windows-x64"]
