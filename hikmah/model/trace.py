"""The trace: one thing remembered, with where it came from and what it claims.

Rules the module keeps:

1. Every struct is frozen; change means a new trace that supersedes the old one.
2. On disk a trace is flat and writes every field, defaults too: `hikmah/1` freezes the names.
3. Times are integers, milliseconds since the epoch, UTC; their names end in `_ms`.
4. The structs say types and ranges (checked when decoding or converting, not in
   constructors); rules that span fields are in `hikmah.model.validate`.
5. Annotations are values here, not texts: a decoder evaluates texts one by one, which costs a
   start a tenth of what it may take.
"""

from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct, field

Kind = Literal[
    "observation",
    "episode",
    "belief",
    "procedure",
    "commitment",
    "preference",
    "constraint",
    "outcome",
    "correction",
    "prediction",
]
KINDS: tuple[str, ...] = get_args(Kind)
Privacy = Literal["public", "private", "sensitive"]
PRIVACIES: tuple[str, ...] = get_args(Privacy)
AnswerKind = Literal["noul", "choice", "score"]
ANSWER_KINDS: tuple[str, ...] = get_args(AnswerKind)
EntityType = Literal["person", "company", "project", "concept", "document", "code", "other"]
ENTITY_TYPES: tuple[str, ...] = get_args(EntityType)

Unit = Annotated[float, Meta(ge=0.0, le=1.0)]
# Year 9999 ends at this millisecond: what a date can still be printed for.
MAX_TIME_MS = 253_402_300_799_999
TimeMs = Annotated[int, Meta(ge=0, le=MAX_TIME_MS)]
# A git object id in full, as a pattern: SHA-1 or SHA-256.
FULL_ID = "(?:[0-9a-f]{40}|[0-9a-f]{64})"
RecordId = Annotated[str, Meta(pattern=f"^{FULL_ID}\\Z")]


class Provenance(Struct, frozen=True, kw_only=True):
    """Where a record came from: the writer's own claim, authenticated by nothing."""

    source: str = "unknown"
    locator: str | None = None
    observed_at_ms: TimeMs | None = None
    authority: Unit = 0.5
    verified: bool = False


class Claim(Struct, frozen=True, kw_only=True):
    """A statement that can be compared: two values for one key disagree."""

    key: str
    value: str


class Prediction(Struct, frozen=True, kw_only=True):
    """A forecast to be scored: `p` is the probability of the reported answer, or null."""

    family: str
    answer_kind: AnswerKind
    forecaster: str
    question: str
    request_id: str | None = None
    question_id: str | None = None
    p: Unit | None = None
    value: str | None = None
    probabilities: dict[str, Unit] | None = None
    answer_space: tuple[str, ...] = ()


class Outcome(Struct, frozen=True, kw_only=True):
    """What happened: the observed value for one prediction."""

    prediction: RecordId
    observed: str
    note: str | None = None


class Event(Struct, frozen=True, kw_only=True):
    """Something that happened in a session, with any JSON as its payload."""

    event_type: str
    session_id: str | None = None
    agent_id: str | None = None
    payload: Any = None


class Entity(Struct, frozen=True, kw_only=True):
    """A thing with a name and a type."""

    name: str
    entity_type: EntityType


class Fact(Struct, frozen=True, kw_only=True):
    """`predicate: object` of one entity; `multi` facts never disagree with each other."""

    entity: RecordId
    predicate: str
    object: str
    multi: bool = False


class Relationship(Struct, frozen=True, kw_only=True):
    """A typed link between two entities."""

    from_: RecordId = field(name="from")
    to: RecordId
    relation_type: str


class Imported(Struct, frozen=True, kw_only=True):
    """Where an imported record came from: the system, its id and its hash there."""

    system: str
    id: str
    hash: str | None = None


class Trace(Struct, frozen=True, kw_only=True, tag_field="type", tag="remember"):
    """One memory. Its id is the git object id of its canonical bytes, so it holds none."""

    content: str
    kind: Kind = "observation"
    created_at_ms: TimeMs
    tags: tuple[str, ...] = ()
    deadline_ms: TimeMs | None = None
    salience: Unit = 0.5
    confidence: Unit = 0.5
    privacy: Privacy = "private"
    provenance: Provenance = Provenance()
    claim: Claim | None = None
    valid_from_ms: TimeMs | None = None
    valid_until_ms: TimeMs | None = None
    supersedes: RecordId | None = None
    derived_from: tuple[RecordId, ...] = ()
    idempotency_key: str | None = None
    prediction: Prediction | None = None
    outcome: Outcome | None = None
    event: Event | None = None
    entity: Entity | None = None
    fact: Fact | None = None
    relationship: Relationship | None = None
    imported: Imported | None = None


def is_model(source: str) -> bool:
    """Tell whether a source is a model's: it begins with `model:`, in any case."""
    return source.strip().casefold().startswith("model:")
