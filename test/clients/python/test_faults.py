"""Servers that are killed, lie, dawdle or lead elsewhere; tokens and TLS."""

import hashlib
import json
import socket
import threading
import time
import unittest

import rig
import quipudb
from rig import Puppet, reply

ME = {"name": "anyone", "scope": "admin"}
TLS = rig.PROJECT / "test" / "support" / "tls"


def chunked(*pieces, end=True):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return head + body + (b"0\r\n\r\n" if end else b"")


def turn_event(id):
    turn = {"id": str(id), "context": "1", "parent": "0", "depth": 0, "type": "note", "version": 1, "encoding": "json"}
    more = {"size": 1, "createdAt": 1, "flags": 0, "state": "sealed", "payload": id}
    return f"id: {id}\nevent: turn\ndata: {json.dumps({**turn, **more})}\n\n".encode()


class KilledTest(unittest.TestCase):
    def test_nothing_is_lost_or_doubled_when_the_server_is_killed(self):
        server = rig.Server().start()
        self.addCleanup(server.stop)
        store = quipudb.connect_store(server.url, timeout=60)
        self.addCleanup(store.close)
        talk = store.contexts.create()
        count, acknowledged, followed, failed = 60, [], [], []

        def follow():
            try:
                for turn in store.contexts.follow(talk.id):
                    followed.append(turn.payload)
                    if turn.payload == count - 1:
                        return
            except BaseException as error:
                failed.append(error)

        def write():
            try:
                for number in range(count):
                    acknowledged.append(store.contexts.append(talk.id, {"type": "n", "payload": number}).id)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work) for work in (follow, write)]
        for thread in threads:
            thread.start()
        for reached in (15, 35):
            while len(acknowledged) < reached and not failed:
                time.sleep(0.005)
            server.kill()
            server.start()
        for thread in threads:
            thread.join(120)
        self.assertEqual(failed, [])
        numbers = list(range(count))
        turns = store.contexts.last(talk.id, 1000).turns
        self.assertEqual([turn.payload for turn in turns], numbers)
        self.assertEqual([turn.id for turn in turns], acknowledged)
        self.assertEqual(followed, numbers)

    def test_a_write_that_may_be_done_is_not_sent_again(self):
        # The server takes the request and goes away. The twin that may be repeated is: an append has a key.
        puppet = Puppet(reply(ME), b"", b"", reply({"turns": []}))
        self.addCleanup(puppet.close)
        store = quipudb.connect_store(puppet.url, timeout=10)
        with self.assertRaises(quipudb.UnavailableError) as raised:
            store.contexts.create(title="once")
        self.assertTrue(quipudb.is_outcome_unknown(raised.exception))
        self.assertEqual(len(puppet.seen), 2)
        self.assertEqual(store.contexts.append_batch(1, []), [])
        keys = {line for head in puppet.seen[2:] for line in head.split("\r\n") if line.startswith("Idempotency-Key")}
        self.assertEqual((len(puppet.seen), len(keys)), (4, 1))


