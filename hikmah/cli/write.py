"""Commands that write: `remember`, `fulfill`, `purge`, `supersede`."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from hikmah.cli.inputs import content_of, filled_lines, json_bytes, json_lines, moment, one_id
from hikmah.cli.options import Command
from hikmah.cli.run import Run, pass_run
from hikmah.cli.screen import Screen
from hikmah.errors import HikmahError, InvalidInputError
from hikmah.model.records import PurgeMode
from hikmah.model.trace import KINDS, PRIVACIES

if TYPE_CHECKING:
    from hikmah.memory.results import Batch, Remembered, Switched

# Times that may be given as text, and the argument each becomes.
TIMES = {
    "valid_from": "valid_from_ms",
    "valid_until": "valid_until_ms",
    "observed_at": "observed_at_ms",
    "deadline": "deadline_ms",
}
CLAIM = ("key", "value")


@click.command(cls=Command, stray_hint="the text goes behind --content, in quotes")
@click.option("--content", metavar="TEXT", help="What to remember; - reads standard input.")
@click.option("--content-file", metavar="FILE", help="Read the content from a file.")
@click.option("--kind", type=click.Choice(KINDS), help="What sort of memory it is: observation.")
@click.option("--source", metavar="NAME", help="Who says so: unknown. model:NAME for a model.")
@click.option("--locator", metavar="TEXT", help="Where it can be found, for example file:line.")
@click.option("--authority", type=float, metavar="0..1", help="Weight of the source: 0.5.")
@click.option("--verified", is_flag=True, help="A person checked it.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="May be given several times.")
@click.option("--salience", type=float, metavar="0..1", help="How much it matters: 0.5.")
@click.option("--confidence", type=float, metavar="0..1", help="How sure the source is: 0.5.")
@click.option("--privacy", type=click.Choice(PRIVACIES), help="private; sensitive is refused.")
@click.option("--claim-key", metavar="TEXT", help="What a comparable statement is about.")
@click.option("--claim-value", metavar="TEXT", help="What it says; two values disagree.")
@click.option("--valid-from", metavar="TIME", help="Since when it holds in the world.")
@click.option("--valid-until", metavar="TIME", help="Until when (not included).")
@click.option("--observed-at", metavar="TIME", help="When the source saw it.")
@click.option("--supersedes", metavar="ID", help="The trace that this one corrects.")
@click.option("--derived-from", multiple=True, metavar="ID", help="A trace it was concluded from.")
@click.option("--deadline", metavar="TIME", help="When a commitment is due: +48h, 2030-01-31.")
@click.option("--idempotency-key", metavar="KEY", help="A retry with it writes nothing twice.")
@click.option("--batch", metavar="FILE", help="JSON lines, one trace each, as one commit; or -.")
@pass_run
def remember(
    run: Run, /, content: str | None, content_file: str | None, batch: str | None, **options: Any
) -> None:
    """Write a trace, or a batch of them.

    TIME is ISO 8601, milliseconds, or +N with m, h, d or w. A person verifies what an agent
    recorded with --verified --supersedes ID: what is then left out is copied from it.
    """
    given = {name: value for name, value in options.items() if value not in (None, False, ())}
    if batch is not None:
        if given or content is not None or content_file is not None:
            raise click.UsageError("--batch takes everything from its lines; leave the rest out")
        _remember_batch(run, batch)
        return
    text = content_of(content, content_file)
    if text is None and not (options["verified"] and options["supersedes"]):
        raise click.UsageError("--content is missing: give a text, - or --content-file")
    arguments = _arguments(run, given)
    with run.memory(writes=True) as memory:
        result = memory.remember(text, **arguments)
    run.show("remember", result, lambda screen: _draw_remembered(screen, result))
    run.warn(result.warnings)


def _arguments(run: Run, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return `Memory.remember` arguments for what a command line or a batch line gives."""
    found = {TIMES.get(name, name): value for name, value in given.items() if value is not None}
    for name, argument in TIMES.items():
        if isinstance(given.get(name), str):
            found[argument] = moment(run, given[name], end_of_day=name == "deadline")
    halves = {half: found.pop(f"claim_{half}") for half in CLAIM if f"claim_{half}" in found}
    if len(halves) == 1:
        raise InvalidInputError(
            "a claim needs a key and a value, and one of them is missing",
            hint="give --claim-key and --claim-value together",
            where="$.claim",
        )
    return found | {"claim": halves} if halves else found


def _remember_batch(run: Run, name: str) -> None:
    with run.memory(writes=True) as memory:
        lines = _Lines(run, json_bytes(name))
        try:
            result = memory.remember_batch(lines)
        except HikmahError as e:
            e.where = _line_of(e.where, lines.numbers)
            raise
    run.show("remember-batch", result, lambda screen: _draw_batch(screen, result))
    run.warn(result.warnings)


