"""What was changed, to be taken back and made again: settings, pins, cuts, things moved; not motion. Bounded."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .editing import ModelEdit
from .things import Carry

MOST_EDITS = 60
MOST_BYTES = 1 << 28  # of models that cuts have made
PAUSE_S = 1.0  # of one setting's changes; shorter ones are a single change, such as the drag of a slider


@dataclass(frozen=True)
class SettingsEdit:
    """Settings that were changed, by name. `at`: when, by the clock of the history."""

    before: dict[str, Any]
    after: dict[str, Any]
    at: float

    bytes = 0

    @property
    def label(self) -> str:
        """What was changed, in a word or two."""
        return " and ".join(name.replace("_", " ") for name in self.after)


class History:
    """Edits in the order in which they were made, and how many of them hold now."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._edits: list[SettingsEdit | ModelEdit | Carry] = []
        self._done = 0

    @property
    def undo_label(self) -> str:
        """What would be taken back; "" where there is nothing."""
        return self._edits[self._done - 1].label if self._done else ""

    @property
    def redo_label(self) -> str:
        """What would be made again."""
        return self._edits[self._done].label if self._done < len(self._edits) else ""

    @property
    def cuts(self) -> int:
        """How many cuts hold now."""
        return sum(isinstance(edit, ModelEdit) and edit.parents is not None for edit in self._edits[: self._done])

    def clear(self) -> None:
        """Forget everything: another scene."""
        self._edits, self._done = [], 0

    def changed(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Settings have been changed."""
        now, last = self._clock(), self._edits[self._done - 1] if self._done else None
        joins = isinstance(last, SettingsEdit) and last.after.keys() == after.keys() and now - last.at < PAUSE_S
        if joins and isinstance(last, SettingsEdit):
            self._edits[self._done - 1 :] = [replace(last, after=after, at=now)]
        elif before != after:
            self._add(SettingsEdit(before, after, now))

    def edited(self, edit: ModelEdit) -> None:
        """The model has been changed; edits of one key become one."""
        last = self._edits[self._done - 1] if self._done else None
        if isinstance(last, ModelEdit) and edit.edit is not None and last.edit == edit.edit:
            self._edits[self._done - 1 :] = [replace(last, after=edit.after)]
        else:
            self._add(edit)

    def carried(self, carry: Carry) -> None:
        """A thing that stands has been moved."""
        self._add(carry)

    def goes_on(self, key: tuple[str, int]) -> bool:
        """Whether the last edit is of this key."""
        last = self._edits[self._done - 1] if self._done else None
        return isinstance(last, ModelEdit) and last.edit == key

    def undo(self) -> SettingsEdit | ModelEdit | Carry | None:
        """The edit that is to be taken back now."""
        if not self._done:
            return None
        self._done -= 1
        return self._edits[self._done]

    def redo(self) -> SettingsEdit | ModelEdit | Carry | None:
        """The edit that is to be made again now."""
        if self._done == len(self._edits):
            return None
        self._done += 1
        return self._edits[self._done - 1]

    def _add(self, edit: SettingsEdit | ModelEdit | Carry) -> None:
        self._edits[self._done :] = [edit]
        while len(self._edits) > MOST_EDITS or sum(one.bytes for one in self._edits[:-1]) > MOST_BYTES:
            del self._edits[0]
        self._done = len(self._edits)