class HostileTest(unittest.TestCase):
    def connect(self, *answers, then=b"", **options):
        puppet = Puppet(reply(ME), *answers, then=then)
        self.addCleanup(puppet.close)
        store = quipudb.connect_store(puppet.url, **{"max_answer_bytes": 1_000_000, **options})
        self.addCleanup(store.close)
        return store, puppet

    def refused(self, error, *answers, then=b"", ask=lambda store: store.contexts.list(), timeout=30, **options):
        store, _ = self.connect(*answers, then=then, **options)
        # A short time is for this request, and not for the first one.
        store._asker.timeout = timeout
        began = time.monotonic()
        with self.assertRaises(error) as raised:
            ask(store)
        self.assertLess(time.monotonic() - began, 20)
        return raised.exception

    def test_an_answer_that_is_too_large_is_not_read(self):
        self.refused(quipudb.TooLargeError, reply(b"{}", length=10**15))
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        self.refused(quipudb.TooLargeError, [head, *[b"10000\r\n" + b" " * 65536 + b"\r\n"] * 100])
        endless = chunked(b"data: " + b"x" * 900_000, b"y" * 900_000, end=False)
        self.refused(quipudb.TooLargeError, endless, ask=lambda store: next(store.contexts.follow(1)))
        many = b"".join(b"data: " + b"x" * 500_000 + b"\n" for _ in range(3))
        self.refused(quipudb.TooLargeError, chunked(many, end=False), ask=lambda store: next(store.watch()))

    def test_few_bytes_cannot_become_many_values(self):
        few = b'{"items":[' + b"[]," * 5_000_000 + b"[]]}"
        self.refused(quipudb.TooLargeError, reply(few), max_answer_bytes=100_000_000)

    def test_json_that_is_torn_deep_or_no_json(self):
        torn = json.dumps({"items": [1]}).encode()[:-3]
        for body in [torn, b"[" * 200_000, b"[]", b'{"items":NaN}', b"<html>", b'{"items":7}', b"\xff"]:
            with self.subTest(body=body[:20]):
                self.refused(quipudb.UnsupportedError, reply(body))
        self.refused(quipudb.UnsupportedError, reply({"items": [{"id": "1" * 40}]}))
        digits = b'{"items":[{"id":' + b"1" * 500_000 + b"}]}"
        self.refused(quipudb.UnsupportedError, reply(digits))

    def test_a_body_that_breaks_off_is_read_again(self):
        whole = reply({"items": [], "total": 7})
        store, puppet = self.connect(whole[:-5], whole)
        self.assertEqual(store.contexts.list(count=True).total, 7)
        self.assertEqual(len(puppet.seen), 3)

    def test_a_redirect_is_not_followed_with_the_token(self):
        elsewhere = Puppet(then=reply(ME))
        self.addCleanup(elsewhere.close)
        for status in ("301 Moved", "302 Found", "307 Temporary", "308 Permanent"):
            location = f"Location: {elsewhere.url}/v1/contexts"
            self.refused(quipudb.UnsupportedError, reply(b"", status, location), token="secret")
        self.assertEqual(elsewhere.seen, [])

    def test_another_protocol_a_slow_head_and_silence(self):
        self.refused(quipudb.UnsupportedError, b"SSH-2.0-OpenSSH_9.6\r\n")
        self.refused(quipudb.UnsupportedError, b"HTTP/1.1 200 OK\r\n\r\n{}")

        def dripping():
            yield b"HTTP/1.1 200 OK\r\n"
            while True:
                time.sleep(0.05)
                yield b"X-More: 1\r\n"

        # Each step comes in time. All of them together do not.
        self.refused(quipudb.TimedOutError, then=dripping(), timeout=0.5)
        late = (time.sleep(30) or b"" for _ in range(1))
        self.refused(quipudb.TimedOutError, late, timeout=0.3)

    def test_errors_have_the_class_of_their_code(self):
        kinds = {"NOT_FOUND": quipudb.NotFoundError, "IO": quipudb.StorageError, "NEW": quipudb.QuipuError}
        for code, kind in kinds.items():
            told = {"error": {"code": code, "message": "m", "data": {"what": "x"}}}
            error = self.refused(kind, reply(told, "500 Internal Server Error"))
            self.assertEqual((error.code, str(error), error.data["what"]), (code, "m", "x"))
        self.refused(quipudb.UnsupportedError, reply({"error": {"code": 7}}, "500 Internal Server Error"))
        self.refused(quipudb.UnsupportedError, reply(b"<html>", "500 Internal Server Error"))

    def test_a_stream_comes_back_without_gap_or_repetition(self):
        first = chunked(b": hello\n\n", turn_event(1), turn_event(2), turn_event(3)[:-20], end=False)
        second = chunked(turn_event(3), b"event: end\ndata: {}\n\n")
        store, puppet = self.connect(first, second)
        self.assertEqual([turn.id for turn in store.contexts.follow(1)], [1, 2, 3])
        self.assertIn("Last-Event-ID: 2", puppet.seen[2])
        self.assertNotIn("Last-Event-ID", puppet.seen[1])

    def test_a_stream_waits_for_a_server_that_is_away_and_not_for_another_program(self):
        away = reply(b"<html>", "502 Bad Gateway")
        store, _ = self.connect(away, chunked(turn_event(1), b"event: end\ndata: {}\n\n"))
        self.assertEqual([turn.id for turn in store.contexts.follow(1)], [1])
        self.refused(quipudb.UnsupportedError, reply(b"<html>"), ask=lambda store: next(store.contexts.follow(1)))
        gone = b'event: error\ndata: {"error":{"code":"NOT_FOUND","message":"m","data":{}}}\n\n'
        self.refused(quipudb.NotFoundError, chunked(gone), ask=lambda store: next(store.contexts.follow(1)))
        forged = b'id: 1\xff\nevent: turn\ndata: {}\n\n'
        self.refused(quipudb.InvalidError, chunked(forged), ask=lambda store: next(store.contexts.follow(1)))

    def test_a_blob_goes_on_where_it_broke_off_and_is_checked(self):
        data = bytes(range(256)) * 1000
        name = f"blob:sha256:{hashlib.sha256(data).hexdigest()}"
        part = f"Content-Range: bytes 100000-{len(data) - 1}/{len(data)}"
        rest = reply(data[100_000:], "206 Partial Content", part)
        store, puppet = self.connect(reply(data)[: -(len(data) - 100_000)], rest)
        self.assertEqual(store.blobs.get(name), data)
        self.assertIn("Range: bytes=100000-", puppet.seen[2])
        self.refused(quipudb.CorruptError, reply(data[:-1] + b"!"), ask=lambda store: store.blobs.get(name))
        whole = reply(data)
        cut = whole[: -(len(data) - 5)]
        self.refused(quipudb.UnsupportedError, cut, whole, ask=lambda store: store.blobs.get(name))

    def test_a_piece_of_a_message_whose_answer_was_lost_is_stored_once(self):
        moved = {"error": {"code": "HEAD_MOVED", "message": "m", "data": {"head": "1"}}}
        stored = reply({"content": "hi", "state": "streaming"})
        store, puppet = self.connect(reply({"events": 0}), b"", reply(moved, "409 Conflict"), stored)
        stream = quipudb.Chat(store._asker, "c").stream({"role": "assistant"})
        stream.write("hi")
        posted = [head for head in puppet.seen if head.startswith("POST")]
        self.assertEqual(len(posted), 2)
        self.assertTrue(all("expectedSeq=0" in head for head in posted))
        # The twin: another text is there, so another writer was faster.
        other = reply({"content": "ho", "state": "streaming"})
        store, _ = self.connect(reply({"events": 0}), reply(moved, "409 Conflict"), other)
        with self.assertRaises(quipudb.HeadMovedError):
            quipudb.Chat(store._asker, "c").stream({"role": "assistant"}).write("hi")

    def test_a_server_that_always_refuses_a_message_is_given_up(self):
        moved = reply({"error": {"code": "HEAD_MOVED", "message": "m", "data": {"head": "1"}}}, "409 Conflict")
        missing = reply({"error": {"code": "NOT_FOUND", "message": "m", "data": {}}}, "404 Not Found")
        store, puppet = self.connect(reply({"events": 0}), *[moved, missing] * 60)
        with self.assertRaises(quipudb.HeadMovedError):
            quipudb.Chat(store._asker, "c").stream({"role": "assistant"}).write("hi")
        self.assertEqual(len([head for head in puppet.seen if head.startswith("POST")]), 50)

    def test_threads_of_a_server_that_is_none(self):
        session = lambda store: quipudb.Session(store._asker, "s")  # noqa: E731
        append = lambda store: session(store).append({"type": "note"})  # noqa: E731
        for body in [{}, {"ids": []}, {"ids": [7]}, {"ids": ["a", "b"]}]:
            with self.subTest(body=body):
                self.refused(quipudb.UnsupportedError, reply(body), ask=append)
        for body in [{}, {"events": []}, {"events": [7]}, {"events": [{"seq": "x"}]}]:
            with self.subTest(body=body):
                write = lambda store: quipudb.Chat(store._asker, "c").stream({"role": "a"}).write("x")  # noqa: E731
                self.refused(quipudb.UnsupportedError, reply({"events": 0}), reply(body), ask=write)
        endless = chunked(b"data: " + b"x" * 900_000, b"y" * 900_000, end=False)
        self.refused(quipudb.TooLargeError, endless, ask=lambda store: next(store.workflows.live("t")))
        self.refused(quipudb.TooLargeError, reply(b"{}", length=10**15), ask=lambda store: session(store).last())

    def test_nobody_is_there(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        with self.assertRaises(quipudb.UnavailableError) as raised:
            quipudb.connect_store(f"http://127.0.0.1:{port}")
        self.assertFalse(quipudb.is_outcome_unknown(raised.exception))
        for url in ["ftp://x", "http://", "http://user:token@host", "http://host?x=1", "http://host:99999", "host:1"]:
            with self.subTest(url=url), self.assertRaises(quipudb.InvalidError):
                quipudb.connect_store(url)
        for token in ["a\r\nX: y", "ü"]:
            with self.assertRaises(quipudb.InvalidError):
                quipudb.connect_store("http://127.0.0.1:1", token=token)


class SecuredTest(unittest.TestCase):
    def test_tokens_tls_and_handlers(self):
        server = rig.Server("--tls-cert", str(TLS / "cert.pem"), "--tls-key", str(TLS / "key.pem"), "--allow-handlers")
        self.addCleanup(server.stop)
        rig.quipu("init", store=server.store)
        make = ("token", "create", "--scope")
        tokens = {scope: rig.quipu(*make, scope, scope, store=server.store) for scope in ("read", "admin")}
        server.start()
        self.assertTrue(server.url.startswith("https://"))
        with self.assertRaises(quipudb.UnavailableError):
            quipudb.connect_store(server.url, token=tokens["admin"])
        pem = (TLS / "cert.pem").read_text()
        with self.assertRaises(quipudb.UnauthorizedError):
            quipudb.connect_store(server.url, ca=pem)
        reader = quipudb.connect_store(server.url, token=tokens["read"], ca=str(TLS / "cert.pem"))
        self.addCleanup(reader.close)
        with self.assertRaises(quipudb.ForbiddenError) as raised:
            reader.contexts.create()
        self.assertEqual(raised.exception.data["scope"], "write")
        store = quipudb.connect_store(server.url, token=tokens["admin"], ca=pem.encode())
        self.addCleanup(store.close)
        queue = store.queues.open("inbox")
        queue.push_batch([{"source": "self", "type": "message", "content": text} for text in ("one", "two")])
        # The handler is only there so that the consumer is; the events are taken here.
        queue.subscribe("worker", handler="true", filter="content = 'two'")
        self.assertEqual([event.content for event in queue.pop("worker", last_event_id=0)], ["two"])
        self.assertEqual(queue.pop("worker", last_event_id=2), [])
        self.assertEqual(queue.info()["progress"][0]["last_acked_id"], 2)
        queue.unsubscribe("worker")
        talk = store.contexts.create()
        turn = store.contexts.append(talk.id, {"type": "note", "payload": "a secret"})
        self.assertTrue(store.contexts.erase(turn.id, reason="pasted by mistake")["erased"])
        self.assertNotIn(tokens["admin"], repr(store) + repr(vars(store.contexts)))


if __name__ == "__main__":
    unittest.main()
