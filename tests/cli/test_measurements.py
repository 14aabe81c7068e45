"""`vivace colour` and `vivace bench`."""

import json

import pytest
from PIL import Image

from vivace.colouring import COLOURINGS

COLOUR = ("colour", "tablecloth", "--set", "resolution=12", "--repeat", 2)


def settings_inside(path):
    with Image.open(path) as image:
        image.load()
        return json.loads(image.text["vivace"])


@pytest.mark.parametrize("algorithm", [*COLOURINGS, "all"])
def test_colour(vivace, algorithm):
    rows = vivace(*COLOUR, "--algorithm", algorithm, "--json").json
    assert [row["algorithm"] for row in rows] == (list(COLOURINGS) if algorithm == "all" else [algorithm])
    for row in rows:
        assert row["valid"] is True
        for key in ("colours", "rounds", "largest", "smallest"):
            assert type(row[key]) is int, key
        assert 1 <= row["smallest"] <= 144 / row["colours"] <= row["largest"]
        assert row["rounds"] >= 1
        assert 0 < row["ms_p10"] <= row["ms_median"] <= row["ms_p90"]


def test_colour_by_default_and_as_a_table(vivace):
    assert [row["algorithm"] for row in vivace(*COLOUR, "--json").json] == ["brooks-vizing"]
    table = vivace(*COLOUR, "--quiet")
    assert table.code == 0
    assert "144 vertices" in table.out
    assert "valid" in table.out


def test_a_table_that_is_piped_is_not_cut_short(vivace):
    table = vivace(*COLOUR, "--algorithm", "all", "--quiet").out
    assert "…" not in table
    for word in (*COLOURINGS, "colours", "rounds", "largest", "smallest", "balance"):
        assert word in table


@pytest.mark.slow
def test_colours_depend_on_the_seed_and_not_on_the_threads(vivace):
    def counts(seed, threads):
        options = ("--algorithm", "all", "--seed", seed, "--threads", threads, "--json")
        return [(r["colours"], r["rounds"], r["largest"], r["smallest"]) for r in vivace(*COLOUR, *options).json]

    assert counts(1, 1) == counts(1, 2)
    assert counts(1, 1) != counts(2, 1)


@pytest.mark.slow
def test_colour_draws_the_matrix(vivace, tmp_path):
    path = tmp_path / "new" / ("a long name " * 10 + ".png")
    result = vivace(*COLOUR, "--quiet", "--seed", 5, "--out", path)
    assert result.code == 0
    assert f"wrote {path}\n" in result.out
    inside = settings_inside(path)
    assert inside["seed"] == 5
    assert inside["parameters"]["resolution"] == 12
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.slow
def test_colour_with_json_prints_nothing_else(vivace, tmp_path):
    result = vivace(*COLOUR, "--json", "--out", tmp_path / "plot.png")
    assert result.err == ""
    assert len(result.json) == 1
    assert (tmp_path / "plot.png").is_file()


def test_bench_sweep(vivace, scene_file):
    rows = vivace("bench", "sweep", "--no-cold-start", "--target", scene_file, "--threads", "1,2", "--json").json
    assert [row["threads"] for row in rows] == [1, 2]
    for row in rows:
        assert 0 < row["ms_per_sweep_best"] <= row["ms_per_sweep_median"] <= row["ms_per_sweep_p90"]
        assert row["cold_start_s"] is None


def test_bench_sweep_as_a_table(vivace, tmp_path):
    folder = tmp_path / "["
    folder.mkdir()
    path = folder / "b].toml"  # the path holds [/b], which is not markup
    path.write_text('scene = "bar"\n[parameters]\nresolution = 3\n')
    result = vivace("bench", "sweep", "--no-cold-start", "--target", path, "--threads", 1, "--quiet")
    assert result.code == 0
    assert "threads" in result.out
    assert "[/b].toml" in "".join(result.out.split())


def test_bench_measures_a_new_process(vivace, scene_file, monkeypatch):
    monkeypatch.setattr(
        "vivace.bench.sweep.first_frame_s", lambda *_, empty_cache=False, **__: 9.0 if empty_cache else 0.5
    )
    rows = vivace("bench", "sweep", "--target", scene_file, "--threads", "1,2", "--json").json
    assert [row["cold_start_s"] for row in rows] == [0.5, 0.5]
    assert rows[0]["first_start_s"] == 9.0
