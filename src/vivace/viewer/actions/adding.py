"""Things are thrown in."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import InputError
from .. import messages as m
from ..adding import Addition
from ..thrown_mesh import ThrownMesh
from .base import Session, action


@action(m.AddBody)
def add_body(session: Session, client: str, message: m.AddBody) -> None:
    """Add a rigid body to a scene of soft ones; it goes when the scene starts again."""
    _throw(session, client, message.shape, f"preparing a {message.shape}")


def throw_mesh(session: Session, thrown: ThrownMesh) -> None:
    """Add somebody's own mesh as a rigid body, and say how it touches."""
    try:
        session.input.trouble = "a mesh was thrown in, which is no part of it"
        _throw(session, None, thrown, f"preparing {thrown.name}")
    except InputError as error:
        session.send(m.Notice("error", str(error)), None)


def _throw(session: Session, client: str | None, shape: m.AddedShape | ThrownMesh, label: str) -> None:
    running = session.running_scene
    addition = Addition(running, shape)

    def work() -> Callable[[], None]:
        solver = addition.make_solver()

        def apply() -> None:
            try:
                session.go_on_with(addition.apply(solver))
            except InputError as error:
                session.send(m.Notice("error", str(error)), client)
                return
            if isinstance(shape, ThrownMesh) and shape.told:
                session.send(m.Notice("info", shape.told), None)

        return lambda: session.if_still(running, apply)

    session.prepare(label, work, client)
