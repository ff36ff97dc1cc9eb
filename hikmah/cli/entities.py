"""The command `entity` and what can be done with entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hikmah.cli import entitytext
from hikmah.cli.groups import Group
from hikmah.cli.inputs import moment
from hikmah.cli.options import AS_OF, Command, limit_option
from hikmah.cli.run import Run, pass_run
from hikmah.cli.screen import Screen
from hikmah.cli.text import one_line
from hikmah.model.trace import ENTITY_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable

    from hikmah.memory.knowledge_results import EntityFound, Summarized
    from hikmah.memory.results import Batch, Remembered

TYPE = click.Choice(ENTITY_TYPES)
STATUS = click.Choice(("active", "superseded", "deprecated"))
AGE = "7d, 12h: only copies at least so old, and missing ones."


def said_by(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say who says something, and how surely."""
    for option in reversed(
        (
            click.option("--source", metavar="NAME", help="Who says so: unknown."),
            click.option("--locator", metavar="TEXT", help="Where it can be looked up."),
            click.option("--confidence", type=float, metavar="0..1", help="How sure: 0.5."),
            click.option(
                "--salience", type=float, metavar="0..1", help="How much it matters: 0.5."
            ),
            click.option(
                "--tag", "tags", multiple=True, metavar="TAG", help="Several may be given."
            ),
            click.option("--verified", is_flag=True, help="A person checked it."),
        )
    ):
        command = option(command)
    return command


