"""The page's own tests (page/tests/), and whether the messages they read are those that Python writes."""

import re

import numpy as np
import pytest

from vivace.viewer.packing import pack, unpack

from .node import run_npm
from .packed_examples import TARGET, examples, messages


@pytest.mark.slow
def test_the_pages_own_tests():
    done = run_npm("test")
    assert done.returncode == 0, done.stdout
    passed = re.search(r"^\S+ pass (\d+)$", done.stdout, re.MULTILINE)
    assert passed, done.stdout
    assert int(passed[1]) >= 39  # not an empty folder


def test_the_examples_are_what_python_writes_today():
    """Byte for byte: the page reads them in page/tests/packing.test.ts."""
    hint = "the messages have changed; write them anew: PYTHONPATH=src:tests python -m viewer.packed_examples"
    assert TARGET.read_text(encoding="utf-8") == examples(), hint


def test_the_examples_come_back_as_they_were():
    for header, arrays in messages().values():
        said, seen = unpack(pack(header, arrays))
        assert said["type"] == header.type
        assert list(seen) == list(arrays)
        for name, array in arrays.items():
            assert seen[name].dtype == array.dtype
            np.testing.assert_array_equal(seen[name].view(np.uint8), np.ascontiguousarray(array).ravel().view(np.uint8))
