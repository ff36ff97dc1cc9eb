"""What a reader takes a text for."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikmah.model.disguise import undisguised

ODD = "\u00a0\u200b\u3000\ufeff\uff21\uff1d\u00ad"


@pytest.mark.parametrize("text", ["", "plain", "caf\u00e9", "\u0627\u0644", "\u90e8\u7f72\u3002"])
def test_a_text_without_disguise_is_as_it_stands(text: str) -> None:
    assert undisguised(text) is None


@given(st.text(st.sampled_from("ab \u00e9" + ODD), min_size=1))
def test_every_character_that_stays_has_its_place(text: str) -> None:
    """The plain text can be traced back, character by character, in order."""
    plain = undisguised(text)
    if plain is None:
        assert not set(text) & set(ODD)
        return
    assert len(plain.text) == len(plain.places)
    assert list(plain.places) == sorted(set(plain.places))
    for character, place in zip(plain.text, plain.places, strict=True):
        assert unicodedata.normalize("NFKC", text[place]) == character
    assert not set(plain.text) & set(ODD)
