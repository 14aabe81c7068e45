"""Tables of runs as other programs take them: Parquet read by pandas, and xarray."""

import builtins
import json

import numpy as np
import pytest

import vivace as vv
from vivace.bench import run_rigid, run_scene
from vivace.bench.tables import to_xarray
from vivace.errors import MissingExtraError

EXTRA = "an extra: vivace[tables]"
COMMAND = ["tablecloth", "--set", "resolution=6", "--iterations", "3", "--frames", "4"]


def without(monkeypatch, *names):
    """As if a library were not installed."""
    real = builtins.__import__

    def refuse(name, *arguments, **more):
        if name.partition(".")[0] in names:
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)


@pytest.fixture(scope="module")
def run():
    scene = vv.make_scene("tablecloth", resolution=6)
    return run_scene(scene, frames=4, budget=vv.Budget(iterations=3), error_samples=1, record=True)


@pytest.mark.slow
def test_a_trace_as_parquet_is_read_by_pandas(tmp_path):
    """`vivace run --trace`: a row a frame, with the numbers and types of the same trace as CSV."""
    pandas = pytest.importorskip("pandas", reason=EXTRA)
    pytest.importorskip("pyarrow", reason=EXTRA)
    from vivace.cli import main

    path = tmp_path / "trace.parquet"
    assert main(["run", *COMMAND, "--error-samples", "1", "--quiet", "--trace", str(path)]) == 0
    read = pandas.read_parquet(path)
    assert read["frame"].tolist() == [1, 2, 3, 4]
    assert read["ms"].dtype == np.float64
    assert read["sweeps"].dtype == np.int64
    assert read["relative_error"].notna().sum() == 1
    assert main(["run", *COMMAND, "--error-samples", "1", "--quiet", "--trace", str(tmp_path / "trace.csv")]) == 0
    text = pandas.read_csv(tmp_path / "trace.csv")
    assert text["stretch_rms"].tolist() == read["stretch_rms"].tolist()
    assert set(text.columns) == set(read.columns)


@pytest.mark.slow
def test_a_sweep_as_parquet_is_read_by_pandas(tmp_path):
    """`vivace sweep --table parquet`: a row a run; a run that failed has its error, and no figures."""
    pandas = pytest.importorskip("pandas", reason=EXTRA)
    pytest.importorskip("pyarrow", reason=EXTRA)
    from vivace.cli import main

    vary = ["--vary", "stretch=1e2,-1,1e4", "--workers", "1", "--table", "parquet"]
    assert main(["sweep", *COMMAND, *vary, "--quiet", "--out", str(tmp_path)]) == 0
    read = pandas.read_parquet(tmp_path / "runs.parquet")
    assert read["stretch"].tolist() == [1e2, -1, 1e4]
    assert read["error"].notna().tolist() == [False, True, False]
    lines = [json.loads(line) for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    by_run = {line["row"]["run"]: line["row"] for line in lines}
    assert read.loc[2, "stretch_rms"] == by_run[2]["stretch_rms"]
    assert np.isnan(read.loc[1, "stretch_rms"])


@pytest.mark.slow
def test_a_run_as_a_dataset(run, tmp_path):
    """By frame, vertex and axis, with units: the figures and the positions of the run."""
    pytest.importorskip("xarray", reason=EXTRA)
    found = run.to_xarray()
    assert dict(found.sizes) == {"frame": 4, "vertex": run.sim.model.n, "axis": 3}
    assert found["frame"].values.tolist() == [1, 2, 3, 4]
    assert found["time"].dims == ("frame",)
    np.testing.assert_array_equal(found["positions"].sel(frame=3, axis="y"), run.positions[2][:, 1])
    np.testing.assert_array_equal(found["velocities"][1], run.velocities[1])
    assert found["stretch_rms"].values.tolist() == [row["stretch_rms"] for row in run.rows]
    assert np.isfinite(found["relative_error"]).sum() == 1
    assert found["note"].dtype.kind == "U"
    units = {name: found[name].attrs["units"] for name in ("time", "ms", "stage_ms_solve", "positions", "velocities")}
    assert units == {"time": "s", "ms": "ms", "stage_ms_solve": "ms", "positions": "m", "velocities": "m/s"}
    assert json.loads(found.attrs["settings"])["scene"] == "tablecloth"


@pytest.mark.slow
def test_rigid_bodies_as_a_dataset():
    pytest.importorskip("xarray", reason=EXTRA)
    run = run_rigid(vv.make_scene("box-stack"), frames=3, record=True)
    found = run.to_xarray()
    np.testing.assert_array_equal(found["positions"].sel(frame=1), run.positions[1])  # the first is the start
    np.testing.assert_array_equal(found["orientations"].sel(frame=3, quaternion="w"), run.orientations[3][:, 0])
    assert found["kinetic_energy"].attrs["units"] == "J"


def test_a_cache_as_a_dataset(tmp_path):
    """What was written, by time and vertex; the mean over vertices is one call."""
    pytest.importorskip("xarray", reason=EXTRA)
    cloth = vv.mesh.cloth(3, 3)
    frames = [cloth.vertices + 0.5 * k for k in range(3)]
    read = vv.caches.read(vv.export(frames, tmp_path / "a.npz", surface=cloth, time_step=0.25))
    found = read.to_xarray()
    assert found["positions"].dims == ("time", "vertex", "axis")
    assert found["time"].values.tolist() == [0.0, 0.25, 0.5]
    np.testing.assert_array_equal(found["triangles"], cloth.triangles)
    means = found["positions"].mean("vertex").sel(axis="z", time=0.5)
    assert float(means) == pytest.approx(cloth.vertices[:, 2].mean() + 1.0)


def test_what_is_missing_is_named(monkeypatch):
    without(monkeypatch, "xarray")
    animation = vv.caches.Animation(np.zeros(1), np.zeros((1, 1, 3)), np.zeros((0, 3), int))
    for make in (animation.to_xarray, lambda: to_xarray([{"frame": 1}], {}, {})):
        with pytest.raises(MissingExtraError, match=r"a Dataset needs .*vivace\[tables\]"):
            make()
