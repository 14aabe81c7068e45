"""`vivace sweep`: many runs of a scene, as one table."""

from __future__ import annotations

import argparse
from typing import Any

from ..checks import as_path, shown
from ..errors import InputError
from ..interrupts import finish, stoppable
from ..simulation.motion import INTEGRATORS
from ..sweeps import SAMPLINGS, Results, Workers, make_runs, planned, write_files
from .arguments import (
    add_common,
    add_target,
    natural,
    parameter,
    positive,
    positive_int,
    share,
    solver_names,
    substeps,
)
from .console import out, progress, show_json, show_table

DETAILS = """Make many runs of a scene, in as many processes as there are cores, and write one table of them.

  vivace sweep tablecloth --vary stretch=1e2:1e5:log:20 --vary substeps=2,4,8 --iterations 40 --seeds 10 --out results
  vivace sweep scene.toml --vary material.bend=0:1e-3 --sampling latin-hypercube --runs 500 --out results --pictures

NAME is a parameter of a scene, an entry of a scene file (material.stretch, or stretch alone where that is clear), an
option of the solver (solver.omega), or one of solver, budget_ms, iterations, tolerance, frames, time_step, substeps,
integrator. VALUES are a list (1,2,3) or a range FROM:TO[:log][:COUNT]; samples other than a grid need no count.

Each run that is finished is kept at once. The same command with --resume makes only those that are missing, also
after a larger range. Runs whose process is killed are made again. See docs/sweeps.md."""

SETTINGS = ("solver", "budget_ms", "iterations", "tolerance", "frames", "time_step", "substeps", "integrator")


