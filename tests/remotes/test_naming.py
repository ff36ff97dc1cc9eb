"""Names of remotes: what is meant, what is refused, what is never shown."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hikmah.errors import HikmahError, InvalidInputError, NotFoundError, RefusedError
from hikmah.remotes.naming import (
    Config,
    check_url,
    find_remote,
    secrets_of,
    shown,
    url_track,
    without_password,
    without_secrets,
)

ROOT = Path("/project")


def config(values: Mapping[tuple[str, str | None, str], Sequence[str]] | None = None) -> Config:
    """Return a configuration that holds these values."""
    return lambda section, sub, key: (values or {}).get((section, sub, key), ())


def remote(name: str, *urls: str, pushing: tuple[str, ...] = ()) -> Config:
    """Return a configuration with one remote."""
    return config({("remote", name, "url"): urls, ("remote", name, "pushurl"): pushing})


class TestFinding:
    """A name in git's configuration, or a URL."""

    def test_a_name_means_its_first_url(self) -> None:
        """The first URL is fetched from, and pushed to when no other is set for that."""
        found = find_remote("team", remote("team", "https://a/x", "https://b/x"), root=ROOT)
        assert (found.given, found.track) == ("team", "team")
        assert (found.url, found.push_url) == ("https://a/x", "https://a/x")

    def test_a_push_url_counts_for_pushing_alone(self) -> None:
        """Reading from a mirror and writing elsewhere is git's own arrangement."""
        settings = remote("team", "git://a/x", pushing=("ssh://b/x",))
        found = find_remote("team", settings, root=ROOT)
        assert (found.url, found.push_url) == ("git://a/x", "ssh://b/x")

    def test_each_of_two_addresses_is_followed_by_itself(self) -> None:
        """One may lag behind the other; a password makes no second address."""
        two = remote("team", "git://a/x", pushing=("ssh://b/x",))
        written = find_remote("team", two, root=ROOT).written()
        assert (written.given, written.track) == ("team", url_track("ssh://b/x"))
        assert written.url == written.push_url == "ssh://b/x"
        assert written.written() == written
        for pushing in ((), ("https://ann:pw@a/x",)):
            one = find_remote("team", remote("team", "https://ann@a/x", pushing=pushing), root=ROOT)
            assert one.written().track == "team"

    def test_without_a_name_the_configuration_decides(self) -> None:
        """`hikmah.remote` counts, the last value of it; without one it is `origin`."""
        values = {
            ("hikmah", None, "remote"): ("origin", "memory"),
            ("remote", "memory", "url"): ("/srv/memory.git",),
            ("remote", "origin", "url"): ("/srv/project.git",),
        }
        assert find_remote(None, config(values), root=ROOT).given == "memory"
        del values["hikmah", None, "remote"]
        assert find_remote(None, config(values), root=ROOT).given == "origin"

    def test_the_default_may_be_a_url(self) -> None:
        """A cloned ledger remembers where it came from without a named remote."""
        settings = config({("hikmah", None, "remote"): ("https://host/x",)})
        assert find_remote(None, settings, root=ROOT).url == "https://host/x"

    def test_a_missing_name_is_told_with_what_helps(self) -> None:
        """Neither a remote nor anything like an address."""
        with pytest.raises(NotFoundError, match="'team'") as caught:
            find_remote("team", config(), root=ROOT)
        assert "git remote" in caught.value.hint
        with pytest.raises(NotFoundError, match="none was named"):
            find_remote(None, config(), root=ROOT)

    def test_relative_paths_start_where_they_were_said(self) -> None:
        """In the configuration from the repository, on a command line from the working folder."""
        assert find_remote("up", remote("up", "../r.git"), root=ROOT).url == "/project/../r.git"
        said = find_remote("../r.git", config(), root=ROOT, cwd=Path("/home/ann"))
        assert said.url == "/home/ann/../r.git"

    @pytest.mark.parametrize("name", ["team", "a/b", "A.b_c-9"])
    def test_a_plain_name_stands_in_the_tracking_ref(self, name: str) -> None:
        """So that a fetch refspec of git's own leads to the same ref."""
        found = find_remote(name, remote(name, "/srv/x"), root=ROOT)
        assert found.tracking_ref("memory") == f"refs/hikmah-remotes/{name}/memory"

    @pytest.mark.parametrize("name", ["ünï", "a..b", "a.lock", "a/.b", "a//b", "x" * 200, "a@{b"])
    def test_a_name_that_no_ref_can_have_is_followed_by_its_url(self, name: str) -> None:
        """No tracking ref is built from what could escape its folder."""
        found = find_remote(name, remote(name, "/srv/x"), root=ROOT)
        assert found.track == url_track("/srv/x")

    def test_a_url_is_followed_by_its_hash(self) -> None:
        """`url-` and twelve digits of the SHA-256 of the URL."""
        url = "https://host/team.git"
        digits = hashlib.sha256(url.encode()).hexdigest()[:12]
        found = find_remote(url, config(), root=ROOT)
        assert found.tracking_ref("memory") == f"refs/hikmah-remotes/url-{digits}/memory"

    def test_a_path_is_one_remote_wherever_it_is_named_from(self, tmp_path: Path) -> None:
        """Otherwise a rewritten remote would pass unseen from another folder."""
        (tmp_path / "a" / "b").mkdir(parents=True)
        (tmp_path / "link").symlink_to(tmp_path / "r")
        said = [("../r", "a"), ("../../r", "a/b"), ("./r/", "."), ("./link", ".")]
        found = {
            find_remote(path, config(), root=ROOT, cwd=tmp_path / cwd).track for path, cwd in said
        }
        assert found == {url_track(str(tmp_path / "r"))}

    def test_a_new_password_is_the_same_remote(self) -> None:
        """Otherwise a rewritten remote would pass unseen whenever a token changes."""
        first, second = "https://ann:one@host/x", "https://ann:two@host/x"
        assert url_track(first) == url_track(second) == url_track("https://ann@host/x")
        assert url_track(first) != url_track("https://bob:one@host/x")

    def test_a_new_token_in_a_query_is_the_same_remote(self) -> None:
        """Neither name nor what is written down has it; what is fetched from has it still."""
        one, two = (f"https://host/x?access_token={token}" for token in ("one-7", "two-8"))
        assert url_track(one) == url_track(two) == url_track("https://host/x")
        found = find_remote(one, config(), root=ROOT)
        assert (found.url, found.kept) == (one, "https://host/x")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("ext::sh -c touch% pwned", RefusedError, id="runs a program"),
        pytest.param("fd::17", RefusedError, id="inherited handle"),
        pytest.param("hg::https://host/x", RefusedError, id="any helper"),
        pytest.param("ftp://host/x", RefusedError, id="transport nobody needs"),
        pytest.param("javascript://host/x", RefusedError, id="unknown scheme"),
        pytest.param("--upload-pack=touch pwned", InvalidInputError, id="an option"),
        pytest.param("-u", InvalidInputError, id="a short option"),
        pytest.param("ssh://-oProxyCommand=x/y", InvalidInputError, id="host is an option"),
        pytest.param("ssh://-oProxyCommand=x@h/y", InvalidInputError, id="user is an option"),
        pytest.param("ssh://ann@-oProxyCommand=x/y", InvalidInputError, id="host after user"),
        pytest.param("git://-h/y", InvalidInputError, id="git host is an option"),
        pytest.param("-oProxyCommand=x:y", InvalidInputError, id="scp host is an option"),
        pytest.param("ann@-oProxyCommand=x:y", InvalidInputError, id="scp host after user"),
        pytest.param("host:-x", InvalidInputError, id="scp path is an option"),
        pytest.param("https://ann:p/w@host/x", InvalidInputError, id="slash in a password"),
        pytest.param("https://ann:p?w@host/x", InvalidInputError, id="question in a password"),
        pytest.param("", InvalidInputError, id="nothing"),
        pytest.param("https://host/\n x", InvalidInputError, id="line end"),
        pytest.param("https://host/\x1b[31m", InvalidInputError, id="escape sequence"),
        pytest.param("https://host/" + "x" * 5000, InvalidInputError, id="endless"),
    ],
)
def test_what_could_run_a_program_is_refused(text: str, error: type[HikmahError]) -> None:
    """Given by hand, or standing in a configuration under a harmless name."""
    with pytest.raises(error):
        find_remote(text, config(), root=ROOT)
    if text:
        with pytest.raises(error):
            find_remote("team", remote("team", text), root=ROOT)