class _Lines:
    """The items of a batch: lines that are decoded when they are wanted, and again if need be.

    `numbers` are those of the lines come by so far.
    """

    def __init__(self, run: Run, data: bytes) -> None:
        self.numbers = array("L")
        self._run = run
        self._data = data

    def __len__(self) -> int:
        return sum(1 for _ in filled_lines(self._data))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        del self.numbers[:]
        for number, fields in json_lines(self._data):
            self.numbers.append(number)
            yield _batch_item(self._run, number, fields)


def _batch_item(run: Run, number: int, fields: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return _arguments(run, fields)
    except InvalidInputError as e:
        e.where = f"line {number}{': ' if e.where else ''}{e.where}"
        raise


def _line_of(where: str, numbers: Sequence[int]) -> str:
    """Turn a place in the list of items (`$[3].kind`) into a place in the file."""
    if len(numbers) == 1 and where.startswith("$") and not where.startswith("$["):
        return f"line {numbers[0]}: {where}"
    index, bracket, rest = where.removeprefix("$[").partition("]")
    if not where.startswith("$[") or not bracket or not index.isdigit():
        return where
    return f"line {numbers[int(index)]}: ${rest}"


def _draw_remembered(screen: Screen, result: Remembered) -> None:
    what = "already remembered as" if result.deduplicated else "remembered"
    screen.line(f"{what} {screen.style(screen.id(result.id), 'bold')}  (record {result.seq})")
    if result.conflicts:
        screen.line(screen.style(f"disagrees with {screen.ids(result.conflicts)}", "yellow"))


def _draw_batch(screen: Screen, result: Batch) -> None:
    screen.know(item.id for item in result.items)
    for item in result.items:
        _draw_remembered(screen, item)
    screen.line(f"{result.written} of {len(result.items)} are new, in one commit")


@click.command(cls=Command)
@click.argument("identity", metavar="[ID]", required=False)
@click.option("--id", "option_id", metavar="ID", help="The commitment.")
@click.option("--evidence", metavar="TEXT", help="What shows it: a text, or a trace's id.")
@click.option("--source", metavar="NAME", help="Who says so: unknown.")
@pass_run
def fulfill(
    run: Run, identity: str | None, option_id: str | None, evidence: str | None, source: str | None
) -> None:
    """Mark a commitment as kept."""
    chosen = one_id(identity, option_id)
    with run.memory(writes=True) as memory:
        result = memory.fulfill(chosen, evidence=evidence, **_source(source))
    _show_switched(run, "fulfill", "fulfilled", result)


@click.command(cls=Command)
@click.argument("identity", metavar="[ID]", required=False)
@click.option("--id", "option_id", metavar="ID", help="The trace.")
@click.option("--reason", metavar="TEXT", required=True, help="Why; it is kept.")
@click.option("--deprecate", is_flag=True, help="Retire it instead: shown when asked for.")
@click.option("--source", metavar="NAME", help="Who says so: unknown.")
@pass_run
def purge(
    run: Run,
    identity: str | None,
    option_id: str | None,
    reason: str,
    source: str | None,
    *,
    deprecate: bool,
) -> None:
    """Take a trace out of every view, or retire it.

    It hides and does not erase: the bytes stay in git and wherever the ledger was pushed.
    """
    chosen = one_id(identity, option_id)
    mode: PurgeMode = "deprecate" if deprecate else "purge"
    with run.memory(writes=True) as memory:
        result = memory.purge(chosen, reason=reason, mode=mode, **_source(source))
    _show_switched(run, "purge", "deprecated" if deprecate else "purged", result)


@click.command(cls=Command)
@click.argument("old")
@click.argument("new")
@click.option("--reason", metavar="TEXT", help="Why; it is kept.")
@click.option("--source", metavar="NAME", help="Who says so: unknown.")
@pass_run
def supersede(run: Run, old: str, new: str, reason: str | None, source: str | None) -> None:
    """Let one trace replace another.

    Both exist already; to write a correction and replace in one step, use remember --supersedes.
    """
    with run.memory(writes=True) as memory:
        result = memory.supersede(old, new, reason=reason, **_source(source))
    _show_switched(run, "supersede", "superseded", result)


def _source(source: str | None) -> dict[str, Any]:
    return {} if source is None else {"source": source}


def _show_switched(run: Run, name: str, verb: str, result: Switched) -> None:
    def draw(screen: Screen) -> None:
        word = f"was {verb} already:" if result.already else verb
        screen.line(f"{word} {screen.style(screen.id(result.target), 'bold')}")

    run.show(name, result, draw)
    run.warn(result.warnings)
    if not run.as_json:
        run.note(result.note)
