"""Real PostgreSQL and S3 servers for the time of a test, on loopback, with throw-away data."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

from muster import ROOT, eventually

POSTGRES_HOMES = ["/usr/lib/postgresql/17/bin", "/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/15/bin"]
S3_PROGRAM = ROOT / "target" / "test-node" / "node_modules" / ".bin" / "s3rver"


def free_port():
    """A port that is free at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def reachable(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Postgres:
    """A PostgreSQL of its own: fresh data directory, free port, one database per caller."""

    def __init__(self):
        self.bin = next((Path(home) for home in POSTGRES_HOMES if Path(home, "initdb").exists()), None)
        assert self.bin, "no PostgreSQL server found; install the Debian package postgresql"
        # Not below pytest's directories: those are closed to the account the server runs under.
        self.home = Path(tempfile.mkdtemp(prefix="muster-postgres-"))
        self.port = free_port()
        self.process = None
        self.databases = 0

    def _as_server(self, *command):
        """PostgreSQL refuses to run as root, so root lends it the account of the package."""
        if os.geteuid() != 0:
            return [str(part) for part in command]
        user = pwd.getpwnam("postgres")
        ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        return ["setpriv", *ids, *[str(part) for part in command]]

    def start(self):
        password = self.home / "password"
        password.write_text("secret\n")
        if os.geteuid() == 0:
            shutil.chown(self.home, "postgres", "postgres")
            shutil.chown(password, "postgres", "postgres")
        data = self.home / "data"
        initdb = [self.bin / "initdb", "-D", data, "-U", "muster", "--auth=scram-sha-256", "-E", "UTF8"]
        initdb += [f"--pwfile={password}", "--no-instructions"]
        subprocess.run(self._as_server(*initdb), check=True, stdout=subprocess.DEVNULL, cwd="/")
        return self.restart()

    def restart(self):
        """Runs the server on the data that is there."""
        data = self.home / "data"
        serve = [self.bin / "postgres", "-D", data, "-p", self.port, "-c", "listen_addresses=127.0.0.1"]
        serve += ["-c", f"unix_socket_directories={self.home}", "-c", "max_connections=60"]
        with (self.home / "postgres.log").open("ab") as log:
            self.process = subprocess.Popen(self._as_server(*serve), stdout=log, stderr=log, cwd="/")
        eventually(self._accepts, "PostgreSQL to accept queries", timeout=60)
        return self

    def _psql(self, database, text):
        command = [self.bin / "psql", "-h", "127.0.0.1", "-p", self.port, "-U", "muster", "-d", database]
        command += ["-Atqc", text]
        environment = {**os.environ, "PGPASSWORD": "secret"}
        return subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True, cwd="/")

    def _accepts(self):
        assert self.process.poll() is None, "PostgreSQL ended at once; see postgres.log"
        return self._psql("postgres", "select 1").stdout.strip() == "1"

    def query(self, url, text):
        answer = self._psql(url.rsplit("/", 1)[1], text)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout.strip()

    def new_database(self):
        """Creates an empty database and returns its URL."""
        self.databases += 1
        name = f"muster{self.databases}"
        answer = self._psql("postgres", f"create database {name}")
        assert answer.returncode == 0, answer.stderr
        return f"postgres://muster:secret@127.0.0.1:{self.port}/{name}"

    def stop(self):
        """Stops the server; its data stay for a restart."""
        if self.process is None or self.process.poll() is not None:
            return
        # SIGINT is the fast shutdown; setpriv has become the server by exec.
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=30)

    def remove(self):
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)


class S3:
    """An S3 server with one bucket."""

    BUCKET = "muster-test"
    # The fixed key pair of s3rver.
    ACCESS_KEY = "S3RVER"
    SECRET_KEY = "S3RVER"

    def __init__(self, work_dir):
        assert S3_PROGRAM.exists(), "no S3 server; run tests/setup-s3 first"
        self.home = Path(work_dir) / "s3"
        self.port = free_port()
        self.process = None

    def start(self):
        self.home.mkdir(parents=True)
        command = [S3_PROGRAM, "-d", self.home, "-a", "127.0.0.1", "-p", self.port]
        command += ["--configure-bucket", self.BUCKET]
        with (self.home.parent / "s3.log").open("ab") as log:
            self.process = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log)
        eventually(lambda: reachable(self.port), "the S3 server to listen", timeout=60)
        return self

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self):
        """The whole address in one, for `--storage`."""
        return f"s3://{self.BUCKET}?endpoint={self.endpoint}&region=us-east-1&allow_http=true"

    def environment(self):
        """The settings of the reference service for this store."""
        return {
            "S3_ENDPOINT_URL": self.endpoint,
            "S3_BUCKET": self.BUCKET,
            "S3_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": self.ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": self.SECRET_KEY,
        }

    def objects(self):
        """Names of the stored objects, read from the server's own disk."""
        bucket = self.home / self.BUCKET
        suffix = "._S3rver_object"
        return sorted(str(path.relative_to(bucket))[: -len(suffix)] for path in bucket.rglob(f"*{suffix}"))

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        self.process.wait(timeout=20)
