"""Scene files and the dataclasses behind them: every field can be written down, and comes back; nonsense is refused.

The fields are found by looking, so that one that is added later is covered, or fails here.
"""

import itertools
import typing
from dataclasses import fields, replace

import numpy as np
import pytest
import tomli_w

from vivace import Budget, Cloth, FileError, InputError, Model, VivaceError, mesh
from vivace.collisions import Collisions, Plane
from vivace.hyperelastic import Conversion
from vivace.model.materials import MATERIALS
from vivace.scenes import Scene, load_scene
from vivace.scenes.writing import scene_text

CLOTH = {"mesh": {"generator": "cloth", "nx": 4, "ny": 3}}
# Another value than the default for a field of each type.
OTHER = {
    float: 0.0123,
    bool: lambda default: not default,
    float | None: 123.0,
    tuple[float, float]: [0.7, 0.2],
    tuple[typing.Any, ...]: [{"kind": "plane", "point": [0, -2, 0]}],
    int | None: 7,
    str: "dihedral",
    Conversion | bool: False,
}


def other_values(cls):
    """Every field of a dataclass, with a value that is not its default."""
    types = typing.get_type_hints(cls)
    usual = Model.of(mesh.cloth(3, 3)).collide().collisions if cls is Collisions else None
    for item in fields(cls):
        # test_bodies.py, test_garment.py, tests/model/test_joining.py, test_collisions.py
        if item.name in ("bodies", "animated", "between", "thicknesses"):
            continue
        value = OTHER[types[item.name]]
        yield item.name, value(getattr(usual, item.name)) if callable(value) else value


def written(tmp_path, data, name="scene.toml"):
    path = tmp_path / name
    path.write_text(tomli_w.dumps(data), encoding="utf-8")
    return path


def plain(value):
    """What a field holds, in the words of a scene file."""
    if isinstance(value, tuple) and value and isinstance(value[0], Plane):
        return [{"kind": "plane", "point": list(map(int, each.point))} for each in value]
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize(
    "start", [CLOTH, {"scene": "tablecloth", "parameters": {"resolution": 5}}], ids=["mesh", "named"]
)
@pytest.mark.parametrize(("name", "value"), list(other_values(Collisions)), ids=lambda value: str(value)[:12])
def test_every_setting_of_collisions_is_read_and_written(tmp_path, start, name, value):
    scene = load_scene(written(tmp_path, {**start, "collisions": {name: value}}))
    assert plain(getattr(scene.model.collisions, name)) == value
    (tmp_path / "again.toml").write_text(scene_text(scene), encoding="utf-8")
    again = load_scene(tmp_path / "again.toml").model.collisions
    for item in fields(Collisions):
        assert plain(getattr(again, item.name)) == plain(getattr(scene.model.collisions, item.name))


@pytest.mark.parametrize(("name", "value"), [("ms", 7.5), ("iterations", 7), ("tolerance", 0.25)])
def test_every_limit_of_a_budget_is_read_and_written(tmp_path, name, value):
    assert {"ms", "iterations", "tolerance"} == {item.name for item in fields(Budget)}
    scene = load_scene(written(tmp_path, {**CLOTH, "budget": {name: value}}))
    (tmp_path / "again.toml").write_text(scene_text(scene), encoding="utf-8")
    assert load_scene(tmp_path / "again.toml").budget == scene.budget == Budget(**{name: value})


@pytest.mark.parametrize("kind", MATERIALS)
def test_every_property_of_a_material_is_read_and_written(tmp_path, kind):
    body = CLOTH if kind in ("cloth", "sheet", "wire") else {"mesh": {"generator": "cube", "n": 3}}
    for name, value in other_values(MATERIALS[kind]):
        if name == "bending":
            value = "isometric" if MATERIALS[kind]().bending == "dihedral" else "dihedral"
        given = {name: value, "crease": 20.0} if name in ("hardening", "creep") else {name: value}  # those of a crease
        scene = load_scene(written(tmp_path, {**body, "material": {"kind": kind, **given}}))
        usual = MATERIALS[kind](**given)
        np.testing.assert_array_equal(scene.model.masses, usual.masses(scene.model.mesh))
        for mine, theirs in zip(scene.model.groups, usual.constraints(scene.model.mesh), strict=True):
            np.testing.assert_array_equal(mine.weights, theirs.weights)
            np.testing.assert_array_equal(mine.parameters, theirs.parameters)
        (tmp_path / "again.toml").write_text(scene_text(scene), encoding="utf-8")
        again = load_scene(tmp_path / "again.toml").model
        np.testing.assert_array_equal(again.masses, scene.model.masses)
        assert [group.kind.name for group in again.groups] == [group.kind.name for group in scene.model.groups]
        for mine, theirs in zip(again.terms, scene.model.terms, strict=True):
            np.testing.assert_array_equal(mine.elements.constants, theirs.elements.constants)
            assert mine.conversion == theirs.conversion


def test_a_heap_that_sleeps_can_be_written_down(tmp_path):
    data = {**CLOTH, "collisions": {"sleep": 0.05, "guard": False, "colliders": [{"kind": "plane"}]}}
    touched = load_scene(written(tmp_path, data)).model.collisions
    assert (touched.sleep, touched.guard) == (0.05, False)


# --- nonsense -----------------------------------------------------------------------------------------------------

