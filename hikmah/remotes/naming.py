"""Names of remotes: what a name or URL means, and where its ledger is tracked.

Rules the module keeps:

1. A URL that could run a program (`ext::`, any `helper::address`) and a name that begins with
   a dash are refused before git sees them.
2. What is shown, tracked or written holds no password: not in output, errors or config.
3. A tracking ref is `refs/hikmah-remotes/<remote>/<ledger>`. A URL's remote is `url-` and the
   first 12 digits of the SHA-256 of the URL without its password and its query.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from hikmah.errors import InvalidInputError, NotFoundError, RefusedError

TRACKING = "refs/hikmah-remotes/"
DEFAULT_REMOTE = "origin"
SCHEMES = frozenset({"file", "git", "http", "https", "ssh", "git+ssh", "ssh+git"})
_URL_DIGITS = 12
# Hosting sites allow names of users up to 39 characters and make tokens of 20 and more.
_TOKEN_CHARS = 20
_MAX_URL_CHARS = 4_096
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
# As in git: a colon before the first slash makes `host:path` of it.
_SCP = re.compile(r"(?!/)[^/:]*(?:\[[^\]/]*\])?:")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_HOST = re.compile(r"(?:\[[^\]]*\]|[^:]*)(?::[0-9]*)?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,99})*")

# Returns every value in git's configuration of a section, sub-section (or None) and key.
Config = Callable[[str, str | None, str], Sequence[str]]


class Remote(NamedTuple):
    """A remote that somebody named.

    `given` is the name or the URL without secrets; `track` stands for it in tracking refs;
    `url` is fetched from and `push_url` pushed to. Both may hold a password: use `shown`.
    """

    given: str
    track: str
    url: str
    push_url: str

    @property
    def kept(self) -> str:
        """What can be written down to mean this remote: its name, or its URL, no password."""
        return self.given if self.given != shown(self.url) else without_password(self.url)

    def written(self) -> Remote:
        """Return the remote at the address that is pushed to, for fetching from there, too.

        Where two addresses are set, each is followed by a ref of its own: one may lag.
        """
        track = self.track
        if without_password(self.push_url) != without_password(self.url):
            track = url_track(self.push_url)
        return self._replace(track=track, url=self.push_url)

    def tracking_ref(self, ledger: str) -> str:
        """Return the ref that follows one of the remote's ledgers."""
        return f"{TRACKING}{self.track}/{ledger}"


def default_remote(config: Config) -> str:
    """Return the remote that is meant when none is named: `hikmah.remote`, else `origin`."""
    values = config("hikmah", None, "remote")
    return values[-1] if values and values[-1] else DEFAULT_REMOTE


def find_remote(
    given: str | None, config: Config, *, root: Path, cwd: Path | None = None
) -> Remote:
    """Return the remote that a name or URL means.

    Args:
        given: A name in git's config, a URL or a path; None for the default.
        config: Reads git's configuration.
        root: What relative paths in the configuration start from.
        cwd: What a relative path given here starts from; default `root`.

    Raises:
        InvalidInputError: It is neither, or could run a program.
        NotFoundError: No remote of that name.
    """
    text = default_remote(config) if given is None else given
    if text.startswith("-") or not text or not text.isprintable():
        raise InvalidInputError(
            f"{shown(text)[:80]!a} is no name of a remote and no URL", where="remote"
        )
    urls = [url for url in config("remote", text, "url") if url]
    if urls:
        pushing = [url for url in config("remote", text, "pushurl") if url]
        url = _absolute(urls[0], root)
        return Remote(text, _track(text, url), url, _absolute((pushing or urls)[0], root))
    if not looks_like_url(text):
        raise NotFoundError(
            f"no remote {text!r} in git's configuration"
            + (", and none was named" if given is None else ""),
            hint="name one that `git remote` lists, or give a URL; a path starts with ./ or /",
            where="remote",
        )
    url = _absolute(text, cwd or root)
    return Remote(shown(url), url_track(url), url, url)


def looks_like_url(text: str) -> bool:
    """Tell whether text is a URL or a path rather than a name."""
    return text in {".", ".."} or any(mark in text for mark in "/\\:")


def url_track(url: str) -> str:
    """Return what stands for a URL in tracking refs.

    A new password changes nothing, and neither does the folder that a path was named from.
    """
    place = str(Path(url).resolve()) if is_path(url) else without_password(url)
    digest = hashlib.sha256(place.encode("utf-8", "surrogateescape"))
    return f"url-{digest.hexdigest()[:_URL_DIGITS]}"


def _track(name: str, url: str) -> str:
    """Return what stands for a named remote; its URL when the name cannot be part of a ref."""
    plain = _NAME.fullmatch(name) and ".." not in name
    parts = name.split("/")
    if plain and not any(part.endswith((".", ".lock")) for part in parts):
        return name
    return url_track(url)


