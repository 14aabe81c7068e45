"""The ghost of the converged motion."""

from __future__ import annotations

from .. import messages as m
from .base import Session, action


@action(m.SetGhost)
def haunt(session: Session, client: str, message: m.SetGhost) -> None:
    """Begin a comparison with the converged motion, or end it."""
    if message.on:
        session.ghost.begin()
    else:
        session.ghost.end()
