"""Data directories of earlier versions open with this one and lose nothing.

`data/schema-N` is of a version that landed with that schema (no version landed with schema 3), made by that
version itself; its database is text. `BLESS=1 tests/run-api test_upgrades.py` adds the one of this version when
the schema version has risen. Never replace those that are there.
"""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from machines import Fleet
from muster import SSH_KEY, VERSION, Server

KEPT = Path(__file__).parent / "data"
HOST = "11111111-2222-4333-8444-555555555555"
MANIFEST = "a2luZDogQ29uZmlnTWFwCmFwaVZlcnNpb246IHYxCm1ldGFkYXRhOgogIG5hbWU6IGtlcHQK"


def schema(data_dir):
    with sqlite3.connect(data_dir / "muster.db") as database:
        return database.execute("SELECT MAX(version) FROM schema_version").fetchone()[0]


def make(work_dir):
    """A small installation: a cluster with a manifest, an infra-env with a host, and an installed cluster."""
    server = Server(work_dir, env={"DUMMY_IGNITION": "true", "FILESYSTEM_USAGE_THRESHOLD": "100"}).start()
    api = server.api()
    cluster = api.new_cluster("kept", ssh_public_key=SSH_KEY)
    manifest = {"folder": "manifests", "file_name": "kept.yaml", "content": MANIFEST}
    api.post(f"/v2/clusters/{cluster['id']}/manifests", manifest)
    infra_env = api.new_infra_env("kept-env", cluster_id=cluster["id"])
    api.post(f"/v2/infra-envs/{infra_env['id']}/hosts", {"host_id": HOST})
    grown = Fleet.compact(api, "grown")
    grown.drive_until("ready")
    grown.install()
    grown.finalize()
    server.stop()
    return server.data_dir


def keep(data_dir, target):
    target.mkdir(parents=True)
    with sqlite3.connect(data_dir / "muster.db") as database:
        (target / "muster.sql").write_text("\n".join(database.iterdump()) + "\n")
    for part in ["files", "keys"]:
        if (data_dir / part).exists():
            shutil.copytree(data_dir / part, target / part)


def put_back(kept, data_dir):
    """A kept directory as the version that made it left it."""
    shutil.copytree(kept, data_dir)
    dump = data_dir / "muster.sql"
    with sqlite3.connect(data_dir / "muster.db") as database:
        database.executescript(dump.read_text())
    dump.unlink()
    for key in (data_dir / "keys").iterdir():
        key.chmod(0o600)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    data_dir = make(tmp_path_factory.mktemp("fresh"))
    target = KEPT / f"schema-{schema(data_dir)}"
    if os.environ.get("BLESS") and not target.exists():
        keep(data_dir, target)
    return data_dir


def test_the_data_directory_of_this_schema_version_is_kept(fresh):
    assert (KEPT / f"schema-{schema(fresh)}").exists(), "BLESS=1 tests/run-api test_upgrades.py adds it"


@pytest.fixture(params=sorted(path.name for path in KEPT.glob("schema-*")))
def upgraded(request, servers):
    """A server that was started on a kept data directory."""
    server = servers(request.param)
    put_back(KEPT / request.param, server.data_dir)
    assert schema(server.data_dir) == int(request.param.removeprefix("schema-"))
    server.start()
    yield server
    server.stop()
    shutil.rmtree(server.data_dir)


def by_name(api, name):
    return next((cluster for cluster in api.get("/v2/clusters").json() if cluster["name"] == name), None)


def test_a_kept_data_directory_opens_and_holds_what_it_held(upgraded, fresh):
    api = upgraded.api()
    cluster = by_name(api, "kept")
    assert cluster["pull_secret_set"] and cluster["ssh_public_key"] == SSH_KEY
    (manifest,) = api.get(f"/v2/clusters/{cluster['id']}/manifests").json()
    assert manifest["file_name"] == "kept.yaml"
    (infra_env,) = [found for found in api.get("/v2/infra-envs").json() if found["name"] == "kept-env"]
    assert infra_env["cluster_id"] == cluster["id"] and infra_env["openshift_version"].startswith(VERSION)
    (host,) = api.get(f"/v2/infra-envs/{infra_env['id']}/hosts").json()
    assert host["id"] == HOST
    assert api.events(cluster_id=cluster["id"]), "its history is gone"
    # Secrets open with the key that came along: what a host gets is made from the pull secret.
    ignition = api.get(f"/v2/infra-envs/{infra_env['id']}/downloads/files?file_name=discovery.ign").json()
    assert any(entry["path"].endswith("config.json") for entry in ignition["storage"]["files"])
    # And it is in use like any other: changes are stored.
    api.patch(f"/v2/clusters/{cluster['id']}", {"name": "renamed"})
    assert by_name(api, "renamed")["id"] == cluster["id"]
    assert schema(upgraded.data_dir) == schema(fresh)
    assert "quarantine" not in upgraded.log(), upgraded.log()[-2000:]


def test_a_cluster_that_an_earlier_version_installed_stays_installed(upgraded):
    api = upgraded.api()
    cluster = by_name(api, "grown")
    if cluster is None:
        pytest.skip("nothing was installed there")
    assert cluster["status"] == "installed"
    hosts = api.get(f"/v2/clusters/{cluster['id']}").json()["hosts"]
    assert len(hosts) == 3
    for host in hosts:
        assert (host["status"], host["progress"]["current_stage"]) == ("installed", "Done")
        assert host["inventory"] and host["connectivity"], "a report of the host is gone"
    assert api.get(f"/v2/clusters/{cluster['id']}/credentials").json()["password"]
    kubeconfig = api.get(f"/v2/clusters/{cluster['id']}/downloads/credentials?file_name=kubeconfig").text
    assert "clusters:" in kubeconfig


def test_a_version_that_is_older_than_the_data_refuses_it_and_leaves_it_alone(servers):
    newest = max(KEPT.glob("schema-*"), key=lambda path: int(path.name.removeprefix("schema-")))
    server = servers("downgrade")
    put_back(newest, server.data_dir)
    # What the next version will have done to it.
    with sqlite3.connect(server.data_dir / "muster.db") as database:
        database.execute("INSERT INTO schema_version SELECT MAX(version) + 1 FROM schema_version")
        before = list(database.iterdump())
    with pytest.raises(AssertionError, match=f"schema version {schema(server.data_dir)}"):
        server.start()
    assert server.process.wait(timeout=20) != 0
    with sqlite3.connect(server.data_dir / "muster.db") as database:
        assert list(database.iterdump()) == before
    shutil.rmtree(server.data_dir)
