"""`vivace bench descent`."""

import pytest

from vivace.bench import descent
from vivace.bench.descent import CURVES, PRINTED, TUNED
from vivace.simulation.guesses import GUESSES

BENCH = ("bench", "descent", "--quick", "--repeats", 1)


@pytest.fixture
def no_scenes(monkeypatch):
    """From here on a scene that is made fails the test."""

    def make(*_, **__):
        raise AssertionError("a scene was made before the options were checked")

    monkeypatch.setattr(descent, "make_scene", make)


@pytest.mark.slow
def test_json(vivace, tmp_path):
    parts = ",".join(["table", *CURVES])
    found = vivace(*BENCH, "--threads", "1,2", "--only", parts, "--out", tmp_path / "a.png", "--json").json
    assert list(found) == ["settings", "table", "linearity", *CURVES]
    assert found["settings"]["threads"] == [1, 2]
    for row in found["table"]:
        assert row["finite"]
        assert [run["threads"] for run in row["runs"]] == [1, 2]
        assert all(run["seconds_median"] > 0 for run in row["runs"])
    rows = {row["name"]: row for row in found["table"]}
    assert list(rows)[:4] == ["dragon", "armadillo", "box", "dress"]
    assert rows["armadillo"]["paper"] == {"vertices": 15000, "elements": 55000, "cpu_s": 1.28, "gpu_s": 0.0314}
    assert rows["dress"]["iterations"] == 8 * 40
    assert rows["dragon"]["iterations"] == 96
    assert set(found["linearity"]) == {"1", "2"}
    for part, curves in CURVES.items():
        assert {row["solver"] for row in found[part]} == {*curves, *(TUNED if part == "momentum" else ())}
        assert all(row["finite"] and row["relative_error_median"] <= 1.0 for row in found[part])
    assert (tmp_path / "a.png").stat().st_size > 1000


@pytest.mark.slow
def test_errors_fall_as_the_paper_says(vivace):
    """After 16 iterations: gradient > Jacobi > with Chebyshev > nonlinear CG, and Newton is below all of them."""
    rows = vivace(*BENCH, "--threads", 1, "--only", "convergence", "--json").json["convergence"]
    most = {row["solver"]: row["relative_error_median"] for row in rows}  # the last of each: its most iterations
    assert most["gradient"] > most["Jacobi"] > most["Jacobi + Chebyshev"] > most["nonlinear CG"]
    assert most["Newton"] < min(error for name, error in most.items() if name not in ("Newton", "newton-multigrid"))


@pytest.mark.slow
def test_first_guesses(vivace, tmp_path):
    """Errors of a frame fall with the iterations from every guess; constant position is worst; drawn and told."""
    result = vivace(*BENCH, "--threads", 1, "--only", "guesses", "--out", tmp_path / "a.png", "--quiet")
    assert result.code == 0
    for word in ("optimised", "figure 15", 'the paper: "acceleration" is the best'):
        assert word in result.out
    assert (tmp_path / "a.png").stat().st_size > 1000
    rows = vivace(*BENCH, "--threads", 1, "--only", "guesses", "--json").json["guesses"]
    left = {row["guess"]: row["relative_error_median"] for row in rows}
    assert list(left) == list(GUESSES)
    assert all(first > last >= 0 for first, last in left.values())
    assert max(left, key=lambda name: left[name][-1]) == "position"
    assert sum(row["best_in_frames"] for row in rows) == rows[0]["frames"]


@pytest.mark.slow
def test_tables_have_the_paper_beside_ours(vivace):
    result = vivace(*BENCH, "--threads", 1, "--only", "table", "--quiet")
    assert result.code == 0
    assert result.err == ""
    assert "…" not in result.out
    for word in ("dragon", "1.35", "0.0328", "double helix 316K", "7.78", "µs for each tetrahedron"):
        assert word in result.out


@pytest.mark.usefixtures("no_scenes")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--only", "tabel"), "unknown part 'tabel'"),
        (("--only", "table", "--out", "a.png"), "--out draws convergence, every, momentum, guesses"),
        (("--out", "a.gif"), "--out must end in .png, .pdf or .svg"),
        (("--scale", "0.5"), "--scale belongs to pbd and does nothing with descent"),
        (("--sizes", "small"), "--sizes belongs to contact and does nothing with descent"),
        (("--no-cold-start",), "--no-cold-start does nothing with descent"),
    ],
)
def test_bad_options(vivace, options, words):
    result = vivace(*BENCH, *options)
    assert result.code != 0
    assert words in " ".join(result.err.split())


def test_options_of_descent_do_nothing_elsewhere(vivace):
    result = vivace("bench", "contact", "--quick")
    assert "--quick belongs to descent and does nothing with contact" in " ".join(result.err.split())


def test_table_2_is_the_papers():
    """CPU seconds for each element, 96 iterations: all tetrahedral bodies within 20 per cent of each other."""
    each = [row.cpu_s / row.elements for name, row in PRINTED.items() if name != "dress"]
    assert max(each) / min(each) < 1.25
