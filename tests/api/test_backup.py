"""Backups that are made while the service works, restored elsewhere; moves between databases."""

import base64
import json
import os
import re
import sqlite3
import ssl
import subprocess
import tarfile
import threading

import pytest

from muster import BINARY, eventually, quiet_environment

MANIFEST = "a2luZDogQ29uZmlnTWFwCmFwaVZlcnNpb246IHYxCm1ldGFkYXRhOgogIG5hbWU6IGtlcHQK"


def muster(*words, ok=True, **env):
    """Runs a command of the program; returns what it printed."""
    run = subprocess.run(
        [str(BINARY), *map(str, words)], env={**quiet_environment(), **env}, capture_output=True, text=True, timeout=120
    )
    assert (run.returncode == 0) == ok, f"muster {words} ended with {run.returncode}: {run.stderr}"
    return run.stdout if ok else run.stderr


@pytest.fixture(params=["sqlite", "postgres"])
def busy(request, servers):
    """A server with a cluster, a manifest and an infra-env."""
    env = {}
    if request.param == "postgres":
        env["MUSTER_DATABASE_URL"] = request.getfixturevalue("postgres").new_database()
    server = servers(f"busy-{request.param}", env=env, auth="users").start()
    login = server.log().split("password ")[1].split()[0]
    token = server.api().post("//auth/token", {"username": "admin", "password": login}, expect=200).json()["token"]
    server.headers = {"Authorization": f"Bearer {token}"}
    api = server.api(server.headers)
    cluster = api.new_cluster("kept")
    manifest = {"folder": "manifests", "file_name": "kept.yaml", "content": MANIFEST}
    api.post(f"/v2/clusters/{cluster['id']}/manifests", manifest)
    api.new_infra_env("kept-env", cluster_id=cluster["id"])
    return server


def restored(servers, archive, server, **env):
    """A server on what was restored."""
    copy = servers("restored", auth="users", env=env)
    printed = muster("restore", archive, "--data-dir", copy.data_dir, **env)
    assert "start the service on it" in printed
    return copy.start()


def names(api):
    return {cluster["name"]: cluster["id"] for cluster in api.get("/v2/clusters").json()}


def test_a_backup_under_load_restored_elsewhere_misses_nothing_that_was_answered_before(busy, servers, tmp_path):
    api = busy.api(busy.headers)
    acknowledged, stop = [], threading.Event()

    def load(number):
        own = busy.api(busy.headers)
        for count in range(10_000):
            if stop.is_set():
                return
            acknowledged.append(own.new_cluster(f"c{number}-{count}")["id"])

    workers = [threading.Thread(target=load, args=[number]) for number in range(3)]
    for worker in workers:
        worker.start()
    try:
        while len(acknowledged) < 20:
            assert all(worker.is_alive() for worker in workers)
            stop.wait(0.05)
        before = list(acknowledged)
        archive = tmp_path / "muster.tar"
        env = {name: value for name, value in busy.env.items()}
        muster("backup", archive, "--data-dir", busy.data_dir, **env)
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    assert archive.stat().st_mode & 0o777 == 0o600
    kept = names(api)
    copy = restored(servers, archive, busy)
    there = copy.api(busy.headers)
    assert set(before) <= set(names(there).values())
    # What is there is equal, down to secrets that only the sealing key opens.
    listed = there.get(f"/v2/clusters/{kept['kept']}/manifests").json()
    assert [entry["file_name"] for entry in listed] == ["kept.yaml"]
    for cluster in [kept["kept"], before[0]]:
        one, other = api.cluster(cluster), there.cluster(cluster)
        assert {key: one[key] for key in one if "status_updated" not in key} == {
            key: other[key] for key in other if "status_updated" not in key
        }
    refused = muster("restore", archive, "--data-dir", copy.data_dir, ok=False)
    assert "exists; restore into an empty data directory" in refused


def test_a_damaged_or_cut_backup_restores_nothing(busy, tmp_path):
    archive = tmp_path / "muster.tar"
    muster("backup", archive, "--data-dir", busy.data_dir, **busy.env)
    with tarfile.open(archive) as found:
        contents = json.load(found.extractfile("backup.json"))
        assert set(contents["members"]) | {"backup.json"} == set(found.getnames())
        place = found.getmember("database/muster.db").offset_data + 5000
    whole = archive.read_bytes()
    damaged = {
        "altered": whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :],
        "cut": whole[: place + 512 - place % 512],
        "newer": whole.replace(b'"schema": 4', b'"schema": 9'),
    }
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
        target = tmp_path / f"data-{name}"
        refused = muster("restore", tmp_path / name, "--data-dir", target, ok=False)
        assert "nothing was restored" in refused, refused
        assert not (target / "muster.db").exists() and not (target / "keys").exists()


