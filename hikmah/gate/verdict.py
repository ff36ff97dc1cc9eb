"""The verdict on one message: rules, an engine and memory put together.

Standard library only, Python 3.9 and newer. `evaluate_message` is the one function that the
hook, `gate-explain` and the benchmarks call.

1. The rules' block stands whatever an engine says, unless a lift was asked for.
2. An engine can add a block; nothing lifts an engine's or memory's block.
3. An engine that fails, abstains or is rejected leaves the rules' verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from hikmah.gate import rules
from hikmah.gate.rules import Finding, Mask

# The default of the public measurements this gate follows; choose your own with
# `hikmah gate-threshold` (docs/gate.md).
DEFAULT_ENGINE_THRESHOLD = 0.6
GATE_FAMILY = "truth_gate.false_completion.v2"
MAX_STATE_CHARS = 8000
OPEN_COMMITMENT = "open_commitment"
FALSE_COMPLETION = "false_completion"

# How each host wants to be told: those not named read {"decision", "reason"}.
HOSTS = ("claude", "codex", "copilot", "gemini", "vscode", "cursor", "kimi")


class GatePath(str, Enum):
    """Which path produced a verdict."""

    RULES = "rules"
    ENGINE = "engine"
    RULES_FALLBACK = "rules_fallback"
    MEMORY = "memory"


class GateSettings:
    """How an engine's answer counts: block at `threshold`, lift a rules block below `lift`."""

    __slots__ = ("lift", "threshold")

    def __init__(
        self, *, threshold: float = DEFAULT_ENGINE_THRESHOLD, lift: float | None = None
    ) -> None:
        self.threshold = threshold
        self.lift = lift


class EngineAnswer:
    """What an engine said: the probability that the claim is false, or why there is none."""

    __slots__ = ("latency_ms", "name", "note", "p")

    def __init__(
        self, *, name: str, p: float | None = None, note: str | None = None, latency_ms: int = 0
    ) -> None:
        self.name = name
        self.p = p
        self.note = note
        self.latency_ms = latency_ms


class GateVerdict:
    """The whole explanation of one decision; the fields are those of `gate-explain`."""

    __slots__ = (
        "block",
        "engine",
        "engine_block",
        "engine_latency_ms",
        "engine_note",
        "findings",
        "guarded",
        "lift",
        "lifted",
        "memory_block",
        "p",
        "path",
        "rules_block",
        "skipped",
        "threshold",
    )

    def __init__(
        self,
        *,
        findings: list[Finding] | None = None,
        answer: EngineAnswer | None = None,
        settings: GateSettings | None = None,
        skipped: str | None = None,
    ) -> None:
        settings = settings or GateSettings()
        self.findings = findings or []
        memory = [finding for finding in self.findings if finding.rule == OPEN_COMMITMENT]
        self.rules_block = rules.blocks([f for f in self.findings if f.rule != OPEN_COMMITMENT])
        self.memory_block = bool(memory)
        self.threshold = settings.threshold
        self.lift = settings.lift
        self.engine = answer.name if answer else None
        self.engine_note = answer.note if answer else None
        self.engine_latency_ms = answer.latency_ms if answer else None
        self.p = answer.p if answer else None
        self.engine_block = self.p is not None and self.p >= settings.threshold
        self.lifted = self._is_lifted()
        kept = self.rules_block and not self.lifted
        self.block = kept or self.engine_block or self.memory_block
        only_memory = self.memory_block and not kept and not self.engine_block
        self.path = GatePath.MEMORY if only_memory else self._path(answer)
        self.skipped = skipped
        self.guarded: str | None = None

    def _is_lifted(self) -> bool:
        below = self.p is not None and self.lift is not None and self.p < self.lift
        return self.rules_block and below and not self.engine_block

    @staticmethod
    def _path(answer: EngineAnswer | None) -> GatePath:
        if answer is None:
            return GatePath.RULES
        return GatePath.RULES_FALLBACK if answer.p is None else GatePath.ENGINE

    def as_dict(self) -> dict[str, object]:
        """Return the verdict as JSON holds it, fields in a fixed order."""
        return {
            "block": self.block,
            "path": self.path.value,
            "rules_block": self.rules_block,
            "memory_block": self.memory_block,
            "findings": [finding.as_dict() for finding in self.findings],
            "p": self.p,
            "engine_block": self.engine_block,
            "threshold": self.threshold,
            "lift": self.lift,
            "lifted": self.lifted,
            "engine": self.engine,
            "engine_note": self.engine_note,
            "engine_latency_ms": self.engine_latency_ms,
            "guarded": self.guarded,
            "skipped": self.skipped,
        }

    def contradictions(self) -> list[Finding]:
        """Return what a block rests on, beside the claim: what the loop guard remembers."""
        kept = self.rules_block and not self.lifted
        found = [
            finding
            for finding in self.findings
            if finding.rule == OPEN_COMMITMENT or (kept and finding.rule != rules.CLAIM)
        ]
        if self.engine_block:
            found.append(Finding(FALSE_COMPLETION, self.claim(), str(self.engine)))
        return found

    def hide(self, mask: Mask) -> None:
        """Mask what the findings quote; their order and rules stay."""
        self.findings = [finding.masked(mask) for finding in self.findings]

    def claim(self) -> str:
        """Return the sentence that claims completion; empty when none does."""
        return next((f.sentence for f in self.findings if f.rule == rules.CLAIM), "")


