"""Ways to tamper with a ledger by plain git, and what each must be called.

Each takes a forge whose ledger has five honest records and returns a commit that stands for
a dishonest sixth, or for a rewritten history; the ref stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hikmah.model.records import Fulfill, canonical
from tests.ledger.forge import Forge, note

FILE = "100644"
FOLDER = "40000"


def chain(forge: Forge) -> list[str]:
    """Return the ledger's commits, the genesis first."""
    return forge.git("rev-list", "--reverse", "refs/hikmah/memory").splitlines()


def relay(forge: Forge, commits: list[str], base: str) -> str:
    """Write commits again, each as it is but on a new parent; return the last."""
    for commit in commits:
        base = forge.rewrite(commit, parents=[base])
    return base


def path_of(forge: Forge, commit: str) -> str:
    """Return the path of the record that a commit added."""
    return forge.git("diff-tree", "-r", "--name-only", "--no-commit-id", commit)


# ---- one table: what is done, and what must be named -----------------------------------


def edit_newest(forge: Forge) -> str:
    """Replace the newest record's bytes and keep its path."""
    head = forge.head()
    files = forge.files(head)
    files[path_of(forge, head)] = (FILE, forge.blob(canonical(note("edited"))))
    return forge.rewrite(head, files=files)


def edit_in_the_middle(forge: Forge) -> str:
    """Replace a record in the middle and lay the later commits, trees untouched, on top."""
    commits = chain(forge)
    files = forge.files(commits[3])
    files[path_of(forge, commits[3])] = (FILE, forge.blob(canonical(note("edited"))))
    return relay(forge, commits[4:], forge.rewrite(commits[3], files=files))


def reorder(forge: Forge) -> str:
    """Exchange two commits."""
    commits = chain(forge)
    return relay(forge, [commits[4], commits[3], commits[5]], commits[2])


def drop_in_the_middle(forge: Forge) -> str:
    """Leave a commit out and lay the later ones on its parent."""
    commits = chain(forge)
    return relay(forge, commits[4:], commits[2])


def drop_a_record(forge: Forge) -> str:
    """Take an older record out of the newest tree."""
    head = forge.head()
    files = forge.files(head)
    del files[path_of(forge, chain(forge)[2])]
    return forge.rewrite(head, files=files)


def inject(forge: Forge) -> str:
    """Slip a second record into the newest commit, under its honest message."""
    head = forge.head()
    files = forge.files(head)
    blob = forge.blob(canonical(note("slipped in")))
    files[f"records/0000/00/06-remember-{blob[:12]}.json"] = (FILE, blob)
    return forge.rewrite(head, files=files)


def inject_in_the_past(forge: Forge) -> str:
    """Add a record in a gap below the newest number."""
    head = forge.head()
    blob = forge.blob(canonical(note("backdated")))
    files = forge.files(head)
    files[f"records/0000/00/02-remember-{blob[:12]}.json"] = (FILE, blob)
    return forge.commit(forge.tree(files), [head], "remember observation: backdated")


def swap_blobs(forge: Forge) -> str:
    """Exchange the contents of two records' paths."""
    head = forge.head()
    files = forge.files(head)
    a, b = path_of(forge, head), path_of(forge, chain(forge)[3])
    files[a], files[b] = files[b], files[a]
    return forge.rewrite(head, files=files)


def change_message(forge: Forge) -> str:
    """Let the log say something else than the record does."""
    head = forge.head()
    message = forge.parse(head).message.decode()
    return forge.rewrite(head, message=message.replace("note 5", "note five"))


def change_trailer(forge: Forge) -> str:
    """Let the log say that somebody else was the source."""
    head = forge.head()
    message = forge.parse(head).message.decode()
    return forge.rewrite(head, message=message.replace("Source: unknown", "Source: user"))


def drop_trailers(forge: Forge) -> str:
    """Leave the trailers out."""
    head = forge.head()
    subject = forge.parse(head).message.decode().splitlines()[0]
    return forge.rewrite(head, message=subject + "\n")


