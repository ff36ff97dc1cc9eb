"""A ref's value, read from the repository's files without a git library.

Rules the module keeps:

1. A loose file wins over `packed-refs`, as in git. Both hash lengths are known; which one
   is right follows from the repository's own configuration.
2. Repositories whose refs are not files (reftable) are refused here; `read_ref_with_git`
   asks the `git` program, in bounded time and with nothing of a surrounding `GIT_*`.
3. A symbolic ref is refused: writing through it would move another branch.
4. Standard library only, and nothing slow to import: reading commands start here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hikmah.errors import (
    BusyError,
    IntegrityError,
    InvalidInputError,
    RefusedError,
    StoreError,
)

if TYPE_CHECKING:
    import subprocess

# Importing pathlib costs a start more than reading a ref: texts are paths enough here.
StrPath = str | os.PathLike[str]
OID_LENGTHS = {"sha1": 40, "sha256": 64}
GIT_TIMEOUT_S = 10.0
# Sets, not patterns: compiling a pattern costs every start half a millisecond.
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HEX_DIGITS = frozenset(b"0123456789abcdefABCDEF")


class RepositoryFormat:
    """How a repository names objects (`sha1`, `sha256`) and keeps refs (`files`, `reftable`)."""

    def __init__(self, algorithm: str, ref_format: str) -> None:
        self.algorithm = algorithm
        self.ref_format = ref_format


def repository_format(common_dir: StrPath) -> RepositoryFormat:
    """Read `extensions.objectFormat` and `extensions.refStorage` from a repository's config.

    Args:
        common_dir: The common git folder, the one that holds `config` and `refs`.

    Returns:
        The format; `sha1` and `files` for what the config leaves out.

    Raises:
        StoreError: The config cannot be read, or names a format nobody here knows.
    """
    config = os.path.join(common_dir, "config")
    extensions = _section(_read(config) or b"", "extensions")
    algorithm = extensions.get("objectformat", "sha1").lower()
    # Newer git also writes a location behind the name: `reftable://<where>`.
    ref_format = extensions.get("refstorage", "files").lower().partition(":")[0]
    if algorithm not in OID_LENGTHS:
        raise StoreError(
            f"the repository names its objects by {algorithm!r}, which is not known here",
            hint="use a repository with sha1 or sha256 objects",
            where=config,
        )
    return RepositoryFormat(algorithm, ref_format)


def read_ref(common_dir: StrPath, ref: str, known: RepositoryFormat | None = None) -> str | None:
    """Return the object id that a ref holds, or None when there is no such ref.

    Args:
        common_dir: The common git folder; linked worktrees share it.
        ref: The full name, such as `refs/hikmah/memory`.
        known: The repository's format when the caller has read it already.

    Raises:
        InvalidInputError: The name is not that of a ref.
        RefusedError: The ref is symbolic.
        IntegrityError: The ref's file, or its line, does not hold an object id.
        StoreError: Refs are not files in this repository, or cannot be read.
    """
    _check_name(ref)
    found = known or repository_format(common_dir)
    if found.ref_format != "files":
        raise StoreError(
            f"refs of this repository are kept as {found.ref_format!r}, not as files",
            hint="install the git program: such refs are read and moved through it",
            where=str(common_dir),
        )
    path = os.path.join(common_dir, ref)
    loose = _read_loose(path, ref)
    if loose is not None:
        return _object_id(loose.strip(), found.algorithm, where=path)
    packed_refs = os.path.join(common_dir, "packed-refs")
    packed = _find_packed(_read(packed_refs) or b"", ref.encode())
    if packed is not None:
        return _object_id(packed, found.algorithm, where=packed_refs)
    return None


def read_ref_with_git(
    common_dir: StrPath,
    ref: str,
    *,
    environ: Mapping[str, str],
    timeout_s: float = GIT_TIMEOUT_S,
) -> str | None:
    """Do what `read_ref` does through the `git` program, whatever the refs are kept in.

    Args:
        common_dir: The common git folder.
        ref: The full name.
        environ: The surrounding environment; its `GIT_*` variables are left out.
        timeout_s: How long each of two git processes may take.

    Raises:
        InvalidInputError, RefusedError, IntegrityError: As for `read_ref`.
        StoreError: There is no `git` program, or it fails or takes too long.
    """
    _check_name(ref)
    git = _Git(common_dir, clean_environment(environ), timeout_s)
    symbolic = git.run("symbolic-ref", "--quiet", ref)
    if symbolic.returncode == 0:
        raise _symbolic(ref)
    value = git.run("rev-parse", "--verify", "--quiet", ref)
    if value.returncode == 0:
        algorithm = repository_format(common_dir).algorithm
        return _object_id(value.stdout.strip(), algorithm, where=ref)
    if value.returncode == 1 and not value.stderr.strip():
        return None
    said = value.stderr.decode(errors="replace").strip()
    raise StoreError(f"git could not read {ref}: {said}", where=str(common_dir))


def refs_below(common_dir: StrPath, prefix: str) -> list[str]:
    """Return the names of refs below a prefix (`refs/hikmah-backup/memory/`), sorted.

    Reads files only; `refs_below_with_git` is for reftable.
    """
    from pathlib import Path  # questions look at one ref alone

    folder = Path(common_dir)
    loose = [
        path.relative_to(folder).as_posix()
        for path in (folder / prefix).rglob("*")
        if path.is_file() and path.suffix != ".lock"
    ]
    packed = [
        line.split(b" ", 1)[1].decode(errors="replace")
        for line in (_read(folder / "packed-refs") or b"").splitlines()
        if b" " + prefix.encode() in line and not line.startswith(b"#")
    ]
    return sorted({*loose, *packed})


def refs_below_with_git(
    common_dir: StrPath,
    prefix: str,
    *,
    environ: Mapping[str, str],
    timeout_s: float = GIT_TIMEOUT_S,
) -> list[str]:
    """Do what `refs_below` does through the `git` program.

    Raises:
        StoreError: There is no `git` program, or it fails or takes too long.
    """
    git = _Git(common_dir, clean_environment(environ), timeout_s)
    listed = git.run("for-each-ref", "--format=%(refname)", prefix.rstrip("/"))
    if listed.returncode != 0:
        said = listed.stderr.decode(errors="replace").strip()
        raise StoreError(f"git could not list {prefix}: {said}", where=str(common_dir))
    return sorted(listed.stdout.decode(errors="replace").split())


def move_ref_with_git(
    common_dir: StrPath,
    ref: str,
    old: str | None,
    new: str,
    *,
    environ: Mapping[str, str],
    timeout_s: float = GIT_TIMEOUT_S,
) -> bool:
    """Move a ref by git's own compare-and-swap; no hook runs.

    Returns:
        False when the ref does not hold `old` (None: when it exists).

    Raises:
        BusyError: The ref holds `old`, and git would not move it: somebody holds its lock.
        StoreError: As for `read_ref_with_git`.
    """
    _check_name(ref)
    git = _Git(common_dir, clean_environment(environ), timeout_s)
    expected = old or "0" * OID_LENGTHS[repository_format(common_dir).algorithm]
    moved = git.run(
        "-c", f"core.hooksPath={os.devnull}", "update-ref", "--no-deref", ref, new, expected
    )
    if moved.returncode == 0:
        return True
    if read_ref_with_git(common_dir, ref, environ=environ, timeout_s=timeout_s) != old:
        return False
    said = moved.stderr.decode(errors="replace").strip()
    raise BusyError(f"git could not move {ref}: {said}", where=str(common_dir))


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a git process that nothing around it can redirect."""
    kept = {key: value for key, value in environ.items() if not key.upper().startswith("GIT_")}
    return kept | {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}


