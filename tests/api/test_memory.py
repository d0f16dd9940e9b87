"""Attacks on memory and connections: the service stays within 100 MiB of its rest and keeps answering."""

import contextlib
import itertools
import json
import re
import selectors
import socket
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from machines import Machine
from muster import BASE_PATH, eventually

MIB = 1 << 20
ALLOWED = 100 * MIB
BOUNDARY = "frontier"


class Memory:
    """Resident memory of a server, from the kernel's books."""

    def __init__(self, server):
        self.proc = Path(f"/proc/{server.process.pid}")
        # Forgets the highest mark, so that it is that of the attack.
        (self.proc / "clear_refs").write_text("5")
        self.rest = self.now("VmRSS")

    def now(self, key):
        found = re.search(rf"^{key}:\s+(\d+) kB", (self.proc / "status").read_text(), re.MULTILINE)
        return int(found.group(1)) << 10

    def assert_bounded(self):
        grown = self.now("VmHWM") - self.rest
        assert grown < ALLOWED, f"grew by {grown / MIB:.0f} MiB from {self.rest / MIB:.0f} MiB"


@pytest.fixture(scope="module")
def target(servers):
    server = servers("memory").start()
    api = server.api()
    server.cluster = api.new_cluster("memory")
    infra_env = api.new_infra_env("memory-env", cluster_id=server.cluster["id"])
    server.machine = Machine(api, infra_env["id"])
    server.machine.register()
    server.machine.send_inventory()
    return server


def refused(server, reason):
    page = server.api().get("//metrics").text
    found = re.search(rf'^muster_refusals_total{{reason="{reason}"}} (\d+)', page, re.MULTILINE)
    return int(found.group(1)) if found else 0


def dial(server):
    place = urlsplit(server.url)
    return socket.create_connection((place.hostname, place.port), timeout=60)


