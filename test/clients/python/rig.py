"""Servers for the tests of the Python client: real ones, and one that says what a test wants it to say."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

PROJECT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(PROJECT / "clients" / "python"))

NODE = os.environ.get("QUIPU_NODE", "node")
CLI = str(PROJECT / "dist" / "cli" / "main.js")


def quipu(*args, store):
    """Runs a command on a folder, and returns what it prints."""
    env = {**os.environ, "QUIPU_STORE": store, "THREAD_NOTIFIER": "true"}
    ran = subprocess.run([NODE, CLI, *args], env=env, capture_output=True, text=True, check=True, timeout=60)
    return ran.stdout.strip()


class Server:
    """``quipu serve`` on a folder of its own, or on a store. It can be killed and come back on the same port."""

    def __init__(self, *options, store=None):
        self.folder = tempfile.mkdtemp(prefix="quipu-python-")
        self.store = store or os.path.join(self.folder, "store")
        self.options = options
        self.process = None
        self.url = None
        self.port = 0

    def start(self):
        args = ["serve", "--store", self.store, "--port", str(self.port), "--tcp-port", "0", "--json", *self.options]
        self.process = subprocess.Popen([NODE, CLI, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        addresses = json.loads(self.process.stdout.readline())
        self.url = addresses["http"]
        self.port = int(self.url.rsplit(":", 1)[1])
        return self

    def kill(self):
        """As a crash does it."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        if self.process is not None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Puppet:
    """A server that answers each connection with the bytes of the test. ``seen`` has the heads of the requests."""

    def __init__(self, *answers, then=b""):
        self._answers = list(answers)
        self._then = then
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.seen = []
        self._serving = threading.Thread(target=self._serve, daemon=True)
        self._serving.start()

    def _serve(self):
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(line,), daemon=True).start()

    def _answer(self, line):
        with line:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = line.recv(65536)
                if not piece:
                    return
                head += piece
            self.seen.append(head.decode("latin-1"))
            answer = self._answers.pop(0) if self._answers else self._then
            try:
                for part in [answer] if isinstance(answer, bytes) else answer:
                    line.sendall(part)
            except OSError:
                pass

    def close(self):
        # A thread that still waits would take the connections of whoever gets the number of the socket next.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._serving.join()
        self._listener.close()


def reply(body, status="200 OK", *headers, length=None):
    """An answer of HTTP, with the length of the body unless another one is claimed."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content) if length is None else length}", *headers]
    return ("\r\n".join([*lines, "Content-Type: application/json", "Connection: close", "", ""])).encode() + content
