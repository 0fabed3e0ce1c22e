"""A client of Quipu for Python 3.9 and newer. It is one file and needs nothing but the standard library.

    import quipudb

    with quipudb.connect_store("http://127.0.0.1:7410") as store:
        talk = store.contexts.get_or_create("talks/1")
        store.contexts.append(talk.id, {"type": "chat.message", "payload": {"role": "user", "text": "hi"}})
        for turn in store.contexts.last(talk.id, 10).turns:
            print(turn.payload)

It speaks the HTTP API of ``quipu serve``. The names are those of the TypeScript library, in the spelling of Python.
Ids are ints. Times are milliseconds since 1970, unless a docstring says otherwise. Timeouts are in seconds.

A store may be used by many threads at once. Every error of a store is a ``QuipuError``: branch on its class or its
``code``. ``is_outcome_unknown(error)`` tells of a write that may have been carried out although it failed.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import hashlib
import http.client
import io
import json
import random
import re
import secrets
import socket
import ssl as _ssl
import threading
import time
import urllib.parse
from typing import Any, BinaryIO, Callable, Dict, Generator, Iterable, Iterator, List, Mapping, Optional, Sequence
from typing import Tuple, Type, TypeVar, Union

__all__ = [
    "BlobDetails", "BlobInfo", "Blobs", "Chat", "Chats", "ClosedError", "Context", "ContextPage", "Contexts",
    "CorruptError", "DiskFullError", "ExistsError", "ForbiddenError", "HeadMovedError", "IdempotencyConflictError",
    "InvalidError", "LockedError", "MessageStream", "MovedHead", "NotFoundError", "OpenTurn", "Patch", "Queue", "QueueEvent", "Queues",
    "QuipuError", "ReadOnlyError", "Session", "Sessions", "StorageError", "Store", "StoreEvent", "TimedOutError", "TooLargeError", "Turn",
    "TurnPage", "UnauthorizedError", "UnavailableError", "UnsupportedError", "Workflows", "connect_store", "is_outcome_unknown",
]

T = TypeVar("T")
IdLike = Union[int, str]
TimeLike = Union[int, float, datetime.datetime]
Json = Dict[str, Any]
Source = Union[bytes, bytearray, memoryview, BinaryIO, Iterable[bytes]]

#: Bytes that are read or sent at a time.
_PIECE = 65_536
#: The largest answer that is read into memory, unless ``connect_store`` is told otherwise.
_ANSWER_BYTES = 128 * 1024 * 1024
#: Values of one answer. Each may take a hundred bytes of memory, however few bytes it has in the answer.
_VALUES_MAX = 8_000_000
_ERROR_BYTES = 1024 * 1024
#: A body above this goes as bytes: the server takes 32 MiB of JSON.
_JSON_BODY_BYTES = 16 * 1024 * 1024
#: Payload bytes of one page; its cursor goes on from there.
_PAGE_BYTES = 32 * 1024 * 1024
#: The server closes a connection that was silent for 10 seconds, so one is used again only before that.
_IDLE_SECONDS = 5.0
_IDLE_CONNECTIONS = 8
#: A stream with nothing to tell sends a comment every 15 seconds. After this long the connection is lost.
_SILENCE_SECONDS = 45.0
#: How often a waiting stream looks whether it should end.
_LOOK_SECONDS = 0.25
_SAFE_INTEGER = 2**53 - 1


class QuipuError(Exception):
    """What went wrong: ``code`` is stable, ``data`` has the facts, the message is for people."""

    code: str = "UNSUPPORTED"

    def __init__(self, message: str, data: Optional[Json] = None, code: Optional[str] = None) -> None:
        super().__init__(message)
        self.message = message
        self.data: Json = data if data is not None else {}
        if code is not None:
            self.code = code


class NotFoundError(QuipuError):
    """Something was named that is not there."""

    code = "NOT_FOUND"


class HeadMovedError(QuipuError):
    """Somebody else was faster: the head is not the one that was expected. ``data["head"]`` is the head now."""

    code = "HEAD_MOVED"


class ExistsError(QuipuError):
    """The name or id has been taken."""

    code = "EXISTS"


class IdempotencyConflictError(QuipuError):
    """This key was used before, for other turns or details."""

    code = "IDEMPOTENCY_CONFLICT"


class InvalidError(QuipuError):
    """An argument is wrong; ``data["what"]`` names it."""

    code = "INVALID"


class TooLargeError(QuipuError):
    """Something is over its limit."""

    code = "TOO_LARGE"


class CorruptError(QuipuError):
    """Bytes on the server's disk are not those that were written."""

    code = "CORRUPT"


class DiskFullError(QuipuError):
    """The server has no room for the write."""

    code = "DISK_FULL"


class StorageError(QuipuError):
    """The operating system of the server refused a read or a write (code ``IO``)."""

    code = "IO"


class ClosedError(QuipuError):
    """The store was closed before this call."""

    code = "CLOSED"


class ReadOnlyError(QuipuError):
    """The server may not write to the store."""

    code = "READ_ONLY"


class LockedError(QuipuError):
    """Someone else holds it, such as a turn that is being streamed."""

    code = "LOCKED"


class UnauthorizedError(QuipuError):
    """There was no token, or one that the server does not know."""

    code = "UNAUTHORIZED"


class ForbiddenError(QuipuError):
    """The token does not allow this; ``data["scope"]`` says what would."""

    code = "FORBIDDEN"


class UnavailableError(QuipuError):
    """The server cannot be reached, is going away, or has too much to do."""

    code = "UNAVAILABLE"


class TimedOutError(QuipuError):
    """There was no answer in time (code ``TIMEOUT``)."""

    code = "TIMEOUT"


class UnsupportedError(QuipuError):
    """The server does not know this, or another program answered in its place."""

    code = "UNSUPPORTED"


_CLASSES: Dict[str, Type[QuipuError]] = {kind.code: kind for kind in QuipuError.__subclasses__()}
#: Another attempt may succeed.
_PASSING = frozenset(["UNAVAILABLE", "CLOSED", "TIMEOUT"])
#: What a proxy says while the server behind it is away.
_PASSING_STATUS = frozenset([408, 429, 502, 503, 504])


def is_outcome_unknown(error: BaseException) -> bool:
    """True when a request may have been carried out although it failed."""
    return isinstance(error, QuipuError) and error.data.get("outcome") == "unknown"


@dataclasses.dataclass(frozen=True)
class Context:
    """A movable head on the tree of turns, and what people say about it."""

    id: int
    head: int
    head_depth: int
    base: int
    open_turn: int
    flags: int
    created_at: int
    updated_at: int
    labels: List[str]
    name: Optional[str] = None
    title: Optional[str] = None
    kind: Optional[str] = None
    meta: Any = None


@dataclasses.dataclass(frozen=True)
class Turn:
    """A turn. ``payload`` is None when it was not asked for or is hidden; bytes are bytes."""

    id: int
    context: int
    parent: int
    depth: int
    type: str
    version: int
    encoding: Union[str, int]
    size: int
    created_at: int
    flags: int
    state: str
    payload_hash: Optional[str] = None
    outcome: Optional[str] = None
    patched: bool = False
    tombstone: bool = False
    reason: Optional[str] = None
    payload: Any = None
    #: The payload cannot be read in its encoding, and is given as its bytes.
    undecodable: bool = False


@dataclasses.dataclass(frozen=True)
class TurnPage:
    """Turns from older to newer. ``cursor`` goes into ``before``, ``next_depth`` into ``range``."""

    turns: List[Turn]
    head_depth: int
    cursor: Optional[int] = None
    next_depth: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class ContextPage:
    """Contexts, and the ``cursor`` of the next page if there is one."""

    items: List[Context]
    cursor: Optional[str] = None
    total: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class MovedHead:
    """The head was moved without a new turn: the turns after ``back_to`` (0: all) do not lead to it any more."""

    back_to: int
    depth: int


@dataclasses.dataclass(frozen=True)
class Patch:
    """A new payload over a sealed turn, or a tombstone."""

    seq: int
    turn: int
    tombstone: bool
    encoding: Union[str, int]
    payload_hash: str
    size: int
    created_at: int


@dataclasses.dataclass(frozen=True)
class BlobInfo:
    """What ``put`` stored. ``existed``: the same bytes were there before."""

    hash: str
    size: int
    stored_size: int
    existed: bool
    sha256: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class BlobDetails:
    """The name and the size of a blob."""

    hash: str
    size: int


@dataclasses.dataclass(frozen=True)
class QueueEvent:
    """An event of a queue. ``created_at`` is ISO 8601."""

    id: int
    created_at: str
    source: str
    type: str
    content: str
    subtype: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class StoreEvent:
    """Something that happened. ``id`` goes into ``after``; it is None for events that are no place to go on from."""

    kind: str
    data: Any
    id: Optional[str] = None


def connect_store(
    url: str,
    *,
    token: Optional[str] = None,
    timeout: float = 30.0,
    ca: Optional[Union[str, bytes]] = None,
    max_answer_bytes: int = _ANSWER_BYTES,
) -> Store:
    """Connects to ``quipu serve`` at ``http://host:port`` or ``https://host:port``.

    ``token`` says who you are. ``timeout`` is for one request with all its attempts. ``ca`` has the certificates to
    trust instead of the system's: a file name, or PEM as text or bytes. A larger answer than ``max_answer_bytes`` is
    TOO_LARGE, and is not read. One attempt is made: a wrong address is UNAVAILABLE at once, a wrong token UNAUTHORIZED.
    """
    store = Store(_Asker(url, token, timeout, ca, max_answer_bytes))
    try:
        store._asker.json("GET", "/v1/me", attempts=1)
    except BaseException:
        store.close()
        raise
    return store


