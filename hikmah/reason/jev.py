"""The adapter to TypeSafe's Jev: the one module here that opens connections.

Rules the module keeps:

1. Nothing is imported or sent unless this engine was named and its key is set.
2. The key is in one header and nowhere else: not in a message, a log, a repr or a result. A
   reply that repeats it is malformed.
3. One budget bounds the whole call with its retries, name resolution and slow bodies too.
   429, 529 and 5xx are tried again after 250 and 500 ms, while that fits.
4. Any other failure carries the HTTP status and the `detail.error_type` that came with it,
   and none of the text.
5. Redirects are not followed, and without TLS it talks only to this machine.

The wire: `POST {base}/v1/systemone` with `{model, state, questions: {id: {type, instructions,
criteria?}}}`; the reply is `{model, answers: {id: {type, ...}}, usage}`.
"""

from __future__ import annotations

import ipaddress
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Struct

from hikmah.errors import EngineError, EngineSetupError
from hikmah.model import secrets
from hikmah.reason.budget import MAX_BUDGET_MS, budget_ms
from hikmah.reason.port import Choice, DecisionRequest, Malformed, Question, Reply, Score, kind_of
from hikmah.reason.port import request_id as id_of
from hikmah.reason.wire import parse_reply

if TYPE_CHECKING:
    import httpx

KEY_VARIABLE = "TYPESAFE_API_KEY"
URL_VARIABLE = "TYPESAFE_BASE_URL"
MODEL_VARIABLE = "HIKMAH_JEV_MODEL"
BUDGET_VARIABLE = "HIKMAH_JEV_TIMEOUT_MS"
DEFAULT_URL = "https://api.typesafe.ai"
DEFAULT_MODEL = "jev-latest"
DEFAULT_BUDGET_MS = 5_000
PAUSES_S = (0.25, 0.5)
MAX_REPLY_BYTES = 1024 * 1024
_TOO_MANY, _OVERLOADED, _SERVER_ERRORS = 429, 529, 500
_KEY = re.compile(r"[A-Za-z0-9!#$%&*+./:=?@^_~-]{1,512}")
_WORD = re.compile(r"[A-Za-z0-9._+-]{1,64}")
_ANSWER_FIELDS = frozenset({"choice", "score", "noul", "probabilities", "confidence"})


