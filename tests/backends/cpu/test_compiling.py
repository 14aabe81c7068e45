"""What is compiled once, and found on disk by the next process that needs it."""

import types
from pathlib import Path

import pytest
from numba.core.caching import FunctionCache

from vivace.backends.cpu.compiling import compile_now, compiled, function
from vivace.backends.cpu.templates import compiled_project, specialised

pytestmark = pytest.mark.slow


def inner(x):
    return x


def twice(x):
    return inner(x) + inner(x)


def hits(dispatcher):
    return sum(dispatcher.stats.cache_hits.values())


@pytest.mark.parametrize("decorator", [compiled, function])
def test_what_is_compiled_is_found_again(decorator):
    """By another dispatcher of the same function, as in another process."""
    first, second = decorator(inner), decorator(inner)
    assert first(2.0) == second(2.0) == 2.0
    assert hits(second) == 1
    assert hits(compile_now(inner, cache=False)) == 0


def test_copies_of_templates_are_kept_where_their_functions_can_be_imported():
    copy = specialised(twice, inner, "inner")
    assert copy.kept
    assert specialised(twice, copy, "inner").kept
    first, second = compiled_project.__wrapped__(copy), compiled_project.__wrapped__(copy)
    assert first(3.0) == second(3.0) == 6.0
    assert hits(second) == 1


def test_copies_with_a_function_of_nowhere_are_not_kept():
    typed = types.FunctionType(inner.__code__, {"__name__": "nowhere"}, "typed")
    copy = specialised(twice, typed, "inner")
    assert not copy.kept
    assert not specialised(twice, copy, "inner").kept  # however deep it is inside
    assert compiled_project(copy)(3.0) == 6.0


def test_nothing_is_kept_that_closes_over_something():
    """Numba would look for it by a name that is another one in every process."""

    def outer(x):
        return visit(x)

    visit = function(inner)
    with pytest.raises(TypeError, match="outer closes over visit"):
        compiled(outer)
    assert compile_now(outer, cache=False)(4.0) == 4.0


def test_one_process_at_a_time_writes_what_is_kept(monkeypatch):
    """Two that came with different signatures would give both the same number."""
    fcntl = pytest.importorskip("fcntl")
    saved = []

    def save(cache, signature, data):
        with open(Path(cache.cache_path) / ".lock", "rb") as another, pytest.raises(BlockingIOError):
            fcntl.flock(another, fcntl.LOCK_EX | fcntl.LOCK_NB)
        saved.append(signature)

    monkeypatch.setattr(FunctionCache, "load_overload", lambda *given: None)
    monkeypatch.setattr(FunctionCache, "save_overload", save)
    assert function(inner)(5.0) == 5.0
    assert len(saved) == 1
