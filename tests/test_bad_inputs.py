"""Whatever is handed in: an error of this package with a message, or a result; never a traceback from inside it.

Every parameter of everything public is given dozens of things that it is not for, one at a time, the others being good.
Only errors of this package may come out.
"""

import inspect
import warnings

import numpy as np
import pytest

import vivace
from vivace import Budget, Cloth, Model, Simulation, System, VivaceError, collisions, constraint, mesh, scenes
from vivace.collisions import Sampled
from vivace.mesh import Mesh
from vivace.rigid.paths import Keyframes
from vivace.scenes import files, writing
from vivace.solvers import make_solver

SQUARE = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]
PAIR = [[0, 1, 2], [1, 3, 2]]
TET = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
SHEET, CUBE = mesh.cloth(4, 4), mesh.cube(3)
SHELL = Mesh.from_triangles(CUBE.vertices, CUBE.triangles, repair=True)
MODEL = Model.of(SHEET).pin("top-corners")


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no")


class Endless(list):
    """A list that contains itself."""

    def __init__(self):
        super().__init__([self])


BAD = {
    "None": None,
    "True": True,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": -float("inf"),
    "0": 0,
    "-1": -1,
    "-0.0": -0.0,
    "1.5": 1.5,
    "1e-320": 1e-320,
    "1e-30": 1e-30,
    "1e9": 1e9,
    "1e15": 1e15,
    "1e30": 1e30,
    "1e38": 1e38,
    "1e300": 1e300,
    "2^31": 2**31,
    "2^63": 2**63,
    "-2^63": -(2**63),
    "2^64": 2**64,
    "10^400": 10**400,
    "10^5000": 10**5000,
    "complex": 1 + 2j,
    "complex64": np.complex64(1j),
    "float32 nan": np.float32("nan"),
    "int8": np.int8(-5),
    "bool_": np.bool_(True),
    "text": "some text",
    "empty text": "",
    "digits": "12",
    "long text": "x" * 5000,
    "null": "a\0b.obj",
    "surrogate": "\ud800.obj",
    "long name": "n" * 300 + ".obj",
    "bytes": b"bytes",
    "[]": [],
    "()": (),
    "{}": {},
    "[None]": [None],
    "ragged": [[1, 2], [3]],
    "ragged rows": [[0.0, 0, 0], [1, 0]],
    "nested": [[[[1]]]],
    "texts": ["a", "b", "c"],
    "complexes": [1j, 2j, 3j],
    "nans": [float("nan")] * 3,
    "huge three": [1e30, 1e30, 1e30],
    "three": [1.0, 2.0, 3.0],
    "huge whole": [10**30, 0, 0],
    "bools": [True, False, True],
    "complex rows": np.array(SQUARE) * 1j,
    "nan rows": np.full((16, 3), np.nan),
    "huge rows": np.full((16, 3), 1e37),
    "text rows": np.full((16, 3), "here"),
    "object rows": np.full((16, 3), None),
    "empty rows": np.zeros((0, 3)),
    "0-d": np.array(3.0),
    "0-d whole": np.array(3),
    "dates": np.array(["2020-01-01"] * 3, "datetime64[D]"),
    "negative numbers": [-1, -2, -3],
    "large numbers": [10**6, 10**7],
    "2^40": [[2**40, 0, 1]],
    "set": {1, 2, 3},
    "dict": {"a": 1, 3: None},
    "type": int,
    "function": len,
    "object": object(),
    "unprintable": Unprintable(),
    "endless": Endless(),
    "generator": (k for k in range(3)),
    "mesh": SHEET,
    "model": MODEL,
    "cube": CUBE,
    "material": Cloth(),
    "pair": ("vivace", {"omega": None}),
    "pairs": [("a", {}), ("b", {})],
}


def simulation(**options):
    return Simulation(MODEL, **{"solver": "vivace", "budget": Budget(iterations=1), "threads": 1, **options})


def ball():
    """A rigid one that is held."""
    sim = vivace.RigidSimulation([vivace.Body(collisions.Sphere((0.0, 1.0, 0.0), 0.1))], threads=1)
    sim.grab(0, (0.0, 1.0, 0.0))
    return sim


def set_of(name):
    def change(value):
        sim = simulation()
        setattr(sim, name, value)

    change.__name__ = f"sim.{name}"
    return change