class Store:
    """A store on a server. Made by ``connect_store``; use it in a ``with`` statement, or close it."""

    def __init__(self, asker: _Asker) -> None:
        self._asker = asker
        self.contexts = Contexts(asker)
        self.blobs = Blobs(asker)
        self.chats = Chats(asker)
        self.queues = Queues(asker)
        self.sessions = Sessions(asker)
        self.workflows = Workflows(asker)

    def search(
        self,
        query: str,
        *,
        order: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        group: Optional[bool] = None,
        facets: Optional[bool] = None,
        around: Optional[int] = None,
        wait_ms: Optional[int] = None,
        time_ms: Optional[int] = None,
    ) -> Json:
        """Finds what was ever said in any thread. The answer is that of the reference: ``hits``, ``matches``, …"""
        asked = {"q": query, "order": order, "limit": limit, "cursor": cursor, "group": group, "facets": facets}
        more = {"around": around, "waitMs": wait_ms, "timeMs": time_ms}
        return self._asker.json("GET", "/v1/search", query={**asked, **more})

    def watch(
        self,
        *,
        context: Optional[IdLike] = None,
        kinds: Optional[Sequence[str]] = None,
        after: Optional[str] = None,
        stop: Optional[threading.Event] = None,
    ) -> Generator[StoreEvent, None, None]:
        """Everything that happens in the store, from now on or after an event that was seen before."""
        query = {"context": _opt_id(context, "context"), "kinds": ",".join(kinds) if kinds else None}
        return self._asker.events("/v1/events", query=query, after=after, stop=stop)

    def stats(self) -> Json:
        """Counts, sizes and damage."""
        return self._asker.json("GET", "/v1/stats")

    def close(self) -> None:
        """Ends every ``follow`` and ``watch``. Later calls are CLOSED. Closing twice is fine."""
        self._asker.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Contexts:
    """Turns and contexts. A result that a writing call returned survives a power cut of the server."""

    def __init__(self, asker: _Asker) -> None:
        self._asker = asker

    def create(
        self,
        *,
        name: Optional[str] = None,
        title: Optional[str] = None,
        kind: Optional[str] = None,
        labels: Optional[Sequence[str]] = None,
        meta: Any = None,
        base: Optional[IdLike] = None,
        idempotency_key: Optional[str] = None,
    ) -> Context:
        """A new context, empty or at the turn ``base``. Sent again after a lost connection only with a key."""
        body = _details(name, title, kind, labels, meta)
        body["base"] = _opt_id(base, "base")
        return self._made("/v1/contexts", body, idempotency_key)

    def fork(
        self,
        turn: IdLike,
        *,
        name: Optional[str] = None,
        title: Optional[str] = None,
        kind: Optional[str] = None,
        labels: Optional[Sequence[str]] = None,
        meta: Any = None,
        idempotency_key: Optional[str] = None,
    ) -> Context:
        """A new context whose head is ``turn``. Nothing is copied."""
        path = f"/v1/turns/{_id(turn, 'turn')}/fork"
        return self._made(path, _details(name, title, kind, labels, meta), idempotency_key)

    def get(self, id: IdLike) -> Optional[Context]:
        """The context, or None."""
        return _or_none(lambda: _make(Context, self._asker.json("GET", f"/v1/contexts/{_id(id, 'context')}")))

    def by_name(self, name: str) -> Optional[Context]:
        """The context with this name, or None."""
        ask = lambda: self._asker.json("GET", "/v1/contexts/by-name", query={"name": name})  # noqa: E731
        return _or_none(lambda: _make(Context, ask()))

    def get_or_create(
        self,
        name: str,
        *,
        title: Optional[str] = None,
        kind: Optional[str] = None,
        labels: Optional[Sequence[str]] = None,
        meta: Any = None,
        base: Optional[IdLike] = None,
    ) -> Context:
        """The context with this name. If there is none, it is made with these details, once for all who ask."""
        body = {**_details(None, title, kind, labels, meta), "base": _opt_id(base, "base")}
        answer = self._asker.json("PUT", "/v1/contexts/by-name", query={"name": name}, body=_given(body))
        return _make(Context, answer)

    def rename(self, id: IdLike, name: Optional[str]) -> Context:
        """Gives the context another name, or none."""
        path = f"/v1/contexts/{_id(id, 'context')}/name"
        return _make(Context, self._asker.json("PUT", path, body={"name": name}, repeatable=False))

    def move_head(self, id: IdLike, head: IdLike, *, expected_head: Optional[IdLike] = None) -> Context:
        """Moves the head to any turn, or to none with 0, without a new turn."""
        path = f"/v1/contexts/{_id(id, 'context')}/head"
        headers = _conditions(expected_head, None)
        body = {"head": _id(head, "head", zero=True)}
        return _make(Context, self._asker.json("PUT", path, body=body, headers=headers, repeatable=False))

    def list(
        self,
        *,
        label: Optional[str] = None,
        kind: Optional[str] = None,
        name_prefix: Optional[str] = None,
        meta: Optional[Mapping[str, Any]] = None,
        created_since: Optional[TimeLike] = None,
        created_until: Optional[TimeLike] = None,
        updated_since: Optional[TimeLike] = None,
        updated_until: Optional[TimeLike] = None,
        count: Optional[bool] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> ContextPage:
        """Contexts, most recently used first. Times are datetimes, or milliseconds since 1970."""
        query = {
            "label": label,
            "kind": kind,
            "namePrefix": name_prefix,
            "meta": None if meta is None else _to_json(meta, "meta").decode(),
            "createdSince": _ms(created_since),
            "createdUntil": _ms(created_until),
            "updatedSince": _ms(updated_since),
            "updatedUntil": _ms(updated_until),
            "count": count,
            "limit": limit,
            "cursor": cursor,
        }
        page = self._asker.json("GET", "/v1/contexts", query=query)
        return ContextPage(_make_all(Context, page, "items"), page.get("cursor"), page.get("total"))

    def update(self, id: IdLike, **change: Any) -> Context:
        """Changes ``title``, ``kind``, ``labels`` or ``meta``; None removes a field, the rest stay."""
        unknown = set(change) - {"title", "kind", "labels", "meta"}
        if unknown:
            raise TypeError(f"update() has no field {sorted(unknown)[0]!r}")
        path = f"/v1/contexts/{_id(id, 'context')}"
        return _make(Context, self._asker.json("PATCH", path, body=change, repeatable=False))

    def remove(self, id: IdLike) -> None:
        """Removes the context and frees its name. Turns that a fork or a pin leads to stay."""
        self._asker.json("DELETE", f"/v1/contexts/{_id(id, 'context')}", repeatable=False)

    def append(
        self,
        id: IdLike,
        turn: Mapping[str, Any],
        *,
        parent: Optional[IdLike] = None,
        expected_head: Optional[IdLike] = None,
        idempotency_key: Optional[str] = None,
    ) -> Turn:
        """Appends ``{"type": …, "payload": …}``, with ``version`` and ``encoding`` if you like.

        A payload of bytes is stored as ``bytes``, any other as JSON; with ``"encoding": "text"`` a str is plain text.
        The call is sent again when the connection is lost, and counts once: it carries a key, yours or a new one.
        ``expected_head`` must be the head, 0 for an empty context, else the call is HEAD_MOVED.
        """
        path = f"/v1/contexts/{_id(id, 'context')}/turns"
        headers = _conditions(expected_head, _new_key(idempotency_key))
        content, kind, named = _as_body(turn)
        query = {"parent": _opt_id(parent, "parent", zero=True), **named}
        answer = self._asker.json("POST", path, query=query, raw=content, content_type=kind, headers=headers)
        return _to_turn(answer)

    def append_batch(
        self,
        id: IdLike,
        turns: Sequence[Mapping[str, Any]],
        *,
        parent: Optional[IdLike] = None,
        expected_head: Optional[IdLike] = None,
        idempotency_key: Optional[str] = None,
    ) -> List[Turn]:
        """Appends all turns or none, as one chain and with one sync. Conditions are about the first."""
        path = f"/v1/contexts/{_id(id, 'context')}/turns"
        query = {"parent": _opt_id(parent, "parent", zero=True)}
        headers = _conditions(expected_head, _new_key(idempotency_key))
        body = {"turns": [_to_new_turn(turn) for turn in turns]}
        return _turns_of(self._asker.json("POST", path, query=query, body=body, headers=headers))

    def last(
        self,
        id: IdLike,
        n: int = 50,
        *,
        payload: Union[bool, int] = True,
        as_of: Union[None, str, int] = None,
        max_bytes: int = _PAGE_BYTES,
    ) -> TurnPage:
        """The newest ``n`` turns up to the head. ``payload``: False leaves payloads out, a number large ones.

        ``as_of`` is "latest", "original" or the number of a patch: which patches are in force.
        """
        return self._page(id, {"limit": n}, payload, as_of, max_bytes)

    def before(
        self,
        id: IdLike,
        turn: IdLike,
        n: int = 50,
        *,
        payload: Union[bool, int] = True,
        as_of: Union[None, str, int] = None,
        max_bytes: int = _PAGE_BYTES,
    ) -> TurnPage:
        """The ``n`` turns before ``turn``. The cursor of a page goes here."""
        return self._page(id, {"limit": n, "before": _id(turn, "turn")}, payload, as_of, max_bytes)

    def range(
        self,
        id: IdLike,
        from_depth: int,
        to_depth: int,
        *,
        payload: Union[bool, int] = True,
        as_of: Union[None, str, int] = None,
        max_bytes: int = _PAGE_BYTES,
    ) -> TurnPage:
        """Turns with ``from_depth <= depth < to_depth`` on the way to the head."""
        return self._page(id, {"from": from_depth, "to": to_depth}, payload, as_of, max_bytes)

    def turn(
        self, turn: IdLike, *, payload: Union[bool, int] = True, as_of: Union[None, str, int] = None
    ) -> Optional[Turn]:
        """One turn, or None."""
        query = {"payload": payload, "as": as_of}
        return _or_none(lambda: _to_turn(self._asker.json("GET", f"/v1/turns/{_id(turn, 'turn')}", query=query)))

    def chain(
        self, turn: IdLike, *, payload: Union[bool, int] = True, as_of: Union[None, str, int] = None
    ) -> Generator[Turn, None, None]:
        """Every turn from the root to ``turn``, one at a time, however long the chain is."""
        path, query = f"/v1/turns/{_id(turn, 'turn')}/chain", {"payload": payload, "as": as_of}
        for line in self._asker.lines(path, query):
            yield _to_turn(_parse(line))

    def diff(self, a: IdLike, b: IdLike) -> Json:
        """Where two turns part: ``base``, and the turns after it on either side, ``left`` and ``right``, as ints."""
        found = self._asker.json("GET", f"/v1/turns/{_id(a, 'turn')}/diff/{_id(b, 'turn')}")
        sides = {side: [_to_int(id) for id in found.get(side, [])] for side in ("left", "right")}
        return {"base": _to_int(found["base"]) if "base" in found else None, **sides}

    def open(
        self,
        id: IdLike,
        turn: Mapping[str, Any],
        *,
        parent: Optional[IdLike] = None,
        expected_head: Optional[IdLike] = None,
    ) -> OpenTurn:
        """Opens a turn to stream into: ``{"type": …}``, with ``encoding`` "text" (default) or "bytes"."""
        body = {**_header_of(turn), "parent": _opt_id(parent, "parent", zero=True)}
        path, headers = f"/v1/contexts/{_id(id, 'context')}/open", _conditions(expected_head, None)
        answer = self._asker.json("POST", path, body=_given(body), headers=headers, repeatable=False)
        return OpenTurn(self._asker, _to_turn(answer).id, 0)

    def resume(self, turn: IdLike) -> OpenTurn:
        """A handle on a turn that is open already, going on after its last durable byte."""
        found = self.turn(turn, payload=False)
        if found is None:
            raise NotFoundError(f"there is no turn {turn}", {"what": "turn", "id": str(turn)})
        if found.state != "open":
            raise InvalidError(f"turn {turn} is sealed already", {"what": "turn"})
        return OpenTurn(self._asker, found.id, found.size)

    def follow(
        self,
        id: IdLike,
        *,
        after: Union[None, int, str] = None,
        moves: bool = False,
        open_turns: bool = False,
        payload: Union[bool, int] = True,
        as_of: Union[None, str, int] = None,
        stop: Optional[threading.Event] = None,
    ) -> Generator[Union[Turn, MovedHead], None, None]:
        """Existing turns, then new ones, without a gap and without a repetition, also when the server was restarted.

        ``after`` is the last turn that you have; "head" begins now. With ``moves`` a ``MovedHead`` tells that the head
        went back. The iteration ends when the context is removed, when ``stop`` is set, and when the store is closed.
        """
        path = f"/v1/contexts/{_id(id, 'context')}/events"
        place = after if after is None or after == "head" else _id(after, "after", zero=True)
        query = {"payload": payload, "as": as_of, "open": True if open_turns else None}
        for event in self._asker.events(path, query=query, after=place, stop=stop):
            if event.kind in ("turn", "open"):
                yield _to_turn(event.data)
            elif event.kind == "moved" and moves:
                yield _make(MovedHead, event.data)

    def follow_open(
        self, turn: IdLike, *, after: int = 0, stop: Optional[threading.Event] = None
    ) -> Generator[bytes, None, None]:
        """The bytes of an open turn: those there, then new ones, until the turn is sealed."""
        path = f"/v1/turns/{_id(turn, 'turn')}/events"
        for event in self._asker.events(path, after=str(after), stop=stop):
            if event.kind == "delta":
                yield _from_base64(event.data)

    def patch(
        self,
        turn: IdLike,
        payload: Any,
        *,
        encoding: Optional[str] = None,
        expected_seq: Optional[int] = None,
    ) -> Patch:
        """Lays a new payload over a sealed turn."""
        body = {**_payload_field(payload), **_given({"encoding": encoding, "expectedSeq": expected_seq})}
        path = f"/v1/turns/{_id(turn, 'turn')}/patches"
        return _make(Patch, self._asker.json("POST", path, body=body, repeatable=False))

    def tombstone(self, turn: IdLike, reason: str, *, expected_seq: Optional[int] = None) -> Patch:
        """Hides the payload of a sealed turn."""
        body = _given({"reason": reason, "expectedSeq": expected_seq})
        path = f"/v1/turns/{_id(turn, 'turn')}/tombstone"
        return _make(Patch, self._asker.json("POST", path, body=body, repeatable=False))

    def patches(self, turn: IdLike) -> List[Patch]:
        """All patches on a turn, oldest first."""
        return _make_all(Patch, self._asker.json("GET", f"/v1/turns/{_id(turn, 'turn')}/patches"), "patches")

    def erase(self, turn: IdLike, *, reason: str, everywhere: Optional[bool] = None) -> Json:
        """Removes the bytes of a turn for good (scope ``admin``). ``erased`` is false when others use them."""
        body = _given({"reason": reason, "everywhere": everywhere})
        return self._asker.json("POST", f"/v1/turns/{_id(turn, 'turn')}/erase", body=body, repeatable=False)

    def pin(self, turn: IdLike, *, reason: Optional[str] = None) -> None:
        """Keeps the turn and all before it when garbage is collected."""
        self._asker.json("PUT", f"/v1/turns/{_id(turn, 'turn')}/pin", body=_given({"reason": reason}))

    def unpin(self, turn: IdLike) -> None:
        """Lets a pinned turn go."""
        self._asker.json("DELETE", f"/v1/turns/{_id(turn, 'turn')}/pin", repeatable=False)

    def pins(self) -> List[Json]:
        """Pinned turns: ``{"turn": 7, "reason": …}``."""
        pins = _list_of(self._asker.json("GET", "/v1/pins"), "pins")
        return [{**pin, "turn": _to_int(pin.get("turn"))} for pin in pins]

    def _made(self, path: str, details: Json, key: Optional[str]) -> Context:
        headers = _conditions(None, key)
        body = _given(details)
        return _make(Context, self._asker.json("POST", path, body=body, headers=headers, repeatable=key is not None))

    def _page(
        self, id: IdLike, which: Json, payload: Union[bool, int], as_of: Union[None, str, int], max_bytes: int
    ) -> TurnPage:
        path = f"/v1/contexts/{_id(id, 'context')}/turns"
        page = self._asker.json("GET", path, query={**which, "payload": payload, "as": as_of, "maxBytes": max_bytes})
        cursor = page.get("cursor")
        at = None if cursor is None else _to_int(cursor)
        return TurnPage(_turns_of(page), _to_int(page.get("headDepth")), at, page.get("nextDepth"))


class OpenTurn:
    """A turn that is being written. In a ``with`` statement it is sealed at the end, and aborted by an exception."""

    #: Pieces gather for this long, or up to this many bytes, so that a stream makes few commits.
    _GATHER_SECONDS = 0.05
    _GATHER_BYTES = 65_536

    def __init__(self, asker: _Asker, id: int, size: int) -> None:
        self.id = id
        #: Bytes that would survive a power cut.
        self.acknowledged_bytes = size
        self._asker = asker
        self._waiting = bytearray()
        self._sent_at = 0.0
        self._ended = False

    def write(self, piece: Union[str, bytes]) -> None:
        """Adds to the turn. ``flush`` makes sure that everything written is durable."""
        self._waiting += piece.encode() if isinstance(piece, str) else piece
        due = time.monotonic() - self._sent_at >= self._GATHER_SECONDS
        if due or len(self._waiting) >= self._GATHER_BYTES:
            self.flush()

    def flush(self) -> None:
        """Returns when everything written so far would survive a power cut."""
        if not self._waiting:
            return
        piece = bytes(self._waiting)
        # Sent twice with the same offset they are added once.
        query = {"offset": self.acknowledged_bytes}
        answer = self._asker.json("POST", f"/v1/turns/{self.id}/delta", query=query, raw=piece)
        self.acknowledged_bytes = _to_int(answer.get("size"))
        del self._waiting[: len(piece)]
        self._sent_at = time.monotonic()

    def seal(self) -> Turn:
        """Makes everything written the payload, and the turn the head of its context."""
        return self._end({})

    def abort(self, reason: str) -> Turn:
        """Like ``seal``, but the turn records that it is incomplete, and why."""
        return self._end({"abort": reason[:1000] or "aborted"})

    def _end(self, body: Json) -> Turn:
        self.flush()
        answer = self._asker.json("POST", f"/v1/turns/{self.id}/seal", body=body, repeatable=False)
        self._ended = True
        return _to_turn(answer)

    def __enter__(self) -> OpenTurn:
        return self

    def __exit__(self, kind: Optional[type], error: Optional[BaseException], _: object) -> None:
        if self._ended:
            return
        if error is None:
            self.seal()
        elif not isinstance(error, (UnavailableError, TimedOutError)):
            self.abort(str(error) or type(error).__name__)


class Blobs:
    """Immutable bytes by content. A reference is the hash, ``b3:<hash>`` or ``blob:sha256:<hash>``."""

    def __init__(self, asker: _Asker) -> None:
        self._asker = asker

    def put(self, source: Source, *, sha256: bool = False) -> BlobInfo:
        """Stores bytes, a binary file, or an iterable of bytes, which may be larger than memory.

        Bytes, and files that can seek, are sent again when the connection is lost. ``sha256`` also names the blob by
        its SHA-256, so that ``get`` can check it.
        """
        query = {"sha256": True if sha256 else None}
        return _make(BlobInfo, self._asker.upload("/v1/blobs", query, source))

    def get(self, ref: str) -> Optional[bytes]:
        """The bytes, or None. More than ``max_answer_bytes`` are TOO_LARGE: use ``stream``."""
        limit, whole = self._asker.max_answer_bytes, bytearray()
        try:
            for piece in self.stream(ref):
                if len(whole) + len(piece) > limit:
                    raise _too_large("blob", limit, "read it with blobs.stream")
                whole += piece
        except NotFoundError:
            return None
        return bytes(whole)

    def has(self, ref: str) -> bool:
        """True when the blob is there."""
        return self.stat(ref) is not None

    def stat(self, ref: str) -> Optional[BlobDetails]:
        """The name and the size, or None."""
        try:
            headers = self._asker.head(f"/v1/blobs/{_segment(ref, 'ref')}")
        except NotFoundError:
            return None
        return BlobDetails(headers.get("ETag", "").strip('"'), _to_int(headers.get("Content-Length")))

    def stream(
        self, ref: str, *, start: int = 0, end: Optional[int] = None
    ) -> Generator[bytes, None, None]:
        """The bytes from ``start`` up to ``end``, in pieces. Goes on where it was when the connection is lost.

        The whole of a blob that is named by its SHA-256 is checked; CORRUPT comes at its end.
        """
        whole = start == 0 and end is None
        digest = hashlib.sha256() if whole and ref.startswith("blob:sha256:") else None
        for piece in self._asker.download(f"/v1/blobs/{_segment(ref, 'ref')}", start, end):
            if digest is not None:
                digest.update(piece)
            yield piece
        if digest is not None and digest.hexdigest() != ref[len("blob:sha256:"):]:
            raise CorruptError(f"the bytes that came are not {ref}", {"file": ref, "offset": 0})

    def erase(self, ref: str, *, reason: str, everywhere: Optional[bool] = None) -> Json:
        """Removes the bytes for good (scope ``admin``). ``erased`` is false when others use them."""
        body = _given({"reason": reason, "everywhere": everywhere})
        return self._asker.json("POST", f"/v1/blobs/{_segment(ref, 'ref')}/erase", body=body, repeatable=False)


class Chats:
    """Conversations with branches, attachments and questions. Values are dicts, as the HTTP reference has them."""

    def __init__(self, asker: _Asker) -> None:
        self._asker = asker

    def create(
        self, *, id: Optional[str] = None, title: Optional[str] = None, pinned: Optional[bool] = None
    ) -> Chat:
        """Begins a chat. With an ``id`` that is taken it is EXISTS."""
        body = _given({"id": id, "title": title, "pinned": pinned})
        return Chat(self._asker, _text_of(self._asker.json("POST", "/v1/chats", body=body, repeatable=False), "id"))

    def open(self, id: str) -> Chat:
        """The chat with this id; NOT_FOUND if there is none."""
        chat = Chat(self._asker, id)
        chat.status()
        return chat

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Json:
        """``items`` by id, and a ``cursor`` when more may follow."""
        return self._asker.json("GET", "/v1/chats", query={"limit": limit, "cursor": cursor})

    def remove(self, id: str) -> None:
        """Removes a chat."""
        self._asker.json("DELETE", f"/v1/chats/{_segment(id, 'id')}", repeatable=False)


class Chat:
    """One chat. Times in its answers are ISO 8601."""

    def __init__(self, asker: _Asker, id: str) -> None:
        self.id = id
        self._asker = asker
        self._path = f"/v1/chats/{_segment(id, 'id')}"

    def status(self) -> Json:
        """Title, counts, usage, branches, and the questions that wait for answers."""
        return self._asker.json("GET", self._path)

    def update(self, *, title: Optional[str] = None, pinned: Optional[bool] = None) -> Json:
        """Another title, or pins the chat."""
        return self._write("PATCH", "", _given({"title": title, "pinned": pinned}))

    def add(
        self,
        message: Mapping[str, Any],
        *,
        expected_seq: Optional[int] = None,
    ) -> Json:
        """Says something: ``{"role": …, "content": …}``, with ``branch``, ``id``, ``model`` and ``usage`` if known.

        It is sent once. Give it an ``id`` to try again safely: EXISTS then says that the first try arrived.
        """
        return self._write("POST", "/messages", dict(message), {"expectedSeq": expected_seq})

    def append(self, events: Sequence[Mapping[str, Any]], *, expected_seq: Optional[int] = None) -> List[Json]:
        """Appends events of any type, all or none."""
        body = {"events": [dict(event) for event in events]}
        return _list_of(self._write("POST", "/log", body, {"expectedSeq": expected_seq}), "events")

    def messages(
        self, *, branch: Optional[str] = None, before: Optional[int] = None, limit: Optional[int] = None
    ) -> Json:
        """The newest ``messages`` of a branch, in order; ``before`` leads to the page before."""
        query = {"branch": branch, "before": before, "limit": limit}
        return self._asker.json("GET", f"{self._path}/messages", query=query)

    def message(self, message: str) -> Optional[Json]:
        """One message, or None."""
        return _or_none(lambda: self._asker.json("GET", f"{self._path}/messages/{_segment(message, 'message')}"))

    def search(
        self, text: str, *, branch: Optional[str] = None, before: Optional[int] = None, limit: Optional[int] = None
    ) -> Json:
        """Messages by their text, newest first."""
        query = {"text": text, "branch": branch, "before": before, "limit": limit}
        return self._asker.json("GET", f"{self._path}/search", query=query)

    def stream(self, message: Mapping[str, Any]) -> MessageStream:
        """Begins a message that comes in pieces: ``{"role": …}``, with ``branch``, ``id`` and ``model`` if known.

        Nothing is written before the first text. With an ``id`` that is taken it is EXISTS.
        """
        unknown = set(message) - {"role", "branch", "id", "model"}
        if unknown or not isinstance(message.get("role"), str):
            problem = f"has no field {sorted(unknown)[0]!r}" if unknown else 'needs a "role"'
            raise InvalidError(f"message {problem}", {"what": "message"})
        id = message.get("id")
        if id is not None and self.message(id) is not None:
            raise ExistsError(f"there is a message {id}", {"what": "message", "id": id})
        return MessageStream(self, {**message, "id": id or secrets.token_hex(12)}, "")

    def resume(self, message: str) -> MessageStream:
        """Goes on with a message that was begun and not completed; INVALID when it is complete."""
        found = self.message(message)
        if found is None:
            raise NotFoundError(f"there is no message {message}", {"what": "message", "id": message})
        if found.get("state") != "streaming":
            raise InvalidError(f"message {message} is complete; use edit to change its text", {"what": "message"})
        text = _text_of(found, "content")
        return MessageStream(self, {"id": message, "role": found.get("role"), "branch": found.get("branch")}, text)

    def edit(self, message: str, content: str) -> Json:
        """Gives a message another text; the first one stays in the log."""
        return self._write("PUT", f"/messages/{_segment(message, 'message')}", {"content": content})

    def complete(
        self, message: str, content: Optional[str] = None, *, interrupted: Optional[bool] = None
    ) -> Json:
        """Ends a message that was begun and not completed."""
        body = _given({"content": content, "interrupted": interrupted})
        return self._write("POST", f"/messages/{_segment(message, 'message')}/complete", body)

    def redact(self, message: str, *, reason: str, erase: Optional[bool] = None) -> Json:
        """Hides a message; with ``erase`` (scope ``admin``) its text is removed from the store."""
        body = _given({"reason": reason, "erase": erase})
        return self._write("POST", f"/messages/{_segment(message, 'message')}/redact", body)

    def fork(self, message: str, *, branch: Optional[str] = None, before: Optional[bool] = None) -> str:
        """A branch that goes on after a message, or before it. Returns its name."""
        body = _given({"branch": branch, "before": before})
        return _text_of(self._write("POST", f"/messages/{_segment(message, 'message')}/fork", body), "branch")

    def attach(
        self,
        source: Source,
        *,
        name: str,
        media_type: Optional[str] = None,
        message: Optional[str] = None,
        artifact: Optional[bool] = None,
        call: Optional[str] = None,
    ) -> Json:
        """Attaches bytes, a binary file, or an iterable of bytes. It is sent once."""
        query = {"name": name, "message": message, "artifact": artifact, "call": call}
        kind = media_type or "application/octet-stream"
        path = f"{self._path}/attachments"
        return self._asker.upload(path, query, source, content_type=kind, repeatable=False)

    def ask(
        self, questions: Sequence[Mapping[str, Any]], *, id: Optional[str] = None, title: Optional[str] = None
    ) -> str:
        """Opens a batch of questions. Returns its id."""
        body = _given({"questions": [dict(question) for question in questions], "id": id, "title": title})
        return _text_of(self._write("POST", "/clarifications", body), "batch")

    def answer(self, batch: str, answers: Sequence[Mapping[str, Any]]) -> Json:
        """Answers every question of a batch: ``[{"question_id": …, "value": …}]``."""
        body = {"answers": [dict(answer) for answer in answers]}
        return self._write("POST", f"/clarifications/{_segment(batch, 'batch')}/answer", body)

    def dismiss(self, batch: str, reason: Optional[str] = None) -> Json:
        """Closes a batch without answers."""
        return self._write("POST", f"/clarifications/{_segment(batch, 'batch')}/dismiss", _given({"reason": reason}))

    def clarifications(self, *, before: Optional[int] = None, limit: Optional[int] = None) -> Json:
        """Batches of questions with their answers."""
        return self._asker.json("GET", f"{self._path}/clarifications", query={"before": before, "limit": limit})

    def events(self, *, after: Optional[int] = None, limit: Optional[int] = None) -> Json:
        """``events`` of the log; ``next`` goes into ``after`` when there is more."""
        return self._asker.json("GET", f"{self._path}/log", query={"after": after, "limit": limit})

    def follow(
        self, *, after: Optional[int] = None, stop: Optional[threading.Event] = None
    ) -> Generator[Json, None, None]:
        """Events that are there, then new ones, until the chat is removed or archived."""
        place = None if after is None else str(after)
        for event in self._asker.events(f"{self._path}/events", after=place, stop=stop):
            yield event.data

    def export(self, *, format: str = "markdown", branch: Optional[str] = None) -> str:
        """The chat as Markdown, or all of it as JSON with ``format="json"``."""
        query = {"format": format, "branch": branch}
        return self._asker.text(f"{self._path}/export", query)

    def archive(self) -> Json:
        """Compresses the chat; from then on it can only be read."""
        return self._write("POST", "/archive", None)

    def unarchive(self) -> Json:
        """Makes it writable again."""
        return self._write("POST", "/unarchive", None)

    def _write(self, method: str, path: str, body: Optional[Json], query: Optional[Json] = None) -> Json:
        return self._asker.json(method, self._path + path, query=query, body=body, repeatable=False)


class MessageStream:
    """A message that comes in pieces. In a ``with`` statement it is completed at the end. After an exception it stays as
    it is, so that ``chat.resume`` can go on with it.

    Texts of two writers never mix: when another one has added to the message, the next write is HEAD_MOVED.
    """

    #: Pieces gather for this long, or up to this many bytes, so that a stream makes few commits.
    _GATHER_SECONDS = 0.05
    _GATHER_BYTES = 65_536
    #: Others write to the chat, too. Each of them may be faster, but not each time.
    _ATTEMPTS = 50

    def __init__(self, chat: Chat, message: Json, text: str) -> None:
        self.id: str = message["id"]
        #: The text so far. What was written since the last ``flush`` may be lost.
        self.text = text
        self._chat = chat
        self._message = message
        self._durable = text
        self._seq = _to_int(chat.status().get("events"))
        self._sent_at = 0.0
        self._ended = False

    def write(self, text: str) -> None:
        """Adds to the message. ``flush`` makes sure that everything written is durable."""
        self._check_streaming()
        if not isinstance(text, str):
            raise InvalidError("text is a str", {"what": "text"})
        self.text += text
        due = time.monotonic() - self._sent_at >= self._GATHER_SECONDS
        if due or len(self.text) - len(self._durable) >= self._GATHER_BYTES:
            self.flush()

    def flush(self) -> None:
        """Returns when everything written so far would survive a power cut."""
        self._check_streaming()
        delta = self.text[len(self._durable):]
        if delta == "":
            return
        begun = self._facts() if self._durable == "" else {"message_id": self.id}
        text = self.text
        self._append("message_stream_delta", {**begun, "delta": delta}, lambda found: found.get("content") == text)
        self._durable = text
        self._sent_at = time.monotonic()

    def complete(
        self,
        content: Optional[str] = None,
        *,
        model: Optional[str] = None,
        usage: Optional[Mapping[str, int]] = None,
        interrupted: bool = False,
    ) -> Json:
        """Ends the message with its text, or with ``content``. ``usage`` counts ``input_tokens``, ``output_tokens``."""
        self.flush()
        said = self.text if content is None else content
        more = _given({"model": model, "usage": None if usage is None else dict(usage)})
        payload = {**self._facts(), "content": said, **more, **({"interrupted": True} if interrupted else {})}
        is_done = lambda found: found.get("state") != "streaming" and found.get("content") == said  # noqa: E731
        event = self._append("message_completed", payload, is_done)
        self._ended = True
        return event

    def _facts(self) -> Json:
        branch = self._message.get("branch")
        facts = {"message_id": self.id, "role": self._message["role"], "model": self._message.get("model")}
        return _given({**facts, "thread_id": None if branch in (None, "main") else branch})

    def _append(self, type: str, payload: Json, is_done: Callable[[Json], bool]) -> Json:
        """Appends an event once, however often it is sent: it names the event before it, and looks when that moved."""
        body = {"events": [{"type": type, "payload": payload}]}
        for _ in range(self._ATTEMPTS):
            try:
                query = {"expectedSeq": self._seq}
                answer = self._chat._asker.json("POST", f"{self._chat._path}/log", query=query, body=body)
                [event] = _list_of(answer, "events")
                self._seq = _to_int(event.get("seq"))
                return event
            except ValueError as error:
                raise _strange_value(dict) from error
            except HeadMovedError as error:
                moved_to = _to_int(error.data.get("head"))
            found = self._chat.message(self.id) or {"content": "", "state": "streaming"}
            if is_done(found):
                self._seq = moved_to
                return {"seq": moved_to, "type": type, "payload": payload}
            if found.get("content") != self._durable or found.get("state") != "streaming":
                raise HeadMovedError(
                    f"another writer adds to message {self.id}; read it, and resume it if that writer is gone",
                    {"context": self._chat.id, "expected": str(len(self._durable)), "head": str(moved_to)},
                )
            self._seq = moved_to
        raise HeadMovedError("the chat was written to by others each time; try again", {"context": self._chat.id})

    def _check_streaming(self) -> None:
        if self._ended:
            raise ClosedError("the message is complete", {"what": "stream"})

    def __enter__(self) -> MessageStream:
        return self

    def __exit__(self, kind: Optional[type], error: Optional[BaseException], _: object) -> None:
        if error is None and not self._ended:
            self.complete()


class Sessions:
    """Histories of agents as files of entries, in the folder of the store. A session is named by its id."""

    def __init__(self, asker: _Asker) -> None:
        self._asker = asker

    def create(self, *, cwd: Optional[str] = None, header: Optional[Mapping[str, Any]] = None) -> Session:
        """Begins a session about the folder ``cwd``. It is sent once."""
        body = _given({"cwd": cwd, "header": None if header is None else dict(header)})
        return Session(self._asker, self._made("/v1/sessions", body))

    def open(self, id: str) -> Session:
        """The session with this id; NOT_FOUND if there is none."""
        self.details(id)
        return Session(self._asker, id)

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None) -> Json:
        """``items``, the oldest first, and a ``cursor`` when more may follow."""
        return self._asker.json("GET", "/v1/sessions", query={"limit": limit, "cursor": cursor})

    def details(self, id: str) -> Json:
        """Where a session is and what it has."""
        return self._asker.json("GET", f"/v1/sessions/{_segment(id, 'id')}")

    def fork(self, id: str, *, at: Optional[str] = None, artifacts: Optional[bool] = None) -> Session:
        """A new session with all entries, or with the entry ``at`` and those that lead to it."""
        body = _given({"at": at, "artifacts": artifacts})
        return Session(self._asker, self._made(f"/v1/sessions/{_segment(id, 'id')}/fork", body))

    def remove(self, id: str) -> None:
        """Removes a session and its artifacts."""
        self._asker.json("DELETE", f"/v1/sessions/{_segment(id, 'id')}", repeatable=False)

    def _made(self, path: str, body: Json) -> str:
        return _text_of(self._asker.json("POST", path, body=body, repeatable=False), "id")


