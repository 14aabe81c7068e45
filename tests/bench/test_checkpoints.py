"""A run that is resumed is the run: frames, figures and files are those of one that was never stopped."""

import numpy as np
import pytest

from vivace import FileError, InputError, make_scene
from vivace.bench import run_rigid, run_scene
from vivace.bench.checkpoints import FrameFile, RunCheckpoints
from vivace.bench.tables import TABLES, to_pandas
from vivace.solvers import Budget


def scene():
    return make_scene("tablecloth", resolution=6)


def run(frames, checkpoints=None, **options):
    how = {"budget": Budget(iterations=3), "threads": 1, "record": True, "error_samples": 2, **options}
    return run_scene(scene(), frames=frames, checkpoints=checkpoints, **how)


class Killed(Exception):
    pass


def killed_at(path, frame, make=run, **options):
    """A run that dies in the middle of things, without a chance to write anything."""

    def tell(what, done, total):
        if (what, done) == ("simulating", frame):
            raise Killed

    with pytest.raises(Killed):
        make(9, RunCheckpoints(path, 3), progress=tell, **options)


@pytest.mark.slow
@pytest.mark.parametrize("frame", [1, 3, 5, 8])
def test_a_resumed_run_is_the_whole_run(tmp_path, frame):
    whole = run(9)
    killed_at(tmp_path / "x.vivace", frame)
    again = run(9, RunCheckpoints(tmp_path / "x.vivace", 3, resume=True))
    assert again.resumed == frame // 3 * 3
    for name in ("positions", "velocities"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
    assert again.errors == whole.errors
    assert [row["frame"] for row in again.rows] == list(range(1, 10))
    for name in ("sweeps", "stretch_mean", "residual", "time", "contacts"):
        assert [row[name] for row in again.rows] == [row[name] for row in whole.rows]


@pytest.mark.slow
def test_a_run_can_be_made_longer_and_is_not_made_twice(tmp_path):
    run(4, RunCheckpoints(tmp_path / "x.vivace", 3))
    longer = run(6, RunCheckpoints(tmp_path / "x.vivace", 3, resume=True))
    assert longer.resumed == 4
    np.testing.assert_array_equal(longer.positions, run(6).positions)
    done = run(6, RunCheckpoints(tmp_path / "x.vivace", 3, resume=True))
    assert done.resumed == 6
    assert len(list(tmp_path.glob("*.frames"))) == 1


@pytest.mark.slow
def test_a_new_run_takes_the_place_of_an_old_one(tmp_path):
    run(4, RunCheckpoints(tmp_path / "x.vivace", 3))
    before = set(tmp_path.glob("*.frames"))
    run(3, RunCheckpoints(tmp_path / "x.vivace", 3))
    assert len(list(tmp_path.glob("*.frames"))) == 1
    assert set(tmp_path.glob("*.frames")) != before


@pytest.mark.slow
def test_another_run_is_refused(tmp_path):
    path = tmp_path / "x.vivace"
    run(3, RunCheckpoints(path, 3))
    with pytest.raises(InputError, match=r"it is of another run: its budget is .*3.* was asked for; begin anew"):
        run(3, RunCheckpoints(path, 3, resume=True), budget=Budget(iterations=4))
    with pytest.raises(InputError, match="its recorded is True"):
        run(3, RunCheckpoints(path, 3, resume=True), record=False)
    next(tmp_path.glob("*.frames")).unlink()
    with pytest.raises(FileError, match=r"the recorded frames in .* are not there, or cut off"):
        run(3, RunCheckpoints(path, 3, resume=True))


@pytest.mark.slow
def test_rigid_runs(tmp_path):
    def make(frames, checkpoints=None, **options):
        how = {"frames": frames, "threads": 1, "record": True, **options}
        return run_rigid(make_scene("box-stack", n=2), checkpoints=checkpoints, **how)

    whole = make(9)
    killed_at(tmp_path / "x.vivace", 7, make)
    again = make(9, RunCheckpoints(tmp_path / "x.vivace", 3, resume=True))
    assert again.resumed == 6
    np.testing.assert_array_equal(again.positions, whole.positions)
    np.testing.assert_array_equal(again.orientations, whole.orientations)
    np.testing.assert_array_equal(again.trace["contacts"], whole.trace["contacts"])
    np.testing.assert_array_equal(again.moved, whole.moved)


def test_frames_that_were_cut_off(tmp_path):
    """A frame counts if all of it is there; what comes after the last that counts is overwritten."""
    path = tmp_path / "f.frames"
    spool = FrameFile.create(path, {"x": np.zeros((2, 3), np.float32)})
    for k in range(4):
        spool.append({"x": np.full((2, 3), k, np.float32)})
    spool.sync()
    spool.close()
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(FileError, match="too few for 4 frames"):
        FrameFile.open(path, 4)
    again = FrameFile.open(path, 3)
    np.testing.assert_array_equal(again.read(2)["x"], np.full((2, 3), 2))
    again.sync()
    again.append({"x": np.full((2, 3), 9, np.float32)})
    again.sync()
    np.testing.assert_array_equal(again.read(3)["x"], np.full((2, 3), 9))
    again.close()


@pytest.mark.slow
def test_a_wish_to_stop_ends_a_run_after_a_whole_frame(tmp_path):
    asked = iter([False, False, True, *[True] * 10])
    result = run(9, RunCheckpoints(tmp_path / "x.vivace", 100), stop=lambda: next(asked))
    assert result.interrupted
    assert len(result.positions) == len(result.rows) == 3
    assert run(9, RunCheckpoints(tmp_path / "x.vivace", 100, resume=True)).resumed == 3


@pytest.mark.slow
def test_tables(tmp_path):
    """One row a frame; what a frame does not have is empty, and numbers are those of the run."""
    rows = run(4).rows
    TABLES[".csv"].write(tmp_path / "t.csv", rows)
    lines = (tmp_path / "t.csv").read_text().splitlines()
    names = lines[0].split(",")
    assert len(lines) == 5
    assert {"frame", "ms", "sweeps", "stretch_max", "relative_error", "late_ms", "stage_ms_solve"} <= set(names)
    assert [float(line.split(",")[names.index("residual")]) for line in lines[1:]] == [row["residual"] for row in rows]
    assert lines[1].split(",")[names.index("relative_error")] == ""
    pandas = pytest.importorskip("pandas", reason="an extra: vivace[tables]")
    table = to_pandas(rows)
    assert list(table.index) == [1, 2, 3, 4]
    pytest.importorskip("pyarrow", reason="an extra: vivace[tables]")
    TABLES[".parquet"].write(tmp_path / "t.parquet", rows)
    read = pandas.read_parquet(tmp_path / "t.parquet")
    assert read["stretch_mean"].tolist() == [row["stretch_mean"] for row in rows]
