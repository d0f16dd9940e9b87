"""`muster simulate` and `muster watch` against services that misbehave, and people who change their mind."""

import http.server
import json
import os
import pty
import signal
import struct
import subprocess
import threading
import time
from fcntl import ioctl
from termios import TIOCSWINSZ

import pytest

from muster import BINARY, eventually, quiet_environment

ID = "11111111-2222-4333-8444-555555555555"


class Impostor(http.server.ThreadingHTTPServer):
    """Answers every request as one function says; counts them."""

    daemon_threads = True

    def __init__(self, answer):
        self.asked = 0
        impostor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_any(self):
                impostor.asked += 1
                length = int(self.headers.get("Content-Length") or 0)
                self.rfile.read(length)
                reply = answer(self)
                if reply is None:
                    self.close_connection = True
                    return
                status, kind, body = reply
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_any

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


def start(*arguments, **options):
    return subprocess.Popen(
        [str(BINARY), *arguments],
        env=quiet_environment(),
        stdin=subprocess.DEVNULL,
        text=True,
        # A shell that starts the tests in the background has Ctrl-C ignored by all below it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )


def end(process, timeout=60):
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"did not end within {timeout} s: {process.communicate()}") from None
    assert "panicked" not in (err or ""), err
    return process.returncode, out, err


def json_answer(value, status=200):
    return status, "application/json", json.dumps(value).encode()


def made_of_nothing(request):
    """Every thing is made, and none is as it should be."""
    path = request.path.split("?")[0]
    if path.endswith("openshift-versions"):
        return json_answer({"4.20": {"default": True}})
    if path.endswith("/hosts") and request.command == "GET":
        return json_answer([{"id": 5}, None])
    if path.endswith("/instructions") and request.command == "GET":
        return json_answer({"post_step_action": "exit", "next_instruction_seconds": -(2**63)})
    return json_answer({"id": ID, "status": "\x1b[2Jready", "validations_info": "[", "download_url": "::"}, 201)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda _: (200, "text/html", b"<html>hello</html>"), "is not"),
        (lambda _: (500, "text/plain", b"\x1b[31mboom\x00"), "cannot be used"),
        (lambda _: None, "cannot be used"),
        (lambda _: json_answer({}), "version"),
        (lambda _: json_answer(["x", None, 1e300]), "version"),
        (lambda request: (200, "application/json", b"{}") if "component" in request.path else None, "versions"),
    ],
    ids=["html", "500", "hangs-up", "empty", "list", "hangs-up-later"],
)
def test_a_server_that_is_not_muster_is_recognised(answer, words):
    impostor = Impostor(answer)
    code, _, err = end(start("simulate", "--url", impostor.url, "--topology", "sno", "--speed", "1000"))
    assert code == 1 and words in err, err
    assert "\x1b" not in err, "words of a stranger do not drive our terminal"
    impostor.shutdown()


def test_a_service_that_sends_its_agents_away_is_not_flooded():
    impostor = Impostor(made_of_nothing)
    process = start("simulate", "--url", impostor.url, "--topology", "compact", "--speed", "60", "--until", "ready")
    # A rate is measured: a flood would be tens of thousands in this time.
    time.sleep(6)
    asked = impostor.asked
    process.send_signal(signal.SIGINT)
    code, out, err = end(process, 30)
    assert code == 1, err
    assert "\x1b" not in out + err
    assert asked < 1500, f"{asked} requests of three hosts in six seconds"
    impostor.shutdown()


@pytest.mark.parametrize("after", [0.02, 0.15, 0.4, 0.8, 1.5, 3.0, 5.0])
def test_a_simulation_that_is_interrupted_leaves_nothing_behind(api, shared, after):
    before = {cluster["id"] for cluster in api.get("/v2/clusters").json()}
    process = start("simulate", "--url", shared.url, "--topology", "late-binding", "--speed", "200", "--name", "brief")
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    code, _, err = end(process, 40)
    # Before the program has begun to listen, the signal ends it as any other.
    assert code in (1, -signal.SIGINT), err
    left = [cluster for cluster in api.get("/v2/clusters").json() if cluster["id"] not in before]
    assert not left, f"{left} after {err}"
    assert not [one for one in api.get("/v2/infra-envs").json() if one["name"].startswith("brief")], err


def test_a_second_signal_ends_at_once_what_waits_for_a_silent_service():
    silent = Impostor(lambda request: json_answer({}) if "component" in request.path else time.sleep(60))
    process = start("simulate", "--url", silent.url)
    eventually(lambda: silent.asked >= 2, "the first question")
    process.send_signal(signal.SIGINT)
    # Two signals without a pause are one.
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    code, _, err = end(process, 5)
    assert code == 130 and "still there" in err, err
    silent.shutdown()


