"""One errand to a remote through dulwich, as a process: JSON in, JSON out.

Run by `hikmah.remotes.dulwichroad`, which bounds it in time and clears what it says of
secrets. A path on this machine needs no dulwich (`hikmah.remotes.beside`).
"""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

from hikmah.errors import HikmahError
from hikmah.ledger.ancestry import compare
from hikmah.ledger.bulk import ObjectReader
from hikmah.ledger.gitstore import GitStore
from hikmah.ledger.locate import LEDGERS, Repository
from hikmah.ledger.objects import parse_commit
from hikmah.ledger.packwriter import NUMBERS
from hikmah.remotes import beside
from hikmah.remotes.dulwichroad import Answer, Errand
from hikmah.remotes.missing import missing_objects
from hikmah.remotes.naming import is_path

_TELL_EVERY = 200
_TELL_BYTES = 1 << 18
_SPOOL_BYTES = 16 << 20


def main() -> None:
    """Read an errand, carry it out, print the answer."""
    errand = msgspec.json.decode(sys.stdin.buffer.read(), type=Errand)
    here = GitStore(Repository(errand.git_dir, errand.git_dir), environ={})
    path = path_of(errand.url)
    try:
        answer = far(errand, here) if path is None else near(errand, here, path)
    except HikmahError as e:
        answer = Answer(failed=e.message)
    except Exception as e:  # noqa: BLE001 - dulwich's errors share no base; each is an answer
        answer = Answer(failed=f"{type(e).__name__}: {e}".rstrip(": "))
    sys.stdout.buffer.write(msgspec.json.encode(answer))


def path_of(url: str) -> Path | None:
    """Return the path that an address is on this machine; None for a connection."""
    if is_path(url):
        return Path(url)
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def tell(done: int, total: int) -> None:
    """Give a sign of life."""
    if done % _TELL_EVERY == 0:
        sys.stderr.write(f"objects: {done:,} of {total:,}\r")
        sys.stderr.flush()


def near(errand: Errand, here: GitStore, path: Path) -> Answer:
    """Carry out an errand to a path of this machine."""
    there = beside.store_at(path)
    if errand.kind == "heads":
        return Answer(heads=beside.heads_of(there), algorithm=there.algorithm)
    if errand.kind == "fetch":
        head = there.ref(errand.ref)
        if head is not None:
            known = [tip for tip in errand.tips if there.has(tip)]
            beside.copy(there, here, head, _stand_in(there, head, known), tell)
        return Answer(head=head)
    try:
        beside.push(here, there, errand.ref, errand.new, tell)
    except beside.MovedError as e:
        return Answer(head=e.now, moved=True)
    except HikmahError as e:
        return Answer(head=there.ref(errand.ref), refused=e.message)
    return Answer(head=errand.new, done=True)


def _stand_in(there: GitStore, head: str, known: Sequence[str]) -> str | None:
    """Return a commit that both ends have with all behind it: the best to start from."""
    with ObjectReader(there) as reader:
        for tip in known:
            if compare(reader.read, head, tip, there.algorithm).kind in {"same", "ahead"}:
                return tip
    return None


# ---- a connection ----------------------------------------------------------------------


def far(errand: Errand, here: GitStore) -> Answer:
    """Carry out an errand over a connection."""
    client, path = _client(errand)
    if errand.kind == "heads":
        found = client.get_refs(path, ref_prefix=[LEDGERS.encode()])
        return Answer(heads=_ledgers(found.refs), algorithm=found.object_format)
    if errand.kind == "fetch":
        return _fetch(errand, here, client, path)
    return _push(errand, here, client, path)


def _client(errand: Errand) -> tuple[Any, bytes]:
    """Return dulwich's client for an address, and the path there."""
    from dulwich.client import get_transport_and_path

    url = errand.url
    for odd in ("ssh+git://", "git+ssh://"):
        url = f"ssh://{url[len(odd) :]}" if url.lower().startswith(odd) else url
    parts = urlsplit(url)
    user = password = None
    if parts.scheme in {"http", "https"} and parts.password is None:
        user, password = stored_credentials(parts, errand.stores)
    client, path = get_transport_and_path(
        url,
        username=user,
        password=password,
        ssh_command=errand.ssh_command,
        report_activity=byte_counter(),
    )
    return client, path.encode("utf-8", "surrogateescape")


def byte_counter() -> Callable[[int, str], None]:
    """Return what takes note of bytes that go either way: a sign of life now and then."""
    total = 0

    def count(more: int, _: str) -> None:
        nonlocal total
        before, total = total, total + more
        if not before or before // _TELL_BYTES != total // _TELL_BYTES:
            sys.stderr.write(f"bytes: {total:,}\r")
            sys.stderr.flush()

    return count


