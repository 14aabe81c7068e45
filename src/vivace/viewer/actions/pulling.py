"""Pulling at bodies: grab, drag, let go."""

from __future__ import annotations

import numpy as np

from .. import messages as m
from .base import Session, action


@action(m.Grab)
def grab(session: Session, client: str, message: m.Grab) -> None:
    """Take hold of something of the scene that the page shows."""
    running = session.running_scene
    if session.replay is not None:
        return  # what is seen is the past
    if message.scene == running.backdrop.number and session.is_new(client, message.order):
        running.grab((client, message.pointer), message)


@action(m.Drag)
def drag(session: Session, client: str, message: m.Drag) -> None:
    """Move what a pointer holds."""
    if session.is_new(client, message.order):
        session.running_scene.pointers.drag(session.sims, (client, message.pointer), np.array(message.target))


@action(m.Release)
def release(session: Session, client: str, message: m.Release) -> None:
    """Let go of what a pointer holds."""
    if session.is_new(client, message.order):
        session.running_scene.pointers.release(session.sims, (client, message.pointer))
        carried = session.running_scene.carried()
        for carry in carried:
            session.history.carried(carry)
        if carried:
            session.changed()