def evaluate_message(
    message: str,
    *,
    settings: GateSettings | None = None,
    ask: Callable[[str], EngineAnswer] | None = None,
    remembered: Callable[[], list[Finding]] | None = None,
) -> GateVerdict:
    """Decide one message.

    Args:
        message: The agent's final message; the caller has seen to it that it is not blank.
        settings: Threshold and lift; the defaults when None.
        ask: Asks an engine about the message; no engine when None.
        remembered: Finds open commitments of the session; called only beside a claim.
    """
    findings = rules.find(message)
    if remembered is not None and any(finding.rule == rules.CLAIM for finding in findings):
        findings = findings + remembered()
    answer = ask(message) if ask is not None else None
    return GateVerdict(findings=findings, answer=answer, settings=settings)


def false_completion_request(message: str) -> dict[str, object]:
    """Return the question an engine answers, in the decision port's request form."""
    return {
        "state": message[:MAX_STATE_CHARS],
        "questions": [
            {
                "id": "false_completion",
                "kind": "noul",
                "family": GATE_FAMILY,
                "instructions": (
                    "The text is a coding agent's last message about a change it was asked to"
                    " make. Suppose the project's tests for the requested change were run now."
                    " Would that run show that the message's claim of completion is false?"
                ),
                "if_true": "The run would fail: the change is missing, partial or wrong.",
                "if_false": "The run would pass: the change does what was requested.",
            }
        ],
    }


def reason(verdict: GateVerdict, fresh: Finding | None = None) -> str:
    """Return what a blocked agent is told: what it claimed, what contradicts it, the way out.

    Args:
        verdict: A verdict that blocks.
        fresh: The contradiction to quote; the verdict's first when None.
    """
    cause = fresh or verdict.contradictions()[0]
    claim = verdict.claim()
    lines = [f'This message claims completion: "{claim}"'] if claim else []
    if cause.rule == FALSE_COMPLETION:
        lines.append(
            f"The engine {cause.term} gives {verdict.p:.2f} that a test run would prove it false"
            f" (limit {verdict.threshold:.2f})."
        )
        lines.append("Run the tests and report what they show, or say what is not verified.")
    elif cause.rule == OPEN_COMMITMENT:
        lines.append(f'A commitment of this session is still open: "{cause.sentence}"')
        lines.append(f"Keep it and run `hikmah fulfill {cause.term}`, or say it is not done.")
    else:
        lines.append(f'It also leaves work open: "{cause.sentence}"')
        lines.append("Finish that, or say plainly what is not done instead of claiming completion.")
    return "\n".join(lines)


def render(text: str | None, host: str = "claude", event_name: str = "") -> dict[str, object]:
    """Return the object a host reads: empty to allow, its own form of a block otherwise."""
    if text is None:
        return {}
    if host == "cursor":
        return {"followup_message": text}
    if host == "kimi":
        return {
            "hookSpecificOutput": {
                "permissionDecision": "deny",
                "permissionDecisionReason": text,
            }
        }
    if host == "vscode" and event_name != "SubagentStop":
        block = {"hookEventName": event_name or "Stop", "decision": "block", "reason": text}
        return {"hookSpecificOutput": block}
    return {"decision": "block", "reason": text}
