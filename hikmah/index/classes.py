"""Classes of entity traces: which of them mean one thing, and who speaks for it.

Rules the module keeps:

1. Two entity traces are of one class when their normalized names and types are equal, or
   when one supersedes the other; and so on, from trace to trace. Nothing else joins them.
2. The class's id is that of its first trace in order (sequence, id), whatever became of it,
   so that an id once shown stays good and two machines meet on one.
3. The newest active trace gives name and type. Where supersession goes round in a circle and
   nobody retired anything, no trace is active and the newest speaks: a circle retires nothing.
4. A class is retired when no trace is active and one was deprecated or purged; it is hidden
   when all that is left was purged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from hikmah.index.schema import FACT_CLAIM
from hikmah.model.status import Status
from hikmah.model.trace import Claim, Fact


class Member(Struct, frozen=True, order=True):
    """One entity trace: its name is normalized; `doc` is a number the index chose."""

    seq: int
    id: str
    doc: int
    name: str
    type: str
    status: Status


class EntityClass(Struct, frozen=True, kw_only=True):
    """All traces that mean one entity, in order; `speaker` is the place of the one that speaks."""

    members: tuple[Member, ...]
    speaker: Member
    status: Status

    @property
    def id(self) -> str:
        """The id of the entity: that of its first trace."""
        return self.members[0].id

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all its traces, in order."""
        return tuple(member.id for member in self.members)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name it was given, normalized, the current one first; not those purged."""
        given = [m.name for m in reversed(self.members) if m.status != "purged"]
        return tuple(dict.fromkeys([self.speaker.name, *given]))


def grouped(members: Iterable[Member], links: Iterable[tuple[str, str]]) -> list[EntityClass]:
    """Return the classes that traces and supersessions among them form, by their ids' order.

    Args:
        members: The traces, in any order.
        links: Pairs of ids that supersession joins; those that name no member join nothing.
    """
    ordered = sorted(members)
    parents = {member.id: member.id for member in ordered}

    def root(one: str) -> str:
        while parents[one] != one:
            parents[one] = one = parents[parents[one]]
        return one

    first: dict[tuple[str, str], str] = {}
    same = [(first.setdefault((m.name, m.type), m.id), m.id) for m in ordered]
    for one, other in [*same, *links]:
        if one in parents and other in parents:
            parents[root(other)] = root(one)
    found: dict[str, list[Member]] = {}
    for member in ordered:
        found.setdefault(root(member.id), []).append(member)
    return [described(group) for group in found.values()]


def described(members: Sequence[Member]) -> EntityClass:
    """Return the class of some traces that are known to be one, in order."""
    active = [m for m in members if m.status == "active"]
    left = [m for m in members if m.status != "purged"]
    speaker = (active or left or members)[-1]
    status: Status = "active"
    if not active and any(m.status in {"deprecated", "purged"} for m in members):
        status = "deprecated" if any(m.status == "deprecated" for m in members) else "purged"
    return EntityClass(members=tuple(members), speaker=speaker, status=status)


def fact_claim(fact: Fact, entity: str) -> Claim:
    """Return what a single-valued fact claims of the entity with an id."""
    return Claim(key=FACT_CLAIM.format(entity, fact.predicate), value=fact.object)
