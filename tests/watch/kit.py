"""What the tests of the running daemon share: the process, a receiver of messages, patience."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

LASTSIGNAL = [sys.executable, "-m", "lastsignal"]
PATIENCE = 30.0  # seconds that anything may take on a busy machine

_Got = TypeVar("_Got")

FAILS = """
id: fails
title: A tool fails
status: stable
severity: critical
category: test
description: Detects a failed tool.
summary: "`{operation}` failed"
cause: "`{operation}` failed at line {first.line}."
remedy: 1. Mend it.
false_positives: [none]
where: {event_type: tool_result, status: failed}
window: {kind: event, group_by: [trace_id, operation]}
tests:
  - {name: fails, events: [{event_type: tool_result, operation: a, status: failed}], expect: [{}]}
  - {name: works, events: [{event_type: tool_result, operation: a, status: completed}], expect: []}
"""


def wait_for(ask: Callable[[], _Got], what: str = "", seconds: float = PATIENCE) -> _Got:
    """Ask until the answer is true, and return it."""
    deadline = time.monotonic() + seconds
    while True:
        answer = ask()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"in vain: {what or ask}"
        time.sleep(0.02)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def record(trace_id: str, event_type: str, operation: str, status: str, **more: object) -> bytes:
    """Return one line of the native format, of now."""
    fields = {
        "timestamp": more.pop("timestamp", None) or round(time.time(), 3),
        "trace_id": trace_id,
        "event_type": event_type,
        "operation": operation,
        "status": status,
        **more,
    }
    return json.dumps(fields).encode() + b"\n"


def failure(trace_id: str, operation: str = "search", **more: object) -> bytes:
    """Return the line of a tool that failed: an incident of the rule `fails`."""
    return record(trace_id, "tool_result", operation, "failed", error_message="boom", **more)


def write(path: Path, *lines: bytes) -> None:
    """Add lines to a file."""
    with path.open("ab") as file:
        file.write(b"".join(lines))


class Watch:
    """A daemon with a folder, a state directory, rules and a configuration of its own."""

    def __init__(self, root: Path, config: str = "", *, rules: str = FAILS) -> None:
        self.traces, self.state = root / "traces", root / "state"
        self.traces.mkdir(exist_ok=True)
        self.rules = root / "rules"
        self.rules.mkdir(exist_ok=True)
        if rules:
            self.rule(rules)
        self.port = free_port()
        self.config = root / "config.toml"
        self.configure(config)
        self.log_path = root / "log"
        self.process: subprocess.Popen[bytes] | None = None
        self._began = 0

    def rule(self, text: str) -> Path:
        """Write a rule file, named as its rule must be."""
        name = text.split("id: ", 1)[1].split("\n", 1)[0]
        path = self.rules / f"{name}.yaml"
        path.write_text(text)
        return path

    def configure(self, text: str, *, builtin: bool = False) -> None:
        """Write the configuration: tables of it, besides those that every test needs."""
        listen = f'[http]\nlisten = "127.0.0.1:{self.port}"\n' if "[http]" not in text else ""
        rules = f'[rules]\nbuiltin = {str(builtin).lower()}\npaths = ["{self.rules}"]\n'
        inputs = f'[inputs]\npaths = ["{self.traces}"]\n' if "[inputs]" not in text else ""
        top = f'state_dir = "{self.state}"\n'
        self.config.write_text(top + inputs + rules + listen + text)

    def start(self, *options: str, before: tuple[str, ...] = (), **environment: str) -> Watch:
        """Start the process."""
        command = [*before, *LASTSIGNAL, "watch", "--config", str(self.config), *options]
        self._began = len(self.log())
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env={**os.environ, **environment},
                cwd=self.traces.parent,
            )
        return self

    def ready(self) -> Watch:
        """Wait until it reads."""
        wait_for(lambda: self.says("watching") or self.ended(), "watching")
        assert not self.ended(), self.log()
        return self

    def ended(self) -> bool:
        """Whether the process has ended."""
        return self.process is not None and self.process.poll() is not None

    def log(self) -> str:
        """Return what it has written to standard error."""
        return self.log_path.read_text() if self.log_path.exists() else ""

    def lines(self, event: str) -> list[dict[str, Any]]:
        """Return the log lines of an event since the last start."""
        text = self.log()[self._began :]
        found = [json.loads(one) for one in text.splitlines(True) if one.endswith("}\n")]
        return [one for one in found if one.get("event") == event]

    def says(self, event: str) -> bool:
        """Whether the log has a line of an event since the last start."""
        return bool(self.lines(event))

    def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        """Ask over HTTP; (0, …) while nobody answers."""
        url = f"http://127.0.0.1:{self.port}{path}"
        try:
            with urllib.request.urlopen(
                urllib.request.Request(url, method=method), timeout=10
            ) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def metric(self, name: str) -> float:
        """Return the sum of a metric's samples; `name` may hold labels."""
        wanted, _, labels = f"lastsignal_{name}".partition("{")
        total = 0.0
        for line in self.get("/metrics")[1].splitlines():
            called, _, value = line.rpartition(" ")
            one, _, its = called.partition("{")
            if one == wanted and all(label in its for label in labels.rstrip("}").split(",")):
                total += float(value)
        return total

    def stop(self, number: int = signal.SIGTERM, seconds: float = PATIENCE) -> int:
        """End the process by a signal; return its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def kill(self) -> None:
        """End the process at once, without its knowing."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE)

    def once(self, *options: str) -> str:
        """Run it over what is there; return its log."""
        self.start("--once", *options)
        assert self.process is not None
        assert self.process.wait(120) == 0, self.log()
        return self.log()


