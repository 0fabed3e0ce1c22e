"""An agent in Python whose history is in a store. End its process at any moment and start it again: it goes on with the
step that was not done. Run a server, then this with its address:

    quipu serve --store ./.quipu
    python3 examples/python_agent.py http://127.0.0.1:7410
"""

import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "clients" / "python"))
import quipudb  # noqa: E402


def think(messages):
    """In the place of a model."""
    time.sleep(0.1)
    return f"finding {len(messages)}"


def message(role, text):
    return {"type": "chat.message", "payload": {"role": role, "text": text}}


url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7410"
with quipudb.connect_store(url) as store:
    talk = store.contexts.get_or_create("agents/report", title="Write a report")
    if talk.head == 0:
        try:
            store.contexts.append(talk.id, message("user", "Write a report."), expected_head=0)
        except quipudb.HeadMovedError:
            pass  # Another process has begun it.
    while True:
        turns = store.contexts.last(talk.id, 100).turns
        if len(turns) >= 6:
            break
        answer = think([turn.payload["text"] for turn in turns])
        print(answer, flush=True)
        try:
            # Two agents at once do not say the same thing twice: the slower one reads on.
            store.contexts.append(talk.id, message("assistant", answer), expected_head=turns[-1].id)
        except quipudb.HeadMovedError:
            continue
    print(", ".join(turn.payload["text"] for turn in turns))
