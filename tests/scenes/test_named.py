"""Named scenes: what they promise in numbers."""

import numpy as np
import pytest

from solvers.rounding import SIZED_SCENES, small_scene
from vivace import Budget, InputError, UnknownNameError
from vivace.scenes import SCENES, is_rigid, load_scene, make_scene, parameters_of, summary_of


def test_names():
    assert {"tablecloth", "hanging-cloth", "armadillo", "bar", "cube", "flattened-body"} <= set(SCENES)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SCENES if not is_rigid(name)])
def test_every_scene_runs_and_records_what_made_it(name):
    scene = small_scene(name)
    parameters = scene.settings["parameters"]
    assert scene.settings["scene"] == name
    assert set(parameters) == set(parameters_of(name))
    size = {"box-on-jelly": "n"}.get(name, "resolution" if name in SIZED_SCENES else "scale")
    assert parameters[size] != parameters_of(name)[size]
    assert summary_of(name)
    again = make_scene(name, **parameters)
    np.testing.assert_array_equal(again.model.mesh.vertices, scene.model.mesh.vertices)
    sim = scene.simulate(budget=Budget(iterations=2), substeps=1)
    if scene.start is not None:
        np.testing.assert_array_equal(sim.positions, scene.start.astype(np.float32))
    assert sim.step().finite
    assert sim.system.h == scene.time_step
    assert len(scene.model.pinned) > 0 or scene.model.collisions is not None
    assert scene.is_cloth == (
        "cloth" in name or name in ("s0", "noodles", "falling-bodies", "dress", "garment-on-body")
    )


def test_tablecloth_is_that_of_the_figure():
    """10K vertices, 20K triangles, 30K springs, 30K hinges, h = 33 ms."""
    scene = make_scene("tablecloth")
    assert scene.model.n == 100 * 100
    springs, hinges, pins = scene.model.groups
    assert (len(springs), len(hinges), len(pins)) == (3 * 99 * 99 + 2 * 99, 3 * 99 * 99 - 2 * 99, 2)
    assert scene.time_step == 0.033
    assert scene.model.mesh.vertices[:, 1].max() == scene.model.mesh.vertices[:, 1].min()


def test_irregular_tablecloth_has_its_seed():
    a, b, c = (make_scene("tablecloth", resolution=10, irregular=True, seed=s).model.mesh.vertices for s in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()


@pytest.mark.slow
def test_armadillo_is_scaled_and_held_by_one_hand():
    scene = make_scene("armadillo", resolution=16, height=2.0)
    low, high = scene.model.mesh.bounds
    assert high[1] - low[1] == pytest.approx(2.0)
    x = scene.model.mesh.vertices
    farthest = int(np.argmax(x[:, 0]))
    assert farthest in scene.model.pinned
    apart = np.linalg.norm(x[scene.model.pinned] - x[farthest], axis=1)
    assert apart.max() <= 0.04 * float((high - low).max()) * (1 + 1e-12)


@pytest.mark.slow
def test_flattened_body_is_flat_and_held():
    scene = make_scene("flattened-body", resolution=16)
    free = np.setdiff1d(np.arange(scene.model.n), scene.model.pinned)
    assert np.ptp(scene.start[free, 2]) == 0.0
    np.testing.assert_array_equal(scene.start[scene.model.pinned], scene.model.targets)
    half = make_scene("flattened-body", resolution=16, flatness=0.5)
    depth = np.ptp(half.model.mesh.vertices[free, 2])
    assert np.ptp(half.start[free, 2]) == pytest.approx(0.5 * depth)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("tableclth", {}, r"unknown scene 'tableclth'; did you mean 'tablecloth'\?"),
        (
            "tablecloth",
            {"resolutoin": 5},
            r"scene 'tablecloth' has no parameter 'resolutoin'; its parameters: resolution, s",
        ),
        ("tablecloth", {"resolution": 1}, r"nx must be 2 or more, not 1"),
        ("tablecloth", {"resolution": 9.5}, r"nx must be a whole number, not 9.5"),
        ("tablecloth", {"stretch": -1.0}, r"Cloth: stretch must be positive, not -1.0"),
        ("cube", {"poisson_ratio": 0.6}, r"poisson_ratio must lie in 0 to 0.49, not 0.6"),
        ("flattened-body", {"flatness": 2.0}, r"flatness must lie in 0 to 1, not 2.0"),
        ("flattened-body", {"flatness": float("nan")}, r"flatness must lie in 0 to 1, not nan"),
        ("armadillo", {"height": -1.0}, r"positive"),
        ("bar", {"thickness": 0.0}, r"thickness|size along y"),
        ("bar", {"resolution": "fine"}, r"resolution|whole number"),
        ("flattened-body", {"flatness": "flat"}, r"flatness"),
        ("tablecloth", {"time_step": -1.0}, r"time step must be a positive number of seconds"),
        ("tablecloth", {"table": None}, r"table of the scene 'tablecloth' must not be None; leave it out for False"),
        ("tablecloth", {"itself": None}, r"itself of the scene 'tablecloth' must not be None"),
        ("tablecloth", {"crease": 20.0, "bend": 0.0}, r"Cloth: crease = 20.0 is of what resists bending"),
    ],
)
def test_bad_parameters_say_what_is_wrong(name, parameters, message):
    with pytest.raises(InputError, match=message):
        make_scene(name, **parameters)


def test_what_is_none_by_default_may_be_none():
    assert make_scene("tablecloth", resolution=3, crease=None).settings["parameters"]["crease"] is None


def test_load_by_name():
    assert load_scene("cube", resolution=3).model.n == 27
    with pytest.raises(UnknownNameError, match=r"unknown scene 'cub'; did you mean 'cube'\?"):
        load_scene("cub")
