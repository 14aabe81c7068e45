"""One run of a sweep, in whichever process it is made: from plain data to a row of figures and a picture."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..bench import RigidRun, Run, run_rigid, run_scene
from ..errors import InputError, VivaceError
from ..pictures.bodies import film_of_bodies, film_of_model
from ..scenes import RigidScene
from ..solvers import Budget
from .describing import OF_FUNCTION, made_from
from .functions import is_plain, packed, unpacked, unpacked_function

PICTURE_SIZE = (320, 240)
LEFT_OUT = (
    "settings",
    "constraints",
    "interrupted",
    "resumed_from_frame",
)  # of a summary: in sweep.json, or no figures

Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """All that a run needs, as plain data.

    Attributes:
        number: in the sweep, from 0.
        key: that tells it from all other runs, whatever sweep they are of.
        varied: the values that make it, by name, for the table.
        seed: of the run.
        path: of the scene, whose folder its files are seen from.
        data: the scene as data.
        settings: of the run: solver, budget_ms, ...
        threads: its share.
        error_samples: frames whose error is measured.
        measure: a function of the run that returns figures of one's own, packed.
        measured: its name.
        picture: whether to draw the last frame.
        imports: modules that register what is one's own.
        own: data and settings, packed, of a task on its way to another process that has values which are not plain.
    """

    number: int
    key: str
    varied: dict[str, Any]
    seed: int
    path: str
    data: dict[str, Any]
    settings: dict[str, Any]
    threads: int | None = None
    error_samples: int = 0
    measure: str = ""
    measured: str = ""
    picture: bool = False
    imports: tuple[str, ...] = ()
    own: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class Done:
    """What a run gave: its row, and its picture as PNG, if one was wanted."""

    key: str
    row: Row
    picture: bytes = field(default=b"", repr=False)


def portable(task: Task) -> Task:
    """A task of plain data: values that are not are packed with their code, and unpacked when it is run."""
    if is_plain([task.varied, task.data, task.settings]):
        return task
    varied = {name: value if is_plain(value) else str(value) for name, value in task.varied.items()}
    own = packed((task.data, task.settings), f"run {task.number}")
    return replace(task, varied=varied, data={}, settings={}, own=own)


def run_task(task: Task) -> Done:
    """Make a run. What goes wrong in it is in its row under `error`; the others go on."""
    begin = time.perf_counter()
    row: Row = {"run": task.number, **task.varied, "seed": task.seed, "error": None}
    picture, figures = b"", dict[str, Any]()
    try:
        figures, picture = _figures(task)
    except VivaceError as error:
        row["error"] = str(error)
    except Exception as error:  # of somebody's own code, or of memory; the sweep is more than this run
        row["error"] = f"{type(error).__name__}: {error}"
    row |= {"seconds": time.perf_counter() - begin, "host": socket.gethostname(), "pid": os.getpid()}
    return Done(task.key, row | {name: value for name, value in figures.items() if name not in row}, picture)


def lost(task: Task, why: str) -> Done:
    """The row of a run that could not be made."""
    return Done(task.key, {"run": task.number, **task.varied, "seed": task.seed, "error": why})


def _figures(task: Task) -> tuple[Row, bytes]:
    for name in task.imports:
        import_module(name)
    if task.own:
        data, settings = unpacked(task.own)
        task = replace(task, data=data, settings=settings)
    measure = unpacked_function(task.measure) if task.measure else None
    function = task.data.get(OF_FUNCTION)
    scene = made_from(task.path, task.data, unpacked_function(function) if function else None)
    given = dict(task.settings)
    if "time_step" in given:
        scene = replace(scene, time_step=given.pop("time_step"))
    limits = {
        "ms": given.pop("budget_ms", None),
        **{name: given.pop(name, None) for name in ("iterations", "tolerance")},
    }
    budget = Budget(**limits) if any(value is not None for value in limits.values()) else None
    same: dict[str, Any] = {"budget": budget, "threads": task.threads, "seed": task.seed, "record": measure is not None}
    run: Run | RigidRun
    if isinstance(scene, RigidScene):
        run = run_rigid(scene, **given, **same)
    else:
        run = run_scene(scene, error_samples=task.error_samples, **given, **same)
    found = flat(run.summary())
    if measure is not None:
        found |= _own(measure(run))
    return found, _picture(run) if task.picture and run.finite else b""


def flat(summary: Mapping[str, Any]) -> Row:
    """The figures of a summary as columns: numbers, words and truth values; tables in it by `table.name`."""
    found: Row = {}
    for name, value in summary.items():
        if name in LEFT_OUT:
            continue
        if name == "notes":
            found[name] = "; ".join(value) or None
        elif isinstance(value, Mapping):
            found |= {f"{name}.{key}": _plain(item) for key, item in value.items()}
        else:
            found[name] = _plain(value)
    return found


def _own(figures: Any) -> Row:
    if not isinstance(figures, Mapping):
        raise InputError(f"measure must return figures by name, in a dictionary, not {type(figures).__name__}")
    return {str(name): _plain(value) for name, value in figures.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def _picture(run: Run | RigidRun) -> bytes:
    """The last frame, small, as PNG."""
    sim: Any = run.sim
    how: dict[str, Any] = {"view": run.scene.view, "settings": run.settings()}
    if isinstance(run, RigidRun):
        film = film_of_bodies(run.scene.bodies, sim.positions[None], sim.orientations[None], sim.time_step, **how)
    else:
        bodies = sim.bodies
        poses = None if bodies is None else (bodies.positions[None], bodies.orientations[None])
        film = film_of_model(sim.model, sim.positions[None], sim.time_step, poses=poses, **how)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "last.png"
        film.write_last(path, size=PICTURE_SIZE, backend="raster")
        return path.read_bytes()
