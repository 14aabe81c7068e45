"""What a run leaves behind: a picture, a film, a cache that other programs play, or the numbers themselves."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ..caches import CACHES, About, Cache, Npz
from ..errors import MissingExtraError
from ..files import replacing
from ..pictures.bodies import film_of_model
from ..pictures.plots import Panel
from ..pictures.stages import timelines
from .run import Progress, Run

RUN_SUFFIXES = (".mp4", ".gif", ".png", *CACHES)


def write_run(
    run: Run, target: Path, *, unit: str | None = None, up: str | None = None, progress: Progress | None = None
) -> tuple[list[Path], list[str]]:
    """Write what the suffix of `target` asks for, from a run with recorded positions; an animation gets a picture too.

    Returns the files written and notes for the user: a graphics library that is missing costs the picture's finish,
    or the film its format, but never the run. `unit` and `up`: of caches, see `vivace.export`.
    """
    suffix = target.suffix.lower()
    if suffix == ".npz":
        _write_numbers(run, target)
        return [target], []
    if suffix in CACHES:
        return _write_cache(run, target, unit, up, progress)
    if not run.finite:
        return [], ["the simulation did not stay finite: no picture was drawn"]
    film = film_of_model(
        run.sim.model, run.positions, run.sim.time_step, poses=_poses(run), view=run.scene.view,
        settings=run.settings(),
    )  # fmt: skip
    picture = target if suffix == ".png" else target.with_suffix(".png")
    written, notes = [picture], {film.write_last(picture)}
    if run.sim.model.collisions and len(run.ms) > 1:
        written.append(picture.with_name(f"{picture.stem}-trace.png"))
        _draw_trace(run, written[-1])
    if suffix != ".png":
        tell = None if progress is None else lambda done, total: progress("drawing", done, total)
        try:
            notes.add(film.write(target, tell))
        except MissingExtraError as error:
            notes.add(f"{error}; a GIF was written instead")
            target = target.with_suffix(".gif")
            notes.add(film.write(target, tell))
        written.append(target)
    return written, sorted(note for note in notes if ";" in note)


def _write_cache(
    run: Run, target: Path, unit: str | None, up: str | None, progress: Progress | None
) -> tuple[list[Path], list[str]]:
    """The start and every frame, up to one that is not finite."""
    notes, total = [], len(run.positions) + 1
    mesh, h = run.sim.model.mesh, run.sim.time_step
    with Cache(target, mesh, time_step=h, unit=unit, up=up, settings=run.settings()) as cache:
        for done, frame in enumerate(chain([run.first], run.positions)):
            if not np.isfinite(frame).all():
                notes.append(f"frame {done} is not finite: {target.name} ends before it")
                break
            cache.add(frame)
            if progress is not None:
                progress(f"writing {target.name}", done + 1, total)
    if run.body_positions:
        notes.append(f"{target.name} has the soft bodies; poses of the rigid ones are in an .npz")
    return [target], notes


def _draw_trace(run: Run, target: Path) -> None:
    """Contacts, the colours that follow them, and where the time of every frame went."""
    frames = np.arange(1, len(run.ms) + 1)

    def panel(title: str, ylabel: str, **curves: np.ndarray) -> Panel:
        return Panel({name: (frames, values) for name, values in curves.items()}, title, "frame", ylabel)

    rows = [
        [panel("contacts", "", contacts=run.trace["contacts"]), panel("colours", "", colours=run.trace["colours"])],
        [panel("stages", "ms", **run.stages_ms), panel("recolouring", "ms", colour=run.stages_ms["colour"])],
    ]
    timelines(target, rows, settings=run.settings())


def _poses(run: Run) -> tuple[np.ndarray, np.ndarray] | None:
    """Of the rigid bodies that the model touches, (frames, B, 3) and (frames, B, 4); None if it has none."""
    return (np.stack(run.body_positions), np.stack(run.body_orientations)) if run.body_positions else None


def _write_numbers(run: Run, target: Path) -> None:
    """Positions (frames, n, 3) and what belongs to them.

    A model that touches rigid bodies has their centres of mass as `body_positions` (frames, B, 3) and their unit
    quaternions, the scalar first, as `body_orientations` (frames, B, 4), in the order of `Model.collide`.
    """
    mesh, h = run.sim.model.mesh, run.sim.time_step
    trace: dict[str, Any] = {**run.trace, **{f"ms_{stage}": values for stage, values in run.stages_ms.items()}}
    poses = _poses(run)
    if poses is not None:
        trace |= {"body_positions": poses[0], "body_orientations": poses[1]}
    settings = np.array(json.dumps(run.settings(), default=str))
    with replacing(target) as temporary:
        numbers = Npz(temporary.parent, temporary.name, About(mesh.n_vertices, mesh.triangles))
        for done, frame in enumerate(run.positions, 1):
            numbers.add(frame, done * h)
        numbers.more = {"tets": mesh.tets, "pinned": run.sim.model.pinned, "settings": settings, **trace}
        numbers.finish()
        numbers.close()
