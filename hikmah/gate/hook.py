"""The Stop hook: one event in, one JSON object out, exit code 0, always.

The gate's only door to the outside: it reads stdin, the environment and the clock, and hands
values to the rules. What needs more than the standard library (an engine, a ledger, the
credentials screen) is imported when it is used and never before.

Environment: `HIKMAH_HOOK_` and `ENGINE`, `THRESHOLD`, `ENGINE_LIFT`, `RECORD`, `MEMORY`,
`MAX_BLOCKS`, `STATE`, `DEBUG` (docs/gate.md). A bad value counts as unset.
"""

from __future__ import annotations

import json
import os
import sys
import time

from hikmah.gate.loopguard import DEFAULT_LIMIT, LoopGuard
from hikmah.gate.payload import NO_MESSAGE, Event, read_event
from hikmah.gate.verdict import HOSTS, GateVerdict, evaluate_message, reason, render

TYPE_CHECKING = False  # `typing` would double what the hook imports
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import IO

    from hikmah.gate.rules import Finding
    from hikmah.gate.verdict import EngineAnswer, GateSettings
    from hikmah.reason.port import DecisionEngine

ANSWER_EVENT = "afterAgentResponse"  # Cursor's, the only one that carries the final text
_CHUNK_BYTES = 1 << 20


class Wiring:
    """What a run may use beside the rules; each part may be missing."""

    __slots__ = ("ask", "guard", "host", "remembered", "settings")

    def __init__(
        self,
        *,
        host: str = HOSTS[0],
        guard: LoopGuard | None = None,
        settings: GateSettings | None = None,
        ask: Callable[[str], EngineAnswer] | None = None,
        remembered: Callable[[Event], list[Finding]] | None = None,
    ) -> None:
        self.host = host
        self.guard = guard
        self.settings = settings
        self.ask = ask
        self.remembered = remembered


def main(words: Sequence[str] = ()) -> int:
    """Run the hook on this process's stdin and stdout; always 0, always one object."""
    output = b"{}\n"
    wiring = None
    try:
        wiring = wire(words, os.environ)
        output = answer(_read_all(), wiring)
    except BaseException as error:  # noqa: BLE001  # whatever fails here, the host goes on
        _debug(error)
    _write_all(output)
    if wiring is not None:
        _keep(wiring.ask, os.environ.get("HIKMAH_HOOK_RECORD", "").strip())
    return 0


def run_stop_hook(stdin: IO[bytes], stdout: IO[bytes]) -> None:
    """Judge one stop event by the rules alone, and write the host's object."""
    run_stop_hook_with(stdin, stdout)


def run_stop_hook_with(
    stdin: IO[bytes],
    stdout: IO[bytes],
    engine: DecisionEngine | None = None,
    settings: GateSettings | None = None,
) -> None:
    """Judge one stop event, with an engine where one is given; always writes one object."""
    run_stop_hook_recording(stdin, stdout, engine, settings)


def run_stop_hook_recording(
    stdin: IO[bytes],
    stdout: IO[bytes],
    engine: DecisionEngine | None = None,
    settings: GateSettings | None = None,
    record: str = "",
) -> None:
    """Judge one stop event, write the verdict, then record the engine's answer.

    Args:
        stdin: Where the event is read.
        stdout: Where the host's object is written and flushed.
        engine: What is asked about each message that is judged; None asks nothing.
        settings: Threshold and lift.
        record: The store that the answer is appended to; empty records nothing. Nothing
            about recording can change the verdict, the output or the exit status.
    """
    ask = None
    if engine is not None:
        from hikmah.gate.engine import Asker

        ask = Asker(engine)
    output = b"{}\n"
    try:
        output = answer(stdin.read(), Wiring(ask=ask, settings=settings))
    except Exception as error:  # noqa: BLE001  # whatever fails here, the host goes on
        _debug(error)
    stdout.write(output)
    stdout.flush()
    _keep(ask, record)


def _keep(ask: object, store: str) -> None:
    """Record what an engine answered; whatever fails, the verdict is out already."""
    admission = getattr(ask, "admission", None)
    if not store or admission is None:
        return
    try:
        from hikmah.gate.engine import record

        record(store, admission)
    except BaseException as error:  # noqa: BLE001  # recording is best effort
        _debug(error)


def answer(data: bytes, wiring: Wiring) -> bytes:
    """Return what the hook prints for the bytes of one event."""
    event = complete(read_event(data), wiring)
    told = None if event.skipped else _told(judge(event, wiring), event, wiring)
    block = render(told, wiring.host, event.name)
    return json.dumps(block).encode("ascii") + b"\n"


def complete(event: Event, wiring: Wiring, *, take: bool = True) -> Event:
    """Return the event with its message, looked for where its host keeps it."""
    session, guard = event.session, wiring.guard
    if event.skipped != NO_MESSAGE:
        return event
    if session and guard and wiring.host == "cursor":
        text = event.fields.get("text")
        if event.name == ANSWER_EVENT and isinstance(text, str) and take:
            guard.keep_text(session, text)
            return event
        kept = guard.take_text(session) if take else ""
        if kept:
            return event.with_message(kept)
    if not event.transcript:
        return event
    from hikmah.gate.transcript import last_text

    said = last_text(event.transcript)
    return event.with_message(said) if said else event