class Session:
    """One session. Entries are dicts with a ``type``."""

    def __init__(self, asker: _Asker, id: str) -> None:
        self.id = id
        self._asker = asker
        self._path = f"/v1/sessions/{_segment(id, 'id')}"

    def append(self, entry: Mapping[str, Any]) -> str:
        """Appends an entry after the newest one; durable when it returns. It is sent once. Returns its id."""
        [id] = self.append_batch([entry])
        return id

    def append_batch(self, entries: Sequence[Mapping[str, Any]]) -> List[str]:
        """Appends up to 1,000 entries in order. Returns their ids."""
        body = {"entries": [dict(entry) for entry in entries]}
        answer = self._asker.json("POST", f"{self._path}/entries", body=body, repeatable=False)
        ids = answer.get("ids")
        if not (isinstance(ids, list) and len(ids) == len(entries) and all(isinstance(id, str) for id in ids)):
            raise _strange_value(list)
        return ids

    def last(self, n: int = 50, *, before: Optional[int] = None, hydrate: Optional[bool] = None) -> Json:
        """The last ``entries``, oldest first, at most 1,000. ``cursor`` goes into ``before``.

        ``hydrate=False`` leaves references to blobs, such as pictures, as they are.
        """
        query = {"last": n, "before": before, "hydrate": hydrate}
        return self._asker.json("GET", f"{self._path}/entries", query=query)

    def save_artifact(self, text: str, *, tool_type: Optional[str] = None) -> Json:
        """Keeps a text beside the session: ``{"id": …, "url": "artifact://…"}``."""
        body = _given({"text": text, "toolType": tool_type})
        return self._asker.json("POST", f"{self._path}/artifacts", body=body, repeatable=False)

    def resolve(self, url: str, *, offset: Optional[int] = None, limit: Optional[int] = None) -> Json:
        """The text at ``artifact://<id>`` or ``agent://<id>``, whole or in lines."""
        query = {"url": url, "offset": offset, "limit": limit}
        return self._asker.json("GET", f"{self._path}/resource", query=query)

    def fork(self, *, at: Optional[str] = None, artifacts: Optional[bool] = None) -> Session:
        """A new session that goes on from this one."""
        return Sessions(self._asker).fork(self.id, at=at, artifacts=artifacts)


