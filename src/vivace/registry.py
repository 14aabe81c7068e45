"""Named things: one decorator adds a solver, a colouring, a constraint or a scene, and nothing else has to change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from .checks import shown
from .errors import InputError, UnknownNameError

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """A read-only mapping from names to things, filled by its `register` decorator.

        @vv.SOLVERS.register("mine")
        class Mine(vv.Solver): ...

        vv.SOLVERS["mine"], "mine" in vv.SOLVERS, list(vv.SOLVERS)

    What is registered can be named wherever names are: `Simulation(model, solver="mine")`, scene files, the command
    line. A name that is not there raises an UnknownNameError with the nearest that are.
    """

    def __init__(self, kind: str):
        self.kind = kind
        self._things: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """A decorator that adds what it decorates under `name`, and returns it as it is. A name is given once."""
        if not isinstance(name, str) or not name or name != name.strip():
            raise InputError(f"a {self.kind} needs a name without spaces around it, not {shown(name)}")

        def add(thing: T) -> T:
            if name in self._things:
                raise InputError(f"the {self.kind} {name!r} is registered already; choose another name")
            self._things[name] = thing
            return thing

        return add

    def __getitem__(self, name: str) -> T:
        try:
            return self._things[name]
        except (KeyError, TypeError):
            raise UnknownNameError(self.kind, name if isinstance(name, str) else shown(name), self._things) from None

    def get(self, name: object, default: Any = None) -> Any:
        """The thing of that name, or `default`."""
        return self._things[name] if isinstance(name, str) and name in self._things else default

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._things

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)
