"""Clients that take their time: those that take nothing are cut off, those that take something never."""

import random
import socket
import ssl
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import live_iso
from boot_images import VERSION, catalogue, fetch, stock
from muster import eventually

# More than sockets of both sides can swallow.
LARGE = random.Random(7).randbytes(24_000_000)
TIMEOUT = 3


@pytest.fixture(scope="module", params=["http", "https"])
def short_timeout(request, servers, tmp_path_factory):
    """A server that cuts off clients after a few seconds, and the address of an image of it."""
    env = {"OS_IMAGES": catalogue(), "MUSTER_SERVER_STALLED_TIMEOUT": f"{TIMEOUT}s"}
    server = servers(f"short_timeout-{request.param}", plain=request.param == "http", env=env).start()
    stock(server, live_iso.make(tmp_path_factory.mktemp("large"), rootfs=LARGE))
    server.image = urlsplit(server.api().new_infra_env("stalled", openshift_version=VERSION)["download_url"])
    return server


def begin(server):
    """A download whose client has read nothing yet, with a small buffer of its own."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    client.settimeout(60)
    client.connect((server.image.hostname, server.image.port))
    port = client.getsockname()[1]
    if not server.plain:
        context = ssl.create_default_context(cafile=str(server.data_dir / "tls" / "ca.crt"))
        client = context.wrap_socket(client, server_hostname=server.image.hostname)
    client.sendall(f"GET {server.image.path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    return client, port


def is_held(server, port):
    """Whether the server still has the other end of this connection, as the kernel sees it."""
    here = f"{server.image.port:04X}"
    for line in Path(f"/proc/{server.process.pid}/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        local, remote, state = words[1].split(":")[1], words[2].split(":")[1], words[3]
        if (local, remote, state) == (here, f"{port:04X}", "01"):
            return True
    return False


def test_a_client_that_takes_nothing_is_cut_off(short_timeout):
    client, port = begin(short_timeout)
    with client:
        eventually(lambda: is_held(short_timeout, port), "the download to begin")
        eventually(lambda: not is_held(short_timeout, port), "the download to be cut off", timeout=60)


def test_a_client_that_takes_a_little_at_a_time_is_never_cut_off(short_timeout):
    client, port = begin(short_timeout)
    taken, pause = b"", threading.Event()
    with client:
        # Far longer than the server's timeout, and each time far less than is waiting.
        for _ in range(4 * TIMEOUT):
            # Seen once half of the megabyte that the kernel holds unsent was taken.
            until = len(taken) + 400_000
            while len(taken) < until:
                taken += client.recv(until - len(taken))
            pause.wait(1)
        assert is_held(short_timeout, port)
        while more := client.recv(1 << 20):
            taken += more
    verify = True if short_timeout.plain else str(short_timeout.data_dir / "tls" / "ca.crt")
    assert taken.partition(b"\r\n\r\n")[2] == fetch(short_timeout.image.geturl(), verify=verify).content


def test_others_are_served_while_many_wait(short_timeout):
    waiting = [begin(short_timeout) for _ in range(40)]
    try:
        verify = True if short_timeout.plain else str(short_timeout.data_dir / "tls" / "ca.crt")
        answer = fetch(short_timeout.image.geturl(), verify=verify, headers={"Range": "bytes=0-999999"})
        assert len(answer.content) == 1_000_000
    finally:
        for client, _ in waiting:
            client.close()
