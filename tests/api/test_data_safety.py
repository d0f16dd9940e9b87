"""Nothing is lost without being asked for: wrong clocks, bad rows, full disks and curious neighbours."""

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from machines import Fleet
from muster import ROOT, api_error, eventually, infra_error

DAY = 86400


@pytest.fixture(scope="module")
def movable_clock(tmp_path_factory):
    """The environment of a process whose time of day can be set, and how to set it."""
    folder = tmp_path_factory.mktemp("clock")
    library, shift = folder / "clock.so", folder / "shift"
    source = Path(__file__).parent / "clock.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)

    def move(seconds):
        fresh = shift.with_suffix(".new")
        fresh.write_text(str(seconds))
        fresh.replace(shift)

    move(0)
    return {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(shift)}, move


def metric(api, name):
    """The value of a figure on the metrics page."""
    found = re.search(rf"^{re.escape(name)} (\S+)$", api.get("//metrics").text, re.MULTILINE)
    assert found, f"{name} is not on the metrics page"
    return float(found.group(1))


def shown_year(api):
    """The year a new event carries: proof that the clock of the server was moved."""
    return int(api.events(order="descending", limit=1)[0]["event_time"][:4])


def test_a_clock_that_jumps_neither_deletes_nor_makes_the_service_unhealthy(servers, movable_clock):
    env, move = movable_clock
    rounds = {"DEREGISTER_WORKER_INTERVAL": "1s", "DELETION_WORKER_INTERVAL": "1s"}
    rounds |= {"INFRAENV_DELETION_WORKER_INTERVAL": "1s", "ENABLE_DEREGISTER_INACTIVE_GC": "true"}
    rounds |= {"MUSTER_HOUSEKEEPING_DELETE_INACTIVE_INFRA_ENVS": "true", "LIVENESS_VALIDATION_TIMEOUT": "60m"}
    server = servers("clock", env={**env, **rounds}).start()
    api = server.api()
    live, deleted = api.new_cluster("live")["id"], api.new_cluster("deleted")["id"]
    infra_env = api.new_infra_env("pool")["id"]
    api.delete(f"/v2/clusters/{deleted}")
    try:
        move(2 * 3600)
        api.get("//health")
        move(400 * DAY)
        api.get("//health")
        year = time.gmtime().tm_year
        api.new_cluster("from-the-future")
        assert shown_year(api) > year, "the clock did not move"
        seen = metric(api, 'muster_refusals_total{reason="clock_jump"}')
        eventually(
            lambda: metric(api, 'muster_refusals_total{reason="clock_jump"}') >= seen + 6,
            "every round to come by twice",
        )
    finally:
        move(0)
    api.get(f"/v2/clusters/{live}")
    api.get(f"/v2/infra-envs/{infra_env}")
    api.get(f"/v2/clusters/{deleted}", headers={"get_unregistered_clusters": "true"})
    assert "the clock jumped" in server.log()


def test_what_is_installed_is_never_deleted_and_the_rest_is_announced(servers):
    env = {"DELETED_INACTIVE_AFTER": "1s", "DEREGISTER_WORKER_INTERVAL": "1s", "DUMMY_IGNITION": "true"}
    env |= {"ENABLE_DEREGISTER_INACTIVE_GC": "true", "MUSTER_HOUSEKEEPING_NOTICE": "2s"}
    api = servers("installed", env=env).start().api()
    fleet = Fleet.compact(api, "precious")
    fleet.drive_until("ready")
    fleet.install()
    fleet.finalize()
    idle = api.new_cluster("idle")["id"]
    gone = {"get_unregistered_clusters": "true"}
    eventually(lambda: api.call("GET", f"/v2/clusters/{idle}").status_code == 404, "the idle cluster to go")
    assert api.cluster(fleet.cluster_id)["status"] == "installed"
    assert api.get(f"/v2/clusters/{idle}", headers=gone).json()["deleted_at"]
    names = [event["name"] for event in api.events(cluster_id=idle)]
    announced, deregistered = (
        names.index(name) for name in ("cluster_deletion_announced", "after_inactivity_cluster_deregistered")
    )
    assert announced < deregistered, names


@contextlib.contextmanager
def rows(server):
    """The database of a server that is stopped."""
    database = sqlite3.connect(server.data_dir / "muster.db")
    with database:
        yield database
    database.close()


def rewrite(database, table, row, change):
    """Changes a document as another program would, which knows nothing of checksums."""
    (text,) = database.execute(f"select doc from {table} where id = ?", [row]).fetchone()
    doc = change(text)
    database.execute(f"update {table} set doc = ?, version = version + 1 where id = ?", [doc, row])


