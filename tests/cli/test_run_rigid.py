"""`vivace run` of rigid bodies: figures, files, refusals; and what commands for soft bodies say of such a scene."""

import json

import numpy as np
import pytest
from PIL import Image

from vivace import make_scene
from vivace.bench import run_rigid
from vivace.pictures import film

SMALL = ("run", "box-stack", "--set", "n=3", "--frames", 3, "--quiet")


@pytest.mark.slow
def test_figures(vivace):
    result = vivace(*SMALL, "--threads", 1, "--json")
    figures = result.json
    assert (result.code, result.err) == (0, "")
    assert (figures["frames"], figures["bodies"], figures["free_bodies"]) == (3, 4, 3)
    assert figures["contacts_end"] == figures["contacts_most"] == 3 * 4
    assert figures["iterations_per_frame_median"] == 4 * make_scene("box-stack").budget.iterations
    assert 0 < figures["ms_per_frame_median"] <= figures["ms_per_frame_p99"]
    assert set(figures["stages_ms_median"]) == {"detect", "solve", "apart", "move"}
    assert figures["moved_least"] <= figures["moved_median"] <= figures["moved_most"] < 1e-3
    assert figures["depth_most"] < 1e-3
    assert figures["kinetic_energy_end"] < 1e-3
    assert figures["finite"]
    settings = figures["settings"]
    assert settings["solver"]["name"] == "contact-sets"
    assert settings["parameters"]["n"] == 3
    assert settings["version"]


@pytest.mark.slow
def test_table(vivace):
    result = vivace(*SMALL, "--threads", 1)
    text = " ".join(result.out.split())
    assert result.code == 0
    for words in (
        "4 bodies, 3 of them free, contact-sets, 1 threads",
        "median ms by stage: detect",
        "contacts: median 12",
    ):
        assert words in text
    assert "free bodies moved from where they started" in text


@pytest.mark.slow
def test_options_go_where_they_belong(vivace):
    options = ("--solver", "coloured:omega=0.8", "--iterations", 7, "--substeps", 2, "--time-step", 0.01, "--seed", 5)
    settings = vivace(*SMALL, *options, "--json").json["settings"]
    assert settings["solver"]["name"] == "coloured"
    assert (settings["solver"]["omega"], settings["solver"]["seed"]) == (0.8, 5)
    assert (settings["budget"], settings["substeps"], settings["time_step"]) == ({"iterations": 7}, 2, 0.01)
    assert vivace(*SMALL, "--budget-ms", 50, "--json").json["settings"]["budget"] == {"ms": 50}


@pytest.mark.slow
def test_numbers(vivace, tmp_path):
    """Where bodies were is what a run from Python says, bit for bit, and settings say how to make it again."""
    target = tmp_path / "stack.npz"
    figures = vivace(*SMALL, "--threads", 1, "--out", target, "--json").json
    assert figures["written"] == [str(target)]
    run = run_rigid(make_scene("box-stack", n=3), frames=3, threads=1, record=True)
    with np.load(target) as data:
        assert data["positions"].shape == (3, 4, 3)
        assert data["orientations"].shape == (3, 4, 4)
        np.testing.assert_array_equal(data["positions"], run.positions[1:])
        np.testing.assert_array_equal(data["orientations"], run.orientations[1:])
        np.testing.assert_array_equal(data["first_positions"], make_scene("box-stack", n=3).simulate().positions)
        for name in ("contacts", "kinetic_energy", "depth", "ms", "ms_detect", "ms_solve"):
            assert data[name].shape == (3,)
        np.testing.assert_array_equal(data["contacts"], run.trace["contacts"])
        assert json.loads(str(data["settings"])) == figures["settings"]
        assert str(data["version"]) == figures["settings"]["version"]