VALUES = ["1" + "0" * 30, str(2**64), str(-(2**63) - 1), "1e300", "1e38", "-1", "0", "nan", "inf", "-inf", "true", '""']
VALUES += [
    '"text"',
    "[]",
    "[[]]",
    "[1, 2]",
    "[1e300, 1e300, 1e300]",
    "[nan, nan, nan]",
    "[[1, 2], [3]]",
    '["a", "b", "c"]',
]
VALUES += ["{}", "{a = 1}", "[{}]", "[{kind = 3}]", "1979-05-27", '"a\\u0000b"', "1" + "0" * 400]
KEYS = {
    "collisions": [item.name for item in fields(Collisions) if item.name != "bodies"],
    "material": ["kind", *(item.name for item in fields(Cloth))],
    "mesh": ["generator", "file", "nx", "ny", "width", "irregular", "seed", "plane", "scale", "rotate", "translate"],
    "pins": ["where", "indices", "highest", "stiffness"],
    "world": ["gravity", "wind", "time_step", "stiffness", "air", "viscosity", "substeps", "integrator"],
    "solver": ["name", "omega", "ramp", "refresh"],
    "budget": [item.name for item in fields(Budget)],
    "tuned": ["chebyshev(jacobi)", "x"],
    "parameters": ["resolution"],
}


@pytest.mark.slow
@pytest.mark.parametrize(("table", "key"), [(table, key) for table, keys in KEYS.items() for key in keys])
def test_nonsense_in_a_scene_file_is_an_error_of_ours(tmp_path, table, key):
    path = tmp_path / "scene.toml"
    base = {"mesh": "", "parameters": ""}.get(table, '[mesh]\ngenerator = "cloth"\nnx = 4\nny = 3\n')
    kind = '\nkind = "cloth"' if table == "material" and key != "kind" else ""
    wrong = []
    for value in VALUES:
        path.write_text(f'{base}[{table}]{kind}\n"{key}" = {value}\n')
        try:
            load_scene(path)
        except VivaceError:
            continue
        except Exception as error:
            wrong.append(f"{value}: {error!r}")
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plane", "sphere", "box", "capsule", "mesh", "armchair", "table", "tube"])
def test_nonsense_in_a_collider_is_an_error_of_ours(tmp_path, kind):
    path = tmp_path / "scene.toml"
    needed = {
        "sphere": {"centre": "[0, 0, 0]", "radius": "1.0"},
        "box": {"centre": "[0, 0, 0]", "half": "[1, 1, 1]"},
        "capsule": {"start": "[0, 0, 0]", "end": "[0, 1, 0]", "radius": "1.0"},
        "mesh": {"file": '"ball.obj"', "spacing": "0.3"},
    }.get(kind, {})
    ball = mesh.ball(3)
    mesh.save(mesh.Mesh.from_triangles(ball.vertices, ball.triangles, repair=True), tmp_path / "ball.obj")
    others = ["friction", "rotate", "rounding", "point", "normal", "scale", "side", "height", "repair", "split", "kind"]
    wrong = []
    for key, value in itertools.product([*needed, *others], VALUES[::4]):
        rows = "\n".join(f"{name} = {text}" for name, text in {"kind": f'"{kind}"', **needed, key: value}.items())
        path.write_text(f'[mesh]\ngenerator = "cloth"\nnx = 4\nny = 3\n[[collisions.colliders]]\n{rows}\n')
        try:
            load_scene(path)
        except VivaceError:
            continue
        except Exception as error:
            wrong.append(f"{key} = {value}: {error!r}")
    assert not wrong


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("thickness = 1e300", r"the thickness of contacts must be at most 1e\+06 m, not 1e\+300: float32"),
        ("thickness = 1" + "0" * 400, r"the thickness of contacts must be positive \(m\), not 1000"),
        (
            "stiffness = 1" + "0" * 30 + "0",
            r"the stiffness of contacts must be positive \(N/m\), 1e\+30 at most, not 10000",
        ),
        ("friction = 1e30", r"friction must be at most 1e\+06"),
        ("guard = 1", r"guard, .*, must be true or false, not 1"),
        ("sleep = 1.5", r"sleep must be a share of the thickness, 0 to 1, not 1.5"),
        ("sleep = 1" + "0" * 40, r"sleep must be a share of the thickness, 0 to 1, not 10000"),
    ],
)
def test_numbers_that_collisions_cannot_use(tmp_path, value, message):
    (tmp_path / "scene.toml").write_text(f'[mesh]\ngenerator = "cloth"\n[collisions]\n{value}\n')
    with pytest.raises(InputError, match=r"scene.toml: \[collisions\] " + message):
        load_scene(tmp_path / "scene.toml")


def test_brackets_without_end_and_files_that_cannot_be_read(tmp_path, monkeypatch):
    (tmp_path / "deep.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(InputError, match=r"deep.toml is not a valid TOML file"):
        load_scene(tmp_path / "deep.toml")
    (tmp_path / "digits.toml").write_text("a = " + "1" * 5000)
    with pytest.raises(InputError, match=r"digits.toml is not a valid TOML file"):
        load_scene(tmp_path / "digits.toml")

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_text", refuse)
    with pytest.raises(FileError, match=r"cannot read .*deep.toml: Permission denied"):
        load_scene(tmp_path / "deep.toml")


@pytest.mark.parametrize(
    "path", [None, 3, b"scene.toml", "a\0b.toml", "\ud800.toml", ["scene.toml"], "n" * 5000 + ".toml"]
)
def test_paths_that_are_none(path):
    with pytest.raises(VivaceError, match=r"."):
        load_scene(path)


def test_scenes_are_made_of_models():
    scene = load_scene("cube", resolution=3)
    with pytest.raises(InputError, match="a scene is made of a Model"):
        Scene("mine", None, 1 / 30)
    for wind in ((0, 0), "north", (0, 0, 1j), (0, 0, 1e30), [[0], [0, 1]]):
        with pytest.raises(InputError, match="wind must"):
            replace(scene, wind=wind)
