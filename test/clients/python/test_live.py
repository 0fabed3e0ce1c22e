"""What the client does on a real server: over the store in QUIPU_TEST_STORE, else over a folder."""

import datetime
import hashlib
import io
import os
import threading
import unittest
import uuid

import rig
import quipudb

STORE = os.environ.get("QUIPU_TEST_STORE")
server = rig.Server(store=STORE)


def setUpModule():
    rig.quipu("init", store=server.store)
    server.start()


def tearDownModule():
    server.stop()


def say(text):
    return {"type": "note", "payload": {"text": text}}


def texts(turns):
    return [turn.payload["text"] for turn in turns]


class LiveTest(unittest.TestCase):
    def setUp(self):
        self.store = quipudb.connect_store(server.url)
        self.addCleanup(self.store.close)
        self.contexts = self.store.contexts
        self.name = f"python/{uuid.uuid4().hex}"


class ContextsTest(LiveTest):
    def test_a_context_is_made_found_changed_and_removed(self):
        made = self.contexts.create(name=self.name, title="talk", labels=["a"], meta={"env": self.name})
        self.assertEqual((made.title, made.labels, made.meta, made.head), ("talk", ["a"], {"env": self.name}, 0))
        self.assertEqual(self.contexts.get(made.id), made)
        self.assertEqual(self.contexts.by_name(self.name), made)
        self.assertEqual(self.contexts.get_or_create(self.name, title="other").id, made.id)
        with self.assertRaises(quipudb.ExistsError):
            self.contexts.create(name=self.name)
        changed = self.contexts.update(made.id, title=None, kind="chat")
        self.assertEqual((changed.title, changed.kind, changed.labels), (None, "chat", ["a"]))
        self.assertEqual(self.contexts.rename(made.id, None).name, None)
        self.assertIsNone(self.contexts.by_name(self.name))
        page = self.contexts.list(meta={"env": self.name}, count=True, created_since=made.created_at)
        self.assertEqual(([one.id for one in page.items], page.total), ([made.id], 1))
        later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
        self.assertEqual(self.contexts.list(meta={"env": self.name}, updated_since=later).items, [])
        self.contexts.remove(made.id)
        self.assertIsNone(self.contexts.get(made.id))

    def test_pages_of_contexts_go_on_at_the_cursor(self):
        made = {self.contexts.create(meta={"env": self.name}).id for _ in range(3)}
        first = self.contexts.list(meta={"env": self.name}, limit=2)
        second = self.contexts.list(meta={"env": self.name}, limit=2, cursor=first.cursor)
        self.assertEqual({one.id for one in first.items + second.items}, made)
        self.assertIsNone(second.cursor)

    def test_a_key_makes_one_context_however_often_it_is_sent(self):
        first = self.contexts.create(title="once", idempotency_key=self.name)
        self.assertEqual(self.contexts.create(title="once", idempotency_key=self.name).id, first.id)
        with self.assertRaises(quipudb.IdempotencyConflictError):
            self.contexts.create(title="other", idempotency_key=self.name)

    def test_appends_pages_forks_and_moves(self):
        talk = self.contexts.get_or_create(self.name)
        first = self.contexts.append(talk.id, say("a"), expected_head=0)
        rest = self.contexts.append_batch(talk.id, [say("b"), say("c"), say("d")], expected_head=first.id)
        self.assertEqual([turn.depth for turn in rest], [1, 2, 3])
        page = self.contexts.last(talk.id, 2)
        self.assertEqual((texts(page.turns), page.head_depth), (["c", "d"], 3))
        self.assertEqual(texts(self.contexts.before(talk.id, page.cursor, 5).turns), ["a", "b"])
        self.assertEqual(texts(self.contexts.range(talk.id, 1, 3).turns), ["b", "c"])
        self.assertEqual(texts(self.contexts.chain(rest[2].id)), ["a", "b", "c", "d"])
        with self.assertRaises(quipudb.HeadMovedError) as raised:
            self.contexts.append(talk.id, say("late"), expected_head=first.id)
        self.assertEqual(raised.exception.data["head"], str(rest[2].id))
        branch = self.contexts.fork(first.id, title="another way")
        other = self.contexts.append(branch.id, say("e"))
        self.assertEqual(texts(self.contexts.last(branch.id, 9).turns), ["a", "e"])
        parted = {"base": first.id, "left": [turn.id for turn in rest], "right": [other.id]}
        self.assertEqual(self.contexts.diff(rest[2].id, other.id), parted)
        moved = self.contexts.move_head(talk.id, rest[0].id, expected_head=rest[2].id)
        self.assertEqual((moved.head, moved.head_depth), (rest[0].id, 1))
        self.assertEqual(self.contexts.move_head(talk.id, 0).head, 0)

    def test_a_key_counts_once(self):
        talk = self.contexts.create()
        first = self.contexts.append(talk.id, say("once"), idempotency_key="k1")
        self.assertEqual(self.contexts.append(talk.id, say("once"), idempotency_key="k1").id, first.id)
        with self.assertRaises(quipudb.IdempotencyConflictError):
            self.contexts.append(talk.id, say("twice"), idempotency_key="k1")
        self.assertEqual(self.contexts.get(talk.id).head_depth, 0)

    def test_payloads_come_back_as_they_went(self):
        talk = self.contexts.create()
        simple = [None, True, 1.5, -3, 2**53 - 1, "ünï \u2028 \U0001f9f6"]
        values = [*simple, [1, [2]], {"base64": "AAAA"}, {"b": 1, "a": []}]
        for value in values:
            self.contexts.append(talk.id, {"type": "v", "payload": value})
        self.contexts.append(talk.id, {"type": "v", "payload": "plain\r\n", "encoding": "text", "version": 3})
        self.contexts.append(talk.id, {"type": "v", "payload": b"\x00\xff", "version": 2})
        self.contexts.append_batch(talk.id, [{"type": "v", "payload": bytearray(b"xyz")}])
        turns = self.contexts.last(talk.id, 50).turns
        self.assertEqual([turn.payload for turn in turns], [*values, "plain\r\n", b"\x00\xff", b"xyz"])
        self.assertEqual([turn.encoding for turn in turns[-3:]], ["text", "bytes", "bytes"])
        self.assertEqual([turn.version for turn in turns[-3:]], [3, 2, 1])
        self.assertIsNone(self.contexts.last(talk.id, 1, payload=False).turns[0].payload)

    def test_a_large_payload_goes_and_comes(self):
        talk = self.contexts.create()
        large = "ab\n" * 6_000_000
        self.contexts.append(talk.id, {"type": "large", "payload": [large]})
        self.assertEqual(self.contexts.turn(self.contexts.get(talk.id).head).payload, [large])

    def test_what_json_cannot_hold_is_refused_here(self):
        for payload in [float("nan"), 2**53, {"x": [-(2**60)]}, "\ud800", object(), {"b": b"x"}]:
            with self.subTest(payload=repr(payload)), self.assertRaises(quipudb.InvalidError):
                self.contexts.append(1, {"type": "v", "payload": payload})
        deep = []
        for _ in range(100_000):
            deep = [deep]
        unknown = {"type": "v", "payload": 1, "x": 1}
        for turn in [{"type": "v", "payload": deep}, {"type": "v"}, {"payload": 1}, unknown]:
            with self.assertRaises(quipudb.InvalidError):
                self.contexts.append(1, turn)
        del deep
        for id in [0, -1, "x", "1/../2", True, 10**20, None]:
            with self.subTest(id=id), self.assertRaises(quipudb.InvalidError):
                self.contexts.get(id)

    def test_patches_tombstones_and_pins(self):
        talk = self.contexts.create()
        turn = self.contexts.append(talk.id, say("first"))
        patch = self.contexts.patch(turn.id, {"text": "better"}, expected_seq=0)
        self.assertEqual(texts(self.contexts.last(talk.id).turns), ["better"])
        self.assertEqual(texts(self.contexts.last(talk.id, as_of="original").turns), ["first"])
        self.contexts.tombstone(turn.id, "spam", expected_seq=patch.seq)
        hidden = self.contexts.turn(turn.id)
        self.assertEqual((hidden.tombstone, hidden.reason, hidden.payload), (True, "spam", None))
        self.assertEqual([one.tombstone for one in self.contexts.patches(turn.id)], [False, True])
        self.contexts.pin(turn.id, reason="cited")
        self.assertIn({"turn": turn.id, "reason": "cited"}, self.contexts.pins())
        self.contexts.unpin(turn.id)
        with self.assertRaises(quipudb.NotFoundError):
            self.contexts.unpin(turn.id)

    def test_a_turn_is_streamed_followed_and_sealed(self):
        talk = self.contexts.create()
        with self.contexts.open(talk.id, {"type": "answer"}) as turn:
            turn.write("hel")
            turn.write("lo wörld")
            turn.flush()
            resumed = self.contexts.resume(turn.id)
            self.assertEqual(resumed.acknowledged_bytes, len("hello wörld".encode()))
            with self.assertRaises(quipudb.LockedError):
                self.contexts.append(talk.id, say("between"))
            pieces = self.contexts.follow_open(turn.id)
            self.assertEqual(next(pieces), "hello wörld".encode())
            turn.write("!")
            turn.seal()
            self.assertEqual(b"".join(pieces), b"!")
        self.assertEqual(self.contexts.last(talk.id).turns[0].payload, "hello wörld!")
        with self.assertRaises(ZeroDivisionError), self.contexts.open(talk.id, {"type": "answer"}) as turn:
            turn.write("half")
            raise ZeroDivisionError("no")
        self.assertEqual(self.contexts.last(talk.id, 1).turns[0].outcome, "aborted")
        with self.assertRaises(quipudb.InvalidError):
            self.contexts.resume(turn.id)


