"""`mcp-memory`: the JSON lines of the reference memory server for MCP.

    {"type":"entity","name":"Ann","entityType":"person","observations":["likes tea"]}
    {"type":"relation","from":"Ann","to":"Shop","relationType":"leads"}

Rules the module keeps:

1. There, a name is an entity. Here it is one of its type; a type that is not one of ours
   becomes `other`, with the fact `entityType: <type>`.
2. An observation is a fact `observation: <text>` that may have many values, so that two never
   contradict each other; a relation is a relationship.
3. What the ledger knows already is not written again: an entity of that name and type, a fact
   that reads the same, a relationship between the same two.
4. On the way out a fact is the text `<predicate>: <object>`, an observation its own text. What
   came from such a file goes out the same; predicates of our own do not come back as such.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import msgspec
from msgspec import Struct

from hikmah.errors import DecodeError, HikmahError, InvalidInputError, NotFoundError
from hikmah.model.limits import MAX_KEY_CHARS
from hikmah.model.records import decode_error
from hikmah.model.trace import ENTITY_TYPES, Entity, EntityType, Fact, Relationship, Trace
from hikmah.transfer.items import Built, Intake, Item
from hikmah.transfer.lines import Line, lines, whole

if TYPE_CHECKING:
    from hikmah.views.entities import EntityDetail, FactView, RelationshipView

SYSTEM = "mcp-memory"
OBSERVATION = "observation"
ENTITY_TYPE = "entityType"
OTHER: EntityType = "other"


class _Entity(Struct, frozen=True, tag_field="type", tag="entity", rename="camel"):
    name: str
    entity_type: str
    observations: tuple[str, ...] = ()


class _Relation(Struct, frozen=True, tag_field="type", tag="relation", rename="camel"):
    from_: str = msgspec.field(name="from")
    to: str
    relation_type: str


_DECODER: msgspec.json.Decoder[_Entity | _Relation] = msgspec.json.Decoder(_Entity | _Relation)


# ---- in --------------------------------------------------------------------------------


def read_items(stream: BinaryIO, intake: Intake) -> Iterator[Item]:
    """Yield entities with what is observed of them, then relations, each in the file's order.

    The file is read twice: a relation may stand before the entities it names.
    """
    graph = _Graph(intake)
    for one in lines(stream):
        parsed = _parsed(one)
        if isinstance(parsed, _Entity):
            yield from graph.entity(one.number, parsed)
        elif isinstance(parsed, HikmahError):
            yield Item(one.number, "", functools.partial(_fail, parsed))
    for one in lines(stream):
        parsed = _parsed(one)
        if isinstance(parsed, _Relation):
            yield Item(one.number, "", functools.partial(graph.relation, one.number, parsed))


def _parsed(one: Line) -> _Entity | _Relation | InvalidInputError:
    try:
        return _DECODER.decode(whole(one))
    except InvalidInputError as e:
        return e
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as e:
        error = decode_error(e)
        hint = "a line is an entity or a relation; is this a file of mcp-memory?"
        return DecodeError(error.message, hint=hint, where=error.where)


def _fail(error: HikmahError) -> Built:
    raise error


class _Known(NamedTuple):
    """What the ledger says of an entity already: facts as observations, and relations."""

    observations: frozenset[str]
    relations: frozenset[tuple[str, str, str]]


class _Graph:
    """Entities of the file by name, and what the ledger knows of them."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._types: dict[str, str] = {}
        self._lines: dict[str, int] = {}
        self._known: dict[str, _Known] = {}

    def entity(self, line: int, given: _Entity) -> Iterator[Item]:
        """Yield what an entity's line holds: itself, its own type, its observations."""
        yield Item(line, given.name, functools.partial(self._entity, line, given))
        fact = functools.partial(self._fact, line, given.name)
        if _type_of(given.entity_type) == OTHER and given.entity_type != OTHER:
            yield Item(line, "", functools.partial(fact, ENTITY_TYPE, given.entity_type))
        for text in given.observations:
            yield Item(line, "", functools.partial(fact, OBSERVATION, text))

    def _entity(self, line: int, given: _Entity) -> Built | None:
        first = self._types.setdefault(given.name, given.entity_type)
        where = self._lines.setdefault(given.name, line)
        if first != given.entity_type:
            raise InvalidInputError(
                f"line {where} says that {given.name!r:.80} is of type {first!r:.80}",
                hint="an entity has one type here: give one of the two another name",
                where="$.entityType",
            )
        name, kind = _plain(given.name), _type_of(given.entity_type)
        known = self._intake.entity(given.name, kind)
        if known is not None:
            self._note(given.name, known)
        if given.name in self._intake.ids:
            return None
        entity = Entity(name=name, entity_type=kind)
        trace = self._trace(line, given.name, f"{name} ({kind})", entity=entity)
        return self._built([given.name, kind], trace)

    def _fact(self, line: int, name: str, predicate: str, text: str) -> Built | None:
        entity = self._id(name)
        known = self._known.get(name)
        if known is not None and _said(predicate, text) in known.observations:
            return None
        many = predicate == OBSERVATION
        fact = Fact(entity=entity, predicate=predicate, object=text, multi=many)
        content = f"{_plain(name)} {predicate}: {_plain(text)}"
        return self._built([name, predicate, text], self._trace(line, name, content, fact=fact))

    def relation(self, line: int, given: _Relation) -> Built | None:
        """Return the relationship that a relation's line holds."""
        start, goal, kind = self._id(given.from_), self._id(given.to), given.relation_type
        known = self._known.get(given.from_)
        if known is not None and (start, kind, goal) in known.relations:
            return None
        content = f"{_plain(given.from_)} {_plain(kind)} {_plain(given.to)}"
        ends = Relationship(from_=start, to=goal, relation_type=kind)
        trace = self._trace(line, content, content, relationship=ends)
        return self._built([given.from_, kind, given.to, "relation"], trace)

    def _id(self, name: str) -> str:
        """Return the entity that a name means: one of the file, else the ledger's only one."""
        found = self._intake.ids.get(name)
        if found is not None:
            return found
        line = self._intake.refused.get(name)
        if line is not None:
            raise NotFoundError(
                f"the entity {name!r:.80} on line {line} was refused",
                hint="see what is wrong with that line first",
            )
        known = self._intake.entity(name, None)
        if known is None:
            raise NotFoundError(
                f"no entity is called {name!r:.80}, in the file or in the ledger",
                hint="add a line for it: a relation needs both its ends",
            )
        return self._note(name, known)

    def _note(self, name: str, known: EntityDetail) -> str:
        """Take a name of the file for an entity of the ledger."""
        self._known[name] = _Known(
            frozenset(_observation(fact) for fact in known.facts),
            frozenset(_ends(one) for one in known.relationships),
        )
        self._intake.ids[name] = known.entity.id
        return known.entity.id

    def _trace(self, line: int, name: str, content: str, **payload: Any) -> Trace:
        return self._intake.trace(
            line, SYSTEM, name[:MAX_KEY_CHARS], kind="belief", content=content, **payload
        )

    def _built(self, told: list[str], trace: Trace) -> Built:
        text = "\0".join(told).encode("utf-8", "backslashreplace")
        key = f"{SYSTEM}:{hashlib.sha256(text).hexdigest()[:32]}"
        return self._intake.built(msgspec.structs.replace(trace, idempotency_key=key))