class Workflows:
    """Threads of steps, which roles write in turn. Values are dicts, as the HTTP reference has them."""

    _THREADS = "/v1/workflows/threads"

    def __init__(self, asker: _Asker) -> None:
        self._asker = asker

    def bundles(self) -> List[Json]:
        """The registered programs, with their versions."""
        return _list_of(self._asker.json("GET", "/v1/workflows/bundles"), "items")

    def start(
        self, name: str, prompt: str, *, bundle: Optional[str] = None, max_rounds: Optional[int] = None
    ) -> Json:
        """Begins a thread of a registered bundle. It is sent once."""
        body = _given({"name": name, "prompt": prompt, "bundle": bundle, "maxRounds": max_rounds})
        return self._asker.json("POST", self._THREADS, body=body, repeatable=False)

    def list(
        self,
        *,
        state: Optional[str] = None,
        bundle: Optional[str] = None,
        since: Optional[TimeLike] = None,
        until: Optional[TimeLike] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        details: Optional[bool] = None,
    ) -> Json:
        """``items`` under way (``state``: "active", "completed" or "all"), and a ``cursor`` when more may follow."""
        query = {"state": state, "bundle": bundle, "since": _ms(since), "until": _ms(until), "limit": limit}
        return self._asker.json("GET", self._THREADS, query={**query, "cursor": cursor, "details": details})

    def get(self, id: str, *, details: Optional[bool] = None) -> Optional[Json]:
        """The thread, or None."""
        return _or_none(lambda: self._asker.json("GET", self._path(id), query={"details": details}))

    def steps(
        self, id: str, *, limit: Optional[int] = None, before: Optional[str] = None, content: Optional[bool] = None
    ) -> Json:
        """The last ``steps``, oldest first; ``cursor`` goes into ``before``."""
        query = {"limit": limit, "before": before, "content": content}
        return self._asker.json("GET", self._path(id, "/steps"), query=query)

    def context(self, id: str) -> Json:
        """What a model is shown: the prompt, then the steps since the last summary."""
        return self._asker.json("GET", self._path(id, "/context"))

    def step(
        self,
        id: str,
        *,
        role: str,
        content: str,
        meta: Optional[Mapping[str, Any]] = None,
        refs: Optional[Sequence[str]] = None,
        expected_head: Optional[str] = None,
    ) -> Json:
        """Appends a step. With ``expected_head`` it counts once: HEAD_MOVED then says that it, or another, is there."""
        body = {"role": role, "content": content, "meta": None if meta is None else dict(meta)}
        more = {"refs": None if refs is None else list(refs), "expectedHead": expected_head}
        return self._write(id, "/steps", {**body, **more})

    def end(
        self,
        id: str,
        *,
        return_code: Optional[int] = None,
        summary: Optional[str] = None,
        expected_head: Optional[str] = None,
    ) -> Json:
        """Ends the thread. Returns its last node."""
        return self._write(id, "/end", {"returnCode": return_code, "summary": summary, "expectedHead": expected_head})

    def compact(self, id: str, summary: str) -> Json:
        """Lets a summary stand for every step so far."""
        return self._write(id, "/compact", {"summary": summary})

    def fork(self, id: str, *, at: Union[None, str, int] = None) -> Json:
        """A thread of its own that goes on from a step. Nothing is copied."""
        return self._write(id, "/fork", {"at": at})

    def pause(self, id: str) -> Json:
        """Lets whoever runs the thread stop behind the step it is at."""
        return self._write(id, "/pause", {})

    def kill(self, id: str, reason: Optional[str] = None) -> Json:
        """Ends the thread with return code 130."""
        return self._write(id, "/kill", {"reason": reason})

    def remove(self, id: str) -> None:
        """Removes a thread."""
        self._asker.json("DELETE", self._path(id), repeatable=False)

    def live(
        self, id: str, *, after: Optional[str] = None, stop: Optional[threading.Event] = None
    ) -> Generator[Json, None, None]:
        """The steps that are there, then new ones, until the thread has ended or is removed."""
        for event in self._asker.events(self._path(id, "/events"), after=after, stop=stop):
            if event.kind == "step":
                yield event.data

    def _path(self, id: str, more: str = "") -> str:
        return f"{self._THREADS}/{_segment(id, 'id')}{more}"

    def _write(self, id: str, path: str, body: Json) -> Json:
        return self._asker.json("POST", self._path(id, path), body=_given(body), repeatable=False)


