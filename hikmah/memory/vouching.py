"""What others vouch for: a pin kept elsewhere, the head that a remote holds."""

from __future__ import annotations

from pathlib import Path

from hikmah.errors import HikmahError, IntegrityError
from hikmah.ledger.findings import Problem
from hikmah.ledger.tail import Required
from hikmah.memory import carrying
from hikmah.memory.desk import Desk
from hikmah.memory.trip import Trip
from hikmah.remotes.pin import read_pin
from hikmah.remotes.tracking import Tracking


def ask(
    desk: Desk,
    *,
    pin: Path | None,
    remote: str | None,
    trip: Trip | None,
    required: list[Required],
    outside: list[Problem],
) -> None:
    """Ask a pin and a remote what the history must hold, and note what they say.

    Raises:
        NotFoundError, DecodeError: No such pin, or remote.
        RemoteError: The remote is out of reach.
    """
    if pin is not None:
        _ask_pin(desk, pin, required, outside)
    if remote is not None:
        _ask_remote(desk, remote, trip or Trip(), required, outside)


def _ask_pin(desk: Desk, path: Path, required: list[Required], outside: list[Problem]) -> None:
    pin = read_pin(path)
    required.append(Required("pin", pin.commit, f"the pin of {path} at record {pin.seq},"))
    try:
        root = desk.ledger.tip(desk.head()).root
        mine = desk.ledger.genesis(root).ledger
    except HikmahError:  # what cannot be read is for the rest of the report to say
        return
    if mine != pin.ledger:
        text = f"{path} pins ledger {pin.ledger}, this is ledger {mine}"
        outside.append(Problem(code="pin", text=text))


def _ask_remote(
    desk: Desk, given: str, trip: Trip, required: list[Required], outside: list[Problem]
) -> None:
    remote = carrying.named(desk, given, trip)
    tracking = Tracking(desk.ledger, remote)
    verified, before = tracking.verified(), tracking.seen()
    there = carrying.way_to(desk, remote.url, trip).heads().get(desk.ledger.ref)
    if there is None:
        text = f"{remote.given} holds no {desk.ledger.ref}: nothing there vouches for this one"
        outside.append(Problem(code="remote", text=text))
    else:
        required.append(Required("remote", there, f"the head of {remote.given},"))
    if verified is not None and verified != there:
        required.append(Required("remote", verified, f"what was seen at {remote.given},"))
    if there is not None and desk.ledger.store.has(there):
        try:
            tracking.check_forward(there, desk.ledger.store.read, seen=before)
        except IntegrityError as e:
            outside.append(Problem(code="remote", text=e.message, commit=there))
