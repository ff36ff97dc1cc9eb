"""Putting the gate into a host's settings, and taking it out to the byte.

Rules the module keeps:

1. What is there stays: other hooks, comments, order, line ends. A file that cannot be read
   as what it should be, or that is read-only, is refused and not touched.
2. Installing twice is installing once. The file is backed up beside itself first.
3. Uninstalling gives back the bytes from before, and takes away the folders that were made. If
   the file has changed since, exactly what was added is taken out, and the changes stay.
4. A symbolic link stays one; what it leads to is edited.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import tomllib
from pathlib import Path
from typing import Literal, NamedTuple

from hikmah.errors import InvalidInputError, RefusedError, StoreError
from hikmah.hosts import jsonc
from hikmah.hosts.targets import Target, target_of

BACKUP = ".before-hikmah"
FOLDERS = ".made-by-hikmah"  # beside a file: how many folders were made for it
MARK = "hikmah hook"
Outcome = Literal["installed", "already", "removed", "absent"]


class Report(NamedTuple):
    """What was done to a host's settings, or how they stand."""

    host: str
    path: str
    outcome: Outcome
    note: str


def install(host: str, path: Path) -> Report:
    """Add the gate's hooks to a settings file, made if it is not there.

    Raises:
        InvalidInputError: The file is not what it should be.
        RefusedError: It is read-only.
        StoreError: The disk refused.
    """
    target = target_of(host)
    before = _read(path)
    added = _added(target, before)
    if added == before:
        return Report(host, str(path), "already", target.note)
    if before is not None:
        _write(_beside(path, BACKUP), before, path)
    made = sum(not folder.exists() for folder in _real(path).parents)
    _write(path, added, path)
    if made:
        _write(_beside(path, FOLDERS), b"%d\n" % made, path)
    return Report(host, str(path), "installed", target.note)


def uninstall(host: str, path: Path) -> Report:
    """Take the gate's hooks out of a settings file; nothing else changes.

    Raises:
        InvalidInputError, RefusedError, StoreError: As for `install`.
    """
    target = target_of(host)
    now = _read(path)
    backup = _beside(path, BACKUP)
    before = _read(backup)
    if now is None:
        _remove_made(path)
    if now is None or MARK.encode() not in now:
        return Report(host, str(path), "absent", "")
    if now == _added_or_none(target, before):
        if before is None:
            path.unlink()
        else:
            _write(path, before, path)
    else:
        _write(path, _taken_out(target, now, before), path)
    backup.unlink(missing_ok=True)
    _remove_made(path)
    return Report(host, str(path), "removed", "")


def status(host: str, path: Path) -> dict[str, object]:
    """Return whether a host's settings name the gate, and whether it can run."""
    target = target_of(host)
    try:
        data = _read(path) or b""
        installed, problem = MARK.encode() in data, ""
        if data:
            _added(target, data)
    except (InvalidInputError, RefusedError, StoreError) as error:
        installed, problem = False, error.message
    return {
        "host": host,
        "path": str(path),
        "installed": installed,
        "active": installed and host != "kimi" and shutil.which("hikmah") is not None,
        "program": shutil.which("hikmah"),
        "problem": problem,
        "note": target.note,
    }


def _added(target: Target, before: bytes | None) -> bytes:
    """Return the file's bytes with every hook that is missing."""
    text = target.base if before is None else _decode(before)
    for edit in _edits(target, text):
        text = jsonc.apply(text, [edit])
    return text.encode("utf-8")


def _added_or_none(target: Target, before: bytes | None) -> bytes | None:
    """Return the same, or None when what was there before cannot be added to."""
    try:
        return _added(target, before)
    except InvalidInputError:
        return None


def _edits(target: Target, text: str) -> list[jsonc.Edit]:
    """Return what is put in, one edit after the other."""
    return _edits_toml(target, text) if target.file.endswith(".toml") else _edits_json(target, text)


def _edits_json(target: Target, text: str) -> list[jsonc.Edit]:
    newline = "\r\n" if "\r\n" in text else "\n"
    edits: list[jsonc.Edit] = []

    def put(edit: jsonc.Edit) -> None:
        nonlocal text
        edits.append(edit)
        text = jsonc.apply(text, [edit])

    if not text.strip("\ufeff \t\r\n"):
        put(jsonc.Edit(len(text), "{}" + newline))
    for event, handler in target.events.items():
        root = jsonc.parse(text)
        hooks = root.get("hooks")
        listed = hooks.get(event) if hooks else None
        _check_kinds(hooks, listed, event)
        body = json.dumps(handler, indent=2)
        if listed is None:
            whole = f'"{event}": [\n  ' + body.replace("\n", "\n  ") + "\n]"
            if hooks is None:
                whole = '"hooks": {\n  ' + whole.replace("\n", "\n  ") + "\n}"
            put(jsonc.insert(text, hooks or root, whole, newline=newline))
        elif MARK not in text[listed.start : listed.end]:
            put(jsonc.insert(text, listed, body, newline=newline))
    jsonc.parse(text)
    return edits


