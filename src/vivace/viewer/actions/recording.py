"""Recordings begin and end."""

from __future__ import annotations

from .. import messages as m
from .base import Session, action


@action(m.SetRecording)
def record(session: Session, client: str, message: m.SetRecording) -> None:
    """Begin a recording, or end it."""
    if message.on:
        session.replay = None
        session.recording.begin(session.scene, session.settings, session.sims[0])
        session.recording.of_input = session.input, session.input.frames
    else:
        session.recording.end()
    session.changed()
