"""A team and its services over three months: what was known when, and what changed.

Run it anywhere: `python examples/knowledge_team.py`. It works in a temporary folder and
prints the same on every machine, since it brings its own clock.
"""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime

from hikmah.memory import Memory
from hikmah.memory.knowledge import Knowledge
from hikmah.views.entities import EntityDetail

DAY_MS = 86_400_000


class Calendar:
    """A clock that stands at a day until it is told another."""

    def __init__(self) -> None:
        self.now_ms = 0

    def __call__(self) -> int:
        """Return a later millisecond each time, as clocks do."""
        self.now_ms += 1
        return self.now_ms

    def turn_to(self, day: str) -> None:
        """Move to the start of a day."""
        self.now_ms = ms(day)


def ms(day: str) -> int:
    """Return the start of a day in milliseconds."""
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1000


def january(team: Knowledge) -> None:
    """Two people, two services, who works on what."""
    for name in ("Jane Chen", "Omar Haddad"):
        team.get_or_create_entity(name, "person", source="hr")
    for name in ("checkout-service", "payments"):
        team.get_or_create_entity(name, "code", source="repository")
    team.add_fact("Jane Chen", "role", "Staff Engineer", "hr", 0.9, valid_from_ms=ms("2026-01-05"))
    team.add_fact("Omar Haddad", "role", "Engineer", "hr", 0.9)
    for language in ("Go", "SQL"):
        team.add_fact("payments", "written in", language, "repository", 0.9, multi=True)
    team.add_fact("checkout-service", "owner", "Jane Chen", "repository", 0.8)
    team.add_relationship("Jane Chen", "checkout-service", "maintains", source="repository")
    team.add_relationship("Omar Haddad", "payments", "maintains", source="repository")
    team.add_relationship("checkout-service", "payments", "calls", source="repository")


def february(team: Knowledge) -> None:
    """Jane is promoted: her old role ends, and the new one begins."""
    (old,) = team.get_entity("Jane Chen").facts
    day = ms("2026-02-01")
    team.add_fact(
        "Jane Chen",
        "role",
        "Staff Engineer",
        "hr",
        0.9,
        valid_from_ms=old.valid_from_ms,
        valid_until_ms=day,
        supersedes=old.id,
    )
    team.add_fact("Jane Chen", "role", "Principal Engineer", "hr", 0.9, valid_from_ms=day)


def march(team: Knowledge) -> None:
    """The service is renamed and changes hands; an agent hears otherwise."""
    team.rename_entity("checkout-service", "storefront", source="repository")
    (owner,) = team.get_entity("storefront").facts
    team.add_fact("storefront", "owner", "Omar Haddad", "repository", 0.8, supersedes=owner.id)
    team.add_fact("storefront", "owner", "Jane Chen", "model:assistant", 0.6)


def tell(title: str, detail: EntityDetail) -> None:
    """Print an entity's facts and relationships."""
    entity = detail.entity
    also = f", also {', '.join(entity.aliases)}" if entity.aliases else ""
    print(f"{title}: {entity.name} ({entity.entity_type}{also})")
    for fact in detail.facts:
        notes = ["" if fact.holds else "no longer", "disputed" if fact.conflicts else ""]
        said = ", ".join(note for note in notes if note)
        print(f"  {fact.predicate}: {fact.object}" + (f" ({said})" if said else ""))
    for link in detail.relationships:
        print(f"  {link.from_.name} {link.relation_type} {link.to.name}")


def main() -> None:
    """Live through the three months, then look back."""
    calendar = Calendar()
    with tempfile.TemporaryDirectory() as folder:
        memory, _ = Memory.init(folder, environ={}, clock=calendar)
        with memory:
            team = memory.knowledge
            for day, month in (
                ("2026-01-10", january),
                ("2026-02-03", february),
                ("2026-03-12", march),
            ):
                calendar.turn_to(day)
                month(team)
            calendar.turn_to("2026-03-31")
            tell("today", team.get_entity("storefront"))
            tell("in January", team.get_entity("checkout-service", as_of="2026-01-31"))
            tell("today", team.get_entity("Jane Chen"))
            print("around Omar, two steps:", end="")
            for one in team.neighbours("Omar Haddad", depth=2).entities:
                print(f" {one.name} ({one.depth})", end="")
            print()
            (dispute,) = memory.conflicts().conflicts
            for value in dispute.values:
                holder = value.holders[0]
                print(f"disputed: {holder.content} [{holder.source}]")
            print("payments:", team.generate_summary("payments").summary_text)
            stats = team.get_stats()
            print(f"{stats.entity_count} entities, {stats.fact_count} active facts")


if __name__ == "__main__":
    main()