def valid_in(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say when something holds."""
    until = click.option("--valid-until", metavar="TIME", help="Until when (not included).")
    since = click.option("--valid-from", metavar="TIME", help="Since when it holds.")
    return since(until(command))


def given(run: Run, options: dict[str, Any]) -> dict[str, Any]:
    """Return what was given of the options above, as the library takes it."""
    times = {name: options.pop(name, None) for name in ("valid_from", "valid_until")}
    kept = {name: value for name, value in options.items() if value not in (None, False, ())}
    return kept | {
        f"{name}_ms": moment(run, text) for name, text in times.items() if text is not None
    }


@click.group(cls=Group)
def entity() -> None:
    """Keep people, projects, code and facts of them.

    ENTITY is an id, a unique prefix of one, or a name that only one entity has.
    """


@entity.command(cls=Command)
@click.argument("name")
@click.option("--type", "entity_type", type=TYPE, help="What sort of thing it is.")
@click.option("--supersedes", metavar="ENTITY", help="Rename this entity.")
@said_by
@pass_run
def add(
    run: Run, /, name: str, entity_type: str | None, supersedes: str | None, **options: Any
) -> None:
    """Make an entity unless it is there.

    With --supersedes an entity gets NAME as its name; its names so far stay good.
    """
    fields = given(run, options)
    if supersedes is None and entity_type is None:
        raise click.UsageError(f"--type is missing: one of {', '.join(ENTITY_TYPES)}")
    with run.memory(writes=True) as memory:
        knowledge = memory.knowledge
        if supersedes is not None:
            found = knowledge.rename_entity(supersedes, name, entity_type=entity_type, **fields)
        else:
            found = knowledge.get_or_create_entity(name, str(entity_type), **fields)
    run.show("entity-add", found, lambda screen: _draw_found(screen, found))
    run.warn(found.warnings)


def _draw_found(screen: Screen, found: EntityFound) -> None:
    word = "added" if found.created else "there already:"
    name = screen.style(screen.id(found.id), "bold")
    screen.line(f"{word} {found.entity_type} {name}  {one_line(found.name, 120)}")


@entity.command(cls=Command)
@click.argument("entity_ref", metavar="ENTITY")
@click.option("--predicate", required=True, metavar="TEXT", help="What about it: role, team.")
@click.option("--object", "value", required=True, metavar="TEXT", help="What it is.")
@click.option("--multi", is_flag=True, help="There may be several at once.")
@click.option("--supersedes", metavar="FACT", help="The fact that this one replaces.")
@valid_in
@said_by
@pass_run
def fact(
    run: Run, /, entity_ref: str, predicate: str, value: str, *, multi: bool, **options: Any
) -> None:
    """Write a fact of an entity."""
    fields = given(run, options)
    with run.memory(writes=True) as memory:
        result = memory.knowledge.add_fact(entity_ref, predicate, value, multi=multi, **fields)
    _show_written(run, "entity-fact", result)


@entity.command(cls=Command)
@click.argument("from_ref", metavar="FROM")
@click.argument("relation")
@click.argument("to_ref", metavar="TO")
@click.option("--supersedes", metavar="ID", help="The relationship that this one replaces.")
@valid_in
@said_by
@pass_run
def relate(run: Run, /, from_ref: str, relation: str, to_ref: str, **options: Any) -> None:
    """Write how one entity is related to another."""
    fields = given(run, options)
    with run.memory(writes=True) as memory:
        result = memory.knowledge.add_relationship(from_ref, to_ref, relation, **fields)
    _show_written(run, "entity-relate", result)


def _show_written(run: Run, name: str, result: Remembered) -> None:
    def draw(screen: Screen) -> None:
        screen.line(f"written {screen.style(screen.id(result.id), 'bold')}  (record {result.seq})")
        if result.conflicts:
            told = f"disagrees with {screen.ids(result.conflicts)}"
            screen.line(screen.style(told, "yellow"))

    run.show(name, result, draw)
    run.warn(result.warnings)


@entity.command(cls=Command)
@click.argument("old")
@click.argument("new")
@click.option("--reason", metavar="TEXT", help="Why; it is kept.")
@click.option("--source", metavar="NAME", help="Who says so: unknown.")
@pass_run
def supersede(run: Run, /, old: str, new: str, **options: Any) -> None:
    """Let one fact replace another of its entity."""
    with run.memory(writes=True) as memory:
        result = memory.knowledge.supersede_fact(old, new, **given(run, options))
    run.show(
        "entity-supersede",
        result,
        lambda screen: screen.line(f"superseded {screen.style(screen.id(result.target), 'bold')}"),
    )
    run.warn(result.warnings)


@entity.command(cls=Command)
@click.argument("target", metavar="FACT")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is kept.")
@click.option("--source", metavar="NAME", help="Who says so: unknown.")
@pass_run
def deprecate(run: Run, /, target: str, reason: str, **options: Any) -> None:
    """Retire a fact, a relationship or an entity.

    FACT is its id; an entity may also be named.
    """
    with run.memory(writes=True) as memory:
        result = memory.knowledge.deprecate(target, reason=reason, **given(run, options))
    run.show("entity-deprecate", result, lambda screen: _draw_deprecated(screen, result))
    run.warn(result.warnings)


def _draw_deprecated(screen: Screen, result: Batch) -> None:
    screen.line(f"deprecated, in {result.written} record{'s' if result.written != 1 else ''}")


@entity.command("list", cls=Command)
@click.option("--type", "entity_type", type=TYPE, help="Only of this type.")
@click.option("--all", "everything", is_flag=True, help="Also those that were deprecated.")
@limit_option(100)
@AS_OF
@pass_run
def list_(
    run: Run, entity_type: str | None, limit: int, as_of: str | None, *, everything: bool
) -> None:
    """List entities by name."""
    with run.memory() as memory:
        found = memory.knowledge.list_entities(
            entity_type=entity_type, include_deprecated=everything, limit=limit, as_of=as_of
        )
    run.show("entity-list", found, lambda screen: entitytext.draw_entities(screen, found))


@entity.command(cls=Command)
@click.argument("text")
@click.option("--type", "entity_type", type=TYPE, help="Only of this type.")
@click.option("--all", "everything", is_flag=True, help="Also those that were deprecated.")
@limit_option(100)
@AS_OF
@pass_run
def search(
    run: Run, text: str, entity_type: str | None, limit: int, as_of: str | None, *, everything: bool
) -> None:
    """Find entities by words of their names."""
    with run.memory() as memory:
        found = memory.knowledge.search_entities(
            text, entity_type=entity_type, include_deprecated=everything, limit=limit, as_of=as_of
        )
    run.show("entity-search", found, lambda screen: entitytext.draw_entities(screen, found))


@entity.command(cls=Command)
@click.argument("entity_ref", metavar="ENTITY")
@click.option("--type", "entity_type", type=TYPE, help="Which, when several have the name.")
@click.option("--status", "statuses", multiple=True, type=STATUS, help="Only facts of this status.")
@click.option("--history", is_flag=True, help="Also facts that were replaced or retired.")
@AS_OF
@pass_run
def show(
    run: Run,
    entity_ref: str,
    entity_type: str | None,
    statuses: tuple[str, ...],
    as_of: str | None,
    *,
    history: bool,
) -> None:
    """Show an entity, its facts and what is around it."""
    with run.memory() as memory:
        detail = memory.knowledge.get_entity(
            entity_ref,
            entity_type=entity_type,
            history=history,
            statuses=statuses or None,
            as_of=as_of,
        )
    run.show("entity", detail, lambda screen: entitytext.draw_detail(screen, detail))


@entity.command(cls=Command)
@click.argument("entity_ref", metavar="ENTITY")
@click.option(
    "--depth", type=click.IntRange(1, 3), default=1, show_default=True, help="Steps away."
)
@limit_option(100)
@AS_OF
@pass_run
def neighbours(run: Run, entity_ref: str, depth: int, limit: int, as_of: str | None) -> None:
    """Show who is related to whom around an entity."""
    with run.memory() as memory:
        found = memory.knowledge.neighbours(entity_ref, depth=depth, limit=limit, as_of=as_of)
    run.show("entity-neighbours", found, lambda screen: entitytext.draw_neighbours(screen, found))


@entity.command(cls=Command)
@click.argument("entity_ref", metavar="ENTITY")
@click.option(
    "--budget", type=click.IntRange(min=1), metavar="CHARS", help="Length of the text: 600."
)
@click.option("--kept", is_flag=True, help="The copy that was kept last; null without one.")
@AS_OF
@pass_run
def summary(
    run: Run, entity_ref: str, budget: int | None, as_of: str | None, *, kept: bool
) -> None:
    """Sum an entity up, and keep a copy."""
    if kept and (budget is not None or as_of is not None):
        raise click.UsageError("--kept shows a copy as it is; leave the other options out")
    with run.memory() as memory:
        if kept:
            found = memory.knowledge.get_summary(entity_ref)
        else:
            found = memory.knowledge.generate_summary(entity_ref, budget_chars=budget, as_of=as_of)
    if kept:
        run.show(
            "entity-summary-kept", {"summary": found}, lambda screen: _draw_kept(screen, found)
        )
    else:
        run.show("entity-summary", found, lambda screen: _draw_kept(screen, found))


def _draw_kept(screen: Screen, found: Any) -> None:
    if found is None:
        screen.line("no copy was kept")
    else:
        entitytext.draw_summary(screen, found)


@entity.command(cls=Command)
@click.argument("entities", metavar="[ENTITY]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Of every active entity.")
@click.option("--older-than", metavar="AGE", help=AGE)
@pass_run
def summarize(
    run: Run, entities: tuple[str, ...], older_than: str | None, *, everything: bool
) -> None:
    """Refresh the copies of summaries, for a schedule."""
    if bool(entities) == everything:
        raise click.UsageError("name entities, or give --all for every one")
    age_ms = 0 if older_than is None else _age_ms(older_than)
    with run.memory() as memory:
        result = memory.knowledge.summarize(entities or None, older_than_ms=age_ms)
    run.show("entity-summarize", result, lambda screen: _draw_summarized(screen, result))
    if not result.kept:
        run.note("copies cannot be kept here: the index is in memory or read-only", label="warning")


def _age_ms(text: str) -> int:
    """Return a distance like `7d` or `12h` in milliseconds."""
    from hikmah.model.deadline import parse_deadline  # ages are rare

    return parse_deadline(f"+{text.strip().removeprefix('+')}", now_ms=0).ms


def _draw_summarized(screen: Screen, result: Summarized) -> None:
    screen.know(result.refreshed)
    for one in result.refreshed:
        screen.line(f"refreshed {screen.id(one)}")
    screen.line(f"{len(result.refreshed)} refreshed, {result.unchanged} unchanged")
