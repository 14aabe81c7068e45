"""Pins and cuts, and taking changes back."""

from __future__ import annotations

from ...errors import InputError
from ...scenes.edits import Edits, parted, pinned_at_start
from .. import messages as m
from ..editing import ModelEdit, cut_along, pinned, pinned_by, unpinned
from ..history import SettingsEdit
from ..running_scene import RunningScene
from ..things import Carry
from .base import Session, action
from .changing import apply


@action(m.Pin)
def pin(session: Session, client: str, message: m.Pin) -> None:
    """Pin vertices where they are, or let them go."""
    running = _soft(session, "pins are")
    if message.scene != running.backdrop.number and not _same_vertices(session, client, message):
        return  # of a scene that is no longer there
    model, now = running.model, running.sims[0].positions
    new = pinned(model, message.vertices, now) if message.on else unpinned(model, message.vertices)
    _edit(session, ModelEdit("pin" if message.on else "unpin", model, new, edit=(client, message.edit)))


@action(m.PinBy)
def pin_by(session: Session, client: str, message: m.PinBy) -> None:
    """Pin by a rule, and nothing else."""
    running = _soft(session, "pins are")
    new = pinned_by(message.rule, running.model, running.own_model, running.sims[0].positions)
    _edit(session, ModelEdit("pins", running.model, new))


@action(m.Cut)
def cut(session: Session, client: str, message: m.Cut) -> None:
    """Cut along a stroke. The vertices are others afterwards, so what is recorded ends."""
    running = _soft(session, "cuts are")
    if message.scene != running.backdrop.number:
        return
    running.check_cuttable()
    if session.given is not None:
        raise InputError(
            f"{session.own} was made in Python, and a cut would make another of it: use vivace.model.cut_model"
        )
    now, start = running.sims[0].positions, running.own_model.n
    edit = cut_along(running.model, start, session.history.cuts, message.eye, message.stroke, now)
    if session.recording.active:
        session.recording.end()
        session.send(m.Notice("info", "the recording was ended: the cut body has other vertices"), None)
    _edit(session, edit)


@action(m.History)
def go_through_history(session: Session, client: str, message: m.History) -> None:
    """Take the last change back, or make it again."""
    back = message.what == "undo"
    edit = session.history.undo() if back else session.history.redo()
    if edit is None:
        raise InputError(f"there is nothing to {message.what}")
    if isinstance(edit, SettingsEdit):
        apply(session, client, m.Change(**(edit.before if back else edit.after)))
        session.changed()
        return
    if isinstance(edit, Carry):
        _soft(session, "things are moved").send_thing(edit.thing, edit.before if back else edit.after)
        session.changed()
        return
    if edit.parents is not None:
        session.recording.end()
    _soft(session, "edits are").use_model(edit, back=back)
    session.show_edit()


def edit_all(session: Session, edits: Edits) -> None:
    """Make all cuts of a link and then its pins, each of which can be taken back, and start again with them."""
    running = _soft(session, "pins and cuts are")
    edits.check(running.model)
    if edits.cuts:
        running.check_cuttable()
    for pairs in edits.cuts:
        made = parted(running.model, pairs, edits.vertices)
        _edit(session, ModelEdit("cut", running.model, made.model, made.parents, parted=made.parted))
    if edits.pins is not None:
        model = pinned_at_start(running.model, edits.pins, running.start[0])
        _edit(session, ModelEdit("pins", running.model, model))
    running.reset()
    session.show_edit()


def _edit(session: Session, edit: ModelEdit) -> None:
    if edit.after is edit.before:
        return
    _soft(session, "edits are").use_model(edit)
    session.history.edited(edit)
    session.show_edit()


def _same_vertices(session: Session, client: str, message: m.Pin) -> bool:
    """Whether a pin is of the edit that made the scene another: several messages of one box."""
    return session.history.goes_on((client, message.edit))


def _soft(session: Session, what: str) -> RunningScene:
    running = session.running_scene
    if not isinstance(running, RunningScene):
        raise InputError(f"{what} for soft bodies, and {session.scene.name} has none")
    return running
