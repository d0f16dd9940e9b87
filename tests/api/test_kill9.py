"""A storm of writes, a `kill -9` in the middle, a restart: what was acknowledged is there.

Each writer notes an acknowledgement only after the whole answer has arrived. A write whose
answer never came may or may not have happened; both are right, half of it is not.
"""

import base64
import random
import threading
import time
import uuid

import pytest
import requests

from machines import Machine
from muster import Api

WRITERS = 6
SEED = 4711


class Ledger:
    """What the server has promised to keep."""

    def __init__(self):
        self.lock = threading.Lock()
        self.clusters = {}
        self.infra_envs = {}
        self.hosts = {}
        self.tags = {}
        self.unsure_tags = {}
        self.manifests = {}
        self.inventories = {}
        self.events = set()
        self.deleted = set()
        self.oddities = []

    def count(self):
        with self.lock:
            books = (self.clusters, self.infra_envs, self.hosts, self.tags, self.manifests, self.inventories)
            return sum(len(book) for book in books) + len(self.events) + len(self.deleted)


class Writer(threading.Thread):
    """Lives a small life over and over until the server is gone."""

    def __init__(self, url, number, ledger):
        super().__init__(daemon=True)
        self.api = Api(url)
        self.number = number
        self.ledger = ledger
        self.stop = threading.Event()

    def run(self):
        turn = 0
        try:
            while not self.stop.is_set():
                self.life(turn)
                turn += 1
        except requests.exceptions.RequestException:
            pass  # the server is dead: that is the point
        except AssertionError as odd:
            self.ledger.oddities.append(str(odd))

    def life(self, turn):
        book = self.ledger
        name = f"w{self.number}-{turn}"
        cluster = self.api.new_cluster(name)
        book.clusters[cluster["id"]] = name
        infra_env = self.api.new_infra_env(f"{name}-env", cluster_id=cluster["id"])
        book.infra_envs[infra_env["id"]] = f"{name}-env"
        machine = Machine(self.api, infra_env["id"], turn % 40, f"{name}-host")
        machine.register()
        book.hosts[machine.id] = infra_env["id"]
        machine.send_inventory()
        book.inventories[machine.id] = machine.name
        for step in range(3):
            tag = f"t{turn}x{step}"
            book.unsure_tags.setdefault(cluster["id"], set()).add(tag)
            self.api.patch(f"/v2/clusters/{cluster['id']}", {"tags": tag})
            book.tags[cluster["id"]] = tag
        text = f"turn: {turn}\n"
        content = base64.b64encode(text.encode()).decode()
        self.api.post(f"/v2/clusters/{cluster['id']}/manifests", {"file_name": f"m{turn}.yaml", "content": content})
        book.manifests[(cluster["id"], f"m{turn}.yaml")] = text
        word = f"event {uuid.uuid4()}"
        event = {"name": "storm", "cluster_id": cluster["id"], "severity": "info", "message": word}
        self.api.post("/v2/events", {**event, "event_time": "2026-01-01T00:00:00.000Z"})
        book.events.add((cluster["id"], word))
        machine.poll()
        if turn % 3 == 2:
            self.forget(cluster["id"], machine.id)

    def forget(self, cluster_id, host_id):
        """Deletes the cluster again; from the moment of asking nothing of it may be required."""
        book = self.ledger
        del book.clusters[cluster_id]
        book.hosts.pop(host_id)
        book.inventories.pop(host_id)
        book.tags.pop(cluster_id)
        for key in [key for key in book.manifests if key[0] == cluster_id]:
            del book.manifests[key]
        self.api.delete(f"/v2/clusters/{cluster_id}")
        book.deleted.add(cluster_id)


def storm(server, ledger, seconds, enough):
    """Writers write; after the given time, once something was acknowledged, the power goes."""
    writers = [Writer(server.url, number, ledger) for number in range(WRITERS)]
    start = ledger.count()
    for writer in writers:
        writer.start()
    deadline = time.monotonic() + 60
    ends = time.monotonic() + seconds
    while time.monotonic() < ends or ledger.count() - start < enough:
        assert time.monotonic() < deadline, f"only {ledger.count() - start} writes in a minute; {ledger.oddities}"
        time.sleep(0.01)
    server.kill()
    for writer in writers:
        writer.stop.set()
    for writer in writers:
        writer.join(timeout=90)
        assert not writer.is_alive(), "a writer hangs although the server is dead"
    assert not ledger.oddities, ledger.oddities[:3]


def verify(api, ledger):
    """Every promise of the ledger, read back through the API."""
    clusters = {item["id"]: item for item in api.get("/v2/clusters").json()}
    lost = [name for key, name in ledger.clusters.items() if clusters.get(key, {}).get("name") != name]
    assert not lost, f"clusters lost or changed: {lost}"
    back = [key for key in ledger.deleted if key in clusters]
    assert not back, f"deleted clusters came back: {back}"
    infra_envs = {item["id"]: item["name"] for item in api.get("/v2/infra-envs").json()}
    lost = [name for key, name in ledger.infra_envs.items() if infra_envs.get(key) != name]
    assert not lost, f"infra-envs lost or changed: {lost}"
    for cluster_id, tag in ledger.tags.items():
        seen = clusters[cluster_id].get("tags")
        later = {word for word in ledger.unsure_tags[cluster_id] if word > tag}
        assert seen == tag or seen in later, f"cluster {cluster_id} has tags {seen}, acknowledged was {tag}"
    for host_id, infra_env_id in ledger.hosts.items():
        host = api.host(infra_env_id, host_id)
        if host_id in ledger.inventories:
            assert host["requested_hostname"] == ledger.inventories[host_id], f"inventory of {host_id} is lost"
    for (cluster_id, name), text in ledger.manifests.items():
        query = {"file_name": name, "folder": "manifests"}
        got = api.get(f"/v2/clusters/{cluster_id}/manifests/files", params=query).text
        assert got == text, f"manifest {name} of {cluster_id}: {got!r}"
    for cluster_id, word in ledger.events:
        if cluster_id in ledger.clusters:
            found = [event["message"] for event in api.events(cluster_id=cluster_id, message=word)]
            assert found == [word], f"event lost or doubled: {found}"


def rounds_of_storm(server, rounds, enough=40):
    chance = random.Random(SEED)
    ledgers = []
    server.start()
    for _ in range(rounds):
        ledger = Ledger()
        storm(server, ledger, seconds=chance.uniform(0.2, 1.5), enough=enough)
        server.start()
        verify(server.api(), ledger)
        ledgers.append(ledger)
    # Promises of early rounds have to survive the later power cuts, too.
    for ledger in ledgers:
        verify(server.api(), ledger)
    server.stop()


@pytest.mark.timeout(240)
def test_sqlite_keeps_every_acknowledged_write(servers):
    rounds_of_storm(servers("kill9-sqlite"), rounds=12)


@pytest.mark.timeout(200)
def test_postgresql_keeps_every_acknowledged_write(servers, postgres):
    rounds_of_storm(servers("kill9-postgres", args=["--database", postgres.new_database()]), rounds=6)
