"""Recordings shown again, frame by frame."""

from __future__ import annotations

from ...errors import InputError
from .. import messages as m
from ..body_mesh import bodies_of
from ..running_scene import RunningScene
from .base import Session, action


@action(m.Replay)
def replay(session: Session, client: str, message: m.Replay) -> None:
    """Show a frame of the recording; or the simulation again, from that frame on if so asked."""
    recording = session.recording
    if message.frame is not None and message.frame >= recording.frames:
        raise InputError(f"there is no frame {message.frame} of the recording: it has {recording.frames}")
    if recording.active:
        raise InputError("stop the recording first")
    if message.resume and message.frame is not None:
        _resume(session, message.frame)
    session.replay = None if message.resume else message.frame
    session.show_recorded()
    session.changed()


def _resume(session: Session, frame: int) -> None:
    """Let the simulation go on from a frame."""
    running, recorded = session.running_scene, session.recording.scene
    if not isinstance(running, RunningScene) or bodies_of(running.scene):
        raise InputError(
            f"only scenes of soft bodies alone go on from a recorded frame, and {session.scene.name} is none"
        )
    positions, velocities = session.recording.motion(frame)
    if recorded is None or recorded.name != running.scene.name or len(positions) != running.model.n:
        raise InputError("the recording is of another body than the one that runs: load or undo what made it another")
    at = session.recording.shifts(frame), session.recording.simulated(frame)
    running.resume(positions, velocities, *at)
