"""The server under test, seen from outside: a process, a port and a log.

Nothing here knows how Muster works inside. A test gets a `Server`, talks to it through
`Api` and waits with `eventually`; it never sleeps for a guess. Start at `Server.start`.
"""

import base64
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import requests

ROOT = Path(__file__).resolve().parents[2]
BINARY = Path(os.environ.get("MUSTER_BIN", ROOT / "target" / "debug" / "muster"))
BASE_PATH = "/api/assisted-install"

# A release that is in the built-in catalogue; tests that care ask the service for its patch level.
VERSION = "4.20"
ZERO_TIME = "0001-01-01T00:00:00.000Z"
ZERO_GO_TIME = "0001-01-01T00:00:00Z"
NOWHERE = "11111111-2222-4333-8444-555555555555"

# Stands in every pull secret of the suite. It must never reach a log.
SECRET_WORD = "hushhushpassword"


def pull_secret():
    """A well-formed pull secret for every registry a release image may come from."""
    auth = base64.b64encode(f"user:{SECRET_WORD}".encode()).decode()
    registries = ["cloud.openshift.com", "quay.io", "registry.redhat.io", "registry.connect.redhat.com"]
    return json.dumps({"auths": {name: {"auth": auth, "email": "me@example.com"} for name in registries}})


SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHJf0h7bdU1W8xwgWQkjJRZVdG0vzFW5kYV5UXTi0Nn7 tester@example.com"


def eventually(question, what, timeout=40.0, every=0.1):
    """Asks until the answer is truthy and returns it; the failure quotes the last answer."""
    deadline = time.monotonic() + timeout
    answer = None
    while time.monotonic() < deadline:
        answer = question()
        if answer:
            return answer
        time.sleep(every)
    raise AssertionError(f"waited {timeout:.0f} s for {what}; last answer: {answer!r}")


class Api:
    """Plain HTTP against the REST API: no client library in between."""

    def __init__(self, url, headers=None, verify=True):
        self.url = url
        self.session = requests.Session()
        self.session.verify = verify
        # Proxies of the machine that runs the tests have no say on loopback.
        self.session.trust_env = False
        self.session.headers.update(headers or {})

    def call(self, method, path, expect=None, **options):
        """One request below the base path (or the root, for paths that start with //)."""
        url = self.url + (path[1:] if path.startswith("//") else BASE_PATH + path)
        options.setdefault("timeout", 60)
        answer = self.session.request(method, url, **options)
        if expect is not None:
            wanted = expect if isinstance(expect, tuple) else (expect,)
            assert answer.status_code in wanted, (
                f"{method} {path} {options.get('json', options.get('data', ''))!s:.400}\n"
                f"answered {answer.status_code}, expected {expect}: {answer.text[:800]}"
            )
        return answer

    def get(self, path, expect=200, **options):
        return self.call("GET", path, expect, **options)

    def post(self, path, body=None, expect=201, **options):
        return self.call("POST", path, expect, json=body, **options)

    def patch(self, path, body=None, expect=201, **options):
        return self.call("PATCH", path, expect, json=body, **options)

    def put(self, path, body=None, expect=200, **options):
        return self.call("PUT", path, expect, json=body, **options)

    def delete(self, path, expect=204, **options):
        return self.call("DELETE", path, expect, **options)

    # The nouns that nearly every test needs.

    def new_cluster(self, name="steel", **fields):
        body = {
            "name": name,
            "openshift_version": VERSION,
            "pull_secret": pull_secret(),
            "base_dns_domain": "example.com",
            **fields,
        }
        return self.post("/v2/clusters", body).json()

    def new_infra_env(self, name="steel-env", **fields):
        body = {"name": name, "pull_secret": pull_secret(), "openshift_version": VERSION, **fields}
        return self.post("/v2/infra-envs", body).json()

    def cluster(self, cluster_id):
        return self.get(f"/v2/clusters/{cluster_id}").json()

    def host(self, infra_env_id, host_id):
        return self.get(f"/v2/infra-envs/{infra_env_id}/hosts/{host_id}").json()

    def events(self, **query):
        return self.get("/v2/events", params=query).json()


