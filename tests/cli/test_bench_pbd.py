"""`vivace bench pbd`."""

import pytest

BENCH = ("bench", "pbd", "--scale", 0.01, "--frames", 2, "--no-cold-start")


@pytest.mark.slow
def test_json(vivace):
    found = vivace(*BENCH, "--threads", "1,2", "--json").json
    assert list(found) == ["settings", "scenes"]
    assert found["settings"]["scale"] == 0.01
    assert found["settings"]["threads"] == [1, 2]
    assert [row["scene"] for row in found["scenes"]] == ["s0", "s1", "s2"]
    for row in found["scenes"]:
        assert {"particles", "constraints", "iterations", "frames", "setup_s", "cold_start_s", "runs", "paper"} < set(
            row
        )
        assert row["cold_start_s"] is None
        for counted in row["constraints"].values():
            assert 0 < counted["colours"] <= counted["bound"]
        assert len(row["runs"]) == 3


@pytest.mark.slow
def test_balance_and_passes(vivace):
    found = vivace(*BENCH, "--scenes", "s1", "--threads", 1, "--balance", "--passes", "--json").json
    assert list(found) == ["settings", "scenes", "balance", "passes"]
    counted = found["scenes"][0]["constraints"]
    for row in found["balance"]:
        assert sum(row["sizes"]) == counted[row["kind"]]["constraints"]
        assert len(row["sizes"]) == row["count"] == counted[row["kind"]]["colours"]
    assert [row["kind"] for row in found["passes"]] == ["stretch", "bend", "volume"]


@pytest.mark.slow
def test_tables(vivace):
    result = vivace(*BENCH, "--threads", 1, "--balance", "--passes", "--quiet")
    assert result.code == 0
    assert result.err == ""
    assert "…" not in result.out
    for word in ("s0", "s1", "s2", "29K / 8", "50K / 124", "1105", "paper: cpu, 12 cores", "bound", "pass ÷ copy"):
        assert word in result.out


@pytest.mark.slow
def test_progress_goes_to_standard_error(vivace):
    result = vivace(*BENCH, "--scenes", "s0", "--threads", 1)
    assert result.code == 0
    assert "s0: simulating" in result.err
    assert "simulating" not in result.out


@pytest.mark.slow
def test_cold_start(vivace, monkeypatch):
    monkeypatch.setattr("vivace.bench.sweep.first_frame_s", lambda *_, **__: 0.75)
    options = ("--scale", 0.01, "--frames", 1, "--scenes", "s0", "--threads", 1)
    assert vivace("bench", "pbd", *options, "--json").json["scenes"][0]["cold_start_s"] == 0.75
    assert "0.8 s" in vivace("bench", "pbd", *options, "--quiet").out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--scenes", "s0,fallingcube"), ["unknown scene 'fallingcube'", "'falling-cube'"]),
        (("--scenes", ","), ["at least one scene"]),
        (("--scenes", "s0,s0"), ["'s0' is there twice"]),
        (("--scenes", "tablecloth"), ["no parameter 'scale'"]),
        (("--threads", 257), ["threads", "257"]),
        (("--threads", ","), ["at least one number"]),
        (("--threads", "1,1"), ["1 is there twice"]),
        (("--target", "bar"), ["--target belongs to sweep"]),
        (("--solver", "vivace"), ["--solver belongs to sweep"]),
    ],
)
def test_one_clear_line(vivace, no_steps, options, words):
    complaint = vivace("bench", "pbd", *options).complaint
    for word in words:
        assert word in complaint


@pytest.mark.parametrize(
    ("option", "value"), [("--scale", "0"), ("--scale", "-1"), ("--frames", "0"), ("--threads", "0")]
)
def test_numbers_out_of_range_are_usage_errors(vivace, no_steps, option, value):
    result = vivace("bench", "pbd", f"{option}={value}")
    assert result.code == 2
    assert f"argument {option}: must be " in result.err


@pytest.mark.parametrize("option", ["--scenes=s0", "--scale=1", "--frames=3", "--balance", "--passes"])
def test_sweep_refuses_what_belongs_to_pbd(vivace, no_steps, option):
    name = option.partition("=")[0]
    assert f"{name} belongs to pbd and does nothing with sweep" in vivace("bench", "sweep", option).complaint