class FollowTest(LiveTest):
    def test_follow_gives_what_is_there_and_what_comes(self):
        talk = self.contexts.create()
        self.contexts.append_batch(talk.id, [say("a"), say("b")])
        followed = self.contexts.follow(talk.id, moves=True)
        first = next(followed)
        self.assertEqual(texts([first, next(followed)]), ["a", "b"])
        self.contexts.append(talk.id, say("c"))
        self.assertEqual(texts([next(followed)]), ["c"])
        self.contexts.move_head(talk.id, first.id)
        self.assertEqual(next(followed), quipudb.MovedHead(first.id, 0))
        self.contexts.remove(talk.id)
        self.assertEqual(list(followed), [])

    def test_follow_begins_after_a_turn_and_ends_when_told(self):
        talk = self.contexts.create()
        turns = self.contexts.append_batch(talk.id, [say("a"), say("b")])
        stop, got = threading.Event(), []

        def read():
            for turn in self.contexts.follow(talk.id, after=turns[0].id, stop=stop):
                got.append(turn.payload["text"])

        thread = threading.Thread(target=read)
        thread.start()
        self.contexts.append(talk.id, say("c"))
        for turn in self.contexts.follow(talk.id):
            if turn.payload["text"] == "c":
                break
        while len(got) < 2 and thread.is_alive():
            thread.join(0.01)
        stop.set()
        thread.join(30)
        self.assertFalse(thread.is_alive())
        self.assertEqual(got, ["b", "c"])

    def test_closing_the_store_ends_what_follows_it(self):
        store = quipudb.connect_store(server.url)
        talk = store.contexts.create()
        thread = threading.Thread(target=lambda: list(store.contexts.follow(talk.id, after="head")))
        thread.start()
        store.close()
        thread.join(30)
        self.assertFalse(thread.is_alive())
        with self.assertRaises(quipudb.ClosedError):
            store.contexts.get(talk.id)

    def test_watch_tells_of_the_whole_store(self):
        talk = self.contexts.create()
        events = self.store.watch(context=talk.id, kinds=["turn.appended"])
        started = next(events)
        self.assertEqual(started.kind, "started")
        turn = self.contexts.append(talk.id, say("x"))
        event = next(events)
        self.assertEqual((event.kind, event.data["turn"]["id"]), ("turn.appended", str(turn.id)))
        again = self.store.watch(context=talk.id, kinds=["turn.appended"], after=started.id)
        self.assertEqual([next(again).kind, next(again).data], ["resumed", event.data])


