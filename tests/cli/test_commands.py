"""Each command's output, text and JSON, against golden files; what differs by run is masked."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hikmah.cli import COMMANDS

if TYPE_CHECKING:
    from tests.cli.conftest import Result, Shell

GOLDEN = Path(__file__).parent / "golden"
UPDATE = bool(os.environ.get("HIKMAH_UPDATE_GOLDEN"))
HEX = re.compile(r"\b[0-9a-f]{40}\b|\b[0-9a-f]{32}\b|\b[0-9a-f]{8}\b")
# How well zlib packs differs by its version.
PACKED = re.compile(r'((?:freed|written)(?:_bytes":)? +)[0-9.]+(?: KiB| B)?')
START_MS = 1_800_000_000_000
MINUTE_MS = 60_000


class Story:
    """A ledger grown by the command at fixed times, so that its trace ids are fixed too."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.minute = 0
        self.ids: dict[str, str] = {}

    def run(self, *words: str, form: str = "json") -> Result:
        """Run a command one minute after the one before."""
        self.minute += 1
        now = str(START_MS + self.minute * MINUTE_MS)
        return self.shell(*words, "--now", now, "--format", form)

    def add(self, name: str, *words: str) -> None:
        """Remember something and note its id under a name."""
        result = self.run("remember", *words)
        assert result.code == 0, result.err
        self.ids[name] = result.document["id"]


def grow(shell: Shell) -> Story:
    """Return a ledger with something of everything."""
    story = Story(shell)
    assert story.run("init").code == 0
    lock = ("--claim-key", "deploy lock timeout", "--claim-value")
    story.add(
        "failed",
        "--content",
        "Migration failed because the lock timed out",
        "--source",
        "incident-review",
        "--tag",
        "database",
        "--tag",
        "deployment",
        "--salience",
        "0.9",
        "--confidence",
        "0.9",
        "--verified",
        "--locator",
        "reports/17.md:3",
    )
    story.add(
        "thirty",
        "--kind",
        "belief",
        "--content",
        "The lock times out after 30 seconds",
        *lock,
        "30 s",
        "--source",
        "runbook",
        "--valid-from",
        "2026-01-01",
    )
    story.add(
        "ninety",
        "--kind",
        "belief",
        "--content",
        "The lock waits 90 seconds now",
        *lock,
        "90 s",
        "--source",
        "model:helper",
        "--derived-from",
        story.ids["failed"],
    )
    story.add(
        "report",
        "--kind",
        "commitment",
        "--content",
        "Send the incident report",
        "--source",
        "incident-review",
        "--deadline",
        "+48h",
    )
    story.add(
        "late",
        "--kind",
        "commitment",
        "--content",
        "Rotate the on-call list\nand tell all",
        "--deadline",
        "2027-01-01",
    )
    story.add("kept", "--kind", "commitment", "--content", "Write the runbook", "--deadline", "+1w")
    story.add("old", "--content", "部署方案: alpha listens on port 22 for ssh")
    story.add(
        "new", "--content", "alpha listens on port 49222 for ssh", "--supersedes", story.ids["old"]
    )
    story.add("wrong", "--content", "alpha has two disks")
    assert story.run("fulfill", story.ids["kept"], "--evidence", "docs/runbook.md").code == 0
    assert story.run("purge", story.ids["wrong"], "--reason", "never true").code == 0
    return story


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, shells: type[Shell]) -> Story:
    """Return the story's ledger; tests only read it."""
    return grow(shells(tmp_path_factory.mktemp("store"), tmp_path_factory.mktemp("home")))


def masked(text: str, story: Story) -> str:
    """Return output without what a run decides: commits, the ledger's id, paths, versions."""
    fixed = set(story.ids.values())
    fixed |= {identity[:8] for identity in fixed}

    def mask(found: re.Match[str]) -> str:
        return found[0] if found[0] in fixed else f"<{len(found[0])} digits>"

    text = text.replace(str(story.shell.folder.resolve()), "<folder>")
    text = text.replace(str(story.shell.folder), "<folder>")
    return HEX.sub(mask, PACKED.sub(r"\1<size>", text))


def compare(name: str, shown: str) -> None:
    """Hold output to its golden file, or write the file when asked to."""
    path = GOLDEN / name
    if UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8", newline="\n")
    assert shown == path.read_text(encoding="utf-8")


READS: list[Any] = [
    pytest.param(("status",), id="status"),
    pytest.param(("show", "{failed}"), id="show"),
    pytest.param(("show", "{old}"), id="show-superseded"),
    pytest.param(("show", "{kept}"), id="show-fulfilled"),
    pytest.param(("log",), id="log"),
    pytest.param(("log", "--kind", "belief", "--limit", "1"), id="log-kind"),
    pytest.param(("recall", "--query", "why did the deployment fail"), id="recall"),
    pytest.param(("recall", "port of alpha for ssh", "--include-superseded"), id="recall-old"),
    pytest.param(("recall", "lock", "--kind", "belief"), id="recall-conflict"),
    pytest.param(("recall", "zeppelin"), id="recall-nothing"),
    pytest.param(("conflicts",), id="conflicts"),
    pytest.param(("commitments", "--within-hours", "168"), id="commitments"),
    pytest.param(("commitments", "--all", "--limit", "1"), id="commitments-all"),
    pytest.param(("verify-ledger",), id="verify-ledger"),
    pytest.param(("policy", "--print-defaults"), id="policy"),
]