class Key:
    """A bearer key that does not print."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        """Return a placeholder."""
        return "[redacted]"

    def reveal(self) -> str:
        """Return the key itself, for the one header it belongs in."""
        return self._text


class Settings(Struct, frozen=True, kw_only=True):
    """Where to ask, as whom, which model, and for how long."""

    key: Key
    base_url: str = DEFAULT_URL
    model: str = DEFAULT_MODEL
    limit_ms: int = DEFAULT_BUDGET_MS


class _Response(NamedTuple):
    status: int
    content_type: str
    data: bytes


def settings_from(environ: Mapping[str, str], *, cap_ms: int = MAX_BUDGET_MS) -> Settings:
    """Read the settings from the environment.

    Raises:
        EngineSetupError: No key, or a key, address, model or budget that cannot be one.
    """
    key = environ.get(KEY_VARIABLE, "").strip()
    if not key:
        raise EngineSetupError(f"{KEY_VARIABLE} is not set", hint="set it to your API key")
    if not _KEY.fullmatch(key):
        raise EngineSetupError(f"{KEY_VARIABLE} holds characters that no key has")
    model = environ.get(MODEL_VARIABLE, "").strip() or DEFAULT_MODEL
    if not _WORD.fullmatch(model) or key in model:
        raise EngineSetupError(f"{MODEL_VARIABLE} is not a model's name")
    return Settings(
        key=Key(key),
        base_url=_base_url(environ.get(URL_VARIABLE, "").strip() or DEFAULT_URL),
        model=model,
        limit_ms=budget_ms(environ, BUDGET_VARIABLE, default=DEFAULT_BUDGET_MS, cap_ms=cap_ms),
    )


def _base_url(text: str) -> str:
    """Return an address without a slash at its end, if the key may be sent there."""
    refused = EngineSetupError(
        f"{URL_VARIABLE} is not an https address without user, query and fragment",
        hint="http is for this machine alone, such as http://127.0.0.1:8080",
    )
    try:
        url = urlsplit(text)
        _ = url.port
    except ValueError as e:
        raise refused from e
    plain = not (url.query or url.fragment or "@" in url.netloc)
    if plain and url.hostname and (url.scheme == "https" or _is_here(url)):
        return text.rstrip("/")
    raise refused


def _is_here(url: SplitResult) -> bool:
    """Tell whether an address is plain HTTP to this machine."""
    host = url.hostname or ""
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    return url.scheme == "http" and loopback


class JevEngine:
    """Asks Jev; `pause` waits between tries and is replaced in tests."""

    name = "jev"

    def __init__(
        self, settings: Settings, *, pause: Callable[[float], object] | None = None
    ) -> None:
        self._settings = settings
        self._pause = pause

    def __repr__(self) -> str:
        """Return the settings, the key redacted."""
        return f"JevEngine({self._settings!r})"

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str], *, cap_ms: int = MAX_BUDGET_MS
    ) -> JevEngine:
        """Set it up from the environment.

        Raises:
            EngineSetupError: The extra is not installed, or a setting is missing or wrong.
        """
        settings = settings_from(environ, cap_ms=cap_ms)
        try:
            import httpx  # noqa: F401
        except ImportError as e:
            raise EngineSetupError(
                "the jev engine needs httpx", hint="pip install 'hikmah[jev]'"
            ) from e
        return cls(settings)

    def answer(self, request: DecisionRequest) -> Reply:
        """Ask, try again where that helps, and return what came in the port's form.

        Raises:
            EngineError: No usable HTTP response within the budget.
        """
        # A thread, since no timeout of a socket bounds a name look-up or a body that drips.
        call = _Call(self._settings, _body(self._settings.model, request), self._pause)
        call.thread.start()
        call.thread.join(self._settings.limit_ms / 1000)
        response = call.result()
        return _reply(response, request, self._settings.key.reveal())


class _Call:
    """One exchange in a thread of its own, given up when its time is over."""

    def __init__(
        self, settings: Settings, body: bytes, pause: Callable[[float], object] | None
    ) -> None:
        self.thread = threading.Thread(target=self._run, name="hikmah-jev", daemon=True)
        self._settings = settings
        self._body = body
        self._over = threading.Event()
        self._pause = pause or self._over.wait
        self._ends_at = time.monotonic() + settings.limit_ms / 1000
        self._outcome: _Response | EngineError | None = None

    def result(self) -> _Response:
        """Return the response.

        Raises:
            EngineError: There is none, or it is no success.
        """
        self._over.set()
        outcome = self._outcome
        if outcome is None:
            raise EngineError(f"jev did not answer within {self._settings.limit_ms} ms")
        if isinstance(outcome, EngineError):
            raise outcome
        return outcome

    def _run(self) -> None:
        try:
            with _client(self._settings) as client:
                self._outcome = self._exchange(client)
        except EngineError as e:
            self._outcome = e
        except Exception as e:  # noqa: BLE001  # a thread has nobody else to tell
            self._outcome = EngineError(f"jev could not be reached: {type(e).__name__}")

    def _exchange(self, client: httpx.Client) -> _Response:
        url = f"{self._settings.base_url}/v1/systemone"
        response = self._post(client, url)
        for pause_s in PAUSES_S:
            if not _passing(response.status) or time.monotonic() + pause_s >= self._ends_at:
                break
            self._pause(pause_s)
            response = self._post(client, url)
        if not 200 <= response.status < 300:
            raise _failure(response, self._settings.key.reveal())
        return response

    def _post(self, client: httpx.Client, url: str) -> _Response:
        data = bytearray()
        with client.stream("POST", url, content=self._body) as response:
            for piece in response.iter_raw():
                data += piece
                if len(data) > MAX_REPLY_BYTES:
                    raise EngineError(
                        f"jev sent more than {MAX_REPLY_BYTES} bytes", status=response.status_code
                    )
                if self._over.is_set():
                    raise EngineError("jev was too slow", status=response.status_code)
            content_type = response.headers.get("content-type", "")
            return _Response(response.status_code, content_type, bytes(data))


def _client(settings: Settings) -> httpx.Client:
    """Return a client that trusts the system's certificates and its proxies, if any."""
    import httpx

    remote = settings.base_url.startswith("https:")
    return httpx.Client(
        headers={
            "Authorization": f"Bearer {settings.key.reveal()}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        },
        verify=ssl.create_default_context(),
        timeout=settings.limit_ms / 1000,
        follow_redirects=False,
        trust_env=remote,  # a proxy has no business between this machine and itself
    )


def _passing(status: int) -> bool:
    """Tell whether a failure may pass by itself."""
    return status in (_TOO_MANY, _OVERLOADED) or status >= _SERVER_ERRORS


def _failure(response: _Response, key: str) -> EngineError:
    """Return what a failed response amounts to: its status and its error type, if it has one."""
    parsed = parse_reply(response.data)
    detail = parsed.get("detail") if isinstance(parsed, dict) else None
    word = detail.get("error_type") if isinstance(detail, dict) else None
    if not isinstance(word, str) or not _WORD.fullmatch(word) or key in word or secrets.find(word):
        word = None
    told = f"HTTP {response.status}" + (f" ({word})" if word else "")
    return EngineError(f"jev answered {told}", status=response.status, error_type=word)


def _body(model: str, request: DecisionRequest) -> bytes:
    questions = {question.id: _asked(question) for question in request.questions}
    return msgspec.json.encode({"model": model, "state": request.state, "questions": questions})


def _asked(question: Question) -> dict[str, Any]:
    """Return a question in Jev's form; criteria are options, levels or what yes and no mean."""
    asked: dict[str, Any] = {"type": kind_of(question), "instructions": question.instructions}
    if isinstance(question, Choice):
        asked["criteria"] = question.options
    elif isinstance(question, Score):
        asked["criteria"] = list(question.levels)
    elif question.if_true is not None:
        asked["criteria"] = {"true": question.if_true, "false": question.if_false}
    return asked


def _reply(response: _Response, request: DecisionRequest, key: str) -> Reply:
    """Return Jev's response in the port's form; what it adds beyond that is left out."""
    media = response.content_type.partition(";")[0].strip().lower()
    if media != "application/json":
        return Reply(body=Malformed(why="the content type is not application/json"))
    parsed = parse_reply(response.data)
    if isinstance(parsed, Malformed):
        return Reply(body=parsed)
    if key in json.dumps(parsed, ensure_ascii=False):
        return Reply(body=Malformed(why="the response repeats the key"))
    if not isinstance(parsed, dict) or not isinstance(parsed.get("answers"), dict):
        return Reply(body=Malformed(why="the response has no answers"))
    answers = {name: _told(answer) for name, answer in parsed["answers"].items()}
    return Reply(body={"request_id": id_of(request), "answers": answers}, version=_version(parsed))


def _told(answer: object) -> object:
    if not isinstance(answer, dict):
        return answer
    known = {name: value for name, value in answer.items() if name in _ANSWER_FIELDS}
    return {"kind": answer.get("type")} | known


def _version(parsed: Mapping[str, Any]) -> str:
    model = parsed.get("model")
    if isinstance(model, str) and _WORD.fullmatch(model) and not secrets.find(model):
        return model.removeprefix("jev-") or "unknown"
    return "unknown"