class Queues:
    """Events in order, and consumers that acknowledge them."""

    def __init__(self, asker: _Asker) -> None:
        self._asker = asker

    def open(self, name: str, *, create: bool = True) -> Queue:
        """The queue with this name. ``create=False``: NOT_FOUND if there is none."""
        queue = Queue(self._asker, name)
        if create:
            self._asker.json("PUT", queue._path)
        else:
            queue.info()
        return queue

    def list(self) -> List[Json]:
        """Queues by name, with their counts."""
        return _list_of(self._asker.json("GET", "/v1/queues"), "queues")


class Queue:
    """One queue. An event that a consumer has not acknowledged comes again."""

    def __init__(self, asker: _Asker, name: str) -> None:
        self.name = name
        self._asker = asker
        self._path = f"/v1/queues/{_segment(name, 'name')}"

    def push(self, event: Mapping[str, Any]) -> int:
        """Pushes ``{"source": …, "type": "message" or "record", "content": …}`` once. Returns its id."""
        answer = self._asker.json("POST", f"{self._path}/events", body=dict(event), repeatable=False)
        return _to_int(answer.get("id"))

    def push_batch(self, events: Sequence[Mapping[str, Any]]) -> List[int]:
        """Stores all events or none. Returns their ids."""
        body = {"events": [dict(event) for event in events]}
        answer = self._asker.json("POST", f"{self._path}/events", body=body, repeatable=False)
        return [_to_int(id) for id in answer.get("ids", [])]

    def peek(
        self, *, last_event_id: int = 0, limit: Optional[int] = None, filter: Optional[str] = None
    ) -> List[QueueEvent]:
        """Events after ``last_event_id`` that match. Nothing is changed."""
        query = {"after": last_event_id, "limit": limit, "filter": filter}
        return _make_all(QueueEvent, self._asker.json("GET", f"{self._path}/events", query=query), "events")

    def pop(
        self, consumer: str, *, last_event_id: int, limit: Optional[int] = None, fence: Optional[int] = None
    ) -> List[QueueEvent]:
        """Acknowledges ``last_event_id`` with all before it (0: nothing), and returns what comes next."""
        path = f"{self._path}/consumers/{_segment(consumer, 'consumer')}/pop"
        body = _given({"last_event_id": last_event_id, "limit": limit, "fence": fence})
        return _make_all(QueueEvent, self._asker.json("POST", path, body=body), "events")

    def subscribe(self, consumer: str, *, handler: str, filter: Optional[str] = None) -> Json:
        """Registers a command that the server runs for this consumer: scope ``admin``, and ``--allow-handlers``."""
        path = f"{self._path}/consumers/{_segment(consumer, 'consumer')}"
        return self._asker.json("PUT", path, body=_given({"handler": handler, "filter": filter}), repeatable=False)

    def unsubscribe(self, consumer: str) -> None:
        """Removes a consumer; its progress stays."""
        path = f"{self._path}/consumers/{_segment(consumer, 'consumer')}"
        self._asker.json("DELETE", path, repeatable=False)

    def info(self) -> Json:
        """Counts, subscriptions, and how far each consumer is."""
        return self._asker.json("GET", self._path)

    def dispatch(self) -> Json:
        """Starts the handlers that have something to do. A push does it by itself."""
        return self._asker.json("POST", f"{self._path}/dispatch", repeatable=False)

    def follow(
        self,
        *,
        last_event_id: int = 0,
        filter: Optional[str] = None,
        stop: Optional[threading.Event] = None,
    ) -> Generator[QueueEvent, None, None]:
        """The events that are there, then new ones as they come."""
        place = str(last_event_id)
        for event in self._asker.events(f"{self._path}/follow", query={"filter": filter}, after=place, stop=stop):
            yield _make(QueueEvent, event.data)