class _Git:
    """One repository asked through the `git` program."""

    def __init__(self, common_dir: StrPath, environ: dict[str, str], timeout_s: float) -> None:
        self.common_dir = common_dir
        self.environ = environ
        self.timeout_s = timeout_s

    def run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """Run one git command to its end."""
        # Only reftable repositories come here; the import would slow every other start.
        import shutil
        import subprocess

        program = shutil.which("git", path=self.environ.get("PATH"))
        if program is None:
            raise StoreError(
                "the git program is needed for this repository's refs and was not found",
                hint="install git, or keep refs as files (`git refs migrate --ref-format=files`)",
                where=str(self.common_dir),
            )
        try:
            return subprocess.run(  # noqa: S603  # fixed program, arguments checked, no shell
                [program, f"--git-dir={self.common_dir}", *arguments],
                env=self.environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.timeout_s,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as e:
            raise StoreError(f"git could not be asked: {e}", where=str(self.common_dir)) from e


def _check_name(ref: str) -> None:
    first, *others = ref.split("/")
    if first != "refs" or not others or not all(map(_is_name_part, others)):
        raise InvalidInputError(f"{ref!r} is not the name of a ref", where="ref")


def _is_name_part(part: str) -> bool:
    """Tell whether text may stand between two slashes of a ref's name."""
    return (
        _NAME_CHARACTERS.issuperset(part)
        and part[:1] not in {"", "."}
        and ".." not in part
        and not part.endswith((".", ".lock"))
    )


def _read(path: StrPath) -> bytes | None:
    """Return a file's bytes, or None when nothing (or a folder) stands there."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as e:
        if os.path.isdir(path):  # Windows says "permission denied" of a folder
            return None
        raise StoreError(f"cannot read {path}: {e.strerror}", where=str(path)) from e


def _read_loose(path: StrPath, ref: str) -> bytes | None:
    """Return what a loose ref's file holds; old git made symbolic refs as links."""
    if os.path.islink(path):
        raise _symbolic(ref)
    data = _read(path)
    if data is not None and data.startswith(b"ref:"):
        raise _symbolic(ref)
    return data


def _symbolic(ref: str) -> RefusedError:
    return RefusedError(
        f"{ref} is a symbolic ref; a ledger must be a ref of its own",
        hint=f"see where it points with `git symbolic-ref {ref}`",
        where=ref,
    )


def _find_packed(data: bytes, ref: bytes) -> bytes | None:
    """Return the id before a ref's name in `packed-refs`; peeled and comment lines never match."""
    needle = b" " + ref
    at = data.find(needle)
    while at >= 0:
        end = data.find(b"\n", at)
        line = data[data.rfind(b"\n", 0, at) + 1 : end if end >= 0 else len(data)]
        oid, _, name = line.rstrip(b"\r").partition(b" ")
        if name == ref:
            return oid
        at = data.find(needle, at + 1)
    return None


def _object_id(raw: bytes, algorithm: str, *, where: str) -> str:
    if len(raw) != OID_LENGTHS[algorithm] or not _HEX_DIGITS.issuperset(raw):
        shown = raw[:80].decode(errors="replace")
        raise IntegrityError(
            f"the ref holds {shown!r}, which is not a {algorithm} object id",
            hint="`hikmah repair` moves it to the newest readable acknowledged head",
            where=where,
        )
    return raw.decode().lower()


def _section(data: bytes, wanted: str) -> dict[str, str]:
    """Return the settings of one section without a sub-section, keys in lower case.

    Git reads `extensions` from the repository's own file only, never through an include.
    """
    found: dict[str, str] = {}
    inside = False
    text = (
        data.removeprefix(_BYTE_ORDER_MARK)
        .decode(errors="replace")
        .replace("\\\r\n", "")
        .replace("\\\n", "")
    )
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("["):
            header, _, line = line[1:].partition("]")  # a sub-section's name matches nothing
            inside = header.strip().lower() == wanted
        key, equals, value = line.partition("=")
        if inside and key and key[0] not in "#;":
            found[key.strip().lower()] = _value(value) if equals else "true"
    return found


def _value(raw: str) -> str:
    """Return a setting's value without quotes and without the comment behind it."""
    quoted = False
    kept: list[str] = []
    for character in raw.strip():
        if character == '"':
            quoted = not quoted
        elif character in "#;" and not quoted:
            break
        else:
            kept.append(character)
    return "".join(kept).strip()