def check_url(url: str) -> None:
    """Refuse what is no address, or one that could run a program.

    Raises:
        InvalidInputError: It is empty, too long, begins with a dash or holds control characters.
        RefusedError: Its kind is not one of paths, `file`, `git`, `http`, `https` and `ssh`.
    """
    if not url or url.startswith("-") or len(url) > _MAX_URL_CHARS or not url.isprintable():
        raise InvalidInputError(f"{shown(url)[:80]!a} is no URL", where="remote")
    scheme = _SCHEME.match(url)
    if _HELPER.match(url) or (scheme and scheme[1].lower() not in SCHEMES):
        raise RefusedError(
            f"{shown(url)[:80]!r} is not an address that ledgers travel by",
            hint="use a path, or a URL with file, git, http, https or ssh",
            where="remote",
        )
    parts = _parts(url)
    if parts and not _HOST.fullmatch(parts.authority.rpartition("@")[2]):
        raise InvalidInputError(
            f"{shown(url)[:80]!r} names no host, or its port is no number",
            hint="in a user's name or password write / as %2F, ? as %3F, # as %23 and : as %3A",
            where="remote",
        )
    if "-" in {_authority(url)[:1], _host(url)[:1], _path(url)[:1]}:
        raise InvalidInputError(f"{shown(url)[:80]!r} has a part that begins with a dash")


def is_path(url: str) -> bool:
    """Tell whether an address is a path on this machine and no URL."""
    if _SCHEME.match(url):
        return False
    return bool(_DRIVE.match(url)) or not _SCP.match(url)


def _absolute(url: str, base: Path) -> str:
    """Return an address that does not depend on where it is read."""
    check_url(url)
    if not is_path(url):
        return url
    path = Path(url).expanduser() if url.startswith("~") else Path(url)
    return str(base / path) if not path.is_absolute() else str(path)


def _authority(url: str) -> str:
    """Return `user@host:port` of a URL, `user@host` of `host:path`, empty for a path."""
    if _SCHEME.match(url):
        return re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0]
    return "" if is_path(url) else url.partition(":")[0]


def _host(url: str) -> str:
    return _authority(url).rpartition("@")[2]


def _path(url: str) -> str:
    """Return the path of `host:path`, which a remote shell is given; empty for the others."""
    return "" if _SCHEME.match(url) or is_path(url) else url.partition(":")[2]


# ---- nothing secret --------------------------------------------------------------------


class _Parts(NamedTuple):
    """A URL as a person may have meant it: what is before the host, and what comes after.

    `authority` is what programs take for user and host; `userinfo` reaches further when that
    is no host: a password was written as it is, with a slash in it.
    """

    scheme: str
    authority: str
    userinfo: str | None
    rest: str


def _parts(url: str) -> _Parts | None:
    """Return the parts of a URL; None for what has no scheme."""
    scheme = _SCHEME.match(url)
    if scheme is None:
        return None
    after = url[scheme.end() :]
    authority = re.split(r"[/?#]", after, maxsplit=1)[0]
    odd = not _HOST.fullmatch(authority.rpartition("@")[2])
    userinfo, at, _ = (after if odd else authority).rpartition("@")
    rest = after[len(userinfo) + len(at) :]
    return _Parts(scheme[0], authority, userinfo if at else None, rest)


def shown(url: str) -> str:
    """Return an address as people may see it: no password, no token, no query."""
    parts = _parts(url)
    if parts is None:
        secret = _scp_password(url)
        return url.replace(f":{secret}@", ":***@", 1) if secret else url
    bare = re.split(r"[?#]", parts.rest, maxsplit=1)[0]
    if parts.userinfo is None:
        return parts.scheme + bare
    user = "" if _is_web(url) else parts.userinfo.partition(":")[0] + "@"
    return parts.scheme + user + bare


def _scp_password(url: str) -> str:
    """Return what stands where a password would in `user:password@host/path`: a scheme forgotten.

    What has no scheme is `host:path`, and a path begins with no such thing.
    """
    user, _, secret = url.partition("@")[0].partition(":")
    return "" if "/" in user or "/" in secret or "@" not in url or is_path(url) else secret


def without_password(url: str) -> str:
    """Return an address that can be kept: a user's name stays, a password or token goes.

    What follows a `?` in a web address goes as well: of a repository it names nothing, and
    some sites take a token there.
    """
    parts = _parts(url)
    if parts is None:
        return url
    if _is_web(url):
        parts = parts._replace(rest=re.split(r"[?#]", parts.rest, maxsplit=1)[0])
    if parts.userinfo is None:
        return parts.scheme + parts.rest
    user, colon, _ = parts.userinfo.partition(":")
    if not colon and _is_web(url) and len(user) >= _TOKEN_CHARS:
        user = ""
    return parts.scheme + (f"{user}@" if user else "") + parts.rest


def _is_web(url: str) -> bool:
    """Tell whether the user's name in an address may be a token: with HTTP it often is."""
    return url.lower().startswith("http")


def secrets_of(url: str) -> tuple[str, ...]:
    """Return what must not be shown of an address, as written and decoded, longest first."""
    parts = _parts(url)
    if parts is None:
        secret = _scp_password(url)
        return (secret,) if secret else ()
    hidden = {parts.rest.partition("?")[2].partition("#")[0]}
    if parts.userinfo is not None:
        user, colon, password = parts.userinfo.partition(":")
        hidden |= {parts.userinfo, password} if colon else {user} if _is_web(url) else set()
    hidden |= {unquote(text) for text in hidden}
    return tuple(sorted(filter(None, hidden), key=len, reverse=True))


def without_secrets(text: str, url: str) -> str:
    """Return what a program said about an address, with the address's secrets left out."""
    text = text.replace(url, shown(url))
    for secret in secrets_of(url):
        text = text.replace(secret, "***")
    return text