def add_other_file(forge: Forge) -> str:
    """Add a file that is no record."""
    head = forge.head()
    files = {**forge.files(head), "README.md": (FILE, forge.blob(b"hello"))}
    return forge.commit(forge.tree(files), [head], "Add a readme")


def change_genesis_file(forge: Forge) -> str:
    """Change ledger.json in a later commit."""
    head = forge.head()
    files = {**forge.files(head), "ledger.json": (FILE, forge.blob(b"{}\n"))}
    return forge.commit(forge.tree(files), [head], "Change the ledger")


def make_executable(forge: Forge) -> str:
    """Add a record as an executable file."""
    head = forge.head()
    blob = forge.blob(canonical(note("run me")))
    files = forge.files(head)
    files[f"records/0000/00/06-remember-{blob[:12]}.json"] = ("100755", blob)
    return forge.commit(forge.tree(files), [head], "remember observation")


def empty_commit(forge: Forge) -> str:
    """Put a commit on top that adds nothing."""
    return forge.commit(forge.parse(forge.head()).tree, [forge.head()], "nothing")


def wrong_type_in_path(forge: Forge) -> str:
    """Add a trace under the path of a purge."""
    head = forge.head()
    blob = forge.blob(canonical(note("a trace")))
    files = {**forge.files(head), f"records/0000/00/06-purge-{blob[:12]}.json": (FILE, blob)}
    return forge.commit(forge.tree(files), [head], "purge")


def wrong_id_in_path(forge: Forge) -> str:
    """Add a record under another's id."""
    head = forge.head()
    blob = forge.blob(canonical(note("a trace")))
    files = {**forge.files(head), "records/0000/00/06-remember-000000000000.json": (FILE, blob)}
    return forge.commit(forge.tree(files), [head], "remember")


def skip_a_number(forge: Forge) -> str:
    """Leave a number out."""
    head = forge.head()
    blob = forge.blob(canonical(note("a trace")))
    files = {**forge.files(head), f"records/0000/00/07-remember-{blob[:12]}.json": (FILE, blob)}
    return forge.commit(forge.tree(files), [head], "remember")


def not_json(forge: Forge) -> str:
    """Add a record that is no JSON."""
    return added(forge, b"not json\n")


def not_canonical(forge: Forge) -> str:
    """Add a record with its keys in another form."""
    return added(forge, msgspec.json.encode(note("compact")))


def bad_value(forge: Forge) -> str:
    """Add a record with a value out of range."""
    return added(forge, canonical(note("sure", confidence=7.0)))


def dangling_link(forge: Forge) -> str:
    """Add a record that points at one that is not there."""
    missing = "ab" * (20 if forge.algorithm == "sha1" else 32)
    return added(forge, canonical(note("fix", supersedes=missing)))


def link_to_wrong_kind(forge: Forge) -> str:
    """Fulfil what is no commitment."""
    target = forge.files(forge.head())[path_of(forge, chain(forge)[2])][1]
    return added(forge, canonical(Fulfill(id=target, at_ms=0)), "fulfill")


def added(forge: Forge, data: bytes, kind: str = "remember") -> str:
    """Add bytes at the next record's path."""
    head = forge.head()
    blob = forge.blob(data)
    path = f"records/0000/00/06-{kind}-{blob[:12]}.json"
    return forge.commit(forge.tree({**forge.files(head), path: (FILE, blob)}), [head], kind)


def other_genesis(forge: Forge) -> str:
    """Join another ledger's history by a merge."""
    other = Forge(forge.path.parent / "other", forge.algorithm)
    other.init(ledger="f" * 32)
    other.add(note("from elsewhere"))
    forge.git("fetch", "-q", str(other.path), "refs/hikmah/memory:refs/other")
    theirs = forge.git("rev-parse", "refs/other")
    files = {**forge.files(theirs), **forge.files(forge.head())}
    return forge.commit(forge.tree(files), sorted([forge.head(), theirs]), "merge")


def evil_merge(forge: Forge) -> str:
    """Add a record in the merge of two honest branches."""
    return merged(forge, {"add": True})


def lossy_merge(forge: Forge) -> str:
    """Leave a record out of the merge of two honest branches."""
    return merged(forge, {"drop": True})


