"""One function a command: call the library, show the result."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.text import Text

from .._version import __version__
from ..bench import colour as colour_bench
from ..bench import run as run_bench
from ..bench.run_files import RUN_SUFFIXES, write_run
from ..caches import CACHES, check_cache
from ..checks import as_path
from ..colouring import COLOURINGS
from ..colouring import options_of as colouring_options
from ..constraints import CONSTRAINTS
from ..errors import InputError
from ..files import check_writable
from ..interrupts import as_far_as_done, finish, stoppable
from ..model.fabrics import FABRICS, fabric
from ..scenes import SCENES, RigidScene, parameters_of, summary_of
from ..solvers import SOLVERS, limitations_of, make_solver, options_of
from ..solvers.rigid import CONTACT_SOLVERS, contact_options
from .arguments import any_scene_of, budget_of, scene_of
from .console import out, progress, show_json, show_table
from .rigid_run import run_bodies
from .run_files import Kept


def _first_line(thing: object) -> str:
    return (thing.__doc__ or "").strip().partition("\n")[0]


PLOT_SUFFIXES = (".png", ".pdf", ".svg")
FILM_SUFFIXES, PICTURE_SUFFIXES = (".mp4", ".gif"), (".png",)
LISTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "scenes": lambda: [{"name": n, "summary": summary_of(n), "parameters": parameters_of(n)} for n in SCENES],
    "solvers": lambda: [
        {"name": n, "summary": _first_line(cls), "options": options_of(cls), "limitations": limitations_of(cls)}
        for n, cls in SOLVERS.items()
    ],
    "contact-solvers": lambda: [
        {"name": n, "summary": _first_line(cls), "options": contact_options(cls), "limitations": limitations_of(cls)}
        for n, cls in CONTACT_SOLVERS.items()
    ],
    "colourings": lambda: [
        {"name": n, "summary": _first_line(function), "options": colouring_options(n)}
        for n, function in COLOURINGS.items()
    ],
    "fabrics": lambda: [{"name": n, "summary": _first_line(FABRICS[n]), "options": asdict(fabric(n))} for n in FABRICS],
    "constraints": lambda: [
        {
            "name": n,
            "summary": kind.summary,
            "vertices": kind.vertices,
            "unit": kind.unit,
            "options": dict(kind.options),
        }
        for n, kind in CONSTRAINTS.items()
    ],
}


def list_things(arguments: argparse.Namespace) -> None:
    """Print what is registered: `vivace list`."""
    kinds = [arguments.what] if arguments.what else list(LISTS)
    found = {kind: LISTS[kind]() for kind in kinds}
    if arguments.json:
        return show_json(found[arguments.what] if arguments.what else found)
    for kind, rows in found.items():
        out.print(kind, style="bold")
        for row in rows:
            options = row.get("parameters", row.get("options")) or {}
            text = "  ".join(f"{key}={value!r}" for key, value in options.items())
            out.print(Text.assemble("  ", (row["name"], "cyan"), "  ", row["summary"]), soft_wrap=True)
            if text:
                out.print(f"      {text}", style="dim", soft_wrap=True)
            if row.get("limitations"):
                out.print(f"      limitations: {row['limitations']}", style="dim", markup=False, soft_wrap=True)
    return None


def run_scene(arguments: argparse.Namespace) -> None:
    """Simulate a scene, print a summary and write a file of the run: `vivace run`."""
    targets = _targets(arguments)
    scene, budget = any_scene_of(arguments), budget_of(arguments)
    if arguments.time_step is not None:
        scene = replace(scene, time_step=arguments.time_step)
    if isinstance(scene, RigidScene):
        return run_bodies(arguments, scene, budget, targets)
    if arguments.solver is not None:
        make_solver(arguments.solver)
    kept = Kept(arguments, scene.name, targets)
    with progress(arguments.quiet or arguments.json) as tell, stoppable() as stop:
        result = run_bench.run(
            scene,
            solver=arguments.solver,
            budget=budget,
            frames=arguments.frames,
            threads=arguments.threads,
            seed=arguments.seed,
            error_samples=arguments.error_samples,
            substeps=arguments.substeps,
            integrator=arguments.integrator,
            record=bool(targets),
            spool=targets[0].absolute().parent if targets else None,
            progress=tell,
            checkpoints=kept.checkpoints,
            stop=stop,
        )
        stop.over()
        how: dict[str, Any] = {"unit": arguments.unit, "up": arguments.up, "progress": tell}
        files = [write_run(result, target, **how) for target in targets]
    summary = result.summary()
    if not arguments.json and not stop.number:
        _show_run(result, summary)
    return kept.finish(result, files, summary, stop)


def _targets(arguments: argparse.Namespace) -> list[Path]:
    """The files that a run is to write, with names that say what they are."""
    found = []
    for option, suffixes in (("out", RUN_SUFFIXES), ("film", FILM_SUFFIXES), ("picture", PICTURE_SUFFIXES)):
        text = getattr(arguments, option)
        if not text:
            continue
        found.append(as_path(text, f"--{option}"))
        suffix = found[-1].suffix.lower()
        if suffix not in suffixes:
            raise InputError(f"--{option} must end in one of {', '.join(suffixes)}, not {found[-1].name!r}")
        if suffix in CACHES:
            check_cache(found[-1], arguments.unit, arguments.up)
    return found


def _show_run(result: run_bench.Run, summary: dict[str, Any]) -> None:
    sim = result.sim
    solver = sim.solver.name if sim.solver.used == sim.solver.name else f"{sim.solver.name} ({sim.solver.used})"
    show_table(
        f"{result.scene.name}: {sim.model.n} vertices, {solver}, {sim.threads} threads",
        ["frames", "sweeps a frame", "ms a frame", "p99", "ms a sweep", "colours", "relative error", "finite"],
        [
            [
                *(summary["frames"], summary["sweeps_per_frame_median"], summary["ms_per_frame_median"]),
                *(summary["ms_per_frame_p99"], summary["ms_per_sweep_median"], summary["colours"]),
                *(summary["relative_error_median"], summary["finite"]),
            ]
        ],
    )
    stages = "  ".join(f"{name} {ms:.3f}" for name, ms in result.stages.items())
    out.print(f"median ms by stage: {stages}; warm-up {result.warm_up_s:.1f} s")
    phases = "  ".join(f"{name} {ms:.3f}" for name, ms in result.phases.items())
    out.print(f"of solve: {phases}", soft_wrap=True)
    if "contacts_median" in summary:
        out.print(
            f"contacts: median {summary['contacts_median']:.0f}, at most {summary['contacts_most']}; colours "
            f"{summary['colours_least']} to {summary['colours_most']}; recolouring, median "
            f"{summary['recolouring_ms_median']:.2f} ms; stopped from passing through a surface: at most "
            f"{summary['corrected_most']} vertices in a frame",
            soft_wrap=True,
        )
    if summary["stretch_mean"] is not None:
        mean, root, largest = (100 * summary[f"stretch_{name}"] for name in ("mean", "rms", "max"))
        out.print(
            f"stretch of the springs, last third of the frames: mean of absolute values {mean:.4g} %, "
            f"RMS {root:.4g} %, largest {largest:.4g} %",
            soft_wrap=True,
        )
    for note, count in result.notes.items():
        out.print(f"in {count} frames: {note}", markup=False, soft_wrap=True)


def colour(arguments: argparse.Namespace) -> None:
    """Colour the constraint graph of a scene, and print what each algorithm made of it: `vivace colour`."""
    scene = scene_of(arguments)
    names = list(COLOURINGS) if arguments.algorithm == "all" else [arguments.algorithm]
    for name in names:
        COLOURINGS[name]
    if arguments.out:
        target = as_path(arguments.out, "--out")
        if target.suffix.lower() not in PLOT_SUFFIXES:
            raise InputError(f"--out must end in one of {', '.join(PLOT_SUFFIXES)}, not {arguments.out!r}")
        check_writable(target)
    with progress(arguments.quiet or arguments.json) as tell:
        how = {"seed": arguments.seed, "repeat": arguments.repeat, "threads": arguments.threads, "progress": tell}
        (system, timings), ended = as_far_as_done(partial(colour_bench.colour_scene, scene, names, **how))
    rows = [timing.row() for timing in timings]
    if arguments.out:
        from ..pictures import adjacency_before_after

        orders = {}
        for timing, row in zip(timings, rows, strict=True):
            title = f"{row['algorithm']}\n{row['colours']} colours, {row['ms_median']:.2f} ms"
            orders[str(row["algorithm"])] = (*timing.colouring.order(), title)
        settings = {"version": __version__, "target": arguments.target, "seed": arguments.seed, **scene.settings}
        adjacency_before_after(arguments.out, *system.graph, orders, settings=settings)
    if arguments.json:
        show_json(rows)
        return finish(ended)
    n, links = system.n, system.off.nnz // 2
    columns = ["colours", "rounds", "largest", "smallest", "balance", "ms_median", "ms_p90", "valid"]
    show_table(
        f"{scene.name}: {n} vertices, {links} pairs that share a constraint",
        ["algorithm", *(c.replace("_", " ") for c in columns)],
        [[row["algorithm"], *(row[c] for c in columns)] for row in rows],
    )
    if arguments.out:
        out.print(f"wrote {arguments.out}", soft_wrap=True)
    return finish(ended)