def _plain(text: str) -> str:
    return " ".join(text.split())


def _type_of(given: str) -> EntityType:
    """Return our type for one of the file's; `other` for what we have no word for."""
    plain = _plain(given).lower()
    return next((one for one in _TYPES if one == plain), OTHER)


_TYPES: tuple[EntityType, ...] = ENTITY_TYPES  # type: ignore[assignment]  # made by get_args


def _said(predicate: str, text: str) -> str:
    return text if predicate == OBSERVATION else f"{predicate}: {text}"


# ---- out -------------------------------------------------------------------------------


def file_of(entities: Iterable[EntityDetail]) -> Iterator[bytes]:
    """Yield the lines of a file: every entity with its active facts, then every relation.

    A name that two entities of ours share is told apart by its type.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    relations: dict[str, tuple[str, str, str]] = {}
    for one in entities:
        view = one.entity
        name = view.name if view.name not in taken else f"{view.name} ({view.entity_type})"
        names[view.id] = name
        taken.add(name)
        types = [fact.object for fact in one.facts if fact.predicate == ENTITY_TYPE]
        relations |= {link.id: _ends(link) for link in one.relationships}
        told = [_observation(fact) for fact in one.facts if fact.predicate != ENTITY_TYPE]
        kind = types[-1] if types and view.entity_type == OTHER else view.entity_type
        yield _line(_Entity(name=name, entity_type=kind, observations=tuple(dict.fromkeys(told))))
    for start, kind, goal in dict.fromkeys(relations.values()):
        if start in names and goal in names:
            yield _line(_Relation(from_=names[start], to=names[goal], relation_type=kind))


def _ends(link: RelationshipView) -> tuple[str, str, str]:
    return (link.from_.id, link.relation_type, link.to.id)


def _observation(fact: FactView) -> str:
    return _said(fact.predicate, fact.object)


def _line(value: _Entity | _Relation) -> bytes:
    return msgspec.json.encode(value) + b"\n"