@contextmanager
def watching(root: Path, config: str = "", *options: str, **more: Any) -> Iterator[Watch]:
    """Run a daemon that is ready, and end it afterwards."""
    one = Watch(root, config, **more)
    try:
        yield one.start(*options).ready()
    finally:
        if one.process is not None and not one.ended():
            one.kill()


class Message(NamedTuple):
    """What a receiver was sent."""

    at: float
    """Monotonic."""
    path: str
    key: str
    body: dict[str, Any]
    answered: int


Answer = tuple[int, dict[str, str]]


class Receiver:
    """An HTTP server on loopback that keeps messages, and answers by path as it is told."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.answers: dict[str, Callable[[int], Answer]] = {}
        self.released = threading.Event()
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Stop."""
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def at(self, path: str, answered: int = 200) -> list[Message]:
        """Return the messages to a path that were answered so."""
        return [m for m in list(self.messages) if m.path == path and m.answered == answered]

    def told(self, path: str) -> list[tuple[str, str]]:
        """Return kind and trace of each incident that a path was told of."""
        return [
            (message.body["kind"], incident["trace_id"])
            for message in self.at(path)
            for incident in message.body["incidents"]
        ]

    def _answer(self, path: str) -> Answer:
        with self._lock:
            number = self._counts.get(path, 0)
            self._counts[path] = number + 1
        return self.answers.get(path, lambda _: (200, {}))(number)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                data, at = self.rfile.read(length), time.monotonic()
                status, headers = receiver._answer(self.path)
                body = json.loads(data) if data[:1] == b"{" else {"raw": data.decode()}
                key = self.headers.get("Idempotency-Key", "")
                receiver.messages.append(Message(at, self.path, key, body, status))
                if status == 0:  # never answers
                    receiver.released.wait(120)
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


def webhook(name: str, receiver: Receiver, **more: object) -> str:
    """Return the configuration of a web hook at the receiver's path of the same name."""
    lines = [f'name = "{name}"', 'kind = "webhook"', f'url = "{receiver.url}/{name}"']
    lines += [f"{key} = {json.dumps(value)}" for key, value in more.items()]
    return "[[targets]]\n" + "\n".join(lines) + "\n"
