"""The same short life on the other legs: PostgreSQL for the rows, S3 for the files."""

import base64
import io
import tarfile

import pytest

from backends import Postgres
from machines import Fleet
from muster import SECRET_WORD, eventually


@pytest.fixture(scope="module")
def database(postgres):
    return postgres.new_database()


@pytest.fixture(scope="module")
def server(servers, s3, database):
    """Configured as the reference is: the store comes from the environment."""
    env = {**s3.environment(), "STORAGE": "s3", "DUMMY_IGNITION": "true"}
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
    args = ["--database", database, "--storage", s3.url]
    other = servers("pg-s3-replica", args=args, env={**keys, "DUMMY_IGNITION": "true"}).start()
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


def test_secrets_are_not_readable_in_the_database(server, postgres, database):
    tables = postgres.query(database, "select tablename from pg_tables where schemaname = 'public'").split()
    assert tables
    for table in tables:
        rows = postgres.query(database, f'select t::text from "{table}" t')
        assert SECRET_WORD not in rows, f"a pull secret in plain text in table {table}"
        assert base64.b64encode(f"user:{SECRET_WORD}".encode()).decode() not in rows, table


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
