"""Checks of the records that commits add: path, bytes, rules, links."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from hikmah.errors import DecodeError, HikmahError, IntegrityError
from hikmah.ledger.bulk import ObjectReader
from hikmah.ledger.chain import Addition, parse_path
from hikmah.ledger.findings import Findings
from hikmah.ledger.growth import TreeFile
from hikmah.ledger.links import ROLE_NAMES, Link, links, role
from hikmah.ledger.objects import FILE_MODE
from hikmah.model.records import (
    RECORD_TYPES,
    Record,
    Unknown,
    extra_fields,
    is_canonical,
    is_whole,
    read,
    record_type,
)
from hikmah.model.screen import credential_problem
from hikmah.model.trace import Trace
from hikmah.model.validate import problems


class PendingLink(NamedTuple):
    """A link whose target has not been met yet, and where it stands."""

    commit: str
    path: str
    link: Link


class RecordChecker:
    """Checks records; keeps what each can serve as (`roles`) for those that point at it.

    Args:
        reader: Reads objects and hashes them.
        findings: Where problems go.
        strict: Whether to refuse what may stand in a ledger and shall not get into one:
            credentials, and what this version does not know and so cannot judge.
    """

    def __init__(self, reader: ObjectReader, findings: Findings, *, strict: bool = False) -> None:
        self.roles: dict[str, int] = {}
        self.unknown_types: dict[str, int] = {}
        self.unknown_fields: dict[str, int] = {}
        self.privacies: dict[str, int] = {}
        self._findings = findings
        self._content = reader.content
        self._pending: list[PendingLink] = []
        self._strict = strict

    def check(self, commit: str, files: list[TreeFile]) -> list[Addition]:
        """Check the files a commit adds; those that are records come back in order."""
        checked = [self._file(commit, file) for file in files]
        found = [addition for addition in checked if addition is not None]
        return found if len(found) == 1 else sorted(found, key=lambda a: (a.seq, a.id))

    def _file(self, commit: str, file: TreeFile) -> Addition | None:
        parts = parse_path(file.path)
        if parts is None:
            text = f"{file.path} is no record's path"
            self._findings.error("not_a_record", text, commit=commit, path=file.path)
            return None
        if file.mode != FILE_MODE:
            text = f"the file's mode is {file.mode.decode('ascii', 'replace')}, not 100644"
            self._findings.error("file_mode", text, commit=commit, path=file.path)
            return None
        if not file.oid.startswith(parts.id12):
            text = f"the path says {parts.id12}, the record is {file.oid}"
            self._findings.error("path_id", text, commit=commit, path=file.path)
        record = self._record(commit, file)
        if record is None:
            return None
        if record_type(record) != parts.type:
            text = f"the path says {parts.type}, the record is of type {record_type(record)}"
            self._findings.error("path_type", text, commit=commit, path=file.path)
        return Addition(parts.seq, file.oid, record)

    def _record(self, commit: str, file: TreeFile) -> Record | Unknown | None:
        try:
            data = self._content(file.oid, b"blob")
        except IntegrityError as e:
            self._findings.damage(e, file.oid, commit, "not_a_record")
            return None
        try:
            record = read(data)
        except DecodeError as e:
            place = f" at {e.where}" if e.where else ""
            text = f"the record does not decode: {e.message}{place}"
            self._findings.error("record_undecodable", text, commit=commit, path=file.path)
            return None
        self._take(commit, file, record, data)
        return record

    def _take(self, commit: str, file: TreeFile, record: Record | Unknown, data: bytes) -> None:
        if isinstance(record, Trace) and file.oid not in self.roles:
            _count(self.privacies, record.privacy)
        self.roles[file.oid] = role(record)
        if isinstance(record, Unknown):
            _count(self.unknown_types, record.type)
            self._check_form(commit, file, data)
            self._refuse_unknown("unknown_type", f"type {record.type}", commit, file)
            return
        if not is_whole(record, data):
            self._check_form(commit, file, data)
            for field in self._count_fields(record, data):
                self._refuse_unknown("unknown_field", f"the field {field}", commit, file)
        for text in problems(record):
            self._findings.error("record_invalid", text, commit=commit, path=file.path)
        for link in links(record):
            self._check_link(PendingLink(commit, file.path, link))
        if self._strict and (problem := credential_problem(record)):
            self._findings.error("screened", problem.message, commit=commit, path=file.path)

    def _refuse_unknown(self, code: str, what: str, commit: str, file: TreeFile) -> None:
        if self._strict:
            text = f"{ascii(what)[1:-1]} is not known to this version, which cannot judge it"
            self._findings.error(code, text, commit=commit, path=file.path)

    def _check_form(self, commit: str, file: TreeFile, data: bytes) -> None:
        if not is_canonical(data):
            text = "the record's bytes are not in canonical form"
            self._findings.error("record_not_canonical", text, commit=commit, path=file.path)

    def _count_fields(self, record: Record, data: bytes) -> list[str]:
        """Count fields that a newer version added; older ones simply lack a default."""
        known = RECORD_TYPES[record_type(record)]
        try:
            extra = extra_fields(msgspec.json.decode(data), known)
        except (msgspec.DecodeError, RecursionError):
            return []  # nothing that deep is canonical, which is said already
        fields = [f"{record_type(record)}{path[1:]}" for path in extra]
        for field in fields:
            _count(self.unknown_fields, field)
        return fields

    # ---- links -------------------------------------------------------------------------

    def _check_link(self, at: PendingLink) -> None:
        have = self.roles.get(at.link.target)
        if have is None:
            # The walk goes from new to old: what is pointed at comes later.
            self._pending.append(at)
        elif not have & at.link.need:
            self._wrong_kind(at)

    def _wrong_kind(self, at: PendingLink) -> None:
        text = (
            f"{at.link.field} points at {at.link.target}, which is not {ROLE_NAMES[at.link.need]}"
        )
        self._findings.error("link_kind", text, commit=at.commit, path=at.path)

    def resolve(self, standing: Callable[[set[str]], set[str]]) -> None:
        """Settle the links that were waiting for their targets.

        Args:
            standing: Tells which of some ids are records in the ledger, for those that the
                walk did not come by: records before a trusted commit, or behind damage.
        """
        waiting, self._pending = self._pending, []
        waiting = [at for at in waiting if not self._settled(at)]
        if not waiting:
            return
        there = standing({at.link.target for at in waiting})
        for at in waiting:
            if at.link.target in there:
                self._settle_late(at)
            else:
                text = f"{at.link.field} points at {at.link.target}, which is not in this ledger"
                self._findings.error("link_missing", text, commit=at.commit, path=at.path)

    def _settled(self, at: PendingLink) -> bool:
        have = self.roles.get(at.link.target)
        if have is not None and not have & at.link.need:
            self._wrong_kind(at)
        return have is not None

    def _settle_late(self, at: PendingLink) -> None:
        try:
            have = role(read(self._content(at.link.target, b"blob")))
        except HikmahError as e:
            self._findings.damage(e, at.link.target, at.commit, "record_undecodable")
            return
        if not have & at.link.need:
            self._wrong_kind(at)


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1
