"""What clients can ask a session to do: one function for each message, one file for each kind of thing.

    @action(m.Run)
    def run(session: Session, client: str, message: m.Run) -> None: ...

They run in the physics thread between two steps; a VivaceError that they raise is told to the client.
"""

from . import adding, changing, editing, haunting, loading, pulling, recording, replaying, restoring
from .base import ACTIONS, Action, action

__all__ = [
    "ACTIONS",
    "Action",
    "action",
    "adding",
    "changing",
    "editing",
    "haunting",
    "loading",
    "pulling",
    "recording",
    "replaying",
    "restoring",
]
