"""The actions there are, by the message that asks for them, and what they may ask of a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from .. import messages as m
from ..choices import Target
from ..ghost import Ghost
from ..history import History
from ..input_log import InputLog
from ..recordings import Recording
from ..running import Running


class Session(Protocol):
    """What actions see of a session.

    Attributes:
        own: the name of the scene that it was started with.
        target: where that comes from.
        current: where the scene that runs comes from.
        uploaded: a mesh that somebody sent, if anybody did.
        given: somebody's own simulation, if it was started with one.
        making: how simulations are made: threads, seed.
        single_steps: to be made although it is paused.
        input: what people have done since the scene began.
        history: of what was changed.
        ghost: of the converged motion.
        replay: the frame of the recording that is shown instead of the simulation.
        parts: of the pins and cuts of links that are on their way, by client.
        edited: the pins and cuts that there are.
    """

    own: str
    target: Target
    current: Target
    uploaded: Target | None
    given: Any
    making: dict[str, Any]
    running_scene: Running[Any]
    input: InputLog
    recording: Recording
    single_steps: int
    history: History
    ghost: Ghost
    replay: int | None
    parts: dict[str, str]
    send: Callable[[m.ToPage, str | None], None]

    @property
    def scene(self) -> Any:
        """The scene that runs."""

    @property
    def sims(self) -> list[Any]:
        """Its simulation, and in a split view the other."""

    @property
    def settings(self) -> m.Settings:
        """What it runs with now."""

    @property
    def edited(self) -> m.Edited:
        """The pins and cuts that there are, for links."""

    def is_new(self, client: str, order: int) -> bool:
        """Whether a pull comes after all that were obeyed; remembers it."""

    def if_still(self, running: Running[Any], what: Callable[[], None]) -> None:
        """Do something to a running scene that may have been replaced meanwhile."""

    def begin(self, scene: Any, sim: Any, target: Target) -> None:
        """Go on with another scene."""

    def go_on_with(self, running: Running[Any]) -> None:
        """Go on with the same simulation under another running scene, of more bodies or of fewer."""

    def prepare(self, label: str, work: Callable[[], Callable[[], None]], client: str | None) -> None:
        """Let the background worker make something; what `work` returns is done in the physics thread."""

    def publish_again(self) -> None:
        """While paused, show a change of the picture without a step."""

    def show_edit(self) -> None:
        """Show a changed model, while paused too, and say to everybody that it has changed."""

    def show_recorded(self) -> None:
        """Show the frame of the recording that `replay` says, or the simulation again."""

    def changed(self) -> None:
        """Say to everybody that settings have changed."""


Action = Callable[[Any, str, Any], None]
F = TypeVar("F", bound=Action)

ACTIONS: dict[type, Action] = {}


def action(message: type) -> Callable[[F], F]:
    """Register a function of (session, client, message) for a message from the page."""

    def register(function: F) -> F:
        ACTIONS[message] = function
        return function

    return register