@pytest.mark.slow
def test_film_and_picture_and_numbers_of_one_run(vivace, tmp_path, monkeypatch):
    monkeypatch.setitem(film.FASTEST, ".gif", 60.0)
    names = {"--out": "a.npz", "--film": "b.gif", "--picture": "c.png"}
    options = [str(part) for option, name in names.items() for part in (option, tmp_path / name)]
    figures = vivace("run", "dominoes", "--set", "n=2", "--frames", 3, *options, "--json").json
    found = {path.name for path in tmp_path.iterdir()}
    assert found == {"a.npz", "b.gif", "b.png", "b-trace.png", "c.png", "c-trace.png"}
    assert set(figures["written"]) == {str(tmp_path / name) for name in found}
    with Image.open(tmp_path / "b.gif") as picture:
        assert picture.n_frames == 4  # the start, and three
        assert picture.size == (960, 720)
        assert json.loads(picture.info["comment"])["scene"] == "dominoes"
    with Image.open(tmp_path / "c.png") as picture:
        assert json.loads(picture.text["vivace"])["scene"] == "dominoes"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*SMALL, "--solver", "vivace"), ["unknown contact solver 'vivace'", "contact-sets"]),
        ((*SMALL, "--solver", "coloured:speed=2"), ["contact solver 'coloured' has no option 'speed'"]),
        ((*SMALL, "--integrator", "bdf2"), ["--integrator is for soft bodies", "'box-stack'"]),
        ((*SMALL, "--error-samples", 2), ["--error-samples is for soft bodies"]),
        ((*SMALL, "--substeps", "auto"), ["--substeps of rigid bodies is a number", "'box-stack' has 4"]),
        ((*SMALL, "--set", "n=0"), ["n must be 1 or more"]),
        ((*SMALL, "--set", "m=2"), ["no parameter 'm'"]),
        ((*SMALL, "--film", "a.npz"), ["--film must end in one of .mp4, .gif, not 'a.npz'"]),
        ((*SMALL, "--picture", "a.gif"), ["--picture must end in one of .png, not 'a.gif'"]),
        ((*SMALL, "--out", "a.txt"), ["--out must end in one of"]),
        (("colour", "box-stack"), ["'box-stack' is made of rigid bodies", "soft ones", "vivace run box-stack"]),
        (("compare", "box-stack", "--solvers", "vivace"), ["'box-stack' is made of rigid bodies"]),
        (("compare", "bar", "box-stack", "--solvers", "vivace"), ["'box-stack' is made of rigid bodies"]),
        (("tune", "box-stack"), ["'box-stack' is made of rigid bodies"]),
        (("bench", "sweep", "--target", "box-stack"), ["'box-stack' is made of rigid bodies"]),
        (("bench", "pbd", "--scenes", "box-stack"), ["scene 'box-stack' has no parameter 'scale'"]),
        (("run", "tablecloth", "--set", "resolution=6", "--solver", "contact-sets"), ["unknown solver 'contact-sets'"]),
    ],
)
def test_one_clear_line(vivace, arguments, words, tmp_path, monkeypatch, no_steps):
    monkeypatch.chdir(tmp_path)
    complaint = vivace(*arguments).complaint
    for word in words:
        assert word in complaint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("scene", "solver", "word"),
    [
        ("box-stack", "vivace", "unknown contact solver 'vivace'"),
        ("bar", "contact-sets", "unknown solver 'contact-sets'"),
    ],
)
def test_the_viewer_tells_its_address_and_then_what_is_wrong(vivace, scene, solver, word, no_steps):
    """The page is there before anything is loaded; the last line in the terminal says why nothing comes."""
    outcome = vivace("view", scene, "--no-browser", "--port", 0, "--solver", solver)
    assert outcome.code == 1
    assert outcome.out.startswith("http://")
    assert word in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.slow
def test_soft_bodies_have_the_new_options_too(vivace, tmp_path):
    target = tmp_path / "a.png"
    options = ("--time-step", 0.02, "--picture", target, "--json")
    figures = vivace("run", "tablecloth", "--set", "resolution=6", "--iterations", 2, "--frames", 2, *options).json
    assert figures["settings"]["time_step"] == 0.02
    assert str(target) in figures["written"]
    assert target.exists()