def send(server, method, path, kind, pieces, size=None):
    """Sends a body until the server stops reading, and returns the status of the response."""
    length = f"Content-Length: {size}" if size else "Transfer-Encoding: chunked"
    head = f"{method} {BASE_PATH}{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n{length}\r\n\r\n"
    with dial(server) as wire:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            wire.sendall(head.encode())
            for piece in pieces:
                wire.sendall(piece if size else f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            if not size:
                wire.sendall(b"0\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            answer = wire.recv(4096).decode(errors="replace")
            return int(answer.split()[1]) if answer else None


FLOODS = {
    "preamble": (b"", b"x" * MIB),
    "headers": (f"--{BOUNDARY}\r\n".encode(), b"X-Flood: " + b"x" * (MIB - 11) + b"\r\n"),
    "other-parts": (
        b"",
        f"--{BOUNDARY}\r\nContent-Disposition: form-data; name=other\r\n\r\nx\r\n".encode() * 10_000,
    ),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_form_that_never_comes_to_its_file_costs_nothing(target, flood):
    memory, before = Memory(target), refused(target, "form_too_large")
    first, piece = FLOODS[flood]
    path = f"/v2/clusters/{target.cluster['id']}/logs?logs_type=controller"
    pieces = itertools.chain([first] if first else [], itertools.repeat(piece, 150))
    status = send(target, "POST", path, f"multipart/form-data; boundary={BOUNDARY}", pieces)
    memory.assert_bounded()
    assert status in (400, None)
    assert refused(target, "form_too_large") == before + 1


@pytest.mark.parametrize("item", [b"{},", b'{"a":0},', b"[],", b"0,", b'"",'])
def test_a_body_of_many_small_values_is_not_parsed(target, item):
    memory, before = Memory(target), refused(target, "too_many_values")
    body = b'{"output":[' + item * (7 * MIB // len(item)) + b"0]}"
    path = target.machine.path + "/instructions"
    status = send(target, "POST", path, "application/json", [body], len(body))
    memory.assert_bounded()
    assert status == 413
    assert refused(target, "too_many_values") == before + 1


# A list is no inventory, so its values need not be counted.
@pytest.mark.parametrize(("text", "counted"), [("[" * 3_000_000, 0), ('{"disks":[' + "{}," * 1_000_000 + "{}]}", 1)])
def test_an_inventory_of_many_objects_is_not_parsed(target, text, counted):
    memory, before = Memory(target), refused(target, "too_many_values")
    target.machine.reply("inventory", text, expect=400)
    memory.assert_bounded()
    assert refused(target, "too_many_values") == before + counted


def test_each_call_takes_bodies_of_its_size(target):
    before = refused(target, "body_too_large")
    large = json.dumps({"name": "x" * 5 * MIB}).encode()
    for method, path in (
        ("PATCH", f"/v2/clusters/{target.cluster['id']}"),
        ("PUT", f"{target.machine.path}/progress"),
    ):
        assert send(target, method, path, "application/json", [large], len(large)) == 413
    assert refused(target, "body_too_large") == before + 2


def test_many_large_bodies_at_once_take_turns(target):
    memory = Memory(target)
    body = json.dumps({"step_type": "inventory", "output": "x" * (7 * MIB)}).encode()
    path = target.machine.path + "/instructions"
    statuses = []

    def flood():
        statuses.append(send(target, "POST", path, "application/json", [body], len(body)))

    threads = [threading.Thread(target=flood) for _ in range(30)]
    for thread in threads:
        thread.start()
    # Others are served meanwhile.
    target.api().get("//health")
    for thread in threads:
        thread.join()
    memory.assert_bounded()
    assert set(statuses) <= {400, 503} and 400 in statuses, statuses


# --- connections --------------------------------------------------------------------------


@pytest.fixture
def narrow(servers):
    """A server that may open no more files than is usual."""
    server = servers("narrow")
    server.binary_prefix = ["prlimit", "--nofile=1024:1024"]
    server.start()
    return server


def crowd(server, size, say=b""):
    """Connections that are open and say next to nothing."""
    made = []
    for _ in range(size):
        wire = dial(server)
        if say:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                wire.sendall(say)
        made.append(wire)
    return made


def ended(connections):
    """How many of them the other side has closed."""
    with selectors.DefaultSelector() as ready:
        for wire in connections:
            ready.register(wire, selectors.EVENT_READ)
        return len(ready.select(0))


@pytest.mark.parametrize("say", [b"", b"GET / HTTP/1.1\r\nX-Dribble: " + b"x" * 12_000])
def test_connections_that_ask_for_nothing_make_room(narrow, say):
    memory = Memory(narrow)
    silent = crowd(narrow, 850, say)
    try:
        narrow.api().get("//health", timeout=5)
        assert refused(narrow, "connection_evicted") > 0
        memory.assert_bounded()
        eventually(lambda: ended(silent) > 600, "the longest idle to be closed")
        # One that works is not closed for the sake of those.
        busy = dial(narrow)
        busy.sendall(f"GET {BASE_PATH}/v2/watch HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert busy.recv(12) == b"HTTP/1.1 200"
        silent += crowd(narrow, 300)
        busy.settimeout(0.2)
        with contextlib.suppress(TimeoutError):
            while True:
                assert busy.recv(65_536), "the connection was closed"
        busy.close()
    finally:
        for wire in silent:
            wire.close()


def test_the_first_request_of_a_connection_must_come_soon(servers):
    server = servers("prompt", env={"MUSTER_SERVER_FIRST_REQUEST_TIMEOUT": "1s"}).start()
    with dial(server) as silent, dial(server) as dribbling:
        dribbling.sendall(b"GET / HTTP/1.1\r\nX-Dri")
        assert silent.recv(10) == b"" and dribbling.recv(10) == b""
    eventually(lambda: refused(server, "silent_connection") == 2, "both to be counted")


def test_endless_headers_end(target):
    before = refused(target, "headers_too_large")
    with dial(target) as wire:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            wire.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
            for _ in range(100):
                wire.sendall(b"X-Endless: " + b"x" * 4000 + b"\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert wire.recv(12) in (b"HTTP/1.1 431", b"")
    eventually(lambda: refused(target, "headers_too_large") == before + 1, "it to be counted")


def test_the_usual_limit_of_files_is_raised(servers):
    server = servers("raised")
    server.binary_prefix = ["prlimit", "--nofile=512:4096"]
    server.start()
    limits = Path(f"/proc/{server.process.pid}/limits").read_text()
    assert re.search(r"Max open files\s+4096\s+4096", limits), limits
