import json

import pytest

from vivace.cli.schema import schemas

LINES = [
    {"file": "vivace input", "format": 1, "scene": {"name": "tablecloth", "parameters": {"resolution": 5}},
     "solver": "vivace", "frames": 6, "recorded": [2, 6]},
    {"frame": 1, "client": "1", "type": "grab", "pointer": 0, "vertex": 7, "target": [0, 0.4, 0], "scene": 1,
     "order": 1},
    {"rounds": [[6, 4, 1]]},
]  # fmt: skip


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, LINES)))
    return path


@pytest.mark.slow
def test_a_log_is_made_again_and_written(vivace, log, tmp_path):
    command = ("replay", log, "--json", "--threads", 1)
    first, again = vivace(*command).json, vivace(*command, "--out", tmp_path / "again.npz").json
    assert set(first) == set(schemas()["replay"]["required"])
    assert (first["frames"], first["recorded"]) == (6, 4)
    assert again["bits"] == first["bits"]
    assert again["written"] == [str(tmp_path / "again.npz")]
    assert vivace(*command, "--iterations", 20).json["bits"] != first["bits"]
    assert vivace(*command, "--from-start").json["recorded"] == 6


@pytest.mark.usefixtures("no_steps")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--out", "film.txt"), "--out must end in one of"),
        (("--solver", "newtn"), "did you mean 'newton'"),
        (("--set", "resolutio=5"), "resolutio"),
    ],
)
def test_what_is_wrong_is_said_before_anything_moves(vivace, log, options, told):
    assert told in vivace("replay", log, *options).complaint