class Server:
    """One `muster serve` process; may be killed and started again on the same data."""

    def __init__(self, work_dir, args=(), env=None, plain=True, auth="none", binary=None):
        self.work_dir = Path(work_dir)
        self.data_dir = self.work_dir / "data"
        self.log_path = self.work_dir / "server.log"
        self.binary = Path(binary or BINARY)
        # A program that starts the server under other limits, with its arguments.
        self.binary_prefix = []
        self.plain = plain
        self.auth = auth
        self.args = list(args)
        self.env = dict(env or {})
        # Any free one; a test that restarts under the eyes of a client keeps the one it got.
        self.port = 0
        self.process = None
        self.url = None
        self.work_dir.mkdir(parents=True, exist_ok=True)

    def start(self, timeout=60.0):
        """Starts the process and returns once it has said where it listens."""
        command = self.command()
        offset = self.log_path.stat().st_size if self.log_path.exists() else 0
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**quiet_environment(), **self.env},
                cwd=self.work_dir,
            )
        self.url = eventually(lambda: self._announced(offset), f"{command} to listen", timeout)
        return self

    def command(self):
        """What is started."""
        assert self.binary.exists(), f"no server at {self.binary}: build it or set MUSTER_BIN"
        return [*self.binary_prefix, str(self.binary), *self.words(self.data_dir)]

    def words(self, data_dir):
        """The arguments of the program."""
        words = ["serve", "--listen", f"127.0.0.1:{self.port}", "--data-dir", str(data_dir)]
        words += ["--plain-http"] if self.plain else []
        words += ["--auth", self.auth] if self.auth else []
        return words + self.args

    def _announced(self, offset):
        status = self.process.poll()
        with self.log_path.open("rb") as log:
            log.seek(offset)
            text = log.read().decode(errors="replace")
        assert status is None, f"the server ended with status {status} before it listened:\n{text[-3000:]}"
        found = re.search(r"listening on (https?://[0-9.:\[\]a-z]+)", text)
        return found.group(1) if found else None

    def api(self, headers=None):
        verify = True if self.plain else str(self.data_dir / "tls" / "ca.crt")
        return Api(self.url, headers=headers, verify=verify)

    def kill(self):
        """Ends the process without warning, as a power cut would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=20)

    def stop(self):
        """Asks the process to end and insists that it does so in good order."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the server did not end within 30 s of SIGTERM:\n{self.log()[-2000:]}") from None
        assert status == 0, f"status {status} after SIGTERM:\n{self.log()[-2000:]}"

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def assert_calm(self):
        """Whatever the tests did: nothing panicked and no secret reached the log."""
        text = self.log()
        for line in text.splitlines():
            assert "panicked" not in line, f"the server panicked: {line}"
        leaked = [SECRET_WORD, base64.b64encode(f"user:{SECRET_WORD}".encode()).decode()]
        for word in leaked:
            assert word not in text, f"a pull secret is in the log {self.log_path}"


def quiet_environment():
    """The environment without anything that would configure a reference service by accident."""
    kept = {"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "RUST_BACKTRACE", "RUST_LOG"}
    environment = {name: value for name, value in os.environ.items() if name in kept}
    environment.setdefault("RUST_BACKTRACE", "1")
    # No test may download gigabytes; those about fetching say so.
    environment["MUSTER_IMAGES_FETCH"] = "never"
    # Agents that a build left somewhere must not change what images hold; without any, images are
    # only made if hosts can pull one.
    environment["MUSTER_IMAGES_AGENT_DIR"] = "/nonexistent"
    environment["AGENT_DOCKER_IMAGE"] = "quay.io/steel/agent:1"
    return environment


def api_error(answer, status):
    """Asserts the error body that operation handlers make, and returns its reason."""
    assert answer.status_code == status, f"{answer.status_code} instead of {status}: {answer.text[:600]}"
    body = answer.json()
    assert set(body) == {"code", "href", "id", "kind", "reason"}, body
    assert body["code"] == str(status) and body["id"] == status, body
    assert body["kind"] == "Error" and body["href"] == "", body
    assert body["reason"], "an error needs a reason"
    return body["reason"]


def infra_error(answer, status):
    """Asserts the error body that routing, parsing and authentication make; returns its message."""
    assert answer.status_code == status, f"{answer.status_code} instead of {status}: {answer.text[:600]}"
    body = answer.json()
    assert set(body) == {"code", "message"}, body
    assert body["code"] == status and isinstance(body["code"], int), body
    assert body["message"], "an error needs a message"
    return body["message"]
