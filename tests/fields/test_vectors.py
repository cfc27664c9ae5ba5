"""What the parties compare of their libraries: the same here as where it was recorded, computed once."""

from __future__ import annotations

import pytest

from accord.fields import cleaning, vectors

RECORDED = "07dce00fa8b8291cef6084d45ae8caa632c828a7cd307b843c1db8915a972107"


def test_the_digest_is_that_of_every_machine() -> None:
    assert vectors.texts_digest().hex() == RECORDED
    assert len(set(vectors.VECTORS)) == len(vectors.VECTORS)


def test_it_is_computed_once_and_would_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    assert vectors.texts_digest() is vectors.texts_digest()
    for name, changed in (("titles", cleaning._STEPS["spaces"]), ("accents", lambda texts: texts)):
        with monkeypatch.context() as patch:
            patch.setitem(cleaning._STEPS, name, changed)
            assert vectors.texts_digest.__wrapped__() != vectors.texts_digest()


def test_the_libraries_are_named() -> None:
    assert "pyarrow 2" in vectors.readers() or "pyarrow 1" in vectors.readers()
    assert "jellyfish 1." in vectors.readers()
