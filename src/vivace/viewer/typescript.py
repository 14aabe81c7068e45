"""The page's types, from the dataclasses of `messages`: `python -m vivace.viewer.typescript` writes them.

Every dataclass becomes an interface of the same name with its "type" as a literal, every named alias of a Literal a
union, and every range of a setting an entry of RANGES.
"""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from ..files import write_text
from . import messages

TARGET = Path(__file__).parents[3] / "page" / "src" / "messages.ts"
HEAD = "// Made from src/vivace/viewer/messages/ by `python -m vivace.viewer.typescript`: change it there.\n"
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", NoneType: "null"}


def typescript() -> str:
    """The text of messages.ts."""
    classes = [cls for cls in vars(messages).values() if is_dataclass(cls) and isinstance(cls, type)]
    literals = {name: alias for name, alias in vars(messages).items() if get_origin(alias) is Literal}
    unions = {name: alias for name, alias in vars(messages).items() if isinstance(alias, UnionType)}
    parts = [HEAD]
    for name, alias in literals.items():
        values = get_args(alias)
        parts.append(f"export type {name} = {_type(alias)};\n")
        parts.append(f"export const {_constant(name)}: readonly {name}[] = [{', '.join(map(_quoted, values))}];\n")
    parts += [_interface(cls, literals) for cls in classes]
    parts += [
        f"export type {name} = {' | '.join(c.__name__ for c in get_args(alias))};\n" for name, alias in unions.items()
    ]
    parts.append(_ranges())
    return "\n".join(parts)


def _interface(cls: type, literals: dict[str, Any]) -> str:
    hints = get_type_hints(cls, include_extras=True)
    lines = [
        f"/** {line} */"
        for line in [(inspect.getdoc(cls) or "").partition("\n")[0]]
        if not line.startswith(cls.__name__ + "(")
    ]
    lines.append(f"export interface {cls.__name__} {{")
    if hasattr(cls, "type"):
        lines.append(f"  type: {_quoted(cls.type)};")
    for item in fields(cls):
        mark = "?" if item.default is not MISSING else ""
        lines.append(f"  {item.name}{mark}: {_type(hints[item.name], literals)};")
    return "\n".join([*lines, "}", ""])


def _type(hint: Any, literals: dict[str, Any] | None = None) -> str:
    """A type as TypeScript writes it."""
    for name, alias in (literals or {}).items():
        if hint == alias:
            return name
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if origin is Annotated:
        return _type(arguments[0], literals)
    if origin is Literal:
        return " | ".join(map(_quoted, arguments))
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(_type(one, literals) for one in arguments))
    if origin is list:
        inner = _type(arguments[0], literals)
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if origin is tuple:
        return f"[{', '.join(_type(one, literals) for one in arguments)}]"
    if origin is dict:
        return f"Record<{_type(arguments[0], literals)}, {_type(arguments[1], literals)}>"
    if is_dataclass(hint):
        return hint.__name__  # type: ignore[union-attr]
    raise TypeError(f"no TypeScript for {hint!r}")


def _ranges() -> str:
    """The limits of every setting that is a number."""
    rows = [f"  {name}: [{low!r}, {high!r}]," for name, (low, high) in messages.RANGES.items()]
    head = "/** The smallest and the largest value of each setting. */"
    return "\n".join([head, "export const RANGES = {", *rows, "} as const;", ""])


def _quoted(text: str) -> str:
    return f'"{text}"'


def _constant(name: str) -> str:
    """ColourBy -> COLOUR_BY."""
    return "".join(f"_{c}" if c.isupper() and k else c.upper() for k, c in enumerate(name)).upper()


if __name__ == "__main__":
    write_text(TARGET, typescript())
