"""Help, usage and what there is to list."""

import pytest

from vivace import CONSTRAINTS, FABRICS, SOLVERS, __version__
from vivace.cli.commands import LISTS
from vivace.colouring import COLOURINGS
from vivace.scenes import SCENES
from vivace.solvers.rigid import CONTACT_SOLVERS

REGISTRIES = {"scenes": SCENES, "solvers": SOLVERS, "colourings": COLOURINGS, "constraints": CONSTRAINTS}
REGISTRIES |= {"contact-solvers": CONTACT_SOLVERS, "fabrics": FABRICS}
COMMON = ["--json", "--quiet"]
TARGET = ["TARGET", "--set", "--seed", "--threads", *COMMON]
OPTIONS = {
    "list": ["--json", *REGISTRIES],
    "run": [*TARGET, "--solver", "--budget-ms", "--iterations", "--tolerance", "--frames", "--error-samples", "--out"],
    "colour": [*TARGET, "--algorithm", "--repeat", "--out"],
    "compare": [
        *(*TARGET, "--solvers", "--budgets-ms", "--iterations", "--live", "--frame", "--frames", "--samples"),
        *("--most", "--repeat", "--measure", "--out", "vivace compare tablecloth --solvers", "--frame 10"),
    ],
    "bench": ["sweep", "--threads", "--target", "--no-cold-start", *COMMON],
}


@pytest.mark.parametrize("command", OPTIONS)
def test_help_names_every_option(vivace, command):
    result = vivace(command, "--help")
    assert result.code == 0
    assert result.err == ""
    for option in OPTIONS[command]:
        assert option in result.out


def test_help_names_every_command(vivace):
    result = vivace("--help")
    assert result.code == 0
    for command in OPTIONS:
        assert command in result.out


def test_version(vivace):
    result = vivace("--version")
    assert (result.code, result.out) == (0, f"vivace {__version__}\n")


@pytest.mark.parametrize("arguments", [(), ("run",), ("nonsense",), ("compare", "bar"), ("bench", "nonsense")])
def test_wrong_usage_is_shown_with_code_2(vivace, arguments):
    result = vivace(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("usage: vivace")


def test_every_kind_has_a_list():
    assert set(LISTS) == set(REGISTRIES)


@pytest.mark.parametrize("kind", REGISTRIES)
def test_list_one_kind(vivace, kind):
    text = vivace("list", kind)
    rows = vivace("list", kind, "--json").json
    assert text.code == 0
    assert [row["name"] for row in rows] == list(REGISTRIES[kind])
    for row in rows:
        assert row["name"] in text.out
        if not row["summary"] and kind == "constraints":
            continue  # one that another test has registered
        assert row["summary"]
        assert row["summary"] in text.out  # citations [in brackets] included
        for option in row.get("parameters", row.get("options")):
            assert option in text.out
        assert row.get("limitations", "") in text.out
        assert kind != "solvers" or row["limitations"]


@pytest.mark.slow
def test_list_everything(vivace):
    everything = vivace("list", "--json").json
    text = vivace("list")
    assert text.code == 0
    assert set(everything) == set(REGISTRIES)
    for kind, registry in REGISTRIES.items():
        assert everything[kind] == vivace("list", kind, "--json").json
        assert kind in text.out
        for name in registry:
            assert name in text.out


@pytest.mark.slow
def test_listed_defaults_make_the_same_scene_and_solver(vivace):
    """What `list` prints are values that `run` takes."""
    everything = vivace("list", "--json").json
    cloth = next(row for row in everything["scenes"] if row["name"] == "tablecloth")
    solver = next(row for row in everything["solvers"] if row["name"] == "vivace")
    settings = [f"--set={key}={value}" for key, value in cloth["parameters"].items() if key != "resolution"]
    options = ",".join(f"{key}={value}" for key, value in solver["options"].items())
    common = ("run", "tablecloth", "--set", "resolution=5", "--iterations", 3, "--frames", 2, "--json")
    plain = vivace(*common, "--solver", "vivace").json
    spelt = vivace(*common, *settings, "--solver", f"vivace:{options}").json
    assert spelt["settings"] == plain["settings"]
    assert spelt["relative_error_median"] == plain["relative_error_median"]