# Below here is how requests travel. Whatever a server sends may be hostile: every length is checked before memory is
# taken, every wait has an end, and no redirect is followed, so that the token goes to one address alone.


class _Over(Exception):
    """The caller wants a stream to end."""


class _SourceFailed(Exception):
    """The caller's own file or iterable failed in the middle of an upload."""


class _Clock:
    """How long a request may wait: until a time, or for a time without any progress."""

    def __init__(
        self,
        until: Optional[float] = None,
        silence: Optional[float] = None,
        is_over: Optional[Callable[[], bool]] = None,
    ) -> None:
        self._until = until
        self._silence = silence
        self._is_over = is_over

    def wait(self, sock: socket.socket, act: Callable[[], T]) -> T:
        """Carries out one step on the socket; ``socket.timeout`` when the time is up."""
        now = time.monotonic()
        ends = [end for end in (self._until, None if self._silence is None else now + self._silence) if end is not None]
        end = min(ends)
        while True:
            left = end - time.monotonic()
            if left <= 0:
                raise socket.timeout("the time is up")
            sock.settimeout(left if self._is_over is None else min(left, _LOOK_SECONDS))
            try:
                return act()
            except socket.timeout:
                if self._is_over is not None and self._is_over():
                    raise _Over() from None

    @property
    def seconds(self) -> float:
        """For a first connection."""
        return self._silence if self._until is None else max(0.001, self._until - time.monotonic())  # type: ignore