def test_unknown_members_are_kept_and_bad_rows_are_set_aside(servers):
    server = servers("rows").start()
    api = server.api()
    newer, bad, flipped, good = (api.new_cluster(name)["id"] for name in ("newer", "bad", "flipped", "good"))
    lost = api.new_infra_env("lost")["id"]
    kept = api.new_infra_env("kept")["id"]
    server.stop()

    def add_members(text):
        doc = json.loads(text)
        doc["moon_phase"] = {"name": "gibbous"}
        doc["recipe"]["salt"] = [1, 2]
        return json.dumps(doc)

    with rows(server) as database:
        rewrite(database, "clusters", newer, add_members)
        rewrite(database, "clusters", bad, lambda _: '{"id": 5')
        database.execute("update clusters set doc = replace(doc, 'flipped', 'flippee') where id = ?", [flipped])
        rewrite(database, "infra_envs", lost, lambda _: "{}")
        before = database.execute("select doc from clusters where id = ?", [bad]).fetchone()
    server.start()
    api = server.api()
    assert {cluster["name"] for cluster in api.get("/v2/clusters").json()} == {"newer", "good"}
    assert {env["id"] for env in api.get("/v2/infra-envs").json()} == {kept}
    api.patch(f"/v2/clusters/{newer}", {"tags": "changed"})
    for row in (bad, flipped):
        reason = api_error(api.call("GET", f"/v2/clusters/{row}"), 500)
        assert row in reason and "restore it from a backup" in reason, reason
        api.call("DELETE", f"/v2/clusters/{row}", 500)
    api.get(f"/v2/clusters/{good}")
    ready = api.get("//ready").json()
    assert ready["status"] == "degraded" and "2 unreadable in table clusters" in str(ready["reasons"]), ready
    assert bad not in str(ready), "the page is open to all"
    assert metric(api, 'muster_quarantined_rows{table="clusters"}') == 2
    assert metric(api, 'muster_quarantined_rows{table="infra_envs"}') == 1
    assert metric(api, 'muster_quarantined_rows{table="hosts"}') == 0
    server.stop()
    with rows(server) as database:
        assert database.execute("select doc from clusters where id = ?", [bad]).fetchone() == before
        (text,) = database.execute("select doc from clusters where id = ?", [newer]).fetchone()
        doc = json.loads(text)
        assert doc["moon_phase"] == {"name": "gibbous"} and doc["recipe"]["salt"] == [1, 2]
        assert doc["tags"] == "changed"


def test_files_of_the_service_are_private_even_in_an_open_folder(servers):
    server = servers("private")
    server.data_dir.mkdir(mode=0o755)
    server.data_dir.chmod(0o755)
    server.start()
    server.api().new_cluster("secretive")
    server.stop()
    for name in ("muster.db", "muster.db.lock"):
        (server.data_dir / name).chmod(0o644)
    server.start()
    server.api().new_cluster("again")
    readable = [path.name for path in server.data_dir.glob("muster.db*") if path.stat().st_mode & 0o077]
    assert readable == []
    assert (server.data_dir / "files").stat().st_mode & 0o077 == 0
    assert "other users could open this file" in server.log()


@pytest.fixture
def small_disk():
    """A file system of 24 MiB; only root can have one."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    with tempfile.TemporaryDirectory() as folder:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "tmpfs", folder], check=False)
        if mounted.returncode != 0:
            pytest.skip("mounting is not allowed here")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_is_named_in_answers_readiness_and_metrics_until_there_is_space(servers, small_disk):
    server = servers("full")
    server.data_dir = small_disk / "data"
    server.start()
    api = server.api()
    cluster = api.new_cluster("early")["id"]
    ballast = small_disk / "ballast"
    with ballast.open("wb") as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 65536)
            file.flush()
    infra_error(api.get("//ready", 503), 503)

    answers = []

    def refused():
        # What SQLite has reserved before takes some writes yet.
        answers.append(api.call("PATCH", f"/v2/clusters/{cluster}", json={"tags": f"n{len(answers)}"}))
        return answers[-1].status_code >= 500

    eventually(refused, "a write to be refused", every=0)
    assert "full" in api_error(answers[-1], 503)
    manifest = {"file_name": "a.yaml", "content": "YTogMQo="}
    assert "full" in api_error(api.call("POST", f"/v2/clusters/{cluster}/manifests", json=manifest), 503)
    assert "full" in infra_error(api.get("//ready", 503), 503)
    assert metric(api, "service_assisted_installer_filesystem_usage_percentage") == 100
    assert metric(api, 'muster_refusals_total{reason="database_full"}') >= 1
    assert metric(api, 'muster_refusals_total{reason="file_store_full"}') >= 1
    api.get(f"/v2/clusters/{cluster}")
    ballast.unlink()
    eventually(lambda: api.call("GET", "//ready").status_code == 200, "the service to be ready again")
    api.patch(f"/v2/clusters/{cluster}", {"tags": "later"})
    server.stop()


def test_a_disk_fuller_than_the_threshold_is_reported(servers):
    server = servers("threshold", env={"FILESYSTEM_USAGE_THRESHOLD": "0"}).start()
    ready = server.api().get("//ready").json()
    assert ready["status"] == "degraded" and "the threshold is 0 %" in str(ready["reasons"])
    eventually(lambda: "disk space is low" in server.log(), "the warning")


def test_no_document_puts_a_password_on_a_command_line():
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    shown = re.compile(r"--database\s+'?postgres\w*://[^\s@:/]+:[^\s@]+@")
    assert [path.name for path in documents if shown.search(path.read_text())] == []