class BlobsTest(LiveTest):
    def test_bytes_files_and_iterables(self):
        data = os.urandom(300_000)
        info = self.store.blobs.put(data, sha256=True)
        self.assertEqual((info.size, info.sha256), (len(data), hashlib.sha256(data).hexdigest()))
        self.assertTrue(self.store.blobs.put(io.BytesIO(data)).existed)
        self.assertEqual(self.store.blobs.put(data[at : at + 1000] for at in range(0, len(data), 1000)).hash, info.hash)
        self.assertEqual(self.store.blobs.get(info.hash), data)
        self.assertEqual(self.store.blobs.get(f"blob:sha256:{info.sha256}"), data)
        self.assertEqual(self.store.blobs.stat(info.hash), quipudb.BlobDetails(info.hash, len(data)))
        self.assertEqual(b"".join(self.store.blobs.stream(info.hash, start=10, end=200_000)), data[10:200_000])
        self.assertEqual(b"".join(self.store.blobs.stream(info.hash, start=len(data))), b"")
        self.assertEqual(self.store.blobs.get(self.store.blobs.put(b"").hash), b"")
        self.assertFalse(self.store.blobs.has("0" * 64))
        self.assertIsNone(self.store.blobs.get("0" * 64))
        with self.assertRaises(TypeError):
            self.store.blobs.put("text")
        with self.assertRaises(quipudb.InvalidError):
            self.store.blobs.get("..")

    def test_a_source_that_fails_says_so_itself(self):
        def failing():
            yield b"some"
            raise OSError("the disk of the caller")

        with self.assertRaisesRegex(OSError, "the disk of the caller"):
            self.store.blobs.put(failing())

    def test_a_small_memory_streams_what_it_cannot_hold(self):
        small = quipudb.connect_store(server.url, max_answer_bytes=100_000)
        self.addCleanup(small.close)
        info = self.store.blobs.put(bytes(1_000_000))
        with self.assertRaises(quipudb.TooLargeError):
            small.blobs.get(info.hash)
        self.assertEqual(sum(map(len, small.blobs.stream(info.hash))), 1_000_000)


