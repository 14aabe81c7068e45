"""Scenes come and start again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import InputError
from ...scenes import SCENES
from .. import messages as m
from ..choices import Target, resolution_of
from ..starting import warm
from .base import Session, action

KEPT = (
    *("fabric", "self_contact", "stiffness", "gravity", "wind", "wind_heading", "budget_ms"),
    *("hand_force", "grab_radius", "time_step", "colour_by"),
)
MOST_STEPS = 60  # single steps that may wait


@action(m.Run)
def run(session: Session, client: str, message: m.Run) -> None:
    """Start the scene again, or make a single step while it is paused."""
    session.replay = None
    if message.what == "reset":
        whole = session.running_scene.without_added()
        if whole is not session.running_scene:
            session.go_on_with(whole)
        whole.reset()
        session.single_steps = 1  # so that it is seen, even if somebody pauses it at once
    elif session.settings.paused:
        session.single_steps = min(session.single_steps + 1, MOST_STEPS)


@action(m.LoadScene)
def load_scene(session: Session, client: str, message: m.LoadScene) -> None:
    """Load another scene, by name only: nothing that comes from a page is opened as a file."""
    load(session, client, message.name)


def load(session: Session, client: str, name: str, then: Callable[[], None] = lambda: None, **parameters: Any) -> None:
    """Load a scene in the background, with some parameters of it; `then` is done when it runs."""
    sent = session.uploaded
    if sent is not None and name == sent.name:
        target = sent
    elif name == session.own:
        if session.given is not None:
            raise InputError(f"{session.own} was made in Python and cannot be loaded again; reset it instead")
        target = session.target
    else:
        SCENES[name]  # or says what there is
        target = Target(name, {})
    target = target.with_parameters(**parameters) if parameters else target
    go_on_with(session, target, f"loading {name}", client, then)


@action(m.Remake)
def remake(session: Session, client: str, message: m.Remake) -> None:
    """Make the scene anew, finer or coarser, or of another kind; settings stay as they are."""
    wanted: dict[str, Any] = {}
    if message.resolution is not None:
        offered = resolution_of(session.current, "fabric" in session.running_scene.controls)
        if not offered:
            raise InputError(f"{session.scene.name} has no resolution to set")
        wanted["resolution"] = min(max(message.resolution, offered[1]), offered[2])
    if message.kind is not None:
        if not session.current.is_mesh:
            raise InputError(f"{session.scene.name} is no mesh of your own; it stays what it is")
        wanted["kind"] = message.kind
    if not wanted:
        return
    target, label = session.current.with_parameters(**wanted), f"making {session.scene.name} anew"
    if message.kind is not None:
        return go_on_with(session, target, label, client)
    solver, running = session.settings.solver, session.running_scene

    def carry_over() -> None:
        """Have the settings of the scene before, as far as this one has them."""
        now, before = session.running_scene, running.settings
        for name in KEPT:
            value = getattr(before, name)
            if value != getattr(now.settings, name) and name.removesuffix("_heading") in now.controls:
                getattr(now, f"set_{name}")(value)
        session.changed()

    return go_on_with(session, target, label, client, carry_over, solver)


def take_mesh(session: Session, target: Target) -> None:
    """Go on with a mesh that somebody sent."""
    session.uploaded = target
    go_on_with(session, target, f"making {target.name} ready", None)


def go_on_with(
    session: Session,
    target: Target,
    label: str,
    client: str | None,
    then: Callable[[], None] = lambda: None,
    solver: str | None = None,
) -> None:
    """Load a scene in the background, then let it run. `solver`: instead of the scene's own."""

    def work() -> Callable[[], None]:
        scene = target.load()
        sim: Any = scene.simulate(solver=solver, **session.making)
        warm(sim)

        def begin() -> None:
            session.begin(scene, scene.simulate(solver=sim.solver, **session.making), target)
            then()

        return begin

    session.prepare(label, work, client)
