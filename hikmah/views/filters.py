"""What a recall may return at all: filters, status, privacy, kind.

`refusal` names the first filter that leaves a trace out, so that an empty answer can say
which one it was. A purged trace and one the policy hides are left out without a word.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from hikmah.index.rows import Facts

Refusal = Literal["hidden", "superseded", "prediction", "kind", "source", "since", "until"]


class Filters(Struct, frozen=True, kw_only=True):
    """Which traces may come back. Empty kinds or sources ask for all of them."""

    kinds: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    since_ms: int | None = None
    until_ms: int | None = None
    include_superseded: bool = False
    allow_sensitive: bool = False

    def refusal(self, facts: Facts) -> Refusal | None:
        """Return the first rule that leaves a trace out, or None when it may come back."""
        if not self.visible(facts.status, facts.privacy):
            return "hidden"
        if facts.status in {"superseded", "deprecated"} and not self.include_superseded:
            return "superseded"
        if facts.kind == "prediction" and "prediction" not in self.kinds:
            return "prediction"
        return self._asked(facts)

    def visible(self, status: str, privacy: str) -> bool:
        """Tell whether a trace may be mentioned at all."""
        return status != "purged" and (privacy != "sensitive" or self.allow_sensitive)

    def _asked(self, facts: Facts) -> Refusal | None:
        if self.kinds and facts.kind not in self.kinds:
            return "kind"
        if self.sources and normal_source(facts.source) not in self.sources:
            return "source"
        if self.since_ms is not None and facts.created_at_ms < self.since_ms:
            return "since"
        if self.until_ms is not None and facts.created_at_ms > self.until_ms:
            return "until"
        return None


def normal_source(source: str) -> str:
    """Return a source as it is compared: trimmed, casefolded."""
    return source.strip().casefold()