def test_a_database_moves_to_postgres_and_back(servers, postgres, tmp_path):
    server = servers("moves").start()
    cluster = server.api().new_cluster("traveller")
    refused = muster("migrate", "--data-dir", server.data_dir, "--database-to", postgres.new_database(), ok=False)
    assert "in use by another process" in refused
    server.stop()
    there = postgres.new_database()
    printed = muster("migrate", "--data-dir", server.data_dir, "--database-to", there)
    assert "clusters 1" in printed and "set database.url" in printed
    server.env["MUSTER_DATABASE_URL"] = there
    server.start()
    assert server.api().cluster(cluster["id"])["name"] == "traveller"
    second = server.api().new_cluster("born-there")
    back = f"sqlite://{tmp_path}/back.db"
    words = ["migrate", "--data-dir", server.data_dir]
    refused = muster(*words, "--database-to", back, ok=False, MUSTER_DATABASE_URL=there)
    assert "is in use" in refused and "stop the service" in refused
    refused = muster(*words, "--files-to", f"file://{tmp_path}/files", ok=False, MUSTER_DATABASE_URL=there)
    assert "is in use" in refused and not (tmp_path / "files").exists()
    server.stop()
    muster("migrate", "--data-dir", server.data_dir, "--database-to", back, MUSTER_DATABASE_URL=there)
    server.env["MUSTER_DATABASE_URL"] = back
    server.start()
    assert names(server.api()) == {"traveller": cluster["id"], "born-there": second["id"]}
    server.stop()


def opens_its_secrets(server, infra_env):
    """The config of hosts is made from the pull secret, which is sealed."""
    path = f"/v2/infra-envs/{infra_env['id']}/downloads/files?file_name=discovery.ign"
    return bool(server.api(getattr(server, "headers", None)).get(path).json()["storage"]["files"])


def test_secrets_move_to_a_new_sealing_key_while_the_service_is_stopped(servers):
    server = servers("rotated").start()
    infra_env = server.api().new_infra_env("sealed")
    server.stop()
    key = server.data_dir / "keys" / "sealing.key"
    before = key.read_text()
    assert "secrets are sealed under a new key" in muster("keys", "rotate-sealing", "--data-dir", server.data_dir)
    assert key.read_text() != before and key.stat().st_mode & 0o777 == 0o600
    (old,) = key.parent.glob("sealing.key.until-*")
    assert old.read_text() == before and not (key.parent / "sealing.key.new").exists()
    server.start()
    assert opens_its_secrets(server, infra_env)
    server.stop()


def sealed_texts(server):
    """Every sealed text in the database of a stopped server."""
    with sqlite3.connect(server.data_dir / "muster.db") as database:
        rows = [row[0] for table in ["clusters", "infra_envs"] for row in database.execute(f"SELECT doc FROM {table}")]
    return {text for row in rows for text in re.findall(r"sealed:v1:[A-Za-z0-9+/=]+", row)}


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_running_service_changes_to_a_new_sealing_key_under_load(database, servers, request):
    env = {"MUSTER_DATABASE_URL": request.getfixturevalue("postgres").new_database()} if database == "postgres" else {}
    server = servers(f"turning-{database}", env=env).start()
    infra_env = server.api().new_infra_env("sealed")
    made, failed, stop = [], [], threading.Event()

    def load(number):
        own = server.api()
        try:
            for count in range(10_000):
                if stop.is_set():
                    return
                made.append(own.new_infra_env(f"e{number}-{count}"))
                # Documents that were there before are changed under both keys as well.
                own.patch(f"/v2/infra-envs/{infra_env['id']}", {"ssh_authorized_key": ""}, expect=201)
        except AssertionError as error:
            failed.append(error)

    workers = [threading.Thread(target=load, args=[number]) for number in range(2)]
    for worker in workers:
        worker.start()
    key = server.data_dir / "keys" / "sealing.key"
    before = key.read_text()
    try:
        printed = muster("keys", "rotate-sealing", "--data-dir", server.data_dir, **server.env)
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    # Both may meet at the same infra-env: then one is asked to try again.
    assert not [error for error in failed if " 409 " not in str(error)], failed
    assert "the running service has sealed all secrets" in printed
    assert key.read_text() != before and not (key.parent / "sealing.key.new").exists()
    assert all(opens_its_secrets(server, one) for one in [infra_env, made[0], made[-1]])
    server.stop()
    # Nothing is left that only the old key opens.
    (key.parent / next(key.parent.glob("sealing.key.until-*")).name).unlink()
    server.start()
    assert all(opens_its_secrets(server, one) for one in [infra_env, made[0], made[-1]])
    server.stop()


