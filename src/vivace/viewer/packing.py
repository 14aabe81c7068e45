"""Binary messages: a header and arrays.

    4 bytes        length of the header, little-endian
    header         JSON: a SceneData or FrameData, with an `ArraySpec` for each array; spaces up to a multiple of four
    arrays         one after the other, each from a multiple of four bytes

Positions go as uint16 in the box around them: half the bytes of float32, and a step of the box's side / 65535.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from .messages import ArraySpec, FrameData, SceneData, plain

STEPS = 65535


def pack(header: SceneData | FrameData, arrays: Mapping[str, np.ndarray]) -> bytes:
    """A message of `header`, whose `arrays` is filled in, and the arrays."""
    offset, specs, parts = 0, {}, []
    for name, array in arrays.items():
        data = np.ascontiguousarray(array)
        specs[name] = ArraySpec(str(data.dtype), offset, data.size)  # type: ignore[arg-type]
        padding = -data.nbytes % 4
        parts += [data.data.cast("B") if data.size else b"", bytes(padding)]
        offset += data.nbytes + padding
    said: dict[str, Any] = plain(header) | {"arrays": specs}
    text = msgspec.json.encode(said)
    text += b" " * (-len(text) % 4)
    return b"".join([len(text).to_bytes(4, "little"), text, *parts])


def unpack(message: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a message; the page has the same in packing.ts."""
    length = int.from_bytes(message[:4], "little")
    header = msgspec.json.decode(message[4 : 4 + length])
    arrays = {
        name: np.frombuffer(message, spec["dtype"], spec["length"], 4 + length + spec["offset"])
        for name, spec in header["arrays"].items()
    }
    return header, arrays


def quantised(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n, 3) positions as uint16, with `low` and `scale`: low + scale * value is within scale / 2 of them."""
    low, high = positions.min(axis=0).astype(np.float64), positions.max(axis=0).astype(np.float64)
    scale = np.maximum(high - low, 1e-12) / STEPS
    steps = (positions - low.astype(np.float32)) * (1.0 / scale).astype(np.float32)
    return np.clip(np.rint(steps), 0, STEPS).astype(np.uint16), low, scale