def judge(event: Event, wiring: Wiring) -> GateVerdict:
    """Return the verdict on an event that has a message."""
    remembered = wiring.remembered
    return evaluate_message(
        event.message or "",
        settings=wiring.settings,
        ask=wiring.ask,
        remembered=None if remembered is None else lambda: remembered(event),
    )


def _told(verdict: GateVerdict, event: Event, wiring: Wiring) -> str | None:
    """Return what to tell the agent, None to let it stop; the loop guard has the last word."""
    session, guard = event.session, wiring.guard
    if not verdict.block:
        if session and guard:
            guard.passed(session)
        return None
    verdict.hide(hide)
    if not session or guard is None:
        return reason(verdict)
    fresh, verdict.guarded = guard.admit(session, verdict.contradictions())
    return reason(verdict, fresh) if fresh else None


def hide(text: str) -> str:
    """Return a text without what looks like a credential."""
    if not _may_hold_secret(text):
        return text
    try:
        from hikmah.model.secrets import mask

        return mask(text)
    except Exception:  # noqa: BLE001  # an older Python cannot compile the screen's patterns
        return " ".join(_MASK if _looks_secret(word) else word for word in text.split(" "))


_MASK = "[credential]"
_SECRET_NOUNS = ("pass", "pwd", "secret", "credential", "token", "auth", "key")
_SHORTEST_TOKEN = 14  # characters; every published shape is longer


def _may_hold_secret(text: str) -> bool:
    """Tell cheaply whether the screen could find something: loading it is dear."""
    if any(len(word) >= _SHORTEST_TOKEN for word in text.split()) or "://" in text:
        return True
    low = text.lower()
    return (":" in low or "=" in low) and any(noun in low for noun in _SECRET_NOUNS)


def _looks_secret(word: str) -> bool:
    """Tell whether a word is long and mixed enough to be a key: the screen's stand-in."""
    mixed = any(map(str.isdigit, word)) and any(map(str.isalpha, word))
    return len(word) >= _SHORTEST_TOKEN and mixed


def wire(words: Sequence[str], environ: Mapping[str, str]) -> Wiring:
    """Read the command line and the environment; unknown options are ignored."""
    wiring = Wiring(host=host_of(words), guard=_guard(environ))
    wiring.remembered = lambda event: _remembered(event, environ)
    if environ.get("HIKMAH_HOOK_ENGINE"):
        try:
            from hikmah.gate.engine import asker, settings

            wiring.ask, wiring.settings = asker(environ), settings(environ)
        except ImportError as error:  # nothing is installed beside the launcher
            _debug(error)
    return wiring


def _remembered(event: Event, environ: Mapping[str, str]) -> list[Finding]:
    """Look for open commitments where the event's folder or `HIKMAH_STORE` may have a ledger."""
    if not event.session or not (event.cwd or environ.get("HIKMAH_STORE")):
        return []
    try:
        from hikmah.gate.remembered import open_commitments

        now_ms = int(time.time() * 1000)
        return open_commitments(event.session, event.cwd, environ, now_ms=now_ms)
    except Exception as error:  # noqa: BLE001  # memory adds findings, never failures
        _debug(error)
        return []


def host_of(words: Sequence[str]) -> str:
    """Return the host that `--host H` or `--host=H` names; Claude's form when none does."""
    pairs = [*zip(words, words[1:]), *(tuple(word.split("=", 1)) for word in words if "=" in word)]
    named = [value.lower() for option, value in pairs if option == "--host"]
    return next((value for value in reversed(named) if value in HOSTS), HOSTS[0])


def _guard(environ: Mapping[str, str]) -> LoopGuard:
    limit = environ.get("HIKMAH_HOOK_MAX_BLOCKS", "")
    return LoopGuard(
        state_folder(environ),
        now_ms=int(time.time() * 1000),
        limit=int(limit)
        if limit.isascii() and limit.isdigit() and len(limit) < 9
        else DEFAULT_LIMIT,
    )


def state_folder(environ: Mapping[str, str]) -> str:
    """Return where the gate keeps its files: `HIKMAH_HOOK_STATE`, or the user's state folder."""
    named = environ.get("HIKMAH_HOOK_STATE")
    if named:
        return named
    base = environ.get("XDG_STATE_HOME") or environ.get("LOCALAPPDATA")
    return os.path.join(
        base or os.path.join(os.path.expanduser("~"), ".local", "state"), "hikmah", "gate"
    )


def _read_all() -> bytes:
    parts = []
    while part := os.read(0, _CHUNK_BYTES):
        parts.append(part)
    return b"".join(parts)


def _write_all(output: bytes) -> None:
    """Write to stdout; a reader that went away is no reason to fail."""
    try:
        while output:
            output = output[os.write(1, output) :]
    except OSError as error:
        _debug(error)


def _debug(error: BaseException) -> None:
    if os.environ.get("HIKMAH_HOOK_DEBUG") and sys.stderr is not None:
        try:
            print(f"hikmah hook: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201  # asked for by _DEBUG
        except (OSError, ValueError):
            return
