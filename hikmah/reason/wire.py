"""Requests and replies as JSON text, as programs outside read and write them.

A reply is read strictly: a key that stands twice in one object, a number that is not finite
or a text that is not UTF-8 makes the whole reply malformed, since two readers could take it
for two different things.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from hikmah.model.records import canonical_json
from hikmah.reason.port import DecisionRequest, Malformed, Reply, request_id

_VERSION = re.compile(r"[A-Za-z0-9._+-]{1,64}")


class _TwiceError(ValueError):
    """A key stands twice in one object."""


def request_bytes(request: DecisionRequest) -> bytes:
    """Return the request as JSON, with its id beside it as `request_id`."""
    plain: dict[str, Any] = msgspec.to_builtins(request)
    return canonical_json({"request_id": request_id(request)} | plain)


def parse_reply(data: bytes) -> object:
    """Return a reply's JSON decoded; `Malformed`, with the reason, if it is none."""
    try:
        return json.loads(
            data.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_constant
        )
    except UnicodeDecodeError:
        return Malformed(why="not UTF-8")
    except _TwiceError:
        return Malformed(why="a key stands twice in one object")
    except RecursionError:
        return Malformed(why="nested too deeply")
    except ValueError:
        return Malformed(why="not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _TwiceError
    return found


def _no_constant(name: str) -> float:
    raise ValueError(name)


def versioned(body: object) -> Reply:
    """Return a reply with the version that the body names taken out of it."""
    if not isinstance(body, dict) or "version" not in body:
        return Reply(body=body)
    version = body["version"]
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        return Reply(body=Malformed(why="version is not 1 to 64 of A-Z a-z 0-9 . _ + -"))
    rest = {key: value for key, value in body.items() if key != "version"}
    return Reply(body=rest, version=version)
