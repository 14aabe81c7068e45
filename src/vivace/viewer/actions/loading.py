"""Scenes come and start again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import InputError
from ...scenes import SCENES
from .. import messages as m
from ..choices import Target
from ..starting import warm
from .base import Session, action

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
        session.single_steps = int(session.settings.paused)  # so that it is seen
    elif session.settings.paused:
        session.single_steps = min(session.single_steps + 1, MOST_STEPS)


@action(m.LoadScene)
def load_scene(session: Session, client: str, message: m.LoadScene) -> None:
    """Load another scene, by name only: nothing that comes from a page is opened as a file."""
    load(session, client, message.name)


def load(session: Session, client: str, name: str, then: Callable[[], None] = lambda: None) -> None:
    """Load a scene in the background; `then` is done when it runs."""
    if name != session.own:
        SCENES[name]  # or says what there is
    elif session.given is not None:
        raise InputError(f"{session.own} was made in Python and cannot be loaded again; reset it instead")
    target = session.target if name == session.own else Target(name, {})

    def work() -> Callable[[], None]:
        scene = target.load()
        sim: Any = scene.simulate(**session.making)
        warm(sim)

        def begin() -> None:
            session.begin(scene, scene.simulate(solver=sim.solver, **session.making))
            then()

        return begin

    session.prepare(f"loading {name}", work, client)