def add_arguments(sub: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_target(sub)
    sub.add_argument(
        "--vary", metavar="NAME=VALUES", action="append", default=[], help="what differs between runs; may be repeated"
    )
    sub.add_argument("--seeds", type=positive_int, default=1, metavar="N", help="runs of each combination (default 1)")
    sub.add_argument("--sampling", default="grid", metavar="WAY", help=f"{', '.join(SAMPLINGS)} (default grid)")
    sub.add_argument("--runs", type=positive_int, metavar="N", help="how many, where it is a random sample")
    sub.add_argument("--out", metavar="FOLDER", required=True, help="for the table and all that --resume needs")
    sub.add_argument("--table", default="csv", choices=("csv", "parquet"), help="format of the table (default csv)")
    sub.add_argument("--pictures", action="store_true", help="draw the last frame of each run, and a contact sheet")
    sub.add_argument("--resume", action="store_true", help="go on with what is in the folder")
    where = sub.add_argument_group("where runs are made (default: processes here)")
    where.add_argument(
        "--workers", type=positive_int, metavar="N", help="processes (default: one for each core) or jobs"
    )
    where.add_argument(
        "--scheduler", metavar="ADDRESS", help="of Dask, e.g. tcp://host:8786: its workers make the runs"
    )
    where.add_argument(
        "--slurm",
        metavar="NAME=VALUE",
        action="append",
        help="make the runs by jobs of SLURM, with an option of dask_jobqueue.SLURMCluster, e.g. queue=long, "
        "memory=8GB, walltime=04:00:00; may be repeated",
    )
    where.add_argument(
        "--import",
        metavar="MODULE",
        action="append",
        default=[],
        dest="imports",
        help="what workers import first: registers solvers, materials and scenes of your own",
    )
    every = sub.add_argument_group("every run (as of 'vivace run')")
    every.add_argument("--solver", metavar="NAME", help="e.g. vivace:omega=1.5")
    every.add_argument("--budget-ms", type=positive, metavar="B", help="milliseconds a step")
    every.add_argument("--iterations", type=positive_int, metavar="K", help="sweeps a step: rows repeat to the bit")
    every.add_argument("--tolerance", type=share, metavar="T", help="relative residual")
    every.add_argument("--frames", type=positive_int, metavar="N", help="steps")
    every.add_argument("--time-step", type=positive, metavar="H", help="seconds of a step")
    every.add_argument("--substeps", type=substeps, metavar="M", help="equal parts of a step, or auto")
    every.add_argument("--integrator", choices=INTEGRATORS)
    every.add_argument("--error-samples", type=natural, default=0, metavar="E", help="frames whose error is measured")
    add_common(sub)


def sweep(arguments: argparse.Namespace) -> None:
    """Make the runs and write their table: `vivace sweep`."""
    vary, words = _varied(arguments.vary)
    chosen = Workers(arguments.workers, arguments.threads, arguments.scheduler, _slurm(arguments.slurm))
    for name in arguments.imports:
        _load(name)
    plan = planned(
        arguments.target,
        vary,
        words=words,
        seeds=arguments.seeds,
        sampling=arguments.sampling,
        runs=arguments.runs,
        seed=arguments.seed,
        parameters=dict(map(parameter, arguments.parameters)),
        settings={name: getattr(arguments, name) for name in SETTINGS},
        error_samples=arguments.error_samples,
        picture=arguments.pictures,
        imports=arguments.imports,
    )
    folder, table = as_path(arguments.out, "--out"), f"runs.{arguments.table}"
    with (
        Results(folder, plan, resume=arguments.resume, table=table) as results,
        progress(arguments.quiet or arguments.json) as tell,
        stoppable() as stop,
    ):
        before = len(results.rows)
        make_runs(results, chosen, progress=tell, stop=stop)
        stop.over()
        written = [str(path) for path in write_files(results)]
    rows, total = results.in_order(), len(plan.tasks)
    failed = [row for row in rows if row.get("error")]
    if arguments.json:
        made = {"runs": total, "made": len(rows) - before, "kept": before, "failed": len(failed)}
        show_json({**made, "written": written, "rows": rows})
    elif not stop.number:
        _show(f"{plan.description.label}: {total} runs", plan.names, rows)
        for row in failed[:3]:
            out.print(f"run {row['run']} failed: {row['error']}", markup=False, soft_wrap=True)
        kept = f", {before} of them before" if before else ""
        out.print(f"{len(rows)} runs finished{kept}, {len(failed)} failed", soft_wrap=True)
        for path in written:
            out.print(f"wrote {path}", markup=False, soft_wrap=True)
    if stop.number:
        told = f"{len(rows)} of {total} runs are finished and kept in {folder}; go on by --resume"
        finish(stop.interrupt(told))


def _varied(given: list[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Values by name as text, and the parts of lists whose commas are not all between values."""
    vary: dict[str, str] = {}
    for text in given:
        name, separator, values = text.partition("=")
        name = name.strip()
        if not separator or not name or not values.strip():
            raise InputError(f"--vary {shown(text)} is not NAME=VALUES, such as stretch=1e2:1e5:log:20")
        if name in vary:
            raise InputError(f"--vary {name} is there twice; give all its values at once")
        vary[name] = values.strip()
    return vary, {"solver": solver_names(vary["solver"])} if "solver" in vary else {}


def _slurm(given: list[str] | None) -> dict[str, Any] | None:
    return None if given is None else dict(map(parameter, given))


def _load(name: str) -> None:
    from importlib import import_module

    try:
        import_module(name)
    except ImportError as error:
        raise InputError(f"--import {name}: {error}") from error


def _show(title: str, names: list[str], rows: list[dict[str, Any]]) -> None:
    """The first and last rows, by the figures that most have."""
    figures = ("ms_per_frame_median", "stretch_rms", "relative_error_median", "depth_end", "kinetic_energy_end")
    shown_figures = [name for name in figures if any(row.get(name) is not None for row in rows)]
    several = ["seed"] if len({row["seed"] for row in rows}) > 1 else []
    columns = ["run", *names, *several, *shown_figures, "seconds"]
    chosen = rows if len(rows) <= 24 else [*rows[:12], {}, *rows[-11:]]
    cells = [[row.get(name) if row else "…" for name in columns] for row in chosen]
    show_table(title, [name.replace("_", " ") for name in columns], cells)