def test_a_change_of_the_sealing_key_that_was_cut_short_is_completed(servers):
    server = servers("cut-short").start()
    infra_env = server.api().new_infra_env("sealed")
    server.stop()
    before = sealed_texts(server)
    # As a crash leaves it: the next key is there, and no row is under it yet.
    key = server.data_dir / "keys" / "sealing.key"
    (key.parent / "sealing.key.new").write_text(base64.b64encode(os.urandom(32)).decode() + "\n")
    server.start()
    assert opens_its_secrets(server, infra_env)
    eventually(lambda: not (key.parent / "sealing.key.new").exists(), "the change to be completed")
    assert opens_its_secrets(server, infra_env)
    server.stop()
    assert before and not before & sealed_texts(server)
    server.start()
    assert opens_its_secrets(server, infra_env)
    server.stop()


def certificate_of(server):
    host, port = server.url.split("://")[1].rsplit(":", 1)
    return ssl.get_server_certificate((host, int(port)))


def test_signing_and_tls_keys_are_replaced_while_the_service_runs(servers):
    server = servers("signing", auth="users", plain=False).start()
    password = server.log().split("password ")[1].split()[0]

    def login():
        return (
            server.api().post("//auth/token", {"username": "admin", "password": password}, expect=200).json()["token"]
        )

    def admits(token):
        answer = server.api({"Authorization": f"Bearer {token}"}).call("GET", "/v2/clusters")
        return answer.status_code == 200

    def public_key():
        return (server.data_dir / "keys" / "token.pub").read_text()

    first, before = login(), public_key()
    muster("keys", "rotate-signing", "--data-dir", server.data_dir)
    assert public_key() != before
    eventually(lambda: "signing keys replaced" in server.log(), "the new signing key")
    second = login()
    assert admits(first) and admits(second)
    assert "boot new images" in muster("keys", "rotate-signing", "--end-tokens", "--data-dir", server.data_dir)
    eventually(lambda: not admits(first), "the former tokens to end")
    assert not admits(second) and admits(login())

    shown, ca = certificate_of(server), (server.data_dir / "tls" / "ca.crt").read_text()
    muster("keys", "rotate-tls", "--data-dir", server.data_dir)
    eventually(lambda: certificate_of(server) != shown, "another certificate")
    assert (server.data_dir / "tls" / "ca.crt").read_text() == ca
    assert admits(login())
    server.stop()


def test_a_data_directory_of_a_newer_release_is_refused(servers, tmp_path):
    server = servers("newer").start()
    server.stop()
    with sqlite3.connect(server.data_dir / "muster.db") as database:
        database.execute("INSERT INTO schema_version VALUES (99)")
    refused = muster("serve", "--listen", "127.0.0.1:0", "--data-dir", server.data_dir, ok=False)
    assert "schema version 99" in refused and "newer" in refused
    found = json.loads(checked("--data-dir", server.data_dir))
    database = next(row for row in found if row["check"] == "database")
    assert database["level"] == "problem" and "newer release" in database["fix"]


def checked(*words):
    run = subprocess.run(
        [str(BINARY), "doctor", "--json", "--offline", *map(str, words)],
        env=quiet_environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    return run.stdout


def test_the_doctor_names_each_problem_with_a_fix(tmp_path):
    found = {row["check"]: row for row in json.loads(checked("--data-dir", tmp_path / "data"))}
    assert found["configuration"]["level"] == "ok" and found["data"]["level"] == "ok", found
    assert found["address"]["level"] == "warning" and "server.base_url" in found["address"]["fix"]
    wrong = json.loads(checked("--data-dir", tmp_path, "--set", "server.listen=nonsense"))
    assert [row["level"] for row in wrong] == ["problem"] and wrong[0]["fix"]
    certificate = tmp_path / "tls.crt"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "10", "-subj", "/CN=x"]
    make += ["-addext", "subjectAltName=DNS:other.example.com", "-keyout", tmp_path / "tls.key", "-out", certificate]
    subprocess.run(make, check=True, capture_output=True)
    words = ["--set", f"server.tls_cert={certificate}", "--set", f"server.tls_key={tmp_path / 'tls.key'}"]
    words += ["--set", "server.base_url=https://muster.example.com:8090"]
    found = {row["check"]: row for row in json.loads(checked("--data-dir", tmp_path, *words))}
    assert found["certificate"]["level"] == "problem" and "muster.example.com" in found["certificate"]["text"]
