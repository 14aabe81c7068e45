"""Settings change, solvers too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

from .. import messages as m
from ..choices import check_solver
from .base import Session, action


@action(m.Change)
def change(session: Session, client: str, message: m.Change) -> None:
    """Change every setting that is given."""
    for item in fields(message):
        value = getattr(message, item.name)
        if value is None:
            continue
        if item.name == "solver":
            change_solver(session, client, value)
        elif item.name == "compare":
            compare(session, client, value)
        else:
            getattr(session.running_scene, f"set_{item.name}")(value)
    if message.paused is not None:
        session.single_steps = 0
    session.publish_again()
    session.changed()


def change_solver(session: Session, client: str, name: str) -> None:
    """Make another solver ready, and go on with it."""
    running = session.running_scene
    omega, make = check_solver(name, running.choices).relaxation, running.maker(name)

    def work() -> Callable[[], None]:
        solver = make()
        return lambda: session.if_still(running, lambda: running.use_solver(0, name, solver, omega))

    session.prepare(f"preparing {name}", work, client)


def compare(session: Session, client: str, name: str) -> None:
    """Show a second solver beside the first; none for an empty name."""
    running = session.running_scene
    if not name:
        return running.compare_no_more()
    running.check_comparable()
    make = running.maker(name)

    def work() -> Callable[[], None]:
        solver = make()
        return lambda: session.if_still(running, lambda: running.compare_with(name, solver))

    return session.prepare(f"preparing {name}", work, client)
