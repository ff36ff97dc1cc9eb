"""Asking, and the engines that ship: none, a replayed file; others by name.

Rules the module keeps:

1. `ask` is how an engine is called: the request is checked and screened first, and whatever
   the engine does wrong becomes abstentions with a reason, never an exception.
2. An engine that cannot be set up is an `EngineSetupError`, raised before anything is asked.
3. The engine is `none` unless another one is named.

Example:
    >>> late = Noul(id="late", instructions="Will it be late?")
    >>> admission = ask(NoEngine(), DecisionRequest(state="two of five", questions=(late,)))
    >>> admission.answers[0].reason
    'unanswered'
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hikmah.errors import EngineError, EngineSetupError
from hikmah.reason.admission import Admission, admit, refuse_all
from hikmah.reason.budget import MAX_BUDGET_MS
from hikmah.reason.port import DecisionEngine, DecisionRequest, Reply, check_request
from hikmah.reason.port import request_id as id_of
from hikmah.reason.wire import parse_reply, versioned

MAX_FILE_BYTES = 16 * 1024 * 1024


def ask(engine: DecisionEngine, request: DecisionRequest) -> Admission:
    """Ask an engine and admit what may be admitted.

    Raises:
        InvalidInputError: The request breaks a bound; nothing was sent.
        SecretError: A text of it is shaped like a credential; nothing was sent.
    """
    check_request(request)
    try:
        reply = engine.answer(request)
    except EngineError as e:
        return refuse_all(request, f"the engine failed: {e.message}", engine=engine.name)
    except Exception as e:  # noqa: BLE001  # a foreign engine may raise anything; rule 1
        # Its name only: the message may repeat what the engine was sent or holds.
        reason = f"the engine failed: {type(e).__name__}"
        return refuse_all(request, reason, engine=engine.name)
    return admit(request, reply, engine=engine.name)


class NoEngine:
    """The engine that is there when none is: it leaves every question unanswered."""

    name = "none"

    def answer(self, request: DecisionRequest) -> Reply:
        """Answer nothing."""
        return Reply(body={"request_id": id_of(request), "answers": {}})


class StaticEngine:
    """Replays responses written down before: one, or a list of them.

    Each is `{"request_id", "answers", "version"?}`. The one for the request is replayed; a
    single one is replayed whatever it is for, so that a stale file shows as a mismatch.
    """

    name = "static"

    def __init__(self, written: object) -> None:
        self._written = written if isinstance(written, list) else [written]

    @classmethod
    def read(cls, path: Path) -> StaticEngine:
        """Read the responses from a JSON file.

        Raises:
            EngineSetupError: The file cannot be read.
        """
        try:
            with path.open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except OSError as e:
            raise EngineSetupError(
                f"the responses in {path} cannot be read: {e.strerror}",
                hint="name a JSON file: --engine static:FILE",
            ) from e
        if len(data) > MAX_FILE_BYTES:
            raise EngineSetupError(f"{path} is larger than {MAX_FILE_BYTES} bytes")
        return cls(parse_reply(data))

    def answer(self, request: DecisionRequest) -> Reply:
        """Replay the response for this request.

        Raises:
            EngineError: There are several responses and none is for it.
        """
        wanted = id_of(request)
        for body in self._written:
            if isinstance(body, dict) and body.get("request_id") == wanted:
                return versioned(body)
        if len(self._written) != 1:
            raise EngineError(f"no response for {wanted} among {len(self._written)}")
        return versioned(self._written[0])


def open_engine(
    spec: str | None, environ: Mapping[str, str], *, cap_ms: int = MAX_BUDGET_MS
) -> DecisionEngine:
    """Set up the engine that a person or a variable named.

    Args:
        spec: `none`, `static:FILE`, `command:PROGRAM ARGUMENTS` or `jev`; None means none.
        environ: Where settings and keys are looked up.
        cap_ms: The most that one request may take, whatever the settings say.

    Raises:
        EngineSetupError: Unknown, a missing extra, no key, no such file or program.
    """
    name, _, rest = (spec or "none").partition(":")
    if name == "none" and not rest:
        return NoEngine()
    if name == "static" and rest:
        return StaticEngine.read(Path(rest))
    if name == "command" and rest:
        from hikmah.reason.command import CommandEngine

        return CommandEngine.parse(rest, environ, cap_ms=cap_ms)
    if name == "jev" and not rest:
        from hikmah.reason.jev import JevEngine

        return JevEngine.from_environment(environ, cap_ms=cap_ms)
    raise EngineSetupError(
        f"there is no engine {spec!r}",
        hint="engines: none, static:FILE, command:PROGRAM, jev",
    )