def _check_kinds(hooks: jsonc.Node | None, listed: jsonc.Node | None, event: str) -> None:
    if hooks is not None and hooks.kind != "object":
        raise InvalidInputError("`hooks` is not an object", where="$.hooks")
    if listed is not None and listed.kind != "array":
        raise InvalidInputError(f"`hooks.{event}` is not a list", where=f"$.hooks.{event}")


def _edits_toml(target: Target, text: str) -> list[jsonc.Edit]:
    _check_toml(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    if MARK in text:
        return []
    edits: list[jsonc.Edit] = []
    for block in _toml_blocks(target, newline):
        lead = "" if not text or text.endswith("\n") else newline
        edits.append(jsonc.Edit(len(text), lead + (newline if text else "") + block))
        text += edits[-1].text
    _check_toml(text)
    return edits


def _toml_blocks(target: Target, newline: str) -> list[str]:
    return [
        newline.join(
            ["[[hooks]]", f'event = "{event}"']
            + [f"{name} = {json.dumps(value)}" for name, value in handler.items()]
        )
        + newline
        for event, handler in target.events.items()
    ]


def _check_toml(text: str) -> None:
    try:
        tomllib.loads(text.replace("\r\n", "\n").lstrip("\ufeff"))
    except tomllib.TOMLDecodeError as e:
        raise InvalidInputError(f"not TOML: {e}", hint="mend the file first") from e


def _taken_out(target: Target, now: bytes, before: bytes | None) -> bytes:
    """Return a file that changed since without what was added to it.

    Raises:
        RefusedError: What was added was changed itself; a person has to look.
    """
    text = _decode(now)
    old = target.base if before is None else _decode(before)
    chunks = _chunks(target, old)
    for chunk in chunks:
        if text.count(chunk) == 1:
            text = text.replace(chunk, "")
    if MARK in text:
        text = _without_handlers(text) if not target.file.endswith(".toml") else text
    if MARK in text:
        raise RefusedError(
            "the gate's entry was changed by hand and cannot be taken out safely",
            hint=f"remove the entries that run `{MARK}` yourself",
        )
    if not target.file.endswith(".toml") and "{" in text:  # it may have been blank before
        jsonc.parse(text)
    return text.encode("utf-8")


def _chunks(target: Target, old: str) -> list[str]:
    """Return the texts that installing adds to a file, the last one first."""
    try:
        return [edit.text for edit in reversed(_edits(target, old))]
    except InvalidInputError:
        return []


def _without_handlers(text: str) -> str:
    """Return a settings text without the list elements that run the gate."""
    while True:
        root = jsonc.parse(text)
        hooks = root.get("hooks")
        lists = [item for item in (hooks.items if hooks else ()) if item.kind == "array"]
        spans = [_element_span(text, array, at) for array in lists for at in _ours(text, array)]
        if not spans:
            return text
        start, end = spans[0]
        text = text[:start] + text[end:]


def _ours(text: str, array: jsonc.Node) -> list[int]:
    return [at for at, item in enumerate(array.items) if MARK in text[item.start : item.end]]


def _element_span(text: str, array: jsonc.Node, at: int) -> tuple[int, int]:
    """Return an element with the comma that parts it from its neighbour."""
    item = array.items[at]
    if at:
        return array.items[at - 1].end, item.end
    if len(array.items) > 1:
        return item.start, array.items[1].start
    comma = text.find(",", item.end, array.end) if array.trailing_comma else -1
    return item.start, comma + 1 if comma >= 0 else item.end


def _remove_made(path: Path) -> None:
    """Remove the folders that installing made, as far as nothing else is in them."""
    note = _beside(path, FOLDERS)
    made = (_read(note) or b"0").strip()
    note.unlink(missing_ok=True)
    for folder in list(_real(path).parents)[: int(made) if made.isdigit() else 0]:
        try:
            folder.rmdir()
        except OSError:  # something else is in it by now
            return


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as e:
        raise StoreError(f"cannot read {path}: {e.strerror}", where=str(path)) from e


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        raise InvalidInputError("the settings file is not UTF-8") from e


def _write(path: Path, data: bytes, like: Path) -> None:
    """Replace a file's bytes whole, through a symbolic link, with its mode."""
    real = _real(path)
    try:
        mode = stat.S_IMODE(like.stat().st_mode) if like.exists() else 0o600
        if not mode & 0o200:
            raise RefusedError(
                f"{path} is read-only", hint="make it writable first", where=str(path)
            )
        real.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=real.parent, prefix=real.name)
        with os.fdopen(number, "wb") as file:
            file.write(data)
        Path(name).chmod(mode)
        Path(name).replace(real)
    except OSError as e:
        raise StoreError(f"cannot write {path}: {e.strerror}", where=str(path)) from e
