"""The folder of a sweep: what is finished stays finished, whatever happens to the process."""

import json

import pytest

from vivace.errors import FileError, InputError
from vivace.sweeps import Results, planned
from vivace.sweeps.results import JOURNAL
from vivace.sweeps.task import Done


@pytest.fixture(scope="module")
def plan():
    vary = {"stretch": [1.0, 2.0, 3.0]}
    return planned("tablecloth", vary, settings={"iterations": 2}, parameters={"resolution": 4})


def done(task, **figures):
    return Done(task.key, {"run": task.number, **task.varied, "seed": 0, "error": None, **figures})


def test_a_run_is_taken_once(plan, tmp_path):
    with Results(tmp_path, plan) as results:
        assert results.add(done(plan.tasks[1], x=1.5))
        assert not results.add(done(plan.tasks[1], x=9.0))
        assert not results.add(Done("another", {}))
        assert [task.number for task in results.left] == [0, 2]
    assert len((tmp_path / JOURNAL).read_text().splitlines()) == 1


def test_rows_stand_in_the_order_of_the_sweep(plan, tmp_path):
    with Results(tmp_path, plan) as results:
        for k in (2, 0):
            results.add(done(plan.tasks[k], x=float(k), bad=float("nan")))
        assert results.write_table() == tmp_path / "runs.csv"
    assert [row.split(",")[0] for row in (tmp_path / "runs.csv").read_text().splitlines()] == ["run", "0", "2"]


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_line_that_is_not_whole_is_cut_off_and_its_run_made_again(plan, tmp_path, cut):
    with Results(tmp_path, plan) as results:
        results.add(done(plan.tasks[0]))
        results.add(done(plan.tasks[1]))
    journal = tmp_path / JOURNAL
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-cut])
    with Results(tmp_path, plan, resume=True) as results:
        assert [task.number for task in results.left] == [1, 2]
        results.add(done(plan.tasks[1]))
    assert journal.read_bytes() == whole


def test_spoilt_lines_are_passed_over(plan, tmp_path):
    lines = [b"\x00\xff\n", b'{"key": 3}\n', b"[]\n", b'{"key": "%s", "row": {"x": 1}}\n' % plan.tasks[0].key.encode()]
    (tmp_path / JOURNAL).write_bytes(b"".join([*lines, b"[" * 100_000 + b"\n"]))
    with Results(tmp_path, plan, resume=True) as results:
        assert [task.number for task in results.left] == [1, 2]


def test_another_sweep_is_not_written_over(plan, tmp_path):
    with Results(tmp_path, plan) as results:
        results.add(done(plan.tasks[0]))
        with pytest.raises(FileError, match="another sweep writes"):
            Results(tmp_path, plan, resume=True)
    with pytest.raises(InputError, match="1 finished runs; go on with it by --resume"):
        Results(tmp_path, plan)
    assert json.loads((tmp_path / "sweep.json").read_text())["runs"] == 3


@pytest.mark.parametrize("table", ["../runs.csv", "", "runs.txt"])
def test_tables_have_plain_names(plan, tmp_path, table):
    with pytest.raises(InputError):
        Results(tmp_path, plan, table=table)