@pytest.mark.parametrize("words", READS)
@pytest.mark.parametrize("form", ["text", "json"])
def test_reading_commands_print_what_they_always_printed(
    words: tuple[str, ...], form: str, story: Story, request: pytest.FixtureRequest
) -> None:
    """Same ledger, same clock, same bytes."""
    filled = [word.format(**story.ids) for word in words]
    now = str(START_MS + 3_600_000)
    result = story.shell(*filled, "--now", now, "--format", form)
    assert result.code == 0, result.err
    name = request.node.callspec.id.removeprefix(f"{form}-").removesuffix(f"-{form}")
    suffix = "txt" if form == "text" else "json"
    compare(f"{name}.{suffix}", masked(result.out, story))
    if form == "json" and words[0] != "policy":
        assert result.document["schema"] == f"hikmah.{words[0]}/1"


def test_writing_commands_print_what_they_always_printed(hikmah: Shell) -> None:
    """One walk through every writing command, text and JSON."""
    shown: dict[str, list[str]] = {"text": [], "json": []}
    for form, lines in shown.items():
        shell = type(hikmah)(hikmah.folder / form, Path(hikmah.environ["HOME"]))
        shell.folder.mkdir()
        story = Story(shell)
        for words in WRITES:
            filled = [word.format(**story.ids) for word in words]
            result = story.run(*filled, form=form)
            assert result.code == 0, result
            lines.append(f"$ hikmah {' '.join(words)}\n{masked(result.out + result.err, story)}")
            if words[0] == "remember" and "--batch" not in words:
                newest = shell("log", "--limit", "1").document["items"][0]["id"]
                story.ids[f"t{len(story.ids)}"] = newest
    compare("writes.txt", "\n".join(shown["text"]))
    compare("writes.jsons", "\n".join(shown["json"]))


WRITES = (
    ("init",),
    ("init",),
    ("remember", "--content", "one", "--claim-key", "k", "--claim-value", "1"),
    ("remember", "--content", "two", "--claim-key", "K", "--claim-value", "2"),
    ("remember", "--content", "promised", "--kind", "commitment", "--deadline", "2027-02-01"),
    ("fulfill", "--id", "{t2}"),
    ("fulfill", "--id", "{t2}"),
    ("supersede", "{t0}", "{t1}", "--reason", "newer"),
    ("purge", "{t1}", "--reason", "wrong", "--deprecate"),
    ("remember", "--content", "three"),
    ("purge", "--id", "{t3}", "--reason", "wrong"),
    ("reindex",),
    ("compact",),
    ("verify-ledger",),
)


# Commands of other modules have their golden files in tests of their own.
HERE = ("start", "write", "history", "recall", "ledger")


def test_every_command_is_run_here_or_named_as_tested_elsewhere() -> None:
    """A new command needs a golden file."""
    run = {param.values[0][0] for param in READS} | {words[0] for words in WRITES}
    elsewhere = {"doctor", "repair"}
    assert run | elsewhere == {name for name, row in COMMANDS.items() if row.module in HERE}


def test_text_and_json_of_one_answer_hold_the_same_ids(story: Story) -> None:
    """Both are drawn from one result."""
    words = ("recall", "lock", "--now", str(START_MS + 3_600_000))
    found = [r["id"] for r in story.shell(*words).document["results"]]
    text = story.shell(*words, "--format", "text").out
    assert re.findall(r"^\d+\.\s+([0-9a-f]{8})", text, re.MULTILINE) == [i[:8] for i in found]


@pytest.mark.parametrize("words", [("recall", "lock"), ("log",), ("status",), ("conflicts",)])
def test_a_terminal_gets_text_and_a_pipe_gets_json(words: tuple[str, ...], story: Story) -> None:
    """`auto` looks at standard output; --json and HIKMAH_FORMAT overrule it."""
    assert json.loads(story.shell(*words).out)
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        seen = story.shell(*words, terminal=True, env=env).out
        assert not seen.startswith("{")
        assert "\x1b" not in seen
    assert "\x1b[" in story.shell(*words, terminal=True, env={"TERM": "xterm"}).out
    assert json.loads(story.shell(*words, "--json", terminal=True).out)
    assert not story.shell(*words, env={"HIKMAH_FORMAT": "text"}).out.startswith("{")


def test_a_narrow_terminal_gets_narrow_lines(story: Story) -> None:
    """No line of a list is wider than the terminal."""
    for words in (("log",), ("recall", "lock"), ("commitments",)):
        env = {"COLUMNS": "80", "NO_COLOR": "1"}
        lines = story.shell(*words, terminal=True, env=env).out.splitlines()
        assert max(map(len, lines)) <= 80, words


def test_global_options_stand_before_or_after_the_command(story: Story) -> None:
    """Both places mean the same."""
    now = str(START_MS + 3_600_000)
    after = story.shell("recall", "lock", "--now", now, "--json").out
    before = story.shell("--now", now, "--json", "recall", "lock").out
    variables = {"HIKMAH_STORE": str(story.shell.folder), "HIKMAH_LEDGER": "memory"}
    assert after == before == story.shell("recall", "lock", "--now", now, env=variables).out
