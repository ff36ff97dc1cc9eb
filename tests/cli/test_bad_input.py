"""Command lines that must fail: each with its exit code and its words, and nothing written."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

    from tests.cli.conftest import Shell

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
AGENT = {"CLAUDECODE": "1"}
REMEMBER = ("remember", "--content", "x")
COMMITMENT = ("remember", "--kind", "commitment", "--content", "x")


class Case(NamedTuple):
    """One command line that must fail, and how."""

    words: tuple[str, ...]
    code: int
    said: str
    env: dict[str, str]
    stdin: bytes


class Ledger(NamedTuple):
    """A ledger with a trace, a commitment, a superseded trace and what replaced it."""

    shell: Shell
    ids: dict[str, str]

    def prints(self) -> dict[str, str]:
        """Return a digest of every file that is history or acknowledges it."""
        store = self.shell.folder / ".hikmah"
        files = [path for path in store.rglob("*") if path.is_file()]
        kept = [p for p in files if not p.name.startswith(("index", "lock", "edge"))]
        return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in kept}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, shells: type[Shell]) -> Ledger:
    """Return a small ledger, its records made by the command."""
    hikmah = shells(tmp_path_factory.mktemp("template"), tmp_path_factory.mktemp("home"))
    ids: dict[str, str] = {}

    def add(name: str, *words: str) -> None:
        ids[name] = hikmah(*words).document["id"]

    add("trace", *REMEMBER, "--idempotency-key", "k")
    add("promise", *COMMITMENT, "--deadline", "+1d")
    add("old", "remember", "--content", "the old way")
    add("new", "remember", "--content", "the new way", "--supersedes", ids["old"])
    add("model", "remember", "--content", "so it says", "--source", "model:m")
    add("gone", "remember", "--content", "to be purged")
    assert hikmah("purge", ids["gone"], "--reason", "test").code == 0
    for name, text in POLICIES.items():
        (hikmah.folder / name).write_text(text)
    return Ledger(hikmah, ids)


@pytest.fixture
def ledger(template: Ledger, hikmah: Shell) -> Ledger:
    """Return a copy of the small ledger."""
    shutil.copytree(template.shell.folder, hikmah.folder, dirs_exist_ok=True)
    return Ledger(hikmah, template.ids)


def row(
    name: str,
    *words: str,
    code: int,
    said: str,
    env: dict[str, str] | None = None,
    stdin: bytes = b"",
) -> ParameterSet:
    """Return one row of the table."""
    return pytest.param(Case(words, code, said, env or {}, stdin), id=name)


def batch(name: str, line: bytes, *, code: int, said: str) -> ParameterSet:
    """Return a row whose second batch line is bad."""
    lines = b'{"content": "fine"}\n' + line
    return row(f"batch: {name}", "remember", "--batch", "-", code=code, said=said, stdin=lines)


USAGE: Sequence[ParameterSet] = [
    row("no content", "remember", code=2, said="--content is missing"),
    row("content twice", *REMEMBER, "--content-file", "f", code=2, said="two ways"),
    row("unknown kind", *REMEMBER, "--kind", "rumour", code=2, said="'rumour' is not one of"),
    row("unknown privacy", *REMEMBER, "--privacy", "secret", code=2, said="'secret' is not one"),
    row(
        "salience is a word", *REMEMBER, "--salience", "high", code=2, said="'high' is not a valid"
    ),
    row("batch and content", *REMEMBER, "--batch", "-", code=2, said="--batch takes everything"),
    row("batch and a tag", "remember", "--batch", "-", "--tag", "a", code=2, said="--batch takes"),
    row("stray argument", "remember", "x", code=2, said="unexpected extra argument"),
    row("a text without its option", "remember", "x", code=2, said="goes behind --content"),
    row("no format", "import", "f", code=2, said="'--from'. Choose from: jsonl, hikmah-jsonl,"),
    row("fulfill nothing", "fulfill", code=2, said="an id is missing"),
    row("purge nothing", "purge", "--reason", "r", code=2, said="an id is missing"),
    row("purge without a reason", "purge", "{trace}", code=2, said="missing option '--reason'"),
    row("two ids", "fulfill", "aaaa", "--id", "bbbb", code=2, said="two ids are given"),
    row("supersede one", "supersede", "{trace}", code=2, said="missing argument 'NEW'"),
    row("show nothing", "show", code=2, said="an id is missing"),
    row("two queries", "recall", "a", "--query", "b", code=2, said="two queries are given"),
    row(
        "two queries, one in words", "recall", "a", "b", "--query", "a", code=2, said="two queries"
    ),
    row("limit 0", "recall", "a", "--limit", "0", code=2, said="0 is not in the range"),
    row("limit 1001", "log", "--limit", "1001", code=2, said="1001 is not in the range"),
    row("limit is a word", "conflicts", "--limit", "all", code=2, said="'all' is not a valid"),
    row("budget 0", "recall", "a", "--budget", "0", code=2, said="0 is not in the range"),
    row("hours below zero", "commitments", "--within-hours", "-1", code=2, said="-1"),
    row("recall of no kind", "recall", "a", "--kind", "all", code=2, said="'all' is not one of"),
    row("two decisions", "verify-ledger", "--accept-tail", "--reset-head", code=2, said="alone"),
    row(
        "decision and pin",
        "verify-ledger",
        "--accept-tail",
        "--expect-head",
        "a" * 40,
        code=2,
        said="alone",
    ),
    row(
        "decision and since",
        "verify-ledger",
        "--restore-tail",
        "--since",
        "a" * 40,
        code=2,
        said="alone",
    ),
]
INVALID: Sequence[ParameterSet] = [
    row("empty content", "remember", "--content", "", code=3, said="content"),
    row("blank content", "remember", "--content", " \t\n", code=3, said="content"),
    row("content from empty input", "remember", "--content", "-", code=3, said="content"),
    row(
        "content too long", "remember", "--content", "-", code=3, said="65,536", stdin=b"x" * 65_537
    ),
    row(
        "content of 3 MB",
        "remember",
        "--content",
        "-",
        code=3,
        said="65,536",
        stdin=b"word " * 600_000,
    ),
    row(
        "content not UTF-8",
        "remember",
        "--content",
        "-",
        code=3,
        said="not UTF-8",
        stdin=b"\xff\xfe",
    ),
    row("surrogate", "remember", "--content", "a\udc80b", code=3, said="surrogate"),
    row("salience above 1", *REMEMBER, "--salience", "1.01", code=3, said="<= 1.0"),
    row("salience below 0", *REMEMBER, "--salience", "-0.1", code=3, said=">= 0.0"),
    row("confidence above 1", *REMEMBER, "--confidence", "2", code=3, said="<= 1.0"),
    row("authority not a number", *REMEMBER, "--authority", "nan", code=3, said="authority"),
    row("salience infinite", *REMEMBER, "--salience", "inf", code=3, said="salience"),
    row("blank source", *REMEMBER, "--source", "  ", code=3, said="source"),
    row("blank tag", *REMEMBER, "--tag", " ", code=3, said="tag"),
    row("long tag", *REMEMBER, "--tag", "t" * 65, code=3, said="64"),
    row(
        "33 tags", *REMEMBER, *(w for n in range(33) for w in ("--tag", f"t{n}")), code=3, said="32"
    ),
    row("claim without value", *REMEMBER, "--claim-key", "k", code=3, said="claim"),
    row("claim without key", *REMEMBER, "--claim-value", "v", code=3, said="claim"),
    row(
        "blank claim key", *REMEMBER, "--claim-key", " ", "--claim-value", "v", code=3, said="claim"
    ),
    row("deadline elsewhere", *REMEMBER, "--deadline", "+1d", code=3, said="commitment"),
    row("deadline unreadable", *COMMITMENT, "--deadline", "soon", code=3, said="soon"),
    row("deadline impossible", *COMMITMENT, "--deadline", "2026-02-30", code=3, said="2026-02-30"),
    row("deadline in year 10000", *COMMITMENT, "--deadline", "10000-01-01", code=3, said="10000"),
    row(
        "deadline in no zone",
        *COMMITMENT,
        "--deadline",
        "2030-01-01",
        "--tz",
        "Mars/Base",
        code=3,
        said="Mars/Base",
    ),
    row(
        "validity backwards",
        *REMEMBER,
        "--valid-from",
        "2030-01-02",
        "--valid-until",
        "2030-01-01",
        code=3,
        said="valid",
    ),
    row("since unreadable", "recall", "a", "--since", "then", code=3, said="then"),
    row("until unreadable", "log", "--until", "then", code=3, said="then"),
    row("now unreadable", "recall", "a", "--now", "later", code=3, said="later"),
    row("a prediction by hand", *REMEMBER, "--kind", "prediction", code=5, said="hikmah predict"),
    row("an outcome by hand", *REMEMBER, "--kind", "outcome", code=5, said="hikmah outcome"),
    row("id is no id", "show", "not-an-id", code=3, said="not an id"),
    row("id too short", "show", "abc", code=3, said="4 digits"),
    row("id is a path", "show", "../../etc/passwd", code=3, said="not an id"),
    row(
        "same key, other text",
        "remember",
        "--content",
        "other",
        "--idempotency-key",
        "k",
        code=3,
        said="idempotency",
    ),
    row("supersede oneself", "supersede", "{trace}", "{trace}", code=3, said="itself"),
    row("superseded before", *REMEMBER, "--supersedes", "{old}", code=3, said="superseded"),
    row("supersede in a circle", "supersede", "{new}", "{old}", code=3, said="super"),
    row("purged before", "purge", "{gone}", "--reason", "again", code=3, said="purged"),
    row("fulfill an observation", "fulfill", "{trace}", code=3, said="commitment"),
    row("blank reason", "purge", "{trace}", "--reason", " ", code=3, said="reason"),
    row("ledger name climbs", "--ledger", "../../x", *REMEMBER, code=3, said="../../x"),
    row(
        "ledger name is a ref", "--ledger", "refs/heads/main", *REMEMBER, code=3, said="refs/heads"
    ),
    row("ledger name is an option", "--ledger", "-rf", *REMEMBER, code=3, said="-rf"),
    row("ledger name has a line end", "--ledger", "a\nb", *REMEMBER, code=3, said="a"),
    row("ledger name of 300", "--ledger", "a" * 300, *REMEMBER, code=3, said="aaa"),
    row("ledger name in capitals", "--ledger", "Memory", *REMEMBER, code=3, said="Memory"),
    row("ledger name ends in .lock", "--ledger", "x.lock", *REMEMBER, code=3, said="x.lock"),
    row("policy is not JSON", "--policy", "broken.json", "recall", "a", code=3, said="JSON"),
    row("policy with a stray field", "--policy", "stray.json", "policy", code=3, said="limt"),
    row("policy out of range", "--policy", "range.json", "policy", code=3, said="recall_limit"),
    row(
        "policy allows sensitive",
        "--policy",
        "sensitive.json",
        "recall",
        "a",
        code=3,
        said="allow_sensitive_persistence",
    ),
    row("expect a short head", "verify-ledger", "--expect-head", "abcd", code=3, said="abcd"),
    batch("torn line", b'{"content": ', code=3, said="line 2"),
    batch("a list", b"[]", code=3, said="line 2"),
    batch("unknown field", b'{"content": "x", "colour": "red"}', code=3, said="colour"),
    batch("no content", b'{"kind": "belief"}', code=3, said="content"),
    batch("a number as content", b'{"content": 7}', code=3, said="line 2"),
    batch("tags as text", b'{"content": "x", "tags": "a"}', code=3, said="tags"),
    batch("unknown kind", b'{"content": "x", "kind": "rumour"}', code=3, said="rumour"),
    batch(
        "deadline unreadable",
        b'{"kind": "commitment", "content": "x", "deadline": "soon"}',
        code=3,
        said="line 2",
    ),
    batch("a key twice", b'{"content": "x", "content": "y"}', code=3, said="line 2"),
    batch(
        "nested provenance",
        b'{"content": "x", "provenance": {"source": "ci"}}',
        code=3,
        said="line 2: $.provenance",
    ),
    row(
        "batch of one bad line",
        *("remember", "--batch", "-"),
        code=3,
        said="line 2: $.zz",
        stdin=b'\n{"content": "x", "zz": 1}\n',
    ),
    row(
        "time to wait that never ends",
        *REMEMBER,
        *("--lock-timeout", "nan"),
        code=3,
        said="no time to wait",
    ),
    row("batch of nothing", "remember", "--batch", "-", code=3, said="empty"),
]
MISSING: Sequence[ParameterSet] = [
    row("no such id", "show", "0" * 40, code=4, said="no record"),
    row("no such prefix", "fulfill", "00000000", code=4, said="no record"),
    row("supersedes nobody", *REMEMBER, "--supersedes", "0" * 40, code=4, said="no record"),
    row("derived from nobody", *REMEMBER, "--derived-from", "0" * 40, code=4, said="no record"),
    row("no such file", "remember", "--content-file", "gone.txt", code=4, said="gone.txt"),
    row("no such batch", "remember", "--batch", "gone.jsonl", code=4, said="gone.jsonl"),
    row("no such policy", "--policy", "gone.json", "recall", "a", code=4, said="gone.json"),
    row("no such store", "--store", "nowhere", "recall", "a", code=4, said="nowhere"),
    row("no such store to write", "--store", "nowhere", *REMEMBER, code=4, said="nowhere"),
    row("no such ledger to read", "--ledger", "other", "recall", "a", code=4, said="other"),
]
REFUSED: Sequence[ParameterSet] = [
    row("repair by an agent", "repair", code=5, said="CLAUDECODE", env=AGENT),
    row("a credential", "remember", "--content", f"use {TOKEN}", code=5, said="GitHub token"),
    row("a credential as tag", *REMEMBER, "--tag", TOKEN, code=5, said="GitHub token"),
    row(
        "a credential as reason", "purge", "{trace}", "--reason", TOKEN, code=5, said="GitHub token"
    ),
    row(
        "a credential as evidence",
        "fulfill",
        "{promise}",
        "--evidence",
        TOKEN,
        code=5,
        said="GitHub token",
    ),
    batch("a credential", f'{{"content": "{TOKEN}"}}'.encode(), code=5, said="line 2"),
    row("sensitive", *REMEMBER, "--privacy", "sensitive", code=5, said="sensitive"),
    row("a verified model", *REMEMBER, "--source", "model:m", "--verified", code=5, said="model"),
    row(
        "a superseding model",
        *REMEMBER,
        "--source",
        "Model:m",
        "--supersedes",
        "{trace}",
        code=5,
        said="model",
    ),
    row(
        "a purging model",
        "purge",
        "{trace}",
        "--reason",
        "r",
        "--source",
        "model:m",
        code=5,
        said="model",
    ),
    row("a fulfilling model", "fulfill", "{promise}", "--source", " model:m", code=5, said="model"),
    row("verified by an agent", *REMEMBER, "--verified", code=5, said="CLAUDECODE", env=AGENT),
    row("clock set by an agent", *REMEMBER, "--now", "2030-01-01", code=5, said="--now", env=AGENT),
    row(
        "tail accepted by an agent",
        "verify-ledger",
        "--accept-tail",
        code=5,
        said="CLAUDECODE",
        env=AGENT,
    ),
    row(
        "tail restored by an agent",
        "verify-ledger",
        "--restore-tail",
        code=5,
        said="CLAUDECODE",
        env=AGENT,
    ),
    row(
        "head reset by an agent",
        "verify-ledger",
        "--reset-head",
        code=5,
        said="CLAUDECODE",
        env=AGENT,
    ),
]
POLICIES = {
    "broken.json": "{",
    "stray.json": '{"recall_limt": 3}',
    "range.json": '{"recall_limit": 0}',
    "sensitive.json": '{"allow_sensitive_persistence": true}',
}


@pytest.mark.parametrize("case", [*USAGE, *INVALID, *MISSING, *REFUSED])
def test_bad_input_is_refused_and_nothing_is_written(case: Case, ledger: Ledger) -> None:
    """Exit code and words as documented; no object, ref or acknowledged head has changed."""
    words = [w.format(**ledger.ids) if w.startswith("{") else w for w in case.words]
    before = ledger.prints()
    result = ledger.shell(*words, env=case.env, stdin=case.stdin)
    assert (result.code, result.out) == (case.code, ""), result
    assert case.said in result.err
    assert result.error["message"]
    assert TOKEN not in result.err
    assert "Traceback" not in result.err
    assert ledger.prints() == before
    assert not (ledger.shell.folder / "nowhere").exists()


def test_the_table_is_long_enough() -> None:
    """At least eighty ways to be wrong are held to their words."""
    assert len([*USAGE, *INVALID, *MISSING, *REFUSED]) >= 80


def test_no_store_is_an_error_for_reading_and_a_new_one_for_writing(hikmah: Shell) -> None:
    """A mistyped folder is not an empty memory; the first write makes a store and says so."""
    assert hikmah("recall", "a").code == 4
    assert not any(Path(hikmah.folder).iterdir())
    written = hikmah(*REMEMBER)
    assert written.code == 0
    assert (hikmah.folder / ".hikmah").is_dir()
    assert "new ledger" in " ".join(written.document["warnings"])
