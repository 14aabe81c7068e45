"""Many runs, here or on a cluster: `vivace sweep`, and `vivace.sweep` from Python."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..checks import as_path, check_count
from ..errors import InputError, MissingExtraError
from ..pictures.sheet import contact_sheet
from ..solvers import Budget
from .describing import describe
from .functions import EXTRA, name_of, packed_function
from .plan import Plan, plan_of
from .results import SHEET, TABLE, Results, sheets
from .workers import Workers, connected

Progress = Callable[[str, int, int], None]  # what, done, total


def sweep(
    target: Any,
    vary: Mapping[str, Any],
    *,
    seeds: int | Sequence[int] = 1,
    sampling: str = "grid",
    runs: int | None = None,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    solver: str | None = None,
    budget: Budget | None = None,
    frames: int | None = None,
    time_step: float | None = None,
    substeps: int | str | None = None,
    integrator: str | None = None,
    error_samples: int = 0,
    measure: Callable[[Any], Mapping[str, Any]] | None = None,
    out: Any = None,
    table: str = TABLE,
    pictures: bool = False,
    resume: bool = False,
    workers: int | None = None,
    threads: int | None = None,
    scheduler: str | None = None,
    slurm: Mapping[str, Any] | None = None,
    imports: Sequence[str] = (),
    progress: Progress | None = None,
) -> Any:
    """Make many runs of a scene, in as many processes as there are cores, and return a `pandas.DataFrame` of them.

        table = vivace.sweep("tablecloth", {"stretch": "1e2:1e5:log:4", "solver": ["vivace", "chebyshev"]}, frames=60)
        table.groupby("solver")["ms_per_frame_median"].mean()

    Needs pip install "vivace[sweep]".

    Args:
        target: a scene's name, a scene file, a mesh file, or a function that makes a scene of its parameters.
        vary: values by the name of a parameter, of a material's or mesh's value, or of a setting below: several, or
            text such as "1e2:1e5:log:20".
        seeds: how many runs each combination has, or their seeds.
        sampling: "grid" for every combination; "random" or "latin-hypercube" for `runs` of them.
        runs: how many a sample has.
        seed: the first seed, and that of the sample.
        parameters: of the scene, for all runs; also solver, budget, frames, time_step, substeps, integrator.
        solver: by name, with options as in "vivace:omega=1.5".
        budget: of a frame. Only with iterations do rows not depend on what else the machine does.
        frames: of each run.
        time_step: of a frame (s).
        substeps: of a frame.
        integrator: by name.
        error_samples: frames of each run whose error against the converged solution is measured.
        measure: figures of one's own: gets a recorded run (`vivace.bench.Run`) and returns them by name.
        out: a folder for the table, the pictures and what `resume` needs; without, nothing is kept. Jobs of SLURM
            need one that all machines see.
        table: the name of the table in it, .csv or .parquet.
        pictures: draw the last frame of each run, and all of them as a contact sheet.
        resume: go on with what is in the folder; runs that are finished are not made again.
        workers: processes; by default one for each core.
        threads: of each run; by default its share of the cores.
        scheduler: the address of a Dask scheduler, whose workers are used.
        slurm: options of `dask_jobqueue.SLURMCluster`, to use jobs of SLURM.
        imports: modules that workers import first: those that register solvers or materials of one's own.
        progress: called with what is done, how much of it is, and how much there is.
    """
    if slurm is not None and out is None:
        raise InputError("jobs of SLURM need a folder that all machines see, for what they say: choose one by out")
    frame = _pandas()
    limits = {} if budget is None else {"budget_ms": budget.ms, "iterations": budget.iterations}
    limits |= {} if budget is None else {"tolerance": budget.tolerance}
    settings = {"solver": solver, **limits, "frames": frames, "time_step": time_step, "substeps": substeps}
    plan = planned(
        target, vary, seeds=seeds, sampling=sampling, runs=runs, seed=seed, parameters=parameters, measure=measure,
        settings={**settings, "integrator": integrator}, error_samples=error_samples, picture=pictures, imports=imports,
    )  # fmt: skip
    chosen = Workers(workers, threads, scheduler, slurm)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory()) if out is None else as_path(out, "out")
        results = stack.enter_context(Results(Path(folder), plan, resume=resume, table=table))
        make_runs(results, chosen, progress=progress)
        if out is not None:
            write_files(results)
        return frame(results.in_order()).set_index("run")


def planned(
    target: Any,
    vary: Mapping[str, Any],
    *,
    settings: Mapping[str, Any],
    parameters: Mapping[str, Any] | None = None,
    measure: Callable[[Any], Mapping[str, Any]] | None = None,
    error_samples: int = 0,
    picture: bool = False,
    imports: Sequence[str] = (),
    **sampled: Any,
) -> Plan:
    """The runs of a sweep, checked."""
    check_count("error_samples", error_samples, 0)
    description = describe(target, dict(parameters or {}), settings.get("solver"))
    own = {} if measure is None else {"measure": packed_function(measure), "measured": name_of(measure)}
    common: dict[str, Any] = {"error_samples": error_samples, "picture": picture, "imports": tuple(imports), **own}
    return plan_of(description, vary, settings=settings, **sampled, **common)


def make_runs(
    results: Results,
    workers: Workers,
    *,
    progress: Progress | None = None,
    stop: Callable[[], bool] | None = None,
) -> None:
    """Make the runs that are left, in whatever order they end, and keep each as soon as it has ended.

    A run whose process dies is made again by another. `stop`: asked now and then whether to end with what there is.
    """
    tell = progress or (lambda what, done, total: None)
    total, left = len(results.plan.tasks), results.left
    tell("runs", total - len(left), total)
    if not left:
        return
    _, threads = workers.shared(len(left))
    with connected(workers, len(left), results.folder) as crew:
        for done in crew.made([replace(task, threads=threads) for task in left]):
            if done is not None:
                results.add(done)
                tell("runs", len(results.rows), total)
            if stop is not None and stop():
                break


def write_files(results: Results) -> list[Path]:
    """The table and the contact sheet of the runs that there are."""
    written = [path for path in [results.write_table()] if path is not None]
    paths, labels = sheets(results)
    if paths:
        written += contact_sheet(results.folder / SHEET, paths, labels, columns=results.plan.columns)
    return written


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("a sweep from Python", EXTRA) from error
    return pandas.DataFrame