class _Line:
    """What ``http.client`` takes for a socket. Each step waits as long as the clock of the request says."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.clock = _Clock(silence=_SILENCE_SECONDS)

    def sendall(self, data: Any) -> None:
        view = memoryview(data).cast("B")
        while len(view) > 0:
            sent = self.clock.wait(self.sock, lambda: self.sock.send(view[:_PIECE]))
            view = view[sent:]

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Incoming(self))

    def close(self) -> None:
        self.sock.close()


class _Incoming(io.RawIOBase):
    def __init__(self, line: _Line) -> None:
        super().__init__()
        self._line = line
        # The socket stays open until its last file is closed, as http.client relies on.
        self._file = line.sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        sock = self._line.sock
        return self._line.clock.wait(sock, lambda: sock.recv_into(into))

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class _Connection(http.client.HTTPConnection):
    def __init__(self, host: str, port: int, tls: Optional[_ssl.SSLContext]) -> None:
        super().__init__(host, port)
        if tls is not None:
            self.default_port = 443
        self._tls = tls
        self.idle_since = 0.0

    def dial(self, clock: _Clock) -> None:
        sock = socket.create_connection((self.host, self.port), clock.seconds)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                sock.settimeout(clock.seconds)
                sock = self._tls.wrap_socket(sock, server_hostname=self.host)
        except BaseException:
            sock.close()
            raise
        self.sock = _Line(sock)  # type: ignore[assignment]


class _Answer:
    """An answer whose body is still to be read, a piece at a time."""

    def __init__(self, response: http.client.HTTPResponse, method: str) -> None:
        self.status = response.status
        self.headers = response.headers
        self.method = method
        self._response = response
        self.complete = False

    def pieces(self) -> Iterator[bytes]:
        response = self._response
        bodyless = self.method == "HEAD" or self.status in (204, 304)
        left = 0 if bodyless else response.length
        if not bodyless and left is None and not response.chunked:
            raise self.strange("an answer without a length")
        while left is None or left > 0:
            piece = response.read1(_PIECE if left is None else min(_PIECE, left))
            if not piece:
                if left is not None:
                    raise http.client.IncompleteRead(b"", left)
                break
            if left is not None:
                left -= len(piece)
            yield piece
        response.close()
        self.complete = True

    def read(self, limit: int) -> bytes:
        length = self._response.length
        if length is not None and length > limit and self.method != "HEAD":
            raise self._over(limit)
        whole = bytearray()
        for piece in self.pieces():
            whole += piece
            if len(whole) > limit:
                raise self._over(limit)
        return bytes(whole)

    def _over(self, limit: int) -> QuipuError:
        error = _too_large("answer", limit, "ask for less at a time, or raise max_answer_bytes")
        return error if self.method == "GET" else type(error)(error.message, {**error.data, "outcome": "unknown"})

    def strange(self, found: str) -> QuipuError:
        """Another program answered, or one that does not mean well."""
        data = {"what": "server", "found": found}
        if self.method not in ("GET", "HEAD"):
            data["outcome"] = "unknown"
        return UnsupportedError(f"the answer is not from a Quipu server: {found}", data)

    def refusal(self) -> QuipuError:
        """The error that the server reports."""
        text = self.read(_ERROR_BYTES)
        try:
            told = _parse(text)["error"]
            code, message, data = told["code"], told["message"], told.get("data", {})
        except (QuipuError, KeyError, TypeError, AttributeError):
            return self._without_words()
        if not (isinstance(code, str) and isinstance(message, str) and isinstance(data, dict)):
            return self._without_words()
        if code == "TIMEOUT":
            data = {**data, "outcome": "unknown"}
        return _error_of(code, message, data)

    def _without_words(self) -> QuipuError:
        message = f"the answer, with status {self.status}, is not from a Quipu server; check the address"
        if self.status in _PASSING_STATUS:
            return UnavailableError(message, {"what": "server", "outcome": "unknown"})
        if self.status == 401:
            return UnauthorizedError(message)
        if self.status == 403:
            return ForbiddenError(message, {"scope": ""})
        if self.status == 404 and self.method == "HEAD":
            return NotFoundError(message, {"what": "blob", "id": ""})
        return self.strange(f"status {self.status}")


class _Exchange:
    """One request and its answer. The connection is kept for the next one only if the answer was read to its end."""

    def __init__(
        self,
        asker: _Asker,
        clock: _Clock,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Union[None, bytes, Iterable[bytes]] = None,
        fresh: bool = False,
        accept: Tuple[int, ...] = (),
    ) -> None:
        self._asker = asker
        self._clock = clock
        self._ask = (method, target, body, dict(headers))
        self._fresh = fresh
        self._accept = accept
        self._connection: Optional[_Connection] = None
        self._answer: Optional[_Answer] = None

    def __enter__(self) -> _Answer:
        try:
            return self._send()
        except BaseException as error:
            raise self._leave(error) from error

    def __exit__(self, kind: Optional[type], error: Optional[BaseException], _: object) -> None:
        if error is not None and not isinstance(error, GeneratorExit):
            raise self._leave(error) from error
        self._put_away()

    def _send(self) -> _Answer:
        self._connection = connection = self._asker.take(self._clock, self._fresh)
        connection.sock.clock = self._clock  # type: ignore[union-attr]
        method, target, body, headers = self._ask
        chunked = body is not None and not isinstance(body, bytes)
        if chunked:
            headers["Transfer-Encoding"] = "chunked"
        try:
            connection.request(method, target, body=body, headers=headers, encode_chunked=chunked)
        except (BrokenPipeError, ConnectionResetError):
            # A server that refuses a request may answer before it has taken all of it.
            pass
        self._answer = answer = _Answer(connection.getresponse(), method)
        if not (200 <= answer.status < 300 or answer.status in self._accept):
            raise answer.refusal()
        return answer

    def _put_away(self) -> None:
        if self._connection is None:
            return
        if self._answer is not None and self._answer.complete and self._connection.sock is not None:
            self._asker.give_back(self._connection)
        else:
            self._connection.close()
        self._connection = None

    def _leave(self, error: BaseException) -> BaseException:
        """What the caller is told of a failure on the way."""
        dialled = self._connection is not None
        self._put_away()
        data: Json = {"what": "server", **({"outcome": "unknown"} if dialled else {})}
        if isinstance(error, (QuipuError, _Over)):
            return error
        if isinstance(error, _SourceFailed):
            return error.__cause__ or error
        if isinstance(error, socket.timeout):
            path = self._ask[1].partition("?")[0]
            return TimedOutError(f"{path} was not answered in time", {**data, "what": path})
        if isinstance(error, http.client.BadStatusLine) and not isinstance(error, ConnectionError):
            return UnsupportedError("the answer is not HTTP", {**data, "found": "another protocol"})
        if isinstance(error, (OSError, http.client.HTTPException)):
            where = "the server went away before its answer came" if dialled else self._asker.unreachable
            return UnavailableError(f"{where} ({type(error).__name__}: {error})", data)
        return error


class _Asker:
    """Asks one server. Reads are sent again after a lost connection, and writes that count once however often sent."""

    def __init__(
        self, url: str, token: Optional[str], timeout: float, ca: Optional[Union[str, bytes]], max_answer_bytes: int
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidError("url is http://host:port or https://host:port", {"what": "url"})
        if parts.username is not None or parts.query or parts.fragment:
            raise InvalidError("url holds no user, query or fragment; a token goes into token=", {"what": "url"})
        if not timeout > 0:
            raise InvalidError("timeout is a number of seconds above 0", {"what": "timeout"})
        self.timeout = timeout
        self.max_answer_bytes = max_answer_bytes
        self.unreachable = f"the server at {parts.hostname} cannot be reached"
        self._host = parts.hostname
        self._port = _port_of(parts)
        self._base = parts.path.rstrip("/")
        self._tls = _tls_of(ca) if parts.scheme == "https" else None
        if ca is not None and self._tls is None:
            raise InvalidError("ca is for https://", {"what": "ca"})
        self._headers = {"User-Agent": "quipudb-python", "Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {_header_text(token, 'token')}"
        self._lock = threading.Lock()
        self._idle: List[_Connection] = []
        self._closed = threading.Event()

    # Connections.

    def take(self, clock: _Clock, fresh: bool) -> _Connection:
        """A connection that was used just now, or a new one. A request that must not be sent twice gets a new one."""
        self._check_open()
        now = time.monotonic()
        with self._lock:
            while self._idle and not fresh:
                connection = self._idle.pop()
                if now - connection.idle_since < _IDLE_SECONDS:
                    return connection
                connection.close()
        connection = _Connection(self._host, self._port, self._tls)
        connection.dial(clock)
        return connection

    def give_back(self, connection: _Connection) -> None:
        connection.idle_since = time.monotonic()
        with self._lock:
            if len(self._idle) < _IDLE_CONNECTIONS and not self._closed.is_set():
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise ClosedError("the store is closed", {"what": "store"})

    # Requests with one answer.

    def json(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Json] = None,
        body: Optional[Any] = None,
        raw: Optional[bytes] = None,
        content_type: str = "application/octet-stream",
        headers: Optional[Mapping[str, str]] = None,
        repeatable: bool = True,
        attempts: Optional[int] = None,
    ) -> Json:
        """The object that the server answers with; an empty one when it has nothing to say."""
        content, kind = raw, content_type
        if body is not None:
            content, kind = _to_json(body, "body"), "application/json"
        sent = {**(headers or {}), **({"Content-Type": kind} if content is not None else {})}
        target = self._target(path, query)

        def work(until: float) -> Json:
            with self._exchange(_Clock(until), method, target, sent, content, fresh=not repeatable) as answer:
                return self._object(answer)

        return self._retry(work, repeatable, attempts)

    def text(self, path: str, query: Json) -> str:
        def work(until: float) -> str:
            with self._exchange(_Clock(until), "GET", self._target(path, query), {"Accept": "*/*"}) as answer:
                return answer.read(self.max_answer_bytes).decode("utf-8", "replace")

        return self._retry(work, True)

    def head(self, path: str) -> http.client.HTTPMessage:
        def work(until: float) -> http.client.HTTPMessage:
            with self._exchange(_Clock(until), "HEAD", self._target(path, None), {}) as answer:
                answer.read(0)
                return answer.headers

        return self._retry(work, True)

    def upload(
        self,
        path: str,
        query: Json,
        source: Source,
        *,
        content_type: str = "application/octet-stream",
        repeatable: bool = True,
    ) -> Json:
        """Sends bytes as they come. The time is for each step, and not for all of a large file."""
        begin, again = _pieces_of(source)
        headers = {"Content-Type": _header_text(content_type, "media_type")}
        target = self._target(path, query)

        def work(_: float) -> Json:
            clock = _Clock(silence=self.timeout)
            with self._exchange(clock, "PUT", target, headers, begin(), fresh=True) as answer:
                return self._object(answer)

        return self._retry(work, repeatable and again)

    # Streams.

    def download(self, path: str, start: int, end: Optional[int]) -> Generator[bytes, None, None]:
        at, target = start, self._target(path, None)
        if start < 0 or (end is not None and end < start):
            raise InvalidError("start and end are positions of bytes, in order", {"what": "range"})
        patience = _Patience(self)
        while end is None or at < end:
            wanted = {} if at == 0 and end is None else {"Range": f"bytes={at}-{'' if end is None else end - 1}"}
            clock = _Clock(silence=self.timeout)
            try:
                with self._exchange(clock, "GET", target, {**wanted, "Accept": "*/*"}, accept=(416,)) as answer:
                    if answer.status == 416:
                        return
                    if wanted and not answer.headers.get("Content-Range", "").startswith(f"bytes {at}-"):
                        raise answer.strange("other bytes than those that were asked for")
                    for piece in answer.pieces():
                        at += len(piece)
                        patience.renew()
                        yield piece
                    return
            except QuipuError as error:
                patience.bear(error)

    def lines(self, path: str, query: Json) -> Generator[bytes, None, None]:
        """Lines of an answer that does not change: after a lost connection those that were given are passed over."""
        given, target = 0, self._target(path, query)
        patience = _Patience(self)
        while True:
            try:
                with self._exchange(_Clock(silence=self.timeout), "GET", target, {"Accept": "*/*"}) as answer:
                    for number, line in enumerate(_lines_of(answer, self.max_answer_bytes)):
                        if number < given:
                            continue
                        given += 1
                        patience.renew()
                        yield line
                    return
            except QuipuError as error:
                patience.bear(error)

    def events(
        self,
        path: str,
        *,
        query: Optional[Json] = None,
        after: Optional[str] = None,
        stop: Optional[threading.Event] = None,
    ) -> Generator[StoreEvent, None, None]:
        """Server-sent events. Comes back after every loss with the id of the last event, until ``end`` or ``stop``."""
        self._check_open()

        def is_over() -> bool:
            return self._closed.is_set() or (stop is not None and stop.is_set())

        last, target, attempt = after, self._target(path, query or {}), 0
        while not is_over():
            headers = {"Accept": "text/event-stream", **({} if last is None else {"Last-Event-ID": last})}
            clock = _Clock(silence=_SILENCE_SECONDS, is_over=is_over)
            try:
                with self._exchange(clock, "GET", target, headers, fresh=True) as answer:
                    if not answer.headers.get("Content-Type", "").startswith("text/event-stream"):
                        raise answer.strange("no stream of events")
                    for event in _events_of(answer, self.max_answer_bytes):
                        attempt = 0
                        last = last if event.id is None else _header_text(event.id, "id of an event")
                        if event.kind == "end":
                            return
                        if event.kind == "error":
                            raise _told(event.data)
                        yield event
            except _Over:
                return
            except QuipuError as error:
                if is_over():
                    return
                if error.code not in _PASSING:
                    raise
            pause_until = time.monotonic() + _pause(attempt)
            attempt += 1
            while not is_over() and time.monotonic() < pause_until:
                self._closed.wait(min(_LOOK_SECONDS, max(0.0, pause_until - time.monotonic())))

    def _exchange(
        self,
        clock: _Clock,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Union[None, bytes, Iterable[bytes]] = None,
        fresh: bool = False,
        accept: Tuple[int, ...] = (),
    ) -> _Exchange:
        return _Exchange(self, clock, method, target, {**self._headers, **headers}, body, fresh, accept)

    def _object(self, answer: _Answer) -> Json:
        content = answer.read(self.max_answer_bytes)
        if not content:
            return {}
        try:
            value = _parse(content)
        except UnsupportedError as error:
            raise answer.strange(error.data["found"]) from error
        if not isinstance(value, dict):
            raise answer.strange("JSON that is no object")
        return value

    def _target(self, path: str, query: Optional[Json]) -> str:
        pairs = [(name, _query_text(value)) for name, value in (query or {}).items() if value is not None]
        return self._base + path + (f"?{urllib.parse.urlencode(pairs)}" if pairs else "")

    def _retry(self, work: Callable[[float], T], repeatable: bool, attempts: Optional[int] = None) -> T:
        patience, attempt = _Patience(self), 0
        while True:
            attempt += 1
            try:
                return work(patience.until)
            except QuipuError as error:
                if attempt == attempts or (is_outcome_unknown(error) and not repeatable):
                    raise
                patience.bear(error)


class _Patience:
    """For how long attempts go on: the time of a request since it began, or since the last progress."""

    def __init__(self, asker: _Asker) -> None:
        self._asker = asker
        self.renew()

    def renew(self) -> None:
        self.until = time.monotonic() + self._asker.timeout
        self._attempt = 0

    def bear(self, error: QuipuError) -> None:
        """Waits before another attempt, or raises the error when none would help."""
        pause = _pause(self._attempt)
        self._attempt += 1
        closed = self._asker._closed
        if error.code not in _PASSING or closed.is_set() or time.monotonic() + pause >= self.until:
            raise error
        closed.wait(pause)


def _pause(attempt: int) -> float:
    """Grows, and differs from one to the next, so that many clients do not come back in step."""
    return min(1.0, 0.01 * 2.0 ** min(attempt, 10)) * (0.5 + random.random() / 2)


def _port_of(parts: urllib.parse.SplitResult) -> int:
    try:
        return parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise InvalidError("url has a port that is no number up to 65535", {"what": "url"}) from error


def _tls_of(ca: Optional[Union[str, bytes]]) -> _ssl.SSLContext:
    if ca is None:
        return _ssl.create_default_context()
    text = ca.decode() if isinstance(ca, bytes) else ca
    if "-----BEGIN" in text:
        return _ssl.create_default_context(cadata=text)
    return _ssl.create_default_context(cafile=text)


def _lines_of(answer: _Answer, limit: int) -> Iterator[bytes]:
    """Lines without their ends. What stands after the last end is no line."""
    waiting, seen = bytearray(), 0
    for piece in answer.pieces():
        waiting += piece
        while True:
            at = waiting.find(b"\n", seen)
            if at < 0:
                seen = len(waiting)
                break
            line = bytes(waiting[:at])
            del waiting[: at + 1]
            seen = 0
            yield line[:-1] if line.endswith(b"\r") else line
        if len(waiting) > limit:
            raise _too_large("event", limit, "ask without payloads, or raise max_answer_bytes")


def _events_of(answer: _Answer, limit: int) -> Iterator[StoreEvent]:
    fields: Dict[bytes, bytes] = {}
    size = 0
    for line in _lines_of(answer, limit):
        if not line:
            if b"data" in fields:
                id = fields.get(b"id")
                kind = fields.get(b"event", b"message").decode("utf-8", "replace")
                yield StoreEvent(kind, _parse(fields[b"data"]), None if id is None else id.decode("latin-1"))
            fields, size = {}, 0
            continue
        name, _, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        size += len(value)
        if size > limit:
            raise _too_large("event", limit, "ask without payloads, or raise max_answer_bytes")
        if name == b"data" and b"data" in fields:
            value = fields[b"data"] + b"\n" + value
        if name in (b"id", b"event", b"data"):
            fields[name] = value


def _pieces_of(source: Source) -> Tuple[Callable[[], Union[bytes, Iterable[bytes]]], bool]:
    """How the body begins, and whether it can begin again."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        whole = bytes(source)
        return (lambda: whole), True
    if isinstance(source, str):
        raise TypeError("bytes are stored, not str: encode it first")
    if not hasattr(source, "read"):
        return (lambda: _in_pieces(source)), False  # type: ignore[arg-type]
    file: Any = source
    if not (hasattr(file, "seekable") and file.seekable()):
        return (lambda: _in_pieces(iter(lambda: file.read(_PIECE), b""))), False
    place = file.tell()

    def begin() -> Iterable[bytes]:
        file.seek(place)
        return _in_pieces(iter(lambda: file.read(_PIECE), b""))

    return begin, True


