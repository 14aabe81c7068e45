"""What a link says: a scene and its settings, each of them checked like any other message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

from ...errors import InputError, VivaceError
from .. import messages as m
from ..choices import resolution_of
from ..edit_text import LONGEST, edits_of
from .base import Session, action
from .changing import apply, change_solver
from .editing import edit_all
from .loading import load

PART = 3500  # letters of a message
AFTER = ("relaxation", "compare")  # of the solver that the link names, which may have to be made first


@action(m.Restore)
def restore(session: Session, client: str, message: m.Restore) -> None:
    """Load the scene, unless it runs already as the link has it, then change the settings, then pin and cut."""
    text = session.parts.pop(client, "") if message.edited else ""
    edits = edits_of(text)

    def change() -> None:
        given = {item.name: getattr(message.settings, item.name) for item in fields(message.settings)}
        given = {k: value for k, value in given.items() if value not in (None, getattr(session.settings, k))}
        solver = given.pop("solver", None)
        later = {name: given.pop(name) for name in AFTER if name in given} if solver is not None else {}
        _change(session, client, given)
        if solver is not None:
            _try(session, client, "solver", lambda: change_solver(session, client, solver, finish(later)))
        if edits is not None and text != session.edited.text:
            _try(session, client, "pins and cuts", lambda: edit_all(session, edits))
        session.changed()

    def finish(later: dict[str, Any]) -> Callable[[], None]:
        return lambda: _change(session, client, later)

    def begin() -> None:
        """The link is what the scene began with, for the log of input."""
        for k in range(0, len(text), PART):
            session.input.heard(client, m.RestorePart(text[k : k + PART], k == 0))
        session.input.heard(client, message)
        change()

    now = resolution_of(session.current, "fabric" in session.running_scene.controls)
    finer = {} if message.resolution in (None, *now[:1]) else {"resolution": message.resolution}
    same = message.scene == session.scene.name and session.edited.text in ("", text) and not (finer and now)
    if same:
        change()
    else:
        load(session, client, message.scene, begin, **finer)


@action(m.RestorePart)
def take_part(session: Session, client: str, message: m.RestorePart) -> None:
    """Keep a part of a link's pins and cuts until the link itself comes."""
    before = "" if message.first else session.parts.get(client, "")
    if len(before) + len(message.text) > LONGEST:
        session.parts.pop(client, None)
        raise InputError(f"a link has pins and cuts of {LONGEST:,} letters at most")
    session.parts[client] = before + message.text


def _change(session: Session, client: str, given: dict[str, Any]) -> None:
    """One by one: a setting that this scene does not have leaves the others as the link says."""
    for name, value in given.items():
        _try(session, client, name, partial(apply, session, client, m.Change(**{name: value})))


def _try(session: Session, client: str, name: str, what: Callable[[], None]) -> None:
    try:
        what()
    except VivaceError as error:
        session.send(m.Notice("error", f"the link's {name.replace('_', ' ')}: {error}"), client)
