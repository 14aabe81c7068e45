"""Objects as plain values and arrays, and back again: nothing but registered names leads from a file to code.

    @storable("sphere")            # a dataclass: its fields, and the class makes it again, checks included
    @dataclass(frozen=True)
    class Sphere: ...

    @storable("swing")             # a function is stored as its name alone
    def swing(t): ...

A class that is no dataclass has `stored(self)`, which tells the keyword arguments that make it again; one that is not
to be made by its constructor, because that would round differently, has a class method `restored(**values)`, too.

A packed value is JSON: numbers, text, lists, and objects {"$": kind, ...} for all that JSON has not. Arrays stand in a
list beside it. What is there twice is stored once and is one object again; an object names only objects before it, so
that there are no circles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..errors import InputError, UnknownNameError
from ..registry import Registry

T = TypeVar("T")
DEEPEST = 60  # of lists in lists: far more than anything has, and far less than Python's stack
PLAIN = (bool, int, float, str, type(None))


class Unstorable(InputError):
    """Something is no data, and nobody has registered it as something that can be stored."""


@dataclass(frozen=True)
class Storable:
    """How things of one kind are stored.

    Attributes:
        name: in files.
        thing: the class, or the function.
        take: the values that make an object again, by name.
        make: an object from its values.
    """

    name: str
    thing: Any
    take: Callable[[Any], Mapping[str, Any]]
    make: Callable[..., Any]


STORABLES: Registry[Storable] = Registry("storable")
_BY_THING: dict[Any, Storable] = {}


def storable(name: str) -> Callable[[T], T]:
    """Let a class or a function of one's own be stored under `name`; it must be registered again before it is loaded.

    Args:
        name: in files; each is given once.
    """

    def add(thing: T) -> T:
        kind: Any = thing
        if isinstance(thing, type):
            take = getattr(thing, "stored", _fields if is_dataclass(thing) else None)
            if take is None:
                raise InputError(f"{name!r} is no dataclass: give it stored(self), the keyword arguments that make it")
            make = getattr(thing, "restored", thing)
        elif callable(thing):
            take, make = _nothing, lambda: kind
        else:
            raise InputError(f"a class or a function can be stored by name, not {type(thing).__name__}")
        _BY_THING[kind] = STORABLES.register(name)(Storable(name, kind, take, make))
        return thing

    return add


def _fields(thing: Any) -> dict[str, Any]:
    return {item.name: getattr(thing, item.name) for item in fields(thing) if item.init}


def _nothing(_: Any) -> dict[str, Any]:
    return {}


# --- from objects to values -------------------------------------------------------------------------------------------


def pack(value: Any) -> tuple[dict[str, Any], list[np.ndarray]]:
    """What JSON has of a value, and the arrays in it; Unstorable says what is no data, and where it is."""
    packer = _Packer()
    root = packer.value(value, "it")
    return {"objects": packer.objects, "root": root}, packer.arrays


class _Packer:
    def __init__(self) -> None:
        self.objects: list[dict[str, Any]] = []
        self.arrays: list[np.ndarray] = []
        self._known: dict[int, dict[str, Any]] = {}
        self._kept: list[Any] = []  # so that no other object gets the number of one that was met

    def value(self, value: Any, where: str, depth: int = 0) -> Any:
        if depth > DEEPEST:
            raise Unstorable(f"{where} is nested more than {DEEPEST} deep")
        if isinstance(value, np.generic):
            value = value.item()
        if type(value) is float and not math.isfinite(value):
            return {"$": "float", "is": repr(value)}
        if type(value) in PLAIN:
            return value
        if isinstance(value, np.ndarray):
            return self._once(value, lambda: self._array(value, where))
        if isinstance(value, (list, tuple)):
            items = [self.value(item, f"{where}[{k}]", depth + 1) for k, item in enumerate(value)]
            return items if isinstance(value, list) else {"$": "tuple", "of": items}
        if isinstance(value, Mapping):
            return {"$": "map", "of": self._named(value, where, depth)}
        kind = _kind_of(value)
        if kind is None:
            raise Unstorable(_refusal(value, where))
        return self._once(value, lambda: self._object(kind, value, where, depth))

    def _named(self, values: Mapping[Any, Any], where: str, depth: int) -> dict[str, Any]:
        for key in values:
            if type(key) is not str:
                raise Unstorable(f"{where} has a key that is no text: {key!r}")
        return {key: self.value(item, f"{where}.{key}", depth + 1) for key, item in values.items()}

    def _once(self, thing: Any, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if id(thing) not in self._known:
            self._known[id(thing)] = make()
            self._kept.append(thing)
        return self._known[id(thing)]

    def _array(self, array: np.ndarray, where: str) -> dict[str, Any]:
        if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
            raise Unstorable(f"{where} is an array of {array.dtype}; numbers and truth values can be stored")
        self.arrays.append(array)
        return {"$": "array", "at": len(self.arrays) - 1}

    def _object(self, kind: Storable, value: Any, where: str, depth: int) -> dict[str, Any]:
        own = self._named(kind.take(value), f"{where}.{kind.name}" if where != "it" else kind.name, depth)
        self.objects.append({"type": kind.name, "values": own})
        return {"$": "object", "at": len(self.objects) - 1}


def _kind_of(value: Any) -> Storable | None:
    try:
        named = _BY_THING.get(value) if callable(value) else None
    except TypeError:  # it has no hash
        named = None
    return named if named is not None and not isinstance(named.thing, type) else _BY_THING.get(type(value))


def _refusal(value: Any, where: str) -> str:
    if callable(value) and not isinstance(value, type) and hasattr(value, "__qualname__"):
        return (
            f"{where} is the function {value.__qualname__!r}: a file holds data, not code. Register it with "
            '@vivace.storable("a name"), and it is stored by that name'
        )
    return (
        f"{where} is {type(value).__module__}.{type(value).__qualname__}, which cannot be stored; register its "
        'class with @vivace.storable("a name")'
    )


# --- and back ---------------------------------------------------------------------------------------------------------


def unpack(packed: Any, arrays: list[np.ndarray]) -> Any:
    """What `pack` was given. Values are checked by the classes that are made of them.

    Raises:
        InputError: for a name that is not registered, and for what no object can be made of.
    """
    if not isinstance(packed, dict) or not isinstance(packed.get("objects"), list) or "root" not in packed:
        raise InputError("there are no objects in it")
    unpacker = _Unpacker(arrays)
    for item in packed["objects"]:
        unpacker.objects.append(unpacker.object(item))
    return unpacker.value(packed["root"])


class _Unpacker:
    def __init__(self, arrays: list[np.ndarray]):
        self.arrays, self.objects = arrays, list[Any]()

    def object(self, item: Any) -> Any:
        if (
            not isinstance(item, dict)
            or not isinstance(item.get("type"), str)
            or not isinstance(item.get("values"), dict)
        ):
            raise InputError("one of its objects has no type or no values")
        name = item["type"]
        if name not in STORABLES:
            known = UnknownNameError("type", name, STORABLES)
            raise InputError(
                f"it holds {name!r}, which is not registered here; if it is your own, import the module that says "
                f'@vivace.storable("{name[:60]}") before you load it ({known})'
            )
        values = {key: self.value(value) for key, value in item["values"].items()}
        try:
            return STORABLES[name].make(**values)
        except TypeError as error:
            raise InputError(
                f"{name!r} cannot be made of what is stored: {error}; it may have changed since"
            ) from error

    def value(self, value: Any, depth: int = 0) -> Any:
        if depth > DEEPEST:
            raise InputError(f"its values are nested more than {DEEPEST} deep")
        if type(value) in PLAIN:
            return value
        if isinstance(value, list):
            return [self.value(item, depth + 1) for item in value]
        kind = value.get("$") if isinstance(value, dict) else None
        read = self._READ.get(kind) if isinstance(kind, str) else None
        if read is None:
            raise InputError(f"it holds a value of no known kind: {str(kind)[:40]!r}")
        return read(self, value, depth)

    def _tuple(self, value: dict[str, Any], depth: int) -> tuple[Any, ...]:
        return tuple(self._list(value, depth))

    def _list(self, value: dict[str, Any], depth: int) -> list[Any]:
        items = value.get("of")
        if not isinstance(items, list):
            raise InputError("a tuple in it has no items")
        return [self.value(item, depth + 1) for item in items]

    def _map(self, value: dict[str, Any], depth: int) -> dict[str, Any]:
        items = value.get("of")
        if not isinstance(items, dict):
            raise InputError("a mapping in it has no items")
        return {key: self.value(item, depth + 1) for key, item in items.items()}

    def _float(self, value: dict[str, Any], depth: int) -> float:
        if value.get("is") not in ("nan", "inf", "-inf"):
            raise InputError(f"{str(value.get('is'))[:40]!r} is no number")
        return float(value["is"])

    def _array(self, value: dict[str, Any], depth: int) -> np.ndarray:
        found: np.ndarray = _at(self.arrays, value.get("at"), "array")
        return found

    def _known(self, value: dict[str, Any], depth: int) -> Any:
        return _at(self.objects, value.get("at"), "object")

    _READ: ClassVar[dict[str, Callable[..., Any]]] = {
        "tuple": _tuple,
        "map": _map,
        "float": _float,
        "array": _array,
        "object": _known,
    }


def _at(known: list[Any], at: Any, what: str) -> Any:
    if type(at) is not int or not 0 <= at < len(known):
        raise InputError(f"it names the {what} {str(at)[:40]}, and there are {len(known)} before that")
    return known[at]
