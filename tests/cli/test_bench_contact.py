"""`vivace bench contact`."""

import pytest

from vivace.bench import contact
from vivace.bench.contact_cases import CASES, Case
from vivace.rigid.balls import ball_grid, ball_pile

PARTS = ["sizes", "operations", "sequential", "scaling", "colours", "solvers"]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Problems under the names of the thesis', of a size where they take no time."""
    cases = (Case("small grid", lambda: ball_grid(8)), Case("small pile", lambda: ball_pile(10, 0.5)))
    monkeypatch.setitem(CASES, "small", cases)


@pytest.fixture
def no_problems(monkeypatch):
    """From here on a problem that is made fails the test."""

    def make(*_):
        raise AssertionError("a problem was made before the options were checked")

    monkeypatch.setattr(contact, "measure", make)


@pytest.mark.slow
def test_json(vivace, tmp_path):
    options = ("--sizes", "small", "--threads", "1,2", "--repeats", 1, "--out", tmp_path / "a.png", "--json")
    found = vivace("bench", "contact", *options).json
    assert list(found) == ["settings", *PARTS]
    assert found["settings"]["threads"] == [1, 2]
    assert [row["equal"] for row in found["sizes"]] == [True, False]
    assert {row["case"] for row in found["solvers"]} == {"small grid", "small pile"}
    assert all(row["seconds_median"] > 0 for row in found["solvers"])
    assert (tmp_path / "a.png").stat().st_size > 1000


@pytest.mark.slow
def test_tables_have_the_thesis_beside_ours(vivace):
    result = vivace("bench", "contact", "--sizes", "small", "--threads", 2, "--repeats", 1, "--quiet")
    assert result.code == 0
    assert result.err == ""
    assert "…" not in result.out
    for word in (
        "17728",
        "7415",
        "0.0933",
        "2.4, 2.6 on 8",
        "7.3, 14.6",
        "an unsafe one of 58",
        "rigid, balanced, fixed",
    ):
        assert word in result.out


@pytest.mark.slow
def test_orders(vivace):
    options = ("bench", "contact", "--sizes", "small", "--only", "orders", "--order", "shuffled")
    result = vivace(*options, "--quiet")
    for word in ("given", "shuffled", "thesis", "247", "ω"):
        assert word in result.out
    assert len(vivace(*options, "--json").json["orders"]) == 2 * 4


def test_one_part(vivace):
    result = vivace("bench", "contact", "--sizes", "small", "--only", "colours", "--quiet")
    assert "unsafe one" in result.out
    assert "seconds" not in result.out
    assert list(vivace("bench", "contact", "--sizes", "small", "--only", "colours", "--json").json) == [
        "settings",
        "colours",
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sizes", "tiny"), ["unknown size 'tiny'", "small, medium, large"]),
        (("--sizes", ","), ["at least one size"]),
        (("--omega", "2"), ["omega must lie between 0 and 2"]),
        (("--only", "table"), ["unknown part 'table'", "tables"]),
        (("--threads", "2,2"), ["2 is there twice"]),
        (("--out", "a.jpg"), [".png, .pdf or .svg", "'a.jpg'"]),
        (("--out", "a.png", "--only", "tables"), ["--out draws the part solvers"]),
        (("--scenes", "s0"), ["--scenes belongs to pbd and does nothing with contact"]),
        (("--target", "bar"), ["--target belongs to sweep and does nothing with contact"]),
        (("--no-cold-start",), ["--no-cold-start does nothing with contact"]),
    ],
)
def test_one_clear_line(vivace, no_problems, options, words):
    complaint = vivace("bench", "contact", *options).complaint
    for word in words:
        assert word in complaint


@pytest.mark.parametrize("option", ["--sizes=small", "--only=tables", "--repeats=3", "--out=a.png"])
@pytest.mark.parametrize("kind", ["sweep", "pbd"])
def test_others_refuse_what_belongs_to_contact(vivace, no_steps, kind, option):
    name = option.partition("=")[0]
    assert f"{name} belongs to contact and does nothing with {kind}" in vivace("bench", kind, option).complaint


def test_numbers_out_of_range_are_usage_errors(vivace, no_problems):
    result = vivace("bench", "contact", "--repeats=0")
    assert result.code == 2
    assert "argument --repeats: must be " in result.err