def merged(forge: Forge, how: dict[str, bool]) -> str:
    """Merge two branches that both hold to the format, dishonestly."""
    head = forge.head()
    forge.set_ref(chain(forge)[4])
    forge.ledger.state.head_file.unlink()
    other = forge.add(note("other branch")).tip.commit
    files = {**forge.files(head), **forge.files(other)}
    if how.get("add"):
        blob = forge.blob(canonical(note("by the merge")))
        files[f"records/0000/00/06-remember-{blob[:12]}.json"] = (FILE, blob)
    else:
        del files[path_of(forge, head)]
    return forge.commit(forge.tree(files), sorted([head, other]), "merge")


def raw_tree(forge: Forge, *entries: tuple[str, str, str]) -> str:
    """Write a tree as it is given (mode, name, id), however wrong."""
    data = b"".join(
        b"%s %s\0%s" % (mode.encode(), name.encode(), bytes.fromhex(oid))
        for mode, name, oid in entries
    )
    return forge.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", data=data)


def entries_of(forge: Forge, tree: str) -> list[tuple[str, str, str]]:
    """Return a tree's entries as `raw_tree` takes them."""
    lines = (
        line.replace("\t", " ").split(" ", 3) for line in forge.git("ls-tree", tree).splitlines()
    )
    return [(mode.lstrip("0"), name, oid) for mode, _, oid, name in lines]


def honest_looking(forge: Forge, blob: str, tree: str) -> str:
    """Write the commit that an honest append of a trace called `sixth` would have."""
    honest = forge.add(note("sixth")).tip.commit
    parent = chain(forge)[5]
    forge.set_ref(parent)
    assert forge.id(note("sixth")) == blob
    return forge.rewrite(honest, parents=[parent], tree=tree)


def slash_in_a_name(forge: Forge) -> str:
    """Add a record whose path is right and whose folder is none: git cannot show it."""
    blob = forge.blob(canonical(note("sixth")))
    entries = entries_of(forge, forge.parse(forge.head()).tree)
    path = f"records/0000/00/06-remember-{blob[:12]}.json"
    return honest_looking(forge, blob, raw_tree(forge, *entries, (FILE, path, blob)))


def slash_in_the_last_folder(forge: Forge) -> str:
    """Add a record beside its folder, the folder being part of its name."""
    blob = forge.blob(canonical(note("sixth")))
    root = forge.parse(forge.head()).tree
    path = f"00/06-remember-{blob[:12]}.json"
    inner = forge.git("rev-parse", f"{root}:records/0000")
    high = raw_tree(forge, *entries_of(forge, inner), (FILE, path, blob))
    records = raw_tree(forge, (FOLDER, "0000", high))
    ledger = next(entry for entry in entries_of(forge, root) if entry[1] == "ledger.json")
    return honest_looking(forge, blob, raw_tree(forge, ledger, (FOLDER, "records", records)))


def empty_folder(forge: Forge) -> str:
    """Add an honest record and an empty folder, in which the next number would be sought."""
    blob = forge.blob(canonical(note("sixth")))
    root = forge.tree(
        {**forge.files(forge.head()), f"records/0000/00/06-remember-{blob[:12]}.json": (FILE, blob)}
    )
    nothing = raw_tree(forge)
    high = forge.git("rev-parse", f"{root}:records/0000")
    records = raw_tree(forge, (FOLDER, "0000", high), (FOLDER, "9999", nothing))
    ledger = next(entry for entry in entries_of(forge, root) if entry[1] == "ledger.json")
    return honest_looking(forge, blob, raw_tree(forge, ledger, (FOLDER, "records", records)))


def doubled_name(forge: Forge) -> str:
    """Add a record twice in one folder, under one name."""
    blob = forge.blob(canonical(note("sixth")))
    root = forge.parse(forge.head()).tree
    inner = forge.git("rev-parse", f"{root}:records/0000/00")
    twice = [(FILE, f"06-remember-{blob[:12]}.json", blob)] * 2
    low = raw_tree(forge, *entries_of(forge, inner), *twice)
    records = raw_tree(forge, (FOLDER, "0000", raw_tree(forge, (FOLDER, "00", low))))
    ledger = next(entry for entry in entries_of(forge, root) if entry[1] == "ledger.json")
    return honest_looking(forge, blob, raw_tree(forge, ledger, (FOLDER, "records", records)))


