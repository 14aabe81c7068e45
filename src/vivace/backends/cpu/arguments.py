"""The arguments of a phase: declared by a kernel, checked when a plan is made, read by compiled code from a table.

A kernel is called through a C function pointer with the address of a table that holds (address, size) for each of its
arrays. What stands in which place is nobody's business but this module's: a kernel names its arrays and says of what
kind they are, and whoever plans it hands them over by name.

    @phase_kernel(items="q")
    def update(begin, end, iteration, new: rows, q: rows, v: rows, rate: scalar):
        ...

    update.over(0, n, new=new, q=q, v=v, rate=rate)  # a phase of a plan

Before it is compiled, `new = rows(table, 0)` and so on are put in front of the kernel's body, so that the loop costs
what it would without names. (Passing the arrays on to an inner function would cost more: Numba counts references.)
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numba import carray, cfunc
from numba.extending import register_jitable

from ...errors import InputError
from .addresses import address_of, size_of
from .memory import as_pointer

# --- kinds: what compiled code makes of an entry of the table ---------------------------------------------------------


@register_jitable
def _read_rows(table, slot):
    entry = carray(as_pointer(table + 16 * slot), (2,), np.int64)
    return carray(as_pointer(entry[0]), (entry[1] // 4, 4), np.float32)


def _vector_reader(dtype: type) -> Callable:
    @register_jitable
    def read(table, slot):
        entry = carray(as_pointer(table + 16 * slot), (2,), np.int64)
        return carray(as_pointer(entry[0]), (entry[1],), dtype)

    return read


def _number_reader(dtype: type) -> Callable:
    @register_jitable
    def read(table, slot):
        entry = carray(as_pointer(table + 16 * slot), (2,), np.int64)
        return carray(as_pointer(entry[0]), (entry[1],), dtype)[0]

    return read


@register_jitable
def _read_span(table, slot):
    return address_of(table, slot), size_of(table, slot)


@dataclass(frozen=True)
class Kind:
    """What an argument must be, and what compiled code sees of it. `least`: how many elements it has at least."""

    name: str
    dtype: np.dtype
    read: Callable = field(repr=False)
    columns: int = 0  # of the arrays that have two dimensions
    least: int = 0

    @cached_property
    def address(self) -> Kind:
        """The same array as a plain address, for functions that are called in inner loops (see `addresses`)."""
        return Kind(f"{self.name}.address", self.dtype, address_of, self.columns)

    @cached_property
    def span(self) -> Kind:
        """The same array as (address, number of elements)."""
        return Kind(f"{self.name}.span", self.dtype, _read_span, self.columns)

    def length(self, array: np.ndarray) -> int:
        """How many items an array of this kind has."""
        return array.size // self.columns if self.columns else array.size

    def fault(self, array: object) -> str:
        """What is wrong with an array that is to be read as this kind; nothing if it is right."""
        if not isinstance(array, np.ndarray):
            return f"an array, not {type(array).__name__}"
        if array.dtype != self.dtype:
            return f"{self.dtype} ({self.name}), not {array.dtype}"
        if self.columns and (array.ndim != 2 or array.shape[1] != self.columns):
            return f"of shape (n, {self.columns}), not {array.shape}"
        if not array.flags.c_contiguous:
            return "C-contiguous"
        return "" if array.size >= self.least else f"of {self.least} elements at least, not {array.size}"


def _vectors(name: str, dtype: type) -> Kind:
    return Kind(name, np.dtype(dtype), _vector_reader(dtype))


def _number(name: str, dtype: type) -> Kind:
    return Kind(name, np.dtype(dtype), _number_reader(dtype), least=1)


rows = Kind("rows", np.dtype(np.float32), _read_rows, columns=4)  # (n, 4): a vector register each
floats, doubles = _vectors("floats", np.float32), _vectors("doubles", np.float64)
ints, longs, words = _vectors("ints", np.int32), _vectors("longs", np.int64), _vectors("words", np.uint64)
scalar, double, count = _number("scalar", np.float32), _number("double", np.float64), _number("count", np.int64)


read_rows, read_ints, read_longs, read_doubles = rows.read, ints.read, longs.read, doubles.read


# --- kernels ----------------------------------------------------------------------------------------------------------

GIVEN = ("begin", "end", "iteration")  # what the walk tells every kernel
GRAIN = 16  # chunks are cut at multiples of this: kernels that work on groups of items never see a group torn


class phase_kernel:
    """Decorator: compile `function(begin, end, iteration, name: kind, ...)` for plans, the first time it is needed.

    Args:
        items: the argument that has an entry for each item of [begin, end), as "q"; "vertices/4" for four entries an
            item, "starts-1" for pointers, which have one more. No phase may go beyond it. None: items are something
            else, such as chunks of a list.
        cache: keep the machine code on disk.
        label: what the time of its phases is reported under; without one the LABEL of its module, or the kernel's name.
    """

    def __init__(
        self, function: Callable | None = None, *, items: str | None = None, cache: bool = True, label: str = ""
    ):
        self.items, self.cache, self.label, self._compiled = items, cache, label, None
        if function is not None:
            self._adopt(function)

    def __call__(self, function: Callable) -> phase_kernel:
        """Take the function, where the decorator was called with options."""
        self._adopt(function)
        return self

    def _adopt(self, function: Callable) -> None:
        self.function = function
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__
        names = list(inspect.signature(function).parameters)
        if tuple(names[: len(GIVEN)]) != GIVEN:
            raise TypeError(f"kernel {self.__name__} must begin with {', '.join(GIVEN)}")
        scope = function.__globals__
        self.label = self.label or scope.get("LABEL") or function.__name__.replace("_", " ")
        self.kinds: dict[str, Kind] = {}
        for name in names[len(GIVEN) :]:
            kind = function.__annotations__.get(name)
            kind = eval(kind, scope) if isinstance(kind, str) else kind  # postponed evaluation of annotations
            if not isinstance(kind, Kind):
                raise TypeError(f"argument {name!r} of kernel {self.__name__} needs a kind, such as {name}: rows")
            self.kinds[name] = kind
        _ = self._counted  # a wrong name is refused where the kernel is written

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}({', '.join(f'{name}: {kind.name}' for name, kind in self.kinds.items())})>"

    def select(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Those of a larger set of named arrays that the kernel takes, where several kernels share a set."""
        return {name: arrays[name] for name in self.kinds if name in arrays}

    def named(self, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Arrays that are given in the kernel's own order, by name."""
        if len(arrays) != len(self.kinds):
            raise InputError(
                f"kernel {self.__name__} takes {len(self.kinds)} arrays, not {len(arrays)}: {', '.join(self.kinds)}"
            )
        return dict(zip(self.kinds, arrays, strict=True))

    def bind(self, arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        """The arrays in the kernel's own order, checked."""
        for name, kind in self.kinds.items():
            if name not in arrays:
                raise InputError(f"kernel {self.__name__} needs an array {name!r} ({kind.name})")
            fault = kind.fault(arrays[name])
            if fault:
                raise InputError(f"array {name!r} of kernel {self.__name__} must be {fault}")
        if len(arrays) > len(self.kinds):
            more = ", ".join(repr(name) for name in arrays if name not in self.kinds)
            raise InputError(f"kernel {self.__name__} knows no array {more}; it takes {', '.join(self.kinds)}")
        return tuple(arrays[name] for name in self.kinds)

    def over(self, begin: int, end: int, **arguments: Any) -> Phase:
        """The phase of items [begin, end) with these arrays; options of a `Phase` may be among them."""
        options = {name: arguments.pop(name) for name in OPTIONS if name in arguments}
        return Phase(self, arguments, begin, end, **options)

    def check_range(self, arrays: Sequence[np.ndarray], begin: int, end: int) -> None:
        """Refuse items that the arrays do not have."""
        if not 0 <= begin <= end:
            raise InputError(f"items {begin} to {end} of kernel {self.__name__} are no range")
        most = self.room(arrays)
        if most is not None and end > most:
            raise InputError(f"kernel {self.__name__} cannot work on items up to {end}: {self.items} has {most}")

    def room(self, arrays: Sequence[np.ndarray]) -> int | None:
        """How many items the arrays have; None if that is not declared."""
        if self._counted is None:
            return None
        name, per_item, more = self._counted
        return (self.kinds[name].length(arrays[list(self.kinds).index(name)]) - more) // per_item

    @cached_property
    def _counted(self) -> tuple[str, int, int] | None:
        """The argument that counts items, elements an item, and elements beyond them."""
        if self.items is None:
            return None
        name, _, per_item = self.items.partition("/")
        name, _, more = name.partition("-")
        if name not in self.kinds:
            raise TypeError(f"kernel {self.__name__} counts its items by {name!r}, which is no argument")
        return name, int(per_item or 1), int(more or 0)

    @property
    def address(self) -> int:
        """Of the machine code."""
        if self._compiled is None:
            compile_c = cfunc("void(intp, intp, intp, intp)", nopython=True, cache=self.cache, error_model="numpy")
            self._compiled = compile_c(_with_table(self.function, self.kinds))
        return self._compiled.address


@dataclass(frozen=True)
class Phase:
    """A kernel over items [begin, end) with the arrays it reads and writes, by name (or in the kernel's own order)."""

    kernel: phase_kernel
    arrays: Mapping[str, np.ndarray]
    begin: int
    end: int
    serial: bool = False  # one chunk, whatever the number of threads: for reductions with a fixed order
    every: int = 1  # take part in iterations 0, every, 2 every, ... only
    grain: int = GRAIN  # chunks are cut at multiples of this
    chunks: int = 0  # how many there are; 0: by the number of items
    label: str = ""  # what its time is reported under; the kernel's own, unless given

    def __post_init__(self) -> None:
        if not isinstance(self.arrays, Mapping):
            object.__setattr__(self, "arrays", self.kernel.named(self.arrays))


OPTIONS = tuple(item.name for item in fields(Phase))[4:]


def _with_table(function: Callable, kinds: Mapping[str, Kind]) -> Callable:
    """`function(begin, end, iteration, ...)` as a function of (table, begin, end, iteration).

    Numba looks its disk cache up by the name, the line and the file, which are those of the kernel.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    node = tree.body[0]
    assert isinstance(node, ast.FunctionDef)
    readers = {f"_read_{name}": kind.read for name, kind in kinds.items()}
    opening = [ast.parse(f"{name} = _read_{name}(table, {slot})").body[0] for slot, name in enumerate(kinds)]
    node.args = ast.arguments([], [ast.arg(name) for name in ("table", *GIVEN)], None, [], [], None, [])
    node.body, node.decorator_list = [*opening, *node.body], []
    ast.fix_missing_locations(tree)
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 1)
    module = compile(tree, function.__code__.co_filename, "exec")
    code = next(item for item in module.co_consts if isinstance(item, types.CodeType))
    out = types.FunctionType(code, {**function.__globals__, **readers}, function.__name__)
    out.__qualname__, out.__module__ = function.__qualname__, function.__module__
    return out
