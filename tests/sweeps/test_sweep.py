"""Sweeps with processes of their own, some of which are killed."""

import errno
import os
import signal

import pytest

import vivace as vv
from vivace.errors import InputError, MissingExtraError
from vivace.forking import ForkServer
from vivace.sweeps import Results, Workers, make_runs, planned, processes, workers
from vivace.sweeps.task import run_task

pytest.importorskip("pandas", reason='sweeps need pip install "vivace[sweep]"')

SMALL = {"resolution": 5}
FIGURES = ["stretch_mean", "stretch_rms", "stretch_max"]


def lowest(run):
    """A figure of one's own, whose module no worker can import."""
    return {"lowest": run.positions[-1][:, 1].min(), "frames_seen": len(run.positions)}


def own_scene(size: int = 4, stretch: float = 1e3):
    model = vv.Model.of(vv.mesh.cloth(size, size), vv.Cloth(stretch=stretch)).pin("top-corners")
    return vv.Scene("own", model, 1 / 60, frames=3, budget=vv.Budget(iterations=3))


@pytest.mark.slow
def test_a_sweep_of_ones_own_function_and_figures():
    """Every combination once, in order; the figures are those of the run alone, to the bit, and errors are rows."""
    table = vv.sweep(own_scene, {"stretch": [1e2, 1e4], "size": [4, 1]}, measure=lowest, workers=2)
    assert table.index.tolist() == [0, 1, 2, 3]
    assert table["size"].tolist() == [4, 1, 4, 1]
    assert table["error"].notna().tolist() == [False, True, False, True]
    alone = vv.bench.run_scene(own_scene(4, 1e4), error_samples=0, record=True)
    assert table.loc[2, "lowest"] == alone.positions[-1][:, 1].min()
    assert table.loc[2, "stretch_rms"] == alone.summary()["stretch_rms"]
    assert table.loc[0, "frames_seen"] == 3


@pytest.mark.slow
def test_killed_workers_are_retried_and_finished_runs_never_made_again(tmp_path, monkeypatch):
    """Both workers are killed once each after the first results: all rows are there, with the bits of runs alone."""
    plan = planned(
        "tablecloth", {"stretch": "1e2:1e4:log:8"}, settings={"iterations": 3, "frames": 4}, parameters=SMALL
    )
    made = []
    monkeypatch.setattr(workers, "LocalProcesses", remembered(workers.LocalProcesses, made))
    killed = []

    def progress(what, done, total):
        if done in (2, 3) and made and len(killed) < 2:
            pid = made[0].workers[len(killed)].pid
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    with Results(tmp_path, plan) as results:
        make_runs(results, Workers(2), progress=progress)
        rows = results.in_order()
    assert len(killed) == 2
    assert [row["run"] for row in rows] == list(range(8))
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 8
    for k in (0, 7):
        assert [rows[k][name] for name in FIGURES] == [run_task(plan.tasks[k]).row[name] for name in FIGURES]
    with Results(tmp_path, plan, resume=True) as results:
        monkeypatch.setattr(workers, "LocalProcesses", None)  # nothing is left to be made
        make_runs(results, Workers(2))
        assert results.in_order() == rows


@pytest.mark.slow
def test_a_killed_fork_server_is_started_again(tmp_path, monkeypatch):
    """Server and a worker are killed after the first run: the other worker goes on, and a new server forks the next."""
    plan = planned(
        "tablecloth", {"stretch": "1e2:1e4:log:6"}, settings={"iterations": 3, "frames": 4}, parameters=SMALL
    )
    made, killed = [], []
    monkeypatch.setattr(workers, "LocalProcesses", remembered(workers.LocalProcesses, made))

    def progress(what, done, total):
        if done == 1 and made and not killed:
            killed.extend([made[0].server.pid, made[0].workers[0].pid])
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    with Results(tmp_path, plan) as results:
        make_runs(results, Workers(1), progress=progress)
        assert [row["error"] for row in results.in_order()] == [None] * 6
    assert made[0].server.pid != killed[0]


def ends_its_process(run):
    """As a crash in compiled code would."""
    if run.scene.model.n == 9:
        os._exit(3)
    return {"seen": True}


