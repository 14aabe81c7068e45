"""`vivace run` of a scene of rigid bodies."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..bench.rigid_run import RigidRun, run_rigid
from ..bench.rigid_run_files import write_rigid_run
from ..errors import InputError
from ..interrupts import stoppable
from ..scenes import RigidScene
from ..solvers import Budget
from ..solvers.rigid import make_contact_solver
from .console import out, progress, show_table
from .run_files import Kept

SOFT_ONLY = ("integrator", "error_samples")


def run_bodies(
    arguments: argparse.Namespace, scene: RigidScene, budget: Budget | None, targets: Sequence[Path]
) -> None:
    """Simulate rigid bodies, print a summary and write files of the run."""
    for name in SOFT_ONLY:
        if getattr(arguments, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} is for soft bodies, and {scene.name!r} is made of rigid ones; leave it out")
    if arguments.substeps == "auto":
        raise InputError(f"--substeps of rigid bodies is a number, not auto; {scene.name!r} has {scene.substeps}")
    if arguments.solver is not None:
        make_contact_solver(arguments.solver)
    kept = Kept(arguments, scene.name, targets)
    with progress(arguments.quiet or arguments.json) as tell, stoppable() as stop:
        result = run_rigid(
            scene,
            solver=arguments.solver,
            budget=budget,
            frames=arguments.frames,
            threads=arguments.threads,
            seed=arguments.seed,
            substeps=arguments.substeps,
            record=bool(targets),
            progress=tell,
            checkpoints=kept.checkpoints,
            stop=stop,
        )
        stop.over()
        how: dict[str, Any] = {"unit": arguments.unit, "up": arguments.up, "progress": tell}
        files = [write_rigid_run(result, target, **how) for target in targets]
    summary = result.summary()
    if not arguments.json and not stop.number:
        _show(result, summary)
    kept.finish(result, files, summary, stop)


def _show(result: RigidRun, summary: dict[str, Any]) -> None:
    sim = result.sim
    show_table(
        f"{result.scene.name}: {summary['bodies']} bodies, {summary['free_bodies']} of them free, {sim.solver.name}, "
        f"{sim.threads} threads",
        [
            "frames",
            "contacts",
            "iterations a frame",
            "ms a frame",
            "p99",
            "deepest overlap",
            "kinetic energy",
            "finite",
        ],
        [
            [
                *(summary["frames"], summary["contacts_end"], summary["iterations_per_frame_median"]),
                *(summary["ms_per_frame_median"], summary["ms_per_frame_p99"], f"{1e3 * summary['depth_most']:.3g} mm"),
                *(f"{summary['kinetic_energy_end']:.3g} J", summary["finite"]),
            ]
        ],
    )
    stages = "  ".join(f"{name} {ms:.3f}" for name, ms in summary["stages_ms_median"].items())
    out.print(f"median ms by stage: {stages}; warm-up {result.warm_up_s:.1f} s", soft_wrap=True)
    out.print(
        f"contacts: median {summary['contacts_median']:.0f}, at most {summary['contacts_most']}, in at most "
        f"{summary['colours_most']} colours; overlap at the end {1e3 * summary['depth_end']:.3g} mm; kinetic energy at "
        f"most {summary['kinetic_energy_most']:.3g} J",
        soft_wrap=True,
    )
    if summary["moved_most"] is not None:
        least, middle, most = (1e3 * summary[f"moved_{name}"] for name in ("least", "median", "most"))
        out.print(
            f"free bodies moved from where they started: least {least:.4g} mm, median {middle:.4g} mm, "
            f"most {most:.4g} mm",
            soft_wrap=True,
        )
    if summary["late_ms_most"] > 0:
        out.print(f"beyond the budget: at most {summary['late_ms_most']:.3g} ms in a frame", soft_wrap=True)
