"""Jobs of SLURM, as far as they can be tried without it: what is refused before the first job."""

import signal
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

import vivace as vv
from vivace.errors import FileError, InputError
from vivace.sweeps import cluster
from vivace.sweeps.cluster import Jobs


class Recorded:
    """What `dask_jobqueue.SLURMCluster` is asked for."""

    def __init__(self, **options):
        self.options, self.scaled, self.closed = options, [], False
        self.workers, self.scheduler_info, self.submitted = {}, {"workers": {}}, 0

    def job_script(self):
        return "#!/bin/sh\n#SBATCH -p long\n"

    def scale(self, jobs):
        self.scaled.append(jobs)
        self.workers = {name: job for name, job in self.workers.items() if name < jobs}
        for name in range(len(self.workers), jobs):
            self.submitted += 1
            self.workers[name] = SimpleNamespace(job_id=str(100 + self.submitted))

    def close(self):
        self.closed = True


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """A library and an `sbatch` that takes jobs of the queue `long` only, and says so as SLURM does."""
    path = tmp_path / "bin" / "sbatch"
    path.parent.mkdir()
    path.write_text(
        '#!/bin/sh\n[ "$1" = --test-only ] && grep -q "p long" "$2" && exit 0\n'
        'echo "sbatch: error: invalid partition specified: nope" >&2; exit 1\n'
    )
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent), prepend=":")
    monkeypatch.setitem(sys.modules, "dask_jobqueue", SimpleNamespace(SLURMCluster=Recorded))


@pytest.mark.usefixtures("slurm")
def test_jobs_have_one_process_and_a_folder_for_what_they_say(tmp_path, monkeypatch):
    jobs = Jobs({"queue": "long", "memory": "8GB"}, 3, 2, tmp_path / "jobs")
    given = jobs.cluster.options
    assert (given["cores"], given["processes"], given["job_cpu"]) == (1, 1, 2)
    assert (given["queue"], given["memory"]) == ("long", "8GB")
    assert given["log_directory"] == str(tmp_path / "jobs")
    assert "export OMP_NUM_THREADS=1" in given["job_script_prologue"]
    assert list((tmp_path / "jobs").iterdir()) == []  # the script that SLURM was asked about is gone
    jobs.look()
    assert jobs.cluster.scaled == [3]  # not before some seconds have passed
    monkeypatch.setattr(cluster.time, "monotonic", lambda: 1e12)
    jobs.look()
    assert jobs.cluster.scaled == [3, 3]
    jobs.close()
    assert jobs.cluster.closed


@pytest.fixture
def clock(monkeypatch):
    """Time that passes when it is told to."""
    now = [1e6]
    monkeypatch.setattr(cluster.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.usefixtures("slurm")
def test_jobs_whose_workers_have_been_there_are_submitted_as_often_as_they_end(tmp_path, clock):
    jobs = Jobs({"queue": "long"}, 1, 1, tmp_path / "jobs")
    for _ in range(10 * cluster.STARTS):
        jobs.cluster.scheduler_info["workers"] = {"one": {}}
        clock[0] += 60
        jobs.look()
        jobs.cluster.scheduler_info["workers"] = {}
        jobs.cluster.workers.clear()  # as Dask does when a worker has gone
        clock[0] += 60
        jobs.look()
        assert len(jobs.cluster.workers) == 1


@pytest.mark.usefixtures("slurm")
@pytest.mark.parametrize(("known", "given_up"), [("101", False), ("", True)])
def test_slurm_is_asked_whether_jobs_without_workers_wait(tmp_path, clock, known, given_up):
    """Dask keeps them either way. Those in a queue may wait for days; those that have ended begin again some times."""
    squeue = tmp_path / "bin" / "squeue"
    squeue.write_text(f"#!/bin/sh\necho {known}\n")
    squeue.chmod(0o755)
    jobs = Jobs({"queue": "long"}, 1, 1, tmp_path / "jobs")
    (tmp_path / "jobs" / f"worker-{100 + cluster.STARTS}.err").write_text("Loading\nno module named vivace\n\n")
    told = r"before their workers begin: no module named vivace \(what they say is in "
    with pytest.raises(FileError, match=told) if given_up else nullcontext():
        for _ in range(100):
            clock[0] += 60
            jobs.look()
    assert jobs.cluster.submitted == (cluster.STARTS if given_up else 1)


def test_jobs_need_a_folder():
    with pytest.raises(InputError, match="need a folder"):
        vv.sweep("tablecloth", {"stretch": [1.0]}, slurm={"queue": "long"})


@pytest.mark.usefixtures("slurm")
def test_a_job_that_slurm_refuses_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(Recorded, "job_script", lambda self: "#!/bin/sh\n#SBATCH -p nope\n")
    with pytest.raises(InputError, match=r"SLURM takes no such job: invalid partition specified: nope$"):
        Jobs({"queue": "nope"}, 1, 1, tmp_path / "jobs")


def test_without_sbatch_there_are_no_jobs(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileError, match="no sbatch here"):
        Jobs({}, 1, 1, tmp_path / "jobs")


def test_ctrl_c_stays_what_it_was(tmp_path, monkeypatch):
    """The library takes SIGINT for itself while it is loaded."""
    (tmp_path / "dask_jobqueue.py").write_text("import signal, sys\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "dask_jobqueue", raising=False)
    before = signal.getsignal(signal.SIGINT)
    assert cluster._jobqueue().__file__ == str(tmp_path / "dask_jobqueue.py")
    assert signal.getsignal(signal.SIGINT) is before
    monkeypatch.delitem(sys.modules, "dask_jobqueue")