SETTERS = (
    "positions",
    "velocities",
    "targets",
    "gravity",
    "wind",
    "time_step",
    "substeps",
    "solver",
    "budget",
    "model",
)
# What is called, and good values for what it needs.
CALLS = {
    "cloth": (mesh.cloth, {"nx": 4, "ny": 3}),
    "noodle": (mesh.noodle, {"n": 4}),
    "bar": (mesh.bar, {"nx": 3, "ny": 2, "nz": 2}),
    "cube": (mesh.cube, {"n": 3}),
    "torus": (mesh.torus, {"segments": 4, "rings": 1}),
    "ball": (mesh.ball, {"n": 3}),
    "body": (mesh.body, {"n": 16}),
    "double_helix": (mesh.double_helix, {"n": 24}),
    "rabbit": (mesh.rabbit, {"surface": 100}),
    "Mesh": (Mesh, {"vertices": SQUARE, "triangles": PAIR, "tets": np.zeros((0, 4), int)}),
    "from_triangles": (Mesh.from_triangles, {"vertices": SQUARE, "triangles": PAIR}),
    "from_tets": (Mesh.from_tets, {"vertices": TET, "tets": [[0, 1, 2, 3]]}),
    "from_edges": (Mesh.from_edges, {"vertices": TET, "edges": [[0, 1], [1, 2], [2, 3]]}),
    "transformed": (SHEET.transformed, {}),
    "select": (SHEET.select, {"where": "top"}),
    "join": (mesh.join, {"meshes": [SHEET, SHEET]}),
    "load": (mesh.load, {"path": "sheet.obj"}),
    "save": (mesh.save, {"mesh": SHEET, "path": "saved.obj"}),
    "tetrahedralise": (mesh.tetrahedralise, {"mesh": SHEET}),
    "adjacency": (mesh.adjacency, {"n": 4, "edges": [[0, 1]]}),
    "connected_components": (mesh.connected_components, {"n": 4, "edges": [[0, 1]]}),
    "unique_edges": (mesh.unique_edges, {"elements": PAIR}),
    "hinges_of": (mesh.hinges_of, {"triangles": PAIR}),
    "nonmanifold_edges": (mesh.nonmanifold_edges, {"triangles": PAIR}),
    "boundary_of_tets": (mesh.boundary_of_tets, {"tets": [[0, 1, 2, 3]]}),
    "tet_quality": (mesh.tet_quality, {"vertices": TET, "tets": [[0, 1, 2, 3]]}),
    **{name: (getattr(vivace, name), {}) for name in ("Cloth", "Solid", "Jelly", "Wire")},
    **{name: (getattr(vivace, name), {}) for name in ("stvk", "neo_hookean", "mooney_rivlin", "fung", "corotated")},
    "Conversion": (vivace.hyperelastic.Conversion, {}),
    "Hyperelastic": (
        vivace.hyperelastic.Hyperelastic,
        {"mesh": mesh.cube(2), "density": "neo-hookean", "constants": (1.0, 2.0), "conversion": False},
    ),
    "svd": (vivace.hyperelastic.svd, {"matrices": np.eye(3)}),
    "Budget": (Budget, {"ms": 1.0}),
    "Model.of": (Model.of, {"mesh": SHEET}),
    "Model": (Model, {"mesh": SHEET, "masses": MODEL.masses, "groups": MODEL.groups, "gravity": MODEL.gravity}),
    "constrain": (MODEL.constrain, {"name": "spring", "vertices": [[0, 1]], "stiffness": 1.0}),
    "pin": (MODEL.pin, {"where": [5]}),
    "sew": (MODEL.sew, {"where": [5, 6]}),
    "collide": (MODEL.collide, {}),
    "attach": (
        MODEL.collide([vivace.Body(collisions.Sphere((0.0, 1.0, 0.0), 0.1))]).attach,
        {"where": [5], "to": 0},
    ),
    "Keyframes": (Keyframes, {"times": [0, 1]}),
    "stiffened": (MODEL.stiffened, {"factor": 2.0}),
    "System": (System, {"model": MODEL, "h": 0.01}),
    "Simulation": (Simulation, {"model": MODEL, "solver": "vivace"}),
    **{f"sim.{name}": (set_of(name), {"value": None}) for name in SETTERS},
    "sim.exchange": (lambda model: simulation().exchange(model), {"model": MODEL}),
    "sim.apply_forces": (lambda forces: simulation().apply_forces(forces), {"forces": np.zeros((16, 3))}),
    "sim.grab": (lambda what, target=None: simulation().grab(what, target), {"what": 5, "target": (0, 0, 0)}),
    "sim.release": (lambda what: simulation().release(what), {"what": 5}),
    "rigid.grab": (
        lambda body, point, target=None: ball().grab(body, point, target),
        {"body": 0, "point": (0, 1, 0), "target": (0, 2, 0)},
    ),
    "rigid.move_grab": (lambda grab, target: ball().move_grab(grab, target), {"grab": 1, "target": (0, 2, 0)}),
    "rigid.state": (lambda value: setattr(ball(), "state", value), {"value": ball().state}),
    "rigid.release": (lambda grab: ball().release(grab), {"grab": 1}),
    "make_solver": (make_solver, {"what": "vivace"}),
    "solver option": (lambda option: make_solver(("vivace", {"omega": option})), {"option": 1.0}),
    "solver options": (lambda options: make_solver(("vivace", options)), {"options": {}}),
    "Plane": (collisions.Plane, {}),
    "Sphere": (collisions.Sphere, {"centre": (0, 0, 0), "radius": 1.0}),
    "Box": (collisions.Box, {"centre": (0, 0, 0), "half": (1, 1, 1)}),
    "Capsule": (collisions.Capsule, {"start": (0, 0, 0), "end": (0, 1, 0), "radius": 1.0}),
    "Sampled.of": (Sampled.of, {"mesh": SHELL, "spacing": 0.4, "cache": False}),
    "armchair": (collisions.armchair, {}),
    "table": (collisions.table, {}),
    "tube": (collisions.tube, {}),
    "Collisions": (collisions.Collisions, {"colliders": (), "thickness": 0.01, "friction": 0.3, "itself": False}),
    "ColliderSearch": (collisions.ColliderSearch, {"colliders": [collisions.Plane()], "thickness": 0.01}),
    "Surfaces": (collisions.Surfaces, {"rest": SHEET.vertices, "triangles": SHEET.triangles, "thickness": 0.01}),
    "distance": (collisions.Plane().distance, {"points": [[0, 0, 0]]}),
    "penetration": (collisions.penetration, {"colliders": [collisions.Plane()], "points": SHEET.vertices}),
    "crossings": (collisions.crossings, {"positions": SHEET.vertices, "triangles": SHEET.triangles}),
    "load_scene": (scenes.load_scene, {"target": "cube"}),
    "make_scene": (lambda name: scenes.make_scene(name), {"name": "cube"}),
    "from_mesh": (scenes.from_mesh, {"body": SHEET}),
    "write_tuned": (files.write_tuned, {"path": "t.toml", "target": "cube", "parameters": {}, "tuned": {}}),
    "scene_text": (writing.scene_text, {"scene": scenes.make_scene("cube", resolution=3)}),
    "constraint": (constraint, {"name": "mine", "vertices": 2, "rows": 1}),
}
PARAMETERS = [
    (name, parameter)
    for name, (call, good) in CALLS.items()
    for parameter, known in inspect.signature(call).parameters.items()
    if known.kind not in (known.VAR_KEYWORD, known.VAR_POSITIONAL) and parameter not in ("progress", "like")
]


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """A folder with a mesh file, to be in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("here"))
        mesh.save(SHEET, "sheet.obj")
        yield


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS, ids=lambda value: value)
def test_only_our_errors_come_out(name, parameter):
    call, good = CALLS[name]
    first = [p.name for p in inspect.signature(call).parameters.values() if p.kind is p.POSITIONAL_ONLY]
    wrong = []
    for what, value in BAD.items():
        values = {**good, parameter: value}
        found = outcome(call, *(values.pop(p) for p in first), **values)
        if isinstance(found, Exception) and not isinstance(found, VivaceError):
            wrong.append(f"{parameter}={what}: {found!r}")
        if isinstance(found, VivaceError) and not 10 < len(str(found)) < 12_000:
            wrong.append(f"{parameter}={what}: a message of {len(str(found))} letters")
    assert not wrong


def outcome(call, *arguments, **options):
    """What a call returns, or raises; a complex number that loses its imaginary part is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            return call(*arguments, **options)
        except Exception as error:
            return error