class ThreadsTest(LiveTest):
    def test_chats(self):
        chat = self.store.chats.create(title="help")
        first = chat.add({"role": "user", "content": "my parser fails"})
        chat.add({"role": "assistant", "content": "show it", "model": "m"}, expected_seq=first["seq"])
        with self.assertRaises(quipudb.HeadMovedError):
            chat.add({"role": "user", "content": "late"}, expected_seq=first["seq"])
        chat.edit(first["id"], "my lexer fails")
        self.assertEqual([one["content"] for one in chat.messages()["messages"]], ["my lexer fails", "show it"])
        self.assertEqual(chat.message(first["id"])["edits"], 1)
        self.assertIsNone(chat.message("nobody"))
        self.assertEqual([one["id"] for one in chat.search("lexer")["messages"]], [first["id"]])
        branch = chat.fork(first["id"])
        chat.add({"role": "assistant", "content": "which one?", "branch": branch})
        self.assertEqual(chat.messages(branch=branch)["messages"][-1]["content"], "which one?")
        attached = chat.attach(b"PNG", name="shot.png", message=first["id"])
        self.assertEqual((attached["mediaType"], self.store.blobs.get(attached["hash"])), ("image/png", b"PNG"))
        batch = chat.ask([{"id": "q1", "text": "Sure?", "kind": "yes_no"}])
        chat.answer(batch, [{"question_id": "q1", "value": "yes"}])
        self.assertEqual(chat.clarifications()["batches"][0]["state"], "answered")
        events = chat.follow()
        self.assertEqual([next(events)["seq"] for _ in range(3)], [1, 2, 3])
        self.assertIn("my lexer fails", chat.export())
        self.assertEqual(self.store.chats.open(chat.id).update(title="better")["title"], "better")
        chat.redact(first["id"], reason="private")
        chat.archive()
        self.assertIn("archivedAt", chat.unarchive() and chat.archive())
        self.store.chats.remove(chat.id)
        with self.assertRaises(quipudb.NotFoundError):
            self.store.chats.open(chat.id)

    def test_a_message_is_streamed_resumed_and_completed(self):
        chat = self.store.chats.create()
        chat.add({"role": "user", "content": "tell me a story"})
        followed = chat.follow(after=1)
        stream = chat.stream({"role": "assistant", "model": "m-1"})
        self.assertEqual(chat.status()["events"], 1)
        for piece in ["Once ", "upon ", "a time 🎈"]:
            stream.write(piece)
        stream.flush()
        said = "Once upon a time 🎈"
        text = ""
        while text != said:
            event = next(followed)
            self.assertEqual(event["type"], "message_stream_delta")
            text += event["payload"]["delta"]
        shown = chat.message(stream.id)
        self.assertEqual((shown["content"], shown["state"], shown["role"]), (said, "streaming", "assistant"))
        # As after a crash of the writer: the text that was flushed is there.
        again = self.store.chats.open(chat.id).resume(stream.id)
        self.assertEqual(again.text, said)
        again.write(" it rained.")
        event = again.complete(model="m-2", usage={"input_tokens": 3, "output_tokens": 9})
        self.assertEqual(event["type"], "message_completed")
        self.assertEqual(event["payload"]["model"], "m-2")
        self.assertEqual(chat.message(stream.id)["content"], said + " it rained.")
        self.assertEqual(chat.status()["usage"]["outputTokens"], 9)
        with self.assertRaises(quipudb.ClosedError):
            again.write("more")
        with self.assertRaises(quipudb.InvalidError):
            chat.resume(stream.id)
        with self.assertRaises(quipudb.NotFoundError):
            chat.resume("nobody")
        with self.assertRaises(quipudb.ExistsError):
            chat.stream({"role": "assistant", "id": stream.id})
        with self.assertRaises(quipudb.InvalidError):
            chat.stream({"role": "assistant", "content": "not here"})

    def test_texts_of_two_writers_do_not_mix_and_others_may_write_meanwhile(self):
        chat = self.store.chats.create()
        first = chat.stream({"role": "assistant", "id": "answer"})
        first.write("one ")
        first.flush()
        # Somebody else says something: the stream goes on behind it.
        chat.add({"role": "user", "content": "and?"})
        first.write("two ")
        first.flush()
        second = chat.resume("answer")
        second.write("three")
        second.flush()
        with self.assertRaises(quipudb.HeadMovedError):
            first.write("lost")
            first.flush()
        second.complete()
        self.assertEqual(chat.message("answer")["content"], "one two three")
        branch = chat.fork("answer")
        with chat.stream({"role": "assistant", "branch": branch}) as other:
            other.write("elsewhere")
        self.assertEqual(chat.messages(branch=branch)["messages"][-1]["content"], "elsewhere")
        with self.assertRaises(KeyError), chat.stream({"role": "assistant", "id": "cut"}) as cut:
            cut.write("half")
            cut.flush()
            raise KeyError("a model that failed")
        self.assertEqual(chat.message("cut")["state"], "streaming")
        self.assertEqual(chat.resume("cut").text, "half")

    @unittest.skipIf(STORE, "session files stand in the folder of a store, and a database has none")
    def test_sessions(self):
        session = self.store.sessions.create(cwd="/work", header={"title": "fix"})
        first = session.append({"type": "message", "message": {"role": "user", "content": "hi"}})
        others = session.append_batch([{"type": "note", "n": n} for n in range(4)])
        self.assertEqual(len({first, *others}), 5)
        page = session.last(2)
        self.assertEqual([entry["n"] for entry in page["entries"]], [2, 3])
        self.assertEqual([entry["n"] for entry in session.last(2, before=page["cursor"])["entries"]], [0, 1])
        self.assertEqual([entry["id"] for entry in session.last()["entries"]], [first, *others])
        artifact = session.save_artifact("line 1\nline 2\n", tool_type="bash")
        self.assertEqual(session.resolve(artifact["url"], offset=2, limit=1)["content"].split("\n")[0], "line 2")
        fork = session.fork(at=first)
        self.assertEqual([entry["id"] for entry in fork.last()["entries"]], [first])
        self.assertEqual([entry["id"] for entry in self.store.sessions.open(fork.id).last()["entries"]], [first])
        self.assertIn(session.id, [one["id"] for one in self.store.sessions.list(limit=1000)["items"]])
        self.store.sessions.remove(fork.id)
        with self.assertRaises(quipudb.NotFoundError):
            self.store.sessions.open(fork.id)
        with self.assertRaises(quipudb.InvalidError):
            session.append({"type": ""})

    def test_workflows(self):
        workflows = self.store.workflows
        rig.quipu("workflow", "add", str(rig.PROJECT / "examples" / "solve-issue.mjs"), store=server.store)
        self.assertIn("solve-issue", [bundle["name"] for bundle in workflows.bundles()])
        thread = workflows.start("solve-issue", "fix the parser", max_rounds=3)
        first = workflows.step(thread["id"], role="planner", content="two steps", meta={"steps": 2})
        with self.assertRaises(quipudb.HeadMovedError):
            workflows.step(thread["id"], role="coder", content="late", expected_head=thread["start"])
        live = workflows.live(thread["id"])
        self.assertEqual(next(live)["hash"], first["hash"])
        second = workflows.step(thread["id"], role="coder", content="done", expected_head=first["hash"])
        self.assertEqual(next(live)["content"], "done")
        self.assertEqual([step["hash"] for step in workflows.steps(thread["id"])["steps"]], [first["hash"], second["hash"]])
        fork = workflows.fork(thread["id"], at=first["hash"])
        self.assertEqual(workflows.get(fork["id"])["head"], first["hash"])
        workflows.compact(fork["id"], "half done")
        self.assertEqual(workflows.context(fork["id"])["summary"], "half done")
        self.assertEqual(workflows.pause(fork["id"])["state"], "paused")
        workflows.kill(fork["id"], "wrong branch")
        workflows.end(thread["id"], return_code=0, summary="fixed")
        # The end of the thread is the end of the stream.
        self.assertLess(len(list(live)), 2)
        self.assertEqual(workflows.get(thread["id"], details=True)["outcome"], "completed")
        self.assertIn(thread["id"], [one["id"] for one in workflows.list(state="all", limit=1000)["items"]])
        workflows.remove(fork["id"])
        self.assertIsNone(workflows.get(fork["id"]))
        with self.assertRaises(quipudb.NotFoundError):
            workflows.start("nobody", "do it")

    def test_queues(self):
        name = f"q{uuid.uuid4().hex[:12]}"
        with self.assertRaises(quipudb.NotFoundError):
            self.store.queues.open(name, create=False)
        queue = self.store.queues.open(name)
        event = {"source": "self", "type": "message", "content": "one"}
        self.assertEqual(queue.push(event), 1)
        self.assertEqual(queue.push_batch([{**event, "content": "two"}, {**event, "content": "three"}]), [2, 3])
        self.assertEqual([one.content for one in queue.peek(last_event_id=1)], ["two", "three"])
        self.assertEqual([one.id for one in queue.peek(filter="content = 'two'")], [2])
        followed = queue.follow(last_event_id=2)
        self.assertEqual(next(followed).content, "three")
        queue.push({**event, "type": "record", "subtype": "log", "content": "four"})
        got = next(followed)
        self.assertEqual((got.id, got.type, got.subtype), (4, "record", "log"))
        self.assertEqual(queue.info()["event_count"], 4)
        self.assertIn(name, [one["name"] for one in self.store.queues.list()])
        self.assertEqual(queue.dispatch(), {"started": [], "skipped": []})
        with self.assertRaises(quipudb.NotFoundError):
            queue.pop("nobody", last_event_id=0)

    def test_search(self):
        word = f"w{uuid.uuid4().hex}"
        talk = self.contexts.create()
        turn = self.contexts.append(talk.id, say(f"the {word} of Lima"))
        answer = self.store.search(f'{word} kind:context', group=True, wait_ms=20_000)
        self.assertEqual([hit["id"] for hit in answer["groups"][0]["hits"]], [str(turn.id)])
        with self.assertRaises(quipudb.InvalidError):
            self.store.search('"open')

    def test_many_threads_share_one_store(self):
        talk = self.contexts.create()
        errors = []

        def write(number):
            try:
                for at in range(10):
                    self.contexts.append(talk.id, say(f"{number}.{at}"))
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        said = texts(self.contexts.last(talk.id, 100).turns)
        self.assertEqual(len(set(said)), 80)
        for number in range(8):
            own = [text for text in said if text.startswith(f"{number}.")]
            self.assertEqual(own, [f"{number}.{at}" for at in range(10)])


if __name__ == "__main__":
    unittest.main()