@pytest.mark.parametrize(
    "url",
    [
        "/srv/x.git",
        "./x",
        "../x y/ü.git",
        "file:///srv/x.git",
        "git://host/x",
        "http://host:8080/x",
        "https://ann:pw@host/x",
        "ssh://git@host:2222/x",
        "git@host:team/x.git",
        "host:x",
        "[::1]:x",
        "C:\\x",
    ],
)
def test_ordinary_addresses_pass(url: str) -> None:
    """Everything that git reaches without running a helper of somebody's own."""
    check_url(url)


SECRET_URLS = [
    pytest.param("https://ann:pw-9@host/x", "https://host/x", "https://ann@host/x", id="password"),
    pytest.param(
        "https://tok_0123456789abcdef@host/x", "https://host/x", "https://host/x", id="token"
    ),
    pytest.param("https://ann@host/x", "https://host/x", "https://ann@host/x", id="name alone"),
    pytest.param("https://:pw@host/x", "https://host/x", "https://host/x", id="no name"),
    pytest.param("https://a:p%40w@host/x", "https://host/x", "https://a@host/x", id="quoted"),
    pytest.param("https://a:p@q@host/x", "https://host/x", "https://a@host/x", id="two at signs"),
    pytest.param("ssh://git:pw@host/x", "ssh://git@host/x", "ssh://git@host/x", id="ssh"),
    pytest.param("https://host/x?key=1", "https://host/x", "https://host/x", id="query"),
    pytest.param("https://a@host/x?t=1#f", "https://host/x", "https://a@host/x", id="user, query"),
    pytest.param("file:///srv/x?y", "file:///srv/x", "file:///srv/x?y", id="path with a mark"),
    pytest.param("https://a:p?w@host/x", "https://host/x", "https://a@host/x", id="unquoted ?"),
    pytest.param("https://a:p/w#@host/x", "https://host/x", "https://a@host/x", id="unquoted /"),
    pytest.param("https://h:80/@x/y", "https://h:80/@x/y", "https://h:80/@x/y", id="at in path"),
    pytest.param("git@host:x", "git@host:x", "git@host:x", id="scp"),
    pytest.param("host:a/b@c", "host:a/b@c", "host:a/b@c", id="scp with at"),
    pytest.param("ann:tok-9@host/x", "ann:***@host/x", "ann:tok-9@host/x", id="scheme forgotten"),
    pytest.param("/srv/a@b:c", "/srv/a@b:c", "/srv/a@b:c", id="path"),
]


