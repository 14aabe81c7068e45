import csv

import pytest


@pytest.mark.usefixtures("no_steps")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--vary", "stretch"), "is not NAME=VALUES"),
        (("--vary", "strech=1,2"), "did you mean 'stretch'"),
        (("--vary", "stretch=1,2", "--vary", "stretch=3"), "there twice"),
        (("--vary", "stretch=1:2"), "needs a number of values for a grid"),
        (("--vary", "solver=vivace:omega=1.5,relaxation=sor,nobody"), "unknown solver 'nobody'"),
        (("--sampling", "latin"), "did you mean 'latin-hypercube'"),
        (("--import", "no_such_module"), "no_such_module"),
        (("--scheduler", "tcp://127.0.0.1:9", "--workers", "2"), "has its own workers"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(vivace, tmp_path, options, told):
    assert told in vivace("sweep", "tablecloth", *options, "--out", tmp_path / "results").complaint
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_a_sweep_is_made_and_gone_on_with(vivace, tmp_path, scene_file):
    out = tmp_path / "results"
    command = ["sweep", scene_file, "--frames", "2", "--out", out, "--workers", "1", "--json"]
    made = vivace(*command, "--vary", "stretch=1e2:1e4:log:2", "--vary", "solver=vivace:omega=1.5,refresh=2").json
    assert (made["runs"], made["made"], made["kept"], made["failed"]) == (2, 2, 0, 0)
    assert [row["solver"] for row in made["rows"]] == ["vivace:omega=1.5,refresh=2"] * 2
    assert "finished runs; go on" in vivace(*command, "--vary", "stretch=1,2").complaint
    more = vivace(*command, "--vary", "stretch=1e2,1e4,1e3", "--vary", "solver=vivace:omega=1.5,refresh=2", "--resume")
    assert (more.json["made"], more.json["kept"]) == (1, 2)
    with (out / "runs.csv").open() as file:
        assert [float(row["stretch"]) for row in csv.DictReader(file)] == [1e2, 1e4, 1e3]