@pytest.mark.slow
def test_a_run_that_ends_its_process_every_time_is_a_row_with_an_error(monkeypatch):
    """The runs before and after it are made, whichever process had them."""
    monkeypatch.setattr(processes, "TRIES", 3)
    table = vv.sweep(own_scene, {"size": [4, 3, 5, 6]}, measure=ends_its_process, workers=1)
    assert table["error"].notna().tolist() == [False, True, False, False]
    assert table.loc[1, "error"] == "its process ended all 3 times"
    assert table["seen"].notna().tolist() == [True, False, True, True]


def remembered(cls, made):
    def make(*arguments):
        made.append(cls(*arguments))
        return made[-1]

    return make


@pytest.mark.slow
def test_workers_that_cannot_start_end_the_sweep(tmp_path, monkeypatch):
    """Not for ever: what they said last is told."""
    monkeypatch.setattr(processes, "WORKER", "vivace.no_such_room")
    plan = planned("tablecloth", {}, settings={"iterations": 3, "frames": 4}, parameters=SMALL)
    with (
        Results(tmp_path, plan) as results,
        pytest.raises(vv.FileError, match=r"worker processes cannot be started: .*no_such_room"),
    ):
        make_runs(results, Workers(1))


def test_more_processes_than_can_be_started_are_too_many(monkeypatch):
    """Those that were started before end."""
    begun, fork = [], ForkServer.fork

    def refuse(server):
        if len(begun) == 2:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        begun.append(fork(server))
        return begun[-1]

    monkeypatch.setattr(ForkServer, "fork", refuse)
    with pytest.raises(InputError, match=r"^9 processes cannot be started \(.*\); choose fewer workers"):
        processes.LocalProcesses(9)
    assert all(connection.closed for connection in begun)


@pytest.mark.slow
def test_a_process_that_is_sent_what_it_cannot_read_ends():
    """It would wait for ever otherwise, and whoever leads for it."""
    with ForkServer(processes.WORKER) as server, server.fork() as connection:
        connection.recv()  # its number
        connection.send_bytes(b"no task")
        with pytest.raises((EOFError, OSError)):
            connection.recv()


def test_each_process_has_its_share_of_threads(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    assert Workers().shared(100) == (8, 1)
    assert Workers().shared(2) == (2, 4)
    assert Workers(count=2).shared(100) == (2, 4)
    assert Workers(threads=4).shared(100) == (2, 4)
    assert Workers(count=3, threads=2).shared(100) == (3, 2)
    assert Workers(scheduler="tcp://host:1").shared(100) == (0, 1)


def test_other_places_are_refused_clearly(monkeypatch):
    with pytest.raises(InputError, match="one of them"):
        Workers(scheduler="tcp://host:1", slurm={})
    with pytest.raises(InputError, match="workers must be 1 or more"):
        Workers(count=0)
    monkeypatch.setattr(workers, "find_spec", lambda name: None if name == "dask_jobqueue" else object())
    with pytest.raises(MissingExtraError, match=r"vivace\[slurm\]"):
        Workers(slurm={"queue": "long"})
    monkeypatch.setattr(workers, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"vivace\[sweep\]"):
        Workers(scheduler="tcp://host:1")
    assert Workers().scheduler is None  # processes here need nothing


@pytest.mark.slow
def test_a_scheduler_by_its_address(tmp_path):
    """Workers that somebody else started make the runs; a scheduler that is not there is said to be missing."""
    import distributed

    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp"
    ) as cluster:
        address = cluster.scheduler_address
        table = vv.sweep(
            "tablecloth",
            {"stretch": [1e3]},
            parameters=SMALL,
            frames=2,
            budget=vv.Budget(iterations=2),
            scheduler=address,
        )
    assert table["error"].tolist() == [None]


@pytest.mark.slow
def test_pictures_become_a_contact_sheet(tmp_path):
    from PIL import Image

    options = {"frames": 2, "budget": vv.Budget(iterations=2), "parameters": SMALL, "workers": 1}
    vv.sweep("tablecloth", {"stretch": [1e2, 1e4]}, out=tmp_path / "soft", pictures=True, **options)
    assert len(list((tmp_path / "soft" / "pictures").glob("*.png"))) == 2
    with Image.open(tmp_path / "soft" / "contact-sheet.png") as sheet:
        assert sheet.width > 640  # two beside each other