def test_a_reader_that_goes_away_ends_the_simulation_and_leaves_nothing_behind(api, shared):
    process = start("simulate", "--url", shared.url, "--topology", "sno", "--speed", "60", "--name", "unread")
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    code, _, err = end(process, 40)
    assert code == 1 and "writing" in err, err
    assert not [one for one in api.get("/v2/clusters").json() if one["name"] == "unread"], err


def test_deleting_the_cluster_ends_its_simulation(api, shared):
    process = start("simulate", "--url", shared.url, "--speed", "20", "--name", "taken-away")

    def there():
        return [one["id"] for one in api.get("/v2/clusters").json() if one["name"] == "taken-away"]

    (made,) = eventually(there, "the cluster")
    eventually(lambda: api.cluster(made)["hosts"], "its hosts")
    api.delete(f"/v2/clusters/{made}")
    code, _, err = end(process, 40)
    assert code == 1 and "cannot be seen any more" in err, err


def test_an_installation_that_cannot_be_prepared_ends_the_simulation_with_the_reason(servers):
    server = servers("unprepared").start()
    code, _, err = end(start("simulate", "--url", server.url, "--topology", "sno", "--speed", "300"))
    assert code == 1 and "could not be prepared" in err, err


def test_too_many_hosts_are_refused_at_once():
    for arguments in (["--workers", str(2**64 - 1)], ["--clusters", str(2**63)], ["--hosts", "100001"]):
        code, _, err = end(start("simulate", *arguments), 20)
        assert code == 1 and "too many" in err, err
    code, _, err = end(start("simulate", "--hosts", "90000", "--topology", "sno"), 20)
    assert code == 1 and "cannot have 90000" in err, err


def test_a_table_on_a_tiny_terminal_stays_within_it():
    leader, follower = pty.openpty()
    ioctl(follower, TIOCSWINSZ, struct.pack("HHHH", 5, 10, 0, 0))
    process = start("simulate", "--topology", "ha", "--speed", "600", "--until", "ready", stdout=follower)
    os.close(follower)
    shown = b""
    while process.poll() is None or len(shown) == 0:
        try:
            shown += os.read(leader, 65536)
        except OSError:
            break
    code, _, err = end(process)
    assert code == 0, err
    tables = shown.split(b"\x1b[?7l")[1:]
    assert len(tables) > 3
    for table in tables:
        ups = [
            int(part.split(b"F")[0]) for part in table.split(b"\x1b[")[1:] if part[:1].isdigit() and b"F" in part[:3]
        ]
        assert all(up <= 4 for up in ups), table
    os.close(leader)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda _: (200, "text/html", b"<html>hello</html>"), "is not a stream"),
        (lambda _: (404, "text/html", b"\x1b[31mnothing"), "404"),
        (lambda _: (302, "text/plain", b""), ""),
    ],
    ids=["html", "404", "302"],
)
def test_watching_what_is_no_service_ends_with_a_reason(answer, words):
    impostor = Impostor(answer)
    process = start("watch", "--url", impostor.url)
    try:
        code, _, err = end(process, 5)
        assert code == 1, err
    except AssertionError as still_there:
        # An answer that may change is asked for again, at leisure.
        assert words == "" and impostor.asked < 6, still_there
        err = ""
    assert words in err and "\x1b" not in err
    impostor.shutdown()


def test_a_stream_of_rubbish_is_shown_as_nothing_worse_than_text():
    lines = 'event: host\ndata: {"id":"1","requested_hostname":"\\u001b[2Jevil\\nevent","status":"known"}\n\n'
    lines += "event: cluster\ndata: not JSON\n\nevent: sync\ndata: [1,2]\n\nevent: deleted\ndata: null\n\n"
    lines += "id: \x1b[31m\nevent: event\ndata: {}\n\ndata\n\n:\n\n\n\n"
    impostor = Impostor(lambda _: (200, "text/event-stream", lines.encode()))
    process = start("watch", "--url", impostor.url)
    # A rate is measured: how often it comes back to a service that hangs up.
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    code, out, err = end(process, 5)
    assert code == -signal.SIGINT
    assert "evil event  known" in out and "\x1b" not in out + err, out
    assert "not JSON" in err
    assert impostor.asked < 5, "it does not hammer a service that hangs up"
    impostor.shutdown()


def test_the_topics_of_explain_take_odd_words_calmly():
    for topic in ("states", "validations", "events", "steps"):
        for word in ("", " ", "x" * 10_000, "🦀", "-", "%s", "ready\n"):
            code, _, err = end(start("explain", topic, "--", word), 10)
            assert code in (0, 1), err
            assert len(err) < 25_000
