"""Is it a number, an array of them, a path; does it lie where it must, and does it fit? Arguments are looked at here.

Steps are computed in float32. What it cannot hold is refused when it is handed in, with the bound and the reason: a
simulation that began with it would sooner or later be without finite positions, and nobody would know why.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .errors import FileError, InputError, UnknownNameError

SMALLEST = 1e-12  # m: squares of squares of distances vanish in float32 soon below
LARGEST = 1e6  # m: float32 ends at 3e38, and squares of volumes are sixth powers of distances
FARTHEST = 1e8  # m: what all vertices may fall in a step together, where distances stay as they are
FASTEST = 1e9  # m/s, three times the speed of light
STRONGEST = 1e12  # m/s²
LIGHTEST, HEAVIEST = 1e-30, 1e30  # kg: an electron and the Sun; m/h² must be a float32 too
STIFFEST = 1e30  # N/m: a stiffness times a distance must be a float32 too
ROUGHEST = 1e6  # coefficient of friction
NUMBERED = 2**31  # vertices and corners of elements are numbered with 32 bits


# --- numbers ------------------------------------------------------------------------------------------------------


def is_number(value: object) -> bool:
    """Whether `value` is a finite real number that float64 holds (a truth value is none)."""
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
        return False
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:  # a whole number of more than 1024 bits
        return False


def is_whole(value: object) -> bool:
    """Whether `value` is a whole number (a truth value is not)."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def shown(value: object, most: int = 120) -> str:
    """What was handed in, as a message shows it: short, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # a whole number of 5000 digits has no text, and an object of somebody else's may have none
        return f"a value of the type {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def many(number: int) -> str:
    """A count for a message: 12,345, or a power of ten where nobody counts any longer."""
    return f"{number:,}" if number < 10**12 else f"about 10^{int(number.bit_length() * np.log10(2))}"


def check_count(name: str, value: Any, least: int) -> int:
    """A whole number, `least` or more."""
    if not is_whole(value):
        raise InputError(f"{name} must be a whole number, not {shown(value)}")
    if value < least:
        raise InputError(f"{name} must be {least} or more, not {value}")
    return int(value)


def check_size(name: str, value: Any) -> float:
    """A positive length that a mesh may have."""
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
        raise InputError(f"{name} must be a length in metres, not {shown(value)}")
    if not is_number(value) or not value > 0:
        raise InputError(f"{name} must be a positive, finite length in metres, not {shown(value)}")
    if value < SMALLEST:
        raise InputError(f"{name} must be at least {SMALLEST:g} m, not {shown(value)}: float32 loses products of less")
    if value > LARGEST:
        raise InputError(f"{name} must be at most {LARGEST:g} m, not {shown(value)}: {_OVERFLOW}")
    return float(value)


def check_flag(name: str, value: object) -> bool:
    """True or false, and nothing that counts as one of them."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} must be true or false, not {shown(value)}")
    return bool(value)


def as_list(what: str, value: Any) -> list[Any]:
    """Several things, in whatever they come."""
    try:
        return list(value)
    except TypeError:
        raise InputError(f"{what} must be several, in a list, not {shown(value)}") from None


def check_name(kind: str, value: Any, known: Iterable[str]) -> str:
    """One of the names that are known."""
    if not isinstance(value, str) or value not in known:
        raise UnknownNameError(kind, value if isinstance(value, str) else shown(value), known)
    return value


def check_time_step(h: object) -> float:
    """A time step in seconds that neither float32 inertia m/h² nor anybody's patience overflows."""
    if not is_number(h) or not h > 0:  # type: ignore[operator]
        raise InputError(f"the time step must be a positive number of seconds, not {shown(h)}")
    if not 1e-9 <= h <= 1e6:  # type: ignore[operator]
        raise InputError(f"the time step must lie between 1e-9 and 1e6 seconds, not {shown(h)}")
    return float(h)  # type: ignore[arg-type]


def check_seed(seed: Any) -> int:
    """A seed: any whole number from 0 to 2^63 - 1."""
    if not is_whole(seed) or not 0 <= seed < 2**63:
        raise InputError(f"the seed must be a whole number from 0 to 2^63 - 1, not {shown(seed)}")
    return int(seed)


def read_value(text: str) -> object:
    """A number, a truth value or None where the text is one, and the text otherwise."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    text = text.strip()
    return None if text == "None" else {"true": True, "false": False}.get(text.lower(), text)


# --- arrays -------------------------------------------------------------------------------------------------------

_OVERFLOW = "float32, in which steps are computed, overflows beyond; rescale the scene or move it to the origin"


def real_array(value: Any) -> np.ndarray | None:
    """`value` as float64; None if it is ragged, complex, text, or anything else but an array of real numbers."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iufO" and array.size:
            return None
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        return None


