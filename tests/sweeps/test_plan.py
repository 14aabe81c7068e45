"""What can be varied, and what a run is told; nothing is run here."""

import pytest

from vivace.errors import InputError, UnknownNameError
from vivace.sweeps import planned
from vivace.sweeps.describing import made_from

SMALL = {"resolution": 6}
DESCRIBED = """
[mesh]
generator = "cloth"
nx = 5
ny = 6
width = 1.0
height = 1.0
[material]
kind = "cloth"
stretch = 2000.0
[pins]
where = "top-corners"
[solver]
name = "vivace"
omega = 1.5
"""


def plan(target="tablecloth", vary=None, **options):
    options.setdefault("parameters", SMALL if target == "tablecloth" else {})
    return planned(target, vary or {}, **{"settings": {}, **options})


def scene(task):
    return made_from(task.path, task.data, None)


def test_parameters_settings_and_seeds_become_runs():
    found = plan(vary={"stretch": "1e2:1e4:log:3", "iterations": [4, 8]}, seeds=2)
    assert len(found.tasks) == 12
    assert len({task.key for task in found.tasks}) == 12
    last = found.tasks[-1]
    assert (last.varied, last.seed, last.number) == ({"stretch": 1e4, "iterations": 8}, 1, 11)
    assert last.settings == {"iterations": 8}
    springs = [group for group in scene(last).model.groups if group.kind.name == "spring"]
    assert springs[0].weights.max() == pytest.approx(1e4)


def test_a_run_is_known_by_all_that_makes_it():
    """The key of a run is the same in a larger sweep, and another with another setting, seed, value or file."""
    few, more = plan(vary={"stretch": [100.0, 200.0]}), plan(vary={"stretch": [50.0, 100.0, 200.0]})
    assert [task.key for task in few.tasks] == [task.key for task in more.tasks[1:]]
    for options in ({"settings": {"frames": 3}}, {"seed": 7}, {"parameters": {"resolution": 7}}, {"error_samples": 1}):
        assert not {t.key for t in few.tasks} & {t.key for t in plan(vary={"stretch": [100.0, 200.0]}, **options).tasks}


def test_entries_of_a_scene_file_are_varied_by_their_full_or_short_names(tmp_path):
    path = tmp_path / "cloth.toml"
    path.write_text(DESCRIBED)
    for name in ("stretch", "material.stretch"):
        assert plan(path, {name: [1.0, 2.0]}).tasks[1].data["material"]["stretch"] == 2.0
    assert plan(path, {"bend": [0.5]}).tasks[0].data["material"]["bend"] == 0.5  # not in the file, but in cloth
    wide = plan(path, {"mesh.nx": "4:8:3"}).tasks
    assert [scene(task).model.n for task in wide] == [24, 36, 48]
    made = scene(plan(path, {"solver.omega": [1.9]}).tasks[0])
    assert made.solver[0] == "vivace"
    assert made.solver[1]["omega"] == 1.9


def test_a_mesh_file_is_varied_by_what_it_is_made_of(tmp_path):
    import vivace as vv

    path = tmp_path / "patch.obj"
    vv.mesh.save(vv.mesh.cloth(4, 4), path)
    first = plan(path, {"stretch": [123.0, 456.0]})
    assert scene(first.tasks[1]).model.groups[0].weights.max() == pytest.approx(456.0)
    vv.mesh.save(vv.mesh.cloth(4, 5), path)
    again = plan(path, {"stretch": [123.0, 456.0]})
    assert {task.key for task in first.tasks}.isdisjoint(task.key for task in again.tasks)


@pytest.mark.parametrize(
    ("vary", "told"),
    [
        ({"strech": [1]}, r"unknown thing to vary .*did you mean 'stretch'"),
        ({"solver": ["vivase"]}, "unknown solver"),
        ({"integrator": ["eular"]}, "unknown integrator"),
        ({"fabric": ["silc"]}, "unknown fabric"),
        ({"seed": [1, 2]}, "--seeds"),
        ({"frames": [0]}, "frames must be 1 or more"),
        ({"iterations": [-2]}, "iterations"),
        ({"time_step": [-1.0]}, "time step"),
        ({"solver": ["vivace"], "solver.refinement": [1]}, "unknown thing to vary"),
    ],
)
def test_what_cannot_be_varied_is_refused_before_anything_starts(vary, told):
    with pytest.raises(InputError, match=told):
        plan(vary=vary)


def test_unknown_names_are_errors_of_names():
    with pytest.raises(UnknownNameError, match="did you mean 'latin-hypercube'"):
        plan(sampling="latin")
    with pytest.raises(InputError, match="a seed is there twice"):
        plan(seeds=[1, 1])


def test_a_sample_of_few_values_has_each_run_once():
    found = plan(vary={"stretch": [1.0, 2.0]}, sampling="random", runs=50)
    assert len(found.tasks) == 2


def test_seeds_go_to_scenes_that_have_one():
    found = plan("house-of-cards", {"iterations": [5]}, seeds=[3])
    assert found.description.rigid
    with pytest.raises(InputError, match="no integrator"):
        plan("house-of-cards", {"integrator": ["euler"]})
