"""Data directories of earlier versions open with this one and lose nothing.

`landed-…` are of versions that landed, `schema-…` the first of a schema version. `BLESS=1 tests/run-api
test_upgrades.py` adds the one of this version when the schema version has risen; with `MUSTER_BIN` of an
older build, `KEEP_AS=landed-…` adds that one's. Never replace those that are there.
"""

import os
import shutil
import sqlite3
import tarfile
from pathlib import Path

import pytest

from muster import SSH_KEY, VERSION, Server

KEPT = Path(__file__).parent / "data"
MANIFEST = "a2luZDogQ29uZmlnTWFwCmFwaVZlcnNpb246IHYxCm1ldGFkYXRhOgogIG5hbWU6IGtlcHQK"


def schema(data_dir):
    with sqlite3.connect(data_dir / "muster.db") as database:
        return database.execute("SELECT MAX(version) FROM schema_version").fetchone()[0]


def make(work_dir):
    """A small installation: a cluster with a manifest, and an infra-env with a host."""
    server = Server(work_dir).start()
    api = server.api()
    cluster = api.new_cluster("kept", ssh_public_key=SSH_KEY)
    manifest = {"folder": "manifests", "file_name": "kept.yaml", "content": MANIFEST}
    api.post(f"/v2/clusters/{cluster['id']}/manifests", manifest)
    infra_env = api.new_infra_env("kept-env", cluster_id=cluster["id"])
    host = {"host_id": "11111111-2222-4333-8444-555555555555"}
    api.post(f"/v2/infra-envs/{infra_env['id']}/hosts", host)
    server.stop()
    return server.data_dir


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    data_dir = make(tmp_path_factory.mktemp("fresh"))
    name = os.environ.get("KEEP_AS") or f"schema-{schema(data_dir)}"
    target = KEPT / f"{name}.tar.gz"
    if os.environ.get("BLESS") and not target.exists():
        KEPT.mkdir(exist_ok=True)
        with tarfile.open(target, "w:gz") as archive:
            for part in ["muster.db", "files", "keys"]:
                if (data_dir / part).exists():
                    archive.add(data_dir / part, part)
    return data_dir


def test_the_data_directory_of_this_schema_version_is_kept(fresh):
    assert (KEPT / f"schema-{schema(fresh)}.tar.gz").exists(), "BLESS=1 tests/run-api test_upgrades.py adds it"


@pytest.mark.parametrize("archive", sorted(path.name for path in KEPT.glob("*.tar.gz")))
def test_a_kept_data_directory_opens_and_holds_what_it_held(archive, fresh, servers):
    server = servers(archive.removesuffix(".tar.gz"))
    with tarfile.open(KEPT / archive) as kept:
        kept.extractall(server.data_dir, filter="data")
    before = schema(server.data_dir)
    server.start()
    api = server.api()
    (cluster,) = api.get("/v2/clusters").json()
    assert (cluster["name"], cluster["pull_secret_set"]) == ("kept", True)
    (manifest,) = api.get(f"/v2/clusters/{cluster['id']}/manifests").json()
    assert manifest["file_name"] == "kept.yaml"
    (infra_env,) = api.get("/v2/infra-envs").json()
    assert infra_env["cluster_id"] == cluster["id"] and infra_env["openshift_version"].startswith(VERSION)
    (host,) = api.get(f"/v2/infra-envs/{infra_env['id']}/hosts").json()
    assert host["id"] == "11111111-2222-4333-8444-555555555555"
    assert api.events(cluster_id=cluster["id"]), "its history is gone"
    # Secrets open with the key that came along: what a host gets is made from the pull secret.
    ignition = api.get(f"/v2/infra-envs/{infra_env['id']}/downloads/files?file_name=discovery.ign").json()
    assert any(entry["path"].endswith("config.json") for entry in ignition["storage"]["files"])
    server.stop()
    assert schema(server.data_dir) == schema(fresh) >= before
    shutil.rmtree(server.data_dir)