def whole_array(numbers: Any, what: str) -> np.ndarray:
    """Vertex numbers, or truth values, as an array; of no type in particular if it is empty."""
    try:
        array = np.asarray(numbers)
    except (TypeError, ValueError, OverflowError):  # ragged, or beyond 64 bits
        array = np.array(None)
    if array.dtype.kind == "O":
        raise InputError(
            f"{what} must hold whole vertex numbers (integers) in rows of one length, not {shown(numbers)}"
        )
    if array.size and array.dtype.kind not in "iub":
        raise InputError(f"{what} must hold whole vertex numbers (integers), not {array.dtype}")
    return array


def element_array(what: str, elements: Any, corners: int | None = None) -> np.ndarray:
    """Vertex numbers from 0 on in rows of so many corners (None: of two or more)."""
    array = whole_array(elements, what)
    if array.size == 0:
        return np.zeros((0, corners or 2), np.int32)
    wide = array.ndim == 2 and (array.shape[1] == corners if corners else array.shape[1] > 1)
    if not wide or array.dtype == bool:
        raise InputError(f"{what} must be vertex numbers of the shape (m, {corners or 'k'}), not {array.shape}")
    if not 0 <= array.min() <= array.max() < NUMBERED:
        raise InputError(f"{what} must hold vertex numbers from 0 to 2^31 - 1, not {array.min()} to {array.max()}")
    return array


def as_numbers(
    what: str, value: Any, *shapes: tuple[int, ...], most: float | None = None, unit: str = "m"
) -> np.ndarray:
    """`value` as a float64 array of finite real numbers of one of the shapes, none larger than `most`."""
    array = real_array(value)
    wanted = " or ".join(map(str, shapes))
    if array is None:
        raise InputError(f"{what} must be numbers of shape {wanted}, not {shown(value)}")
    if array.shape not in shapes:
        raise InputError(f"{what} must have shape {wanted}, not {array.shape}")
    check_finite(what, array)
    if most is not None:
        check_within(what, array, most, unit)
    return array


def check_finite(what: str, array: np.ndarray) -> None:
    """Refuse NaN and infinity; of a table of vertices, the message names the first."""
    good = np.isfinite(array)
    if good.all():
        return
    if array.ndim < 2:
        raise InputError(f"{what} must be finite, not {array.tolist()}")
    bad = np.argwhere(~good)[0]
    raise InputError(f"{what} must be finite; vertex {bad[0]} is not: {array[tuple(bad)]}")


def check_within(what: str, array: np.ndarray, most: float, unit: str = "m") -> None:
    """Refuse numbers whose products float32 does not hold."""
    bad = np.argwhere(np.abs(array) > most)
    if len(bad):
        where = f"; vertex {bad[0][0]} is not" if array.ndim > 1 else ""
        value = array[tuple(bad[0])]
        raise InputError(f"{what} must lie within {most:g} {unit} of zero{where}: {value}; {_OVERFLOW}")


# --- what does not fit --------------------------------------------------------------------------------------------


def memory() -> int:
    """Bytes of memory that this process may have at most: the machine's, or what its container is given."""
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**63
    try:
        given = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        return min(found, int(given))
    except (OSError, ValueError):  # no container, or "max"
        return found


def check_room(what: str, vertices: int, elements: int, *, corners: int, each: int = 300) -> None:
    """Refuse a mesh that cannot be numbered or held, before anything of it is allocated.

    `corners` of an element; `each`: bytes that an element takes while the mesh is being made.
    """
    kind = {2: "edges", 3: "triangles", 4: "tetrahedra"}[corners]
    size = f"{what} would have {many(vertices)} vertices and {many(elements)} {kind}"
    if max(vertices, elements * corners) >= NUMBERED:
        raise InputError(
            f"{size}; corners of elements are numbered with 32 bits, up to {many(NUMBERED)}: make it coarser"
        )
    if elements * each > memory():
        needed, there = elements * each / 1e9, memory() / 1e9
        raise InputError(f"{size}, which takes {needed:.3g} GB to make; there are {there:.3g} GB: make it coarser")


# --- files --------------------------------------------------------------------------------------------------------


def as_path(value: Any, what: str = "a path") -> Path:
    """A path that the system can at least be asked about."""
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise InputError(f"{what} must be text or a pathlib.Path, not {shown(value)}")
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        raise InputError(f"{what} holds characters that no file name can have: {shown(text)}") from None
    if b"\0" in encoded:
        raise InputError(f"{what} holds a null byte, which no file name can have: {shown(text)}")
    return Path(text)


def check_file(path: Path) -> None:
    """Refuse what is no file, saying what it is instead."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise FileError(f"cannot read {path}: there is no such file") from None
    except OSError as error:  # its name is too long, a folder on the way may not be entered, ...
        raise FileError(f"cannot read {shown(str(path))}: {error.strerror or error}") from error
    if not path.is_file():
        raise FileError(f"cannot read {path}: {'it is a folder' if path.is_dir() else 'there is no such file'}")
