"""Downloads of boot images on every kind of connection: the right bytes, resumed anywhere, at constant memory."""

import hashlib
import random
import re
import socket
import subprocess
import time
from urllib.parse import urlsplit

import pytest
import requests

import live_iso
from boot_images import VERSION, catalogue, fetch, stock
from test_storage import SEALING_KEY

# More than sockets of both sides can swallow, so that downloads have to wait for their client.
LARGE = random.Random(7).randbytes(24_000_000)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return live_iso.make(tmp_path_factory.mktemp("large"), rootfs=LARGE)


@pytest.fixture(scope="module")
def plain(servers, large):
    server = servers("downloads", env={"OS_IMAGES": catalogue()}).start()
    stock(server, large)
    return server


@pytest.fixture(scope="module")
def secure(servers, large):
    server = servers("downloads-tls", plain=False, env={"OS_IMAGES": catalogue()}).start()
    stock(server, large)
    return server


def curl(server, url, *options):
    command = ["curl", "--silent", "--show-error", "--noproxy", "*", *options, url]
    if not server.plain:
        command += ["--cacert", str(server.data_dir / "tls" / "ca.crt")]
    return subprocess.run(command, check=True, capture_output=True, timeout=60).stdout


@pytest.fixture(scope="module", params=["http/1.1", "https/1.1", "https/2"])
def way(request, plain, secure):
    """A download by curl over this kind of connection, and the whole image to compare with."""
    server = plain if request.param == "http/1.1" else secure
    version = "--http2" if request.param.endswith("/2") else "--http1.1"
    url = server.api().new_infra_env("way", openshift_version=VERSION)["download_url"]
    spoken = curl(server, url, version, "--output", "/dev/null", "--write-out", "%{http_version}").decode()
    assert spoken == request.param.split("/")[1]
    return lambda *options: curl(server, url, version, *options)


def test_the_bytes_are_the_same_on_every_kind_of_connection(way, large):
    whole, original = way(), large.read_bytes()
    assert len(whole) == len(original)
    start = original.index(LARGE)
    assert whole[start : start + len(LARGE)] == LARGE
    for first, last in ((0, 0), (start - 3, start + 70_000), (32_768, 9_000_000), (len(whole) - 5, len(whole) - 1)):
        assert way("--range", f"{first}-{last}") == whole[first : last + 1]
    several = way("--range", f"5-9,{start}-{start + 300_000}")
    assert whole[5:10] in several and whole[start : start + 300_001] in several


def test_a_client_that_reads_slowly_gets_every_byte(way, large):
    digest = hashlib.sha256(way("--limit-rate", "12M")).digest()
    assert digest == hashlib.sha256(way()).digest()


def test_one_connection_carries_images_and_other_answers_in_turn(plain, large):
    api = plain.api()
    url = api.new_infra_env("kept", openshift_version=VERSION)["download_url"]
    whole = api.session.get(url).content
    for number in range(20):
        first = number * 1_000_003
        part = api.session.get(url, headers={"Range": f"bytes={first}-{first + 500_000}"}).content
        assert part == whole[first : first + 500_001]
        assert api.get("//health").status_code == 200


def test_requests_sent_ahead_are_answered_in_order(plain):
    made = plain.api().new_infra_env("ahead", openshift_version=VERSION)
    whole = fetch(made["download_url"]).content
    place = urlsplit(made["download_url"])
    parts = [(0, 1_999_999), (7, 7), (3_000_000, 3_700_000)]
    ask = "GET {} HTTP/1.1\r\nHost: localhost\r\nRange: bytes={}-{}\r\n{}\r\n"
    closing = ["", "", "Connection: close\r\n"]
    text = "".join(ask.format(place.path, *part, end) for part, end in zip(parts, closing, strict=True))
    with socket.create_connection((place.hostname, place.port), timeout=30) as client:
        client.sendall(text.encode())
        answer = b""
        while data := client.recv(1 << 20):
            answer += data
    for first, last in parts:
        head, _, answer = answer.partition(b"\r\n\r\n")
        assert f"content-range: bytes {first}-{last}/{len(whole)}".encode() in head.lower()
        length = last - first + 1
        assert answer[:length] == whole[first : last + 1]
        answer = answer[length:]
    assert answer == b""


# --- memory ---------------------------------------------------------------------------------


def memory(server):
    """KiB of the process that are its own."""
    status = open(f"/proc/{server.process.pid}/status").read()
    return int(re.search(r"RssAnon:\s+(\d+) kB", status).group(1))


@pytest.mark.parametrize("secured", [False, True])
def test_waiting_downloads_cost_next_to_no_memory(plain, secure, secured, large):
    server = secure if secured else plain
    url = server.api().new_infra_env("many", openshift_version=VERSION)["download_url"]
    verify = str(secure.data_dir / "tls" / "ca.crt") if secured else True
    sessions = [requests.Session() for _ in range(60)]
    for session in sessions:
        session.trust_env, session.verify = False, verify
    first = sessions[0].get(url, stream=True, timeout=30)
    before = memory(server)
    waiting = [session.get(url, stream=True, timeout=30) for session in sessions[1:]]
    # Until the sockets are full: what the server holds beyond them would show now.
    time.sleep(1)
    grown = memory(server) - before
    assert grown < 60 * 128, f"{grown} KiB for 59 downloads of {len(LARGE) >> 20} MiB"
    assert server.api().get("//health").status_code == 200, "others are still served"
    whole = first.content
    assert all(answer.content == whole for answer in waiting[::20])
    for answer in waiting:
        answer.close()


# --- resumption -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def replicas(servers, postgres, large, tmp_path_factory):
    """Two processes on one database and one store; each has the OS image in its own data directory."""
    env = {"MUSTER_DATABASE_SEALING_KEY": SEALING_KEY, "OS_IMAGES": catalogue()}
    store = tmp_path_factory.mktemp("replicas")
    args = ["--database", postgres.new_database(), "--storage", f"file://{store}", "--base-url", "http://muster.test"]
    both = [servers(f"replica-{number}", args=args, env=env).start() for number in (1, 2)]
    for server in both:
        stock(server, large)
    return both


def test_a_download_begun_on_one_replica_ends_on_another(replicas):
    one, two = replicas
    made = one.api().new_infra_env("moved", openshift_version=VERSION)
    path = urlsplit(made["download_url"]).path
    whole = fetch(one.url + path)
    heads = [fetch(server.url + path, method="HEAD").headers for server in replicas]
    for name in ("ETag", "Last-Modified", "Content-Length"):
        assert heads[0][name] == heads[1][name], name

    with socket.create_connection(("127.0.0.1", urlsplit(one.url).port), timeout=30) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        begun = b""
        while len(begun) < 3_000_000:
            begun += client.recv(65_536)
        one.kill()
    head, _, begun = begun.partition(b"\r\n\r\n")
    tag = re.search(rb"etag: (\S+)", head, re.I).group(1).decode()
    rest = fetch(two.url + path, headers={"Range": f"bytes={len(begun)}-", "If-Range": tag})
    assert rest.status_code == 206
    assert hashlib.sha256(begun + rest.content).digest() == hashlib.sha256(whole.content).digest()

    two.api().patch(f"/v2/infra-envs/{made['id']}", {"additional_ntp_sources": "ntp.example.com"})
    one.start()
    for server in replicas:
        changed = fetch(server.url + path, headers={"Range": "bytes=9-", "If-Range": tag}, stream=True)
        assert changed.status_code == 200, "parts of two versions are never mixed"
        changed.close()