def _in_pieces(source: Iterable[bytes]) -> Iterator[bytes]:
    try:
        for given in source:
            view = memoryview(given).cast("B")
            for at in range(0, len(view), _PIECE):
                yield bytes(view[at : at + _PIECE])
    except Exception as error:
        raise _SourceFailed() from error


# Below here are values: what callers give, and what servers answer.

_NUMBER_OF_A_SERVER = re.compile(r"\A\d{1,16}\Z")
_CAMEL = re.compile(r"_([a-z])")
_LONG_NUMBER = re.compile(rb"\d{16}")
#: Fields that hold the id of a turn or context, which travel as text.
_ID_FIELDS = frozenset(["id", "context", "parent", "head", "base", "open_turn", "turn", "back_to"])


def _parse(text: bytes) -> Any:
    """JSON that a server sent: bounded before it takes memory, and without numbers that take for ever to read."""
    if text.count(b",") + text.count(b"[") + text.count(b"{") > _VALUES_MAX:
        raise _too_large("answer", _VALUES_MAX, "it has too many values: ask for less at a time")
    try:
        return json.loads(text, parse_int=_parse_int, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        data = {"what": "server", "found": "an answer that is not JSON"}
        raise UnsupportedError("the answer is not from a Quipu server: it is not JSON", data) from error


def _parse_int(text: str) -> Union[int, float]:
    return int(text) if len(text) <= 320 else float(text)


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _to_json(value: Any, what: str) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidError(f"{what} is not JSON: {error}", {"what": what}) from error
    if _LONG_NUMBER.search(text) is not None:
        _check_numbers(value, what)
    return text


def _check_numbers(value: Any, what: str) -> None:
    """Readers in other languages would see another number, and so would the store."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, (list, tuple)):
            waiting.extend(one)
        elif isinstance(one, int) and abs(one) > _SAFE_INTEGER:
            problem = "has a number above 2**53 - 1, which JSON readers change; send it as text"
            raise InvalidError(f"{what} {problem}", {"what": what})


def _make(kind: Type[T], value: Any) -> T:
    """A value of the server as an object. Fields that this client does not know are left out."""
    if not isinstance(value, dict):
        raise _strange_value(kind)
    given = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        name = field.name if field.name in value else _CAMEL.sub(lambda found: found[1].upper(), field.name)
        if name in value:
            is_id = field.name in _ID_FIELDS and isinstance(value[name], str)
            given[field.name] = _to_int(value[name]) if is_id else value[name]
    try:
        return kind(**given)
    except TypeError as error:
        raise _strange_value(kind) from error


def _make_all(kind: Type[T], value: Json, name: str) -> List[T]:
    return [_make(kind, one) for one in _list_of(value, name)]


def _to_turn(value: Any) -> Turn:
    turn = _make(Turn, value)
    is_bytes = turn.encoding == "bytes" or turn.undecodable
    if is_bytes and isinstance(turn.payload, dict):
        return dataclasses.replace(turn, payload=_from_base64(turn.payload))
    return turn


def _turns_of(value: Json) -> List[Turn]:
    return [_to_turn(one) for one in _list_of(value, "turns")]


def _from_base64(value: Any) -> bytes:
    try:
        return base64.b64decode(value["base64"], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        raise _strange_value(bytes) from error


def _list_of(value: Json, name: str) -> List[Json]:
    found = value.get(name)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise _strange_value(list)
    return found


def _text_of(value: Json, name: str) -> str:
    found = value.get(name)
    if not isinstance(found, str):
        raise _strange_value(str)
    return found


def _to_int(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _NUMBER_OF_A_SERVER.match(value):
        return int(value)
    raise _strange_value(int)


def _strange_value(kind: type) -> QuipuError:
    found = f"something else than a {kind.__name__}"
    return UnsupportedError(f"the answer is not from a Quipu server: {found}", {"what": "server", "found": found})


def _told(value: Any) -> QuipuError:
    """The error of an event stream."""
    told = value.get("error") if isinstance(value, dict) else None
    if not isinstance(told, dict):
        return _strange_value(QuipuError)
    data = told.get("data")
    return _error_of(str(told.get("code")), str(told.get("message")), data if isinstance(data, dict) else {})


def _error_of(code: str, message: str, data: Json) -> QuipuError:
    return _CLASSES.get(code, QuipuError)(message, data, code)


def _too_large(what: str, limit: int, advice: str) -> TooLargeError:
    return TooLargeError(f"the {what} is over {limit}: {advice}", {"what": what, "limit": limit})


def _or_none(read: Callable[[], T]) -> Optional[T]:
    try:
        return read()
    except NotFoundError:
        return None


def _id(value: IdLike, what: str, zero: bool = False) -> str:
    text = str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    if _NUMBER_OF_A_SERVER.match(text) and (zero or int(text) > 0):
        return str(int(text))
    raise InvalidError(f"{what} is an id, such as 17", {"what": what})


def _opt_id(value: Optional[IdLike], what: str, zero: bool = False) -> Optional[str]:
    return None if value is None else _id(value, what, zero)


def _segment(text: str, what: str) -> str:
    """A name as one part of a path. Dots alone would lead to another route."""
    if not isinstance(text, str) or text in ("", ".", ".."):
        raise InvalidError(f"{what} is a name", {"what": what})
    try:
        return urllib.parse.quote(text, safe="")
    except UnicodeEncodeError as error:
        raise InvalidError(f"{what} is not Unicode", {"what": what}) from error


def _header_text(text: str, what: str) -> str:
    """Only what a header can hold, so that no value can begin a header of its own."""
    if not (isinstance(text, str) and text.isascii() and text.isprintable() and len(text) <= 8192):
        raise InvalidError(f"{what} has characters other than printable ASCII, or too many", {"what": what})
    return text


def _query_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _ms(value: Optional[TimeLike]) -> Optional[int]:
    if isinstance(value, datetime.datetime):
        return int(value.timestamp() * 1000)
    return None if value is None else int(value)


def _given(fields: Json) -> Json:
    return {name: value for name, value in fields.items() if value is not None}


def _details(
    name: Optional[str], title: Optional[str], kind: Optional[str], labels: Optional[Sequence[str]], meta: Any
) -> Json:
    listed = None if labels is None else list(labels)
    return _given({"name": name, "title": title, "kind": kind, "labels": listed, "meta": meta})


def _conditions(expected_head: Optional[IdLike], key: Optional[str]) -> Dict[str, str]:
    headers = {}
    if expected_head is not None:
        headers["If-Match"] = f'"{_id(expected_head, "expected_head", zero=True)}"'
    if key is not None:
        headers["Idempotency-Key"] = _header_text(key, "idempotency_key")
    return headers


def _new_key(given: Optional[str]) -> str:
    return secrets.token_hex(16) if given is None else given


def _header_of(turn: Mapping[str, Any], extra: Tuple[str, ...] = ()) -> Json:
    unknown = set(turn) - {"type", "version", "encoding", *extra}
    if unknown or not isinstance(turn.get("type"), str):
        problem = f"has no field {sorted(unknown)[0]!r}" if unknown else 'needs a "type"'
        raise InvalidError(f"turn {problem}", {"what": "turn"})
    return _given({name: turn.get(name) for name in ("type", "version", "encoding")})


def _to_new_turn(turn: Mapping[str, Any]) -> Json:
    header = _header_of(turn, ("payload",))
    if "payload" not in turn:
        raise InvalidError('turn needs a "payload"', {"what": "payload"})
    return {**header, **_payload_field(turn["payload"])}


def _payload_field(payload: Any) -> Json:
    if isinstance(payload, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(payload).decode("ascii")}
    return {"payload": payload}


def _as_body(turn: Mapping[str, Any]) -> Tuple[bytes, str, Json]:
    """The body of an append, its content type, and what then stands in the query."""
    header = _header_of(turn, ("payload",))
    payload = turn.get("payload")
    if isinstance(payload, (bytes, bytearray, memoryview)):
        return bytes(payload), "application/octet-stream", header
    body = _to_json(_to_new_turn(turn), "payload")
    if len(body) <= _JSON_BODY_BYTES:
        return body, "application/json", {}
    encoding = header.get("encoding", "json")
    if encoding == "text" and isinstance(payload, str):
        return payload.encode("utf-8"), "application/octet-stream", header
    if encoding == "json":
        return _to_json(payload, "payload"), "application/octet-stream", {**header, "encoding": "json"}
    return body, "application/json", {}
