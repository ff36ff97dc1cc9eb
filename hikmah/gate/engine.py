"""Engine mode: one typed question about a message, through the decision port.

Opt-in (`HIKMAH_HOOK_ENGINE`), and a screen rather than a verifier. Rules the module keeps:

1. What goes wrong is an answer without a probability and a note; the rules' verdict stands.
2. A message that holds something shaped like a credential is not sent.
3. Nothing waits longer than three seconds.
4. A record is the question and the probability, never the message, and it is made after the
   verdict was written, without waiting for a busy ledger.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hikmah.gate.verdict import (
    DEFAULT_ENGINE_THRESHOLD,
    EngineAnswer,
    GateSettings,
    false_completion_request,
)

if TYPE_CHECKING:
    from hikmah.reason.admission import Admission
    from hikmah.reason.port import DecisionEngine

CAP_S = 3.0
_OFF = ("", "none", "off")


class Asker:
    """Asks one engine about messages, and keeps the last admission for the record."""

    def __init__(self, engine: DecisionEngine, *, cap_s: float = CAP_S) -> None:
        self._engine = engine
        self._cap_s = cap_s
        self.admission: Admission | None = None

    def __call__(self, message: str) -> EngineAnswer:
        """Return what the engine says of a message; why it says nothing when it does not."""
        started = time.monotonic()
        box: list[Admission | str] = []
        asking = threading.Thread(target=lambda: box.append(self._ask(message)), daemon=True)
        asking.start()
        asking.join(self._cap_s)
        latency_ms = round((time.monotonic() - started) * 1000)
        got = box[0] if box else f"no answer within {self._cap_s:g} s"
        if isinstance(got, str):
            return EngineAnswer(name=self._engine.name, note=got, latency_ms=latency_ms)
        self.admission = got
        answer = got.answers[0]
        p = getattr(answer, "p_true", None)
        note = None if p is not None else got.rejected or getattr(answer, "reason", None)
        return EngineAnswer(name=self._engine.name, p=p, note=note, latency_ms=latency_ms)

    def _ask(self, message: str) -> Admission | str:
        import msgspec

        from hikmah.errors import HikmahError
        from hikmah.reason.engines import ask
        from hikmah.reason.port import DecisionRequest

        try:
            request = msgspec.convert(false_completion_request(message), DecisionRequest)
            return ask(self._engine, request)
        except HikmahError as error:
            return error.message
        except Exception as error:  # noqa: BLE001  # rule 1
            return type(error).__name__


def asker(environ: Mapping[str, str]) -> Callable[[str], EngineAnswer] | None:
    """Set up the engine that `HIKMAH_HOOK_ENGINE` names; None when it names none.

    One that cannot be set up answers every message with the reason.
    """
    spec = environ.get("HIKMAH_HOOK_ENGINE", "").strip()
    if spec.lower() in _OFF:
        return None
    from hikmah.errors import HikmahError
    from hikmah.reason.engines import open_engine

    try:
        return Asker(open_engine(spec, environ, cap_ms=int(CAP_S * 1000)))
    except HikmahError as error:
        answer = EngineAnswer(name=spec.partition(":")[0], note=error.message)
        return lambda _: answer


def settings(environ: Mapping[str, str]) -> GateSettings:
    """Read threshold and lift; a value that is no probability counts as unset."""
    threshold = _probability(environ.get("HIKMAH_HOOK_THRESHOLD"))
    return GateSettings(
        threshold=DEFAULT_ENGINE_THRESHOLD if threshold is None else threshold,
        lift=_probability(environ.get("HIKMAH_HOOK_ENGINE_LIFT")),
    )


def _probability(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def record(store: str, admission: Admission, *, locator: str | None = None) -> None:
    """Append an engine's answer to a store as a prediction, or not at all."""
    from hikmah.memory import Memory

    with Memory.open(store, lock_timeout_s=0) as memory:
        memory.record(admission, locator=locator)
