"""Keys that stay from start to start."""

import os
import secrets

import pytest

from vivace.errors import FileError, InputError
from vivace.viewer import keys
from vivace.viewer.security import Gate


def test_random_keys_are_good_enough():
    for make in (lambda: secrets.token_urlsafe(16), lambda: secrets.token_urlsafe(24), lambda: secrets.token_hex(16)):
        for _ in range(200):
            key = make()
            assert keys.check_key(key) == key


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("", "22 to 200"),
        ("hunter2", "22 to 200"),
        ("x" * 300, "22 to 200"),
        ("a" * 40, "easy to guess"),
        ("password" * 5, "easy to guess"),
        ("abcdefghijklmnopqrstuvwxyz", "easy to guess"),
        ("0123456789" * 4, "easy to guess"),
        ("acegikmoqsuwyACEGIKMOQSUWY", "easy to guess"),
        ("this one has spaces in it, many", "letters, digits"),
        ("Schlüssel-für-die-gute-Stube", "letters, digits"),
        ("a/../../b?token=&x=y#zzzzzzz", "letters, digits"),
    ],
)
def test_poor_keys_are_refused_without_repeating_them(key, why):
    with pytest.raises(InputError, match=why) as caught:
        keys.check_key(key)
    assert len(key) < 6 or key not in str(caught.value)
    with pytest.raises(InputError):
        Gate(token=key)


def test_a_key_file_is_made_once_and_for_its_owner_only(tmp_path):
    path = tmp_path / "key"
    old = os.umask(0)
    try:
        first = keys.kept_key(path)
    finally:
        os.umask(old)
    assert keys.kept_key(path) == first == path.read_text(encoding="ascii").strip()
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_a_key_file_that_others_can_read_is_refused(tmp_path, mode):
    path = tmp_path / "key"
    keys.kept_key(path)
    path.chmod(mode)
    with pytest.raises(FileError, match="chmod 600"):
        keys.kept_key(path)


def test_key_files_that_cannot_be_used(tmp_path):
    with pytest.raises(FileError, match="cannot make"):
        keys.kept_key(tmp_path / "no" / "folder")
    with pytest.raises(FileError):
        keys.kept_key(tmp_path)
    for content in (b"", b"short\n", b"\xff" * 60, b"a" * 100_000):
        path = tmp_path / "bad"
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(InputError, match="bad"):
            keys.kept_key(path)
        assert path.read_bytes() == content


def test_the_environment_has_a_key_only_once(monkeypatch):
    monkeypatch.setenv(keys.VARIABLE, key := secrets.token_urlsafe(24))
    assert keys.key_of_environment() == key
    assert keys.VARIABLE not in os.environ
    assert keys.key_of_environment() is None
    monkeypatch.setenv(keys.VARIABLE, "guess me")
    with pytest.raises(InputError, match=keys.VARIABLE):
        keys.key_of_environment()
