"""Vertices that are attached to rigid bodies. See `vivace.simulation.attached` for how they are held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import is_whole, shown
from ..errors import InputError, UnknownNameError
from ..rigid.bodies import Body
from ..storage import storable


@storable("attachment")
@dataclass(frozen=True, eq=False)
class Attachment:
    """Vertices that follow a rigid body.

    Attributes:
        vertices: (a,) their numbers, sorted.
        number: of the body, among those of `Model.collide`.
        body: which it is: a model that touches another in its place is refused.
    """

    vertices: np.ndarray
    number: int
    body: Body

    @property
    def called(self) -> str:
        """The body as messages name it."""
        return f"body {self.number}" + (f" ({self.body.name!r})" if self.body.name else "")


def find_body(bodies: Sequence[Body], to: Any) -> int:
    """The number of a body from its name or its number."""
    if not bodies:
        raise InputError(
            "there are no rigid bodies to attach vertices to; name them first: model.collide([vivace.Body(...)])"
        )
    if isinstance(to, str):
        names = [body.name for body in bodies]
        if not to or to not in names:
            raise UnknownNameError("rigid body", to, {name for name in names if name})
        if names.count(to) > 1:
            raise InputError(
                f"{names.count(to)} bodies are called {to!r}; give the number of one, 0 to {len(bodies) - 1}"
            )
        return names.index(to)
    if not is_whole(to) or not 0 <= to < len(bodies):
        raise InputError(
            f"vertices are attached to the name of a body or its number, 0 to {len(bodies) - 1}, not {shown(to)}"
        )
    return int(to)


def check_attachments(attachments: Sequence[Attachment], bodies: Sequence[Body]) -> None:
    """Attachments are to bodies that the model touches."""
    if not isinstance(attachments, tuple):
        raise InputError(f"attachments are made by Model.attach, not {shown(attachments)}")
    for attachment in attachments:
        if not isinstance(attachment, Attachment):
            raise InputError(f"attachments are made by Model.attach, not {shown(attachment)}")
        if attachment.number >= len(bodies) or bodies[attachment.number] is not attachment.body:
            raise InputError(
                f"vertices are attached to {attachment.called}, which the model would no longer touch in that place; "
                "call collide before attach"
            )


def attached_to(attachments: Sequence[Attachment]) -> dict[int, str]:
    """What each attached vertex is attached to, as messages name it."""
    return {int(vertex): part.called for part in attachments for vertex in part.vertices}
