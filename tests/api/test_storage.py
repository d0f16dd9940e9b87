"""The same short life on the other legs: PostgreSQL for the rows, S3 for the files. And what lies in them."""

import base64
import io
import re
import tarfile
import urllib.parse

import pytest

from backends import Postgres
from machines import Fleet
from muster import SECRET_WORD, eventually, pull_secret

# Replicas that share a database share its key too.
SEALING_KEY = base64.b64encode(b"sealing key of the storage tests").decode()

# As it may lie in a file: the word, and the form that is in the pull secret.
READABLE = [SECRET_WORD, base64.b64encode(f"user:{SECRET_WORD}".encode()).decode()]


@pytest.fixture(scope="module")
def database(postgres):
    return postgres.new_database()


@pytest.fixture(scope="module")
def server(servers, s3, database):
    """Configured as the reference is: the store comes from the environment."""
    env = {**s3.environment(), "STORAGE": "s3", "DUMMY_IGNITION": "true", "MUSTER_DATABASE_SEALING_KEY": SEALING_KEY}
    return servers("pg-s3", args=["--database", database], env=env).start()


def test_a_cluster_installs_on_postgresql_and_s3(server, s3):
    api = server.api()
    fleet = Fleet.compact(api, "remote")
    content = base64.b64encode(b"a: 1\n").decode()
    api.post(f"{fleet.path}/manifests", {"file_name": "a.yaml", "content": content})
    fleet.drive_until("ready")
    fleet.install()
    fleet.finalize()
    assert api.get(f"{fleet.path}/credentials").json()["username"] == "kubeadmin"
    assert b"clusters" in api.get(f"{fleet.path}/downloads/credentials?file_name=kubeconfig").content
    assert any(fleet.cluster_id in name and "a.yaml" in name for name in s3.objects()), s3.objects()

    machine = fleet.machines[0]
    logs = {"upfile": ("logs.tar.gz", b"host log bytes", "application/gzip")}
    query = {"logs_type": "host", "host_id": machine.id}
    api.call("POST", f"{fleet.path}/logs", 204, params=query, files=logs)
    data = api.get(f"{fleet.path}/logs", params=query).content
    with tarfile.open(fileobj=io.BytesIO(data)) as bundle:
        inner = [bundle.extractfile(member).read() for member in bundle.getmembers()]
    assert inner == [b"host log bytes"]


def test_two_replicas_on_one_database_see_each_other_at_once(server, servers, s3, database):
    keys = {name: value for name, value in s3.environment().items() if name.startswith("AWS_")}
    env = {**keys, "DUMMY_IGNITION": "true", "MUSTER_DATABASE_SEALING_KEY": SEALING_KEY}
    args = ["--database", database, "--storage", s3.url]
    other = servers("pg-s3-replica", args=args, env=env).start()
    one, two = server.api(), other.api()
    cluster = one.new_cluster("twins")
    assert two.cluster(cluster["id"])["name"] == "twins"
    two.patch(f"/v2/clusters/{cluster['id']}", {"tags": "from two"})
    assert one.cluster(cluster["id"])["tags"] == "from two"
    content = base64.b64encode(b"b: 2\n").decode()
    one.post(f"/v2/clusters/{cluster['id']}/manifests", {"file_name": "b.yaml", "content": content})
    query = {"file_name": "b.yaml", "folder": "manifests"}
    assert two.get(f"/v2/clusters/{cluster['id']}/manifests/files", params=query).content == b"b: 2\n"
    two.delete(f"/v2/clusters/{cluster['id']}")
    one.get(f"/v2/clusters/{cluster['id']}", 404)
    other.stop()


def test_everything_is_still_there_after_a_restart(server):
    before = {cluster["id"]: cluster["status"] for cluster in server.api().get("/v2/clusters").json()}
    assert before
    server.stop()
    server.start()
    assert {cluster["id"]: cluster["status"] for cluster in server.api().get("/v2/clusters").json()} == before


def fill_with_secrets(api):
    """A cluster, with secrets in its cluster, infra-env and host."""
    fleet = Fleet.compact(api, "secretive")
    machine = fleet.machines[0]
    header = [{"key": "Authorization", "value": f"Basic {SECRET_WORD}"}]
    body = {"ignition_endpoint_token": SECRET_WORD, "ignition_endpoint_http_headers": header}
    api.patch(machine.path, body)
    api.patch(f"/v2/infra-envs/{fleet.infra_env_id}", {"pull_secret": pull_secret()})
    return fleet


def test_secrets_are_not_readable_in_postgresql(server, postgres, database):
    fill_with_secrets(server.api())
    tables = postgres.query(database, "select tablename from pg_tables where schemaname = 'public'").split()
    assert tables
    for table in tables:
        rows = postgres.query(database, f'select t::text from "{table}" t')
        for word in READABLE:
            assert word not in rows, f"a secret in plain text in table {table}"
    assert "sealed:v1:" in postgres.query(database, "select doc from hosts")


def decoded(text):
    """Base64, or nothing."""
    try:
        return base64.b64decode(text, validate=True).decode(errors="replace")
    except ValueError:
        return ""


def test_secrets_are_not_readable_in_the_files_of_sqlite_and_survive_a_restart(servers):
    server = servers("sealed").start()
    fleet = fill_with_secrets(server.api())
    key = server.data_dir / "keys" / "sealing.key"
    assert key.stat().st_mode & 0o777 == 0o600

    def unreadable(names):
        files = {path.name: path.read_bytes() for path in server.data_dir.glob("muster.db*")}
        assert names <= set(files), files.keys()
        for name, content in files.items():
            for word in [*READABLE, key.read_text().strip()]:
                assert word.encode() not in content, f"a secret in plain text in {name}"
        return b"".join(files.values())

    assert b"sealed:v1:" in unreadable({"muster.db", "muster.db-wal"})
    server.stop()
    assert b"sealed:v1:" in unreadable({"muster.db"})
    server.start()
    ignition = f"/v2/infra-envs/{fleet.infra_env_id}/downloads/files"
    text = server.api().get(ignition, params={"file_name": "discovery.ign"}).text
    urls = re.findall(r'"data:[^"]*,([^"]+)"', text)
    files = [urllib.parse.unquote(url) for url in urls] + [decoded(url) for url in urls]
    assert any(READABLE[1] in content for content in files), "the agents need the pull secret"


def test_a_database_is_not_opened_with_a_key_that_is_not_its_own(servers):
    server = servers("rekeyed").start()
    cluster = server.api().new_cluster("kept")
    server.stop()
    key = server.data_dir / "keys" / "sealing.key"
    kept = key.read_bytes()
    key.unlink()
    with pytest.raises(AssertionError, match="status 1 before it listened"):
        server.start()
    assert "the secrets in this database are sealed under key" in server.log()
    assert "keys/sealing.key (database.sealing_key is not set)" in server.log()
    key.write_bytes(kept)
    server.start()
    assert server.api().cluster(cluster["id"])["name"] == "kept"


def test_a_server_whose_database_is_gone_answers_503_or_500_and_recovers(servers):
    postgres = Postgres().start()
    try:
        server = servers("flaky", args=["--database", postgres.new_database()]).start()
        api = server.api()
        cluster = api.new_cluster("patient")
        postgres.stop()
        answer = api.call("GET", "/v2/clusters", timeout=90)
        assert answer.status_code in (500, 503), answer.text
        postgres.restart()
        eventually(
            lambda: api.call("GET", f"/v2/clusters/{cluster['id']}", timeout=90).status_code == 200,
            "the server to find its database again",
            timeout=60,
        )
        server.stop()
    finally:
        postgres.remove()
