"""Things are thrown in."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import InputError
from .. import messages as m
from ..adding import Addition
from .base import Session, action


@action(m.AddBody)
def add_body(session: Session, client: str, message: m.AddBody) -> None:
    """Add a rigid body to a scene of soft ones; it goes when the scene starts again."""
    running = session.running_scene
    addition = Addition(running, message.shape)

    def work() -> Callable[[], None]:
        solver = addition.make_solver()

        def apply() -> None:
            try:
                session.go_on_with(addition.apply(solver))
            except InputError as error:
                session.send(m.Notice("error", str(error)), client)

        return lambda: session.if_still(running, apply)

    session.prepare(f"preparing a {message.shape}", work, client)
