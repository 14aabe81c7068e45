"""Jobs of SLURM, as far as they can be tried without it: what is refused before the first job."""

import signal
import sys
from types import SimpleNamespace

import pytest

from vivace.errors import FileError, InputError
from vivace.sweeps import cluster
from vivace.sweeps.cluster import Jobs


class Recorded:
    """What `dask_jobqueue.SLURMCluster` is asked for."""

    def __init__(self, **options):
        self.options, self.scaled, self.closed = options, [], False

    def job_script(self):
        return "#!/bin/sh\n#SBATCH -p long\n"

    def scale(self, jobs):
        self.scaled.append(jobs)

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
