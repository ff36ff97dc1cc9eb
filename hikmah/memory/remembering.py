"""The part of `Memory` that writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from hikmah.memory.arguments import texts
from hikmah.memory.door import Door

if TYPE_CHECKING:
    from hikmah.memory.results import Batch, Remembered, Switched

DEFAULT_SOURCE = "unknown"


class Remembering(Door):
    """Verbs that put a record into the ledger."""

    def remember(
        self,
        content: str | None = None,
        *,
        kind: str | None = None,
        source: str = DEFAULT_SOURCE,
        locator: str | None = None,
        authority: float | None = None,
        observed_at_ms: int | None = None,
        verified: bool = False,
        tags: Iterable[str] = (),
        salience: float | None = None,
        confidence: float | None = None,
        privacy: str | None = None,
        claim: tuple[str, str] | Mapping[str, str] | None = None,
        valid_from_ms: int | None = None,
        valid_until_ms: int | None = None,
        supersedes: str | None = None,
        derived_from: Iterable[str] = (),
        deadline_ms: int | None = None,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Write one trace.

        Args:
            content: What to remember: text, not blank, at most 64 KiB. May be left out when a
                person verifies another trace (`verified` with `supersedes`): it is copied.
            kind: One of `hikmah.model.trace.KINDS`; default `observation`.
            source: Who says so; `model:<engine>` for anything a model wrote.
            locator: Where it can be looked up.
            authority: How much the source is worth, 0..1, default 0.5.
            observed_at_ms: When it was observed.
            verified: Whether the source vouches for having checked it.
            tags: At most 32 words of 64 characters.
            salience: How much it matters, 0..1, default 0.5.
            confidence: How sure the source is, 0..1, default 0.5.
            privacy: `public`, `private` (default) or `sensitive`.
            claim: (key, value): a statement that can disagree with others of that key.
            valid_from_ms: From when it holds in the world.
            valid_until_ms: Until when it holds, this moment left out.
            supersedes: The trace that this one corrects.
            derived_from: Traces it was concluded from.
            deadline_ms: When a commitment is due.
            idempotency_key: A retry with this key returns the first trace's id.

        Raises:
            InvalidInputError: A value is wrong; `where` says which.
            SecretError: Something is shaped like a credential.
            RefusedError: `sensitive`, or something only a person, or no model, may do.
            NotFoundError: A link names no record.
            IntegrityError: Ref and acknowledged head disagree.
            BusyError: Another writer held the ledger all the while.
        """
        fields = {
            "content": content,
            "kind": kind,
            "source": source,
            "locator": locator,
            "authority": authority,
            "observed_at_ms": observed_at_ms,
            "verified": verified,
            "tags": texts(tags, "$.tags"),
            "salience": salience,
            "confidence": confidence,
            "privacy": privacy,
            "claim": claim,
            "valid_from_ms": valid_from_ms,
            "valid_until_ms": valid_until_ms,
            "supersedes": supersedes,
            "derived_from": texts(derived_from, "$.derived_from"),
            "deadline_ms": deadline_ms,
            "idempotency_key": idempotency_key,
        }
        from hikmah.memory import writing

        with self._lock:
            return writing.remember(self._desk, fields)

    def remember_batch(self, items: Iterable[Mapping[str, Any]]) -> Batch:
        """Write many traces as one commit, all or nothing.

        Args:
            items: Fields as `remember` takes them; a claim also as `claim_key` and
                `claim_value`. What is no iterator is read as it is written, and need not be
                in memory as a whole.

        Raises:
            HikmahError: As for `remember`; the message says which item it was.
        """
        from hikmah.memory import writing

        with self._lock:
            return writing.remember_batch(self._desk, items)

    def fulfill(
        self, target: str, *, evidence: str | None = None, source: str = DEFAULT_SOURCE
    ) -> Switched:
        """Mark a commitment as kept; one that is kept already is said so, and nothing written.

        Args:
            target: The commitment's id.
            evidence: Text, or an id.
            source: Who says so; not a model.
        """
        from hikmah.memory import writing

        with self._lock:
            return writing.fulfill(self._desk, target, evidence=evidence, source=source)

    def purge(
        self,
        target: str,
        *,
        reason: str,
        mode: Literal["purge", "deprecate"] = "purge",
        source: str = DEFAULT_SOURCE,
    ) -> Switched:
        """Take a trace out of every view (`purge`), or retire it without a successor.

        Purging hides and does not erase: the bytes stay in git and on every remote.
        """
        from hikmah.memory import writing

        with self._lock:
            return writing.purge(self._desk, target, reason=reason, mode=mode, source=source)

    def supersede(
        self, old: str, new: str, *, reason: str | None = None, source: str = DEFAULT_SOURCE
    ) -> Switched:
        """Put one existing trace in the place of another."""
        from hikmah.memory import writing

        with self._lock:
            return writing.supersede(self._desk, old, new, reason=reason, source=source)
