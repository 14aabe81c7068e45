"""Settings change, solvers too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

from .. import messages as m
from ..choices import check_solver
from .base import Session, action

NOT_UNDONE = ("paused",)  # it is motion, which is not taken back


@action(m.Change)
def change(session: Session, client: str, message: m.Change) -> None:
    """Change every setting that is given, and remember what it was."""
    before = session.settings
    apply(session, client, message)
    after = {item.name: getattr(message, item.name) for item in fields(message)}
    after = {name: value for name, value in after.items() if value is not None and name not in NOT_UNDONE}
    kept = {name: value for name in after if (value := getattr(before, name)) is not None}
    if kept:
        session.history.changed(kept, {name: after[name] for name in kept})
    session.changed()


def apply(session: Session, client: str, message: m.Change) -> None:
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
        session.single_steps = min(
            session.single_steps, 1
        )  # that of a scene which has just begun anew is still to be seen
        session.replay = session.replay if message.paused else None
    session.publish_again()


def change_solver(session: Session, client: str, name: str, then: Callable[[], None] = lambda: None) -> None:
    """Make another solver ready, and go on with it; `then` is done when it runs."""
    running = session.running_scene
    omega, make = check_solver(name, running.choices).relaxation, running.maker(name)

    def work() -> Callable[[], None]:
        solver = make()

        def use() -> None:
            running.use_solver(0, name, solver, omega)
            then()

        return lambda: session.if_still(running, use)

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
