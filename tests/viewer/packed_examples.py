"""Binary messages with what is in them, for the page's own tests: page/tests/packed.json.

The file is kept, so that `npm test` needs no Python; a test holds it to what `packing.pack` writes today. After a
change of the messages write it anew, from the project's root:

    PYTHONPATH=src:tests python -m viewer.packed_examples
"""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np

from vivace.files import write_text
from vivace.viewer.messages import CameraView, FrameData, SceneData, ViewData, plain
from vivace.viewer.packing import pack, quantised

TARGET = Path(__file__).parents[2] / "page" / "tests" / "packed.json"

# Not the corners of the box only: quantised, the third and fourth fall between two steps.
POSITIONS = np.array([[-1.5, 0.25, 3.0], [2.5, -0.75, 3.5], [0.1, 0.0, 3.3], [1 / 3, -1 / 7, 3.25]], np.float32)
FLOATS = np.array([0.0, -0.0, 1.0, -1.5, 1e-45, 1.1754944e-38, 3.4028235e38, 0.1, np.pi], np.float32)
INTS = np.array([0, 1, 255, 256, 65_535, 65_536, 2**31, 2**32 - 1], np.uint32)
BYTES = np.array([0, 1, 127, 128, 255], np.uint8)  # an odd number: what follows is not aligned by itself


def messages() -> dict[str, tuple[SceneData | FrameData, dict[str, np.ndarray]]]:
    """Headers and arrays by the examples' names."""
    camera = CameraView([1.0, 2.0, 3.0], [0.0, -0.5, 0.0], [0.0, 1.0, 0.0], 40.0)
    # Letters of two and three bytes: the header's length is counted in bytes and not in letters.
    scene = SceneData(3, "Überwurf ω – 布", "4 vertices", "soft", 4, 4, camera, None, arrays={})
    steps, low, scale = quantised(POSITIONS)
    return {
        "scene": (
            scene,
            {"colours": BYTES, "triangles": INTS, "edges": INTS[:0], "scenery_vertices": FLOATS},
        ),
        "frame16": (_frame(low, scale), {"values0": BYTES[:3], "positions0": steps}),
        "frame32": (_frame(np.zeros(3), np.ones(3)), {"values0": BYTES[:1], "positions0": POSITIONS}),
    }


def _frame(low: np.ndarray, scale: np.ndarray) -> FrameData:
    view = ViewData(
        *("auto", "lattice(multigrid)", 17, 5, 0.125, [[0.0, 2.0], [1.0, 0.5]], [("predict", 0.25), ("solve", 4.5)]),
        *(5.0, None, 7, 2, 0, "", [0.001, 0.02], low.tolist(), scale.tolist(), [0.0, 2.0], "%", [70]),
        *([[0.5, 1.0, -2.0]], None),
    )
    return FrameData(41, 3, 0.5, 1.0, "", "strain", {"1": 12}, [view], [], None, arrays={})


def examples() -> str:
    """The text of packed.json: each message in base64, with its header and arrays as numbers."""
    said: dict[str, Any] = {}
    for name, (header, arrays) in messages().items():
        said[name] = {
            "message": b64encode(pack(header, arrays)).decode(),
            "header": {key: value for key, value in plain(header).items() if key != "arrays"},
            "arrays": {key: {"dtype": str(one.dtype), "values": one.ravel().tolist()} for key, one in arrays.items()},
        }
    said["frame16"]["positions"] = POSITIONS.ravel().tolist()  # before they were quantised
    return json.dumps(said, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    write_text(TARGET, examples())