@pytest.mark.parametrize(("url", "seen", "kept"), SECRET_URLS)
def test_secrets_of_an_address_are_left_out(url: str, seen: str, kept: str) -> None:
    """What people see holds neither password nor token; what is kept holds no password."""
    assert shown(url) == seen
    assert without_password(url) == kept
    for secret in secrets_of(url):
        assert secret not in seen


def test_what_a_program_says_is_cleared_of_an_addresss_secrets() -> None:
    """Whole URLs, and a password or its decoded form by itself."""
    url = "https://ann:p%40w-9@host/x"
    said = f"fatal: unable to access '{url}/': p@w-9 and p%40w-9 for ann"
    assert without_secrets(said, url) == (
        "fatal: unable to access 'https://host/x/': *** and *** for ann"
    )


@pytest.mark.parametrize(
    ("url", "said", "seen"),
    [
        pytest.param(
            "https://ann:pw-9@host/x?key=k-17",
            "unable to access 'https://host/x?key=k-17/'",
            "unable to access 'https://host/x?***/'",
            id="query by itself",
        ),
        pytest.param(
            "ann:tok-9@host/x",
            "'tok-9@host/x' is no repository",
            "'***@host/x' is no repository",
            id="scheme forgotten",
        ),
        pytest.param(
            "ssh://git@host/x",
            "not a git repository at host",
            "not a git repository at host",
            id="a user's name is none",
        ),
    ],
)
def test_secrets_are_left_out_however_a_program_quotes_them(url: str, said: str, seen: str) -> None:
    """Git leaves out user and password itself, and then the rest is not the URL any more."""
    assert without_secrets(said, url) == seen


def test_a_refused_address_shows_no_password() -> None:
    """A password that was not encoded makes an address of another kind: told without it."""
    for url in ("https://ann:se/cret@host/x", "https://ann:se?cret@host", "ftp://a:se#cret@h"):
        with pytest.raises(HikmahError) as caught:
            check_url(url)
        assert "cret" not in str(caught.value.message + caught.value.hint + caught.value.where)