def stored_credentials(parts: SplitResult, helpers: Sequence[str]) -> tuple[str | None, str | None]:
    """Return name and password that a `credential.helper` of the kind `store` keeps.

    Args:
        parts: The address.
        helpers: Every `credential.helper` of the configuration; others cannot be asked here.
    """
    for helper in helpers:
        words = _words(helper)
        if words[:1] != ["store"]:
            continue
        for file in _store_files(words[1:]):
            for line in file.read_text("utf-8", "replace").splitlines():
                kept = urlsplit(line.strip())
                same = (kept.scheme, kept.hostname, kept.port) == (
                    parts.scheme,
                    parts.hostname,
                    parts.port,
                )
                if same and kept.password is not None and parts.username in {None, kept.username}:
                    return unquote(kept.username or ""), unquote(kept.password)
    return (None, None) if parts.username is None else (unquote(parts.username), "")


def _words(helper: str) -> list[str]:
    """Return a helper's words; none for a piece of shell that only a shell can read."""
    try:
        return shlex.split(helper)
    except ValueError:
        return []


def _store_files(options: Sequence[str]) -> list[Path]:
    """Return the files of git-credential-store(1) that are there."""
    named = [word.removeprefix("--file=") for word in options if word.startswith("--file=")]
    if "--file" in options[:-1]:
        named.append(options[options.index("--file") + 1])
    files = [Path(name).expanduser() for name in named]
    if not files:
        files = [Path("~/.git-credentials"), Path("~/.config/git/credentials")]
    return [file.expanduser() for file in files if file.expanduser().is_file()]


def _ledgers(refs: Mapping[bytes, bytes | None]) -> dict[str, str]:
    """Return the ledgers among the refs that a server lists."""
    return {
        name.decode("utf-8", "replace"): oid.decode("ascii", "replace")
        for name, oid in refs.items()
        if oid is not None and name.startswith(LEDGERS.encode()) and not name.endswith(b"^{}")
    }


def _fetch(errand: Errand, here: GitStore, client: Any, path: bytes) -> Answer:
    """Bring a pack, complete it, and put it among the packs here."""
    from dulwich.object_format import get_object_format
    from dulwich.object_store import DiskObjectStore, ObjectStoreGraphWalker

    name = errand.ref.encode()
    head: list[bytes] = []

    def wants(refs: Mapping[bytes, bytes], depth: int | None = None) -> list[bytes]:  # noqa: ARG001 - dulwich's signature
        found = refs.get(name)
        head[:] = [found] if found else []
        return [oid for oid in head if not here.has(oid.decode())]

    def parents(oid: bytes) -> list[Any]:  # dulwich has a type of its own for ids
        return [p.encode() for p in parse_commit(here.read(oid.decode())[1]).parents]

    tips: list[Any] = [tip.encode() for tip in errand.tips]
    walker = ObjectStoreGraphWalker(tips, parents)
    form = get_object_format(here.algorithm)
    objects = DiskObjectStore(here.objects_dir, fsync_object_files=True, object_format=form)
    with tempfile.SpooledTemporaryFile(_SPOOL_BYTES) as pack:
        client.fetch_pack(path, wants, walker, pack.write, ref_prefix=[name])
        if pack.tell():
            pack.seek(0)
            objects.add_thin_pack(pack.read, None).close()
    objects.close()
    return Answer(head=head[0].decode() if head else None)


def _push(errand: Errand, here: GitStore, client: Any, path: bytes) -> Answer:
    """Offer a head: forward only, in one update that the server compares and swaps."""
    from dulwich.pack import UnpackedObject

    if here.algorithm != "sha1":
        return Answer(failed="SHA-256 objects are pushed by a git program only")
    name, new = errand.ref.encode(), errand.new
    old: str | None = None
    with ObjectReader(here) as reader:

        def update(refs: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
            nonlocal old
            old = refs[name].decode() if name in refs else None
            _check_behind(reader, here, new, old)
            return {name: new.encode()}

        # What else the server has is the project's, and says nothing of the ledger.
        def pack(
            _have: Iterable[bytes], want: Iterable[bytes], **_: object
        ) -> tuple[int, Iterator[UnpackedObject]]:
            ids = list(missing_objects(reader.read, new, old, here.algorithm)) if want else []

            def objects() -> Iterator[UnpackedObject]:
                for oid in ids:
                    kind, data = reader.read(oid)
                    sha = bytes.fromhex(oid)
                    yield UnpackedObject(
                        NUMBERS[kind], sha=sha, decomp_chunks=[data], decomp_len=len(data)
                    )

            return len(ids), objects()

        try:
            result = client.send_pack(path, update, pack)
        except beside.MovedError as e:
            return Answer(head=e.now, moved=True)
    said = (result.ref_status or {}).get(name)
    if said is None:
        return Answer(head=new, done=True)
    found = _ledgers(_client(errand)[0].get_refs(path, ref_prefix=[name]).refs)
    return Answer(head=found.get(errand.ref), refused=str(said))


def _check_behind(reader: ObjectReader, here: GitStore, new: str, old: str | None) -> None:
    """Refuse to replace what a new head does not descend from."""
    if old is None:
        return
    if not here.has(old) or compare(reader.read, new, old, here.algorithm).kind not in {
        "same",
        "ahead",
    }:
        raise beside.MovedError(old)


if __name__ == "__main__":
    main()