def bomb(forge: Forge) -> str:
    """Add eight trees that stand for 100 to the power of eight files."""
    tree = raw_tree(forge, (FILE, "x", forge.blob(b"x")))
    for _ in range(7):
        tree = raw_tree(forge, *((FOLDER, f"{n:02}", tree) for n in range(100)))
    entries = entries_of(forge, forge.parse(forge.head()).tree)
    root = raw_tree(forge, *entries, (FOLDER, "zz", tree))
    return forge.commit(root, [forge.head()], "boom")


def deep_tree(forge: Forge) -> str:
    """Add a thousand folders, each in the one before."""
    tree = raw_tree(forge, (FILE, "x", forge.blob(b"x")))
    for _ in range(50):
        tree = raw_tree(forge, (FOLDER, "d", tree))
    entries = entries_of(forge, forge.parse(forge.head()).tree)
    return forge.commit(raw_tree(forge, *entries, (FOLDER, "zz", tree)), [forge.head()], "deep")


def symbolic_link(forge: Forge) -> str:
    """Add a record as a symbolic link."""
    return of_mode(forge, "120000")


def submodule(forge: Forge) -> str:
    """Add another repository's commit at a record's path."""
    return of_mode(forge, "160000")


def of_mode(forge: Forge, mode: str) -> str:
    """Add an entry of some mode at the next record's path."""
    blob = forge.blob(canonical(note("sixth")))
    root = forge.parse(forge.head()).tree
    inner = forge.git("rev-parse", f"{root}:records/0000/00")
    name = f"06-remember-{blob[:12]}.json"
    low = raw_tree(forge, *entries_of(forge, inner), (mode, name, blob))
    records = raw_tree(forge, (FOLDER, "0000", raw_tree(forge, (FOLDER, "00", low))))
    ledger = next(entry for entry in entries_of(forge, root) if entry[1] == "ledger.json")
    return honest_looking(forge, blob, raw_tree(forge, ledger, (FOLDER, "records", records)))


TAMPERINGS: list[tuple[Callable[[Forge], str], set[str]]] = [
    (edit_newest, {"path_id", "message"}),
    (edit_in_the_middle, {"path_id", "message", "record_changed"}),
    (reorder, {"record_lost", "message"}),
    (drop_in_the_middle, {"message"}),
    (drop_a_record, {"record_lost"}),
    (inject, {"message"}),
    (inject_in_the_past, {"sequence"}),
    (swap_blobs, {"record_changed", "path_id"}),
    (change_message, {"message"}),
    (change_trailer, {"message"}),
    (drop_trailers, {"message"}),
    (add_other_file, {"not_a_record"}),
    (change_genesis_file, {"record_changed"}),
    (make_executable, {"file_mode"}),
    (empty_commit, {"empty_commit"}),
    (wrong_type_in_path, {"path_type"}),
    (wrong_id_in_path, {"path_id"}),
    (skip_a_number, {"sequence"}),
    (not_json, {"record_undecodable"}),
    (not_canonical, {"record_not_canonical"}),
    (bad_value, {"record_undecodable"}),
    (dangling_link, {"link_missing"}),
    (link_to_wrong_kind, {"link_kind"}),
    (other_genesis, {"other_ledger"}),
    (evil_merge, {"merge_tree", "merge_bytes"}),
    (lossy_merge, {"record_lost"}),
    (slash_in_a_name, {"malformed_tree"}),
    (slash_in_the_last_folder, {"malformed_tree"}),
    (empty_folder, {"malformed_tree"}),
    (doubled_name, {"malformed_tree"}),
    (bomb, {"malformed_tree"}),
    (deep_tree, {"malformed_tree"}),
    (symbolic_link, {"file_mode"}),
    (submodule, {"file_mode"}),
]
