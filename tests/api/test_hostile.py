"""Attacks on what agents, users and watchers share: whatever comes in, the service answers, keeps running and stays correct."""

import copy
import json
import random
import socket
import threading
import time
from urllib.parse import urlsplit

import pytest

from machines import API_VIP, Fleet, Machine, inventory
from muster import BASE_PATH, SECRET_WORD, api_error, eventually, pull_secret
from test_storage import SEALING_KEY
from test_watch import Watcher, post_event

STEPS = [
    "inventory",
    "connectivity-check",
    "free-network-addresses",
    "ntp-synchronizer",
    "domain-resolution",
    "verify-vips",
    "installation-disk-speed-check",
    "container-image-availability",
    "api-vip-connectivity-check",
    "tang-connectivity-check",
    "dhcp-lease-allocate",
    "upgrade-agent",
    "logs-gather",
    "install",
    "download-boot-artifacts",
    "reboot-for-reclaim",
    "stop-installation",
]
NONSENSE = [
    "",
    "null",
    "true",
    "0",
    "-1",
    "1e999",
    '"text"',
    "[]",
    "[null]",
    "[[]]",
    "{}",
    '{"a"',
    "\x00\x01",
    "[" * 5000,
    '{"a":' * 5000,
    '[{"network": null, "free_addresses": null}]',
    '[{"network": "not a network", "free_addresses": ["999.1.1.1", ""]}]',
    '{"remote_hosts": null}',
    '{"remote_hosts": [null]}',
    '{"remote_hosts": [{"host_id": "me", "l2_connectivity": [{}], "l3_connectivity": [{"packet_loss_percentage": -5}]}]}',
    '{"resolutions": [{"domain_name": null}]}',
    '{"ntp_sources": [{"source_name": null, "source_state": "unheard of"}]}',
    '{"io_sync_duration": 9223372036854775807, "path": ""}',
    '{"io_sync_duration": -9223372036854775808, "path": "/dev/sda"}',
    '{"images": [{"name": "", "result": "maybe", "size_bytes": -1, "time": -1, "download_rate": -1}]}',
    '[{"vip": "x", "vip_type": "y", "verification": "z"}]',
    '{"is_success": true, "ignition": "{"}',
    '{"api_vip_address": "x", "ingress_vip_address": "y"}',
]
STRANGE = [None, True, -1, 0, 2**63 - 1, 10**30, 1e308, "", "\x00", "🦀" * 3000, "../../etc", [], {}, [None], ["", 7]]


def places(document, at=()):
    """Every place in a JSON document."""
    if at:
        yield at
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in items:
        yield from places(value, (*at, key))


def changed(document, at, value):
    clone = copy.deepcopy(document)
    target = clone
    for key in at[:-1]:
        target = target[key]
    target[at[-1]] = value
    return clone


@pytest.fixture(scope="module")
def besieged(servers):
    return servers("besieged", env={"DUMMY_IGNITION": "true"}).start()


def test_no_reply_of_a_host_harms_the_service_or_its_neighbours(besieged):
    api = besieged.api()
    fleet = Fleet.compact(api, "siege")
    fleet.drive_until("ready")
    bad = fleet.machines[0]
    for step in STEPS:
        for output in NONSENSE:
            for code, error in ((0, ""), (-1, "\x1b[2Jbroken"), (2**31, "x" * 100_000)):
                bad.reply(step, output, code, error, expect=(204, 400))
    # Whatever it said, it is looked at, and so is every other host.
    assert api.get(fleet.path).json()["status"] in ("ready", "insufficient", "pending-for-input")
    api.get(bad.path)
    for machine in fleet.machines:
        machine.send_inventory()
    fleet.drive_until("ready")
    fleet.disband()
    besieged.assert_calm()


def test_no_inventory_with_one_strange_member_harms_the_service(besieged):
    api = besieged.api()
    fleet = Fleet.compact(api, "mutant")
    pool = api.new_infra_env("mutant-pool")
    loner = Machine(api, pool["id"], 7, "loner")
    loner.register()
    chance = random.Random(3)
    good = inventory("mutant-0", fleet.machines[0].ip, fleet.machines[0].mac)
    for at in places(good):
        for value in chance.sample(STRANGE, 5):
            strange = json.dumps(changed(good, at, value))
            for machine in (fleet.machines[0], loner):
                machine.reply("inventory", strange, expect=(204, 400))
            for path in (fleet.path, fleet.machines[0].path, loner.path):
                api.get(path)
            loner.poll()
    for machine in fleet.machines:
        machine.send_inventory()
    fleet.drive_until("ready")
    fleet.disband()
    besieged.assert_calm()


def test_no_body_of_a_reply_is_answered_with_a_server_error(besieged):
    api = besieged.api()
    infra_env = api.new_infra_env("bodies")
    machine = Machine(api, infra_env["id"])
    machine.register()
    path = f"{machine.path}/instructions"
    bodies = [b"", b"null", b"[]", b'"x"', b"{", b"\xff\xfe", b'{"step_type": 7}', b'{"exit_code": "x"}']
    bodies += [b'{"step_type": "inventory", "output": 5}', b'{"step_type": "unheard-of"}', b"[" * 200_000]
    bodies += [b'{"exit_code": 1e30, "step_type": "inventory"}', b'{"output": "' + b"x" * 3_000_000 + b'"}']
    for body in bodies:
        answer = api.call("POST", path, data=body, headers={"Content-Type": "application/json"})
        assert answer.status_code < 500, f"{body[:60]}: {answer.status_code} {answer.text[:300]}"
    for clock in ("-1", "9223372036854775807", "-9223372036854775808", "x", "1e9", ""):
        answer = api.call("GET", path, params={"timestamp": clock})
        assert answer.status_code < 500, f"{clock}: {answer.status_code} {answer.text[:300]}"
        api.get(machine.path)
    besieged.assert_calm()


def test_users_agents_and_rules_may_meet_at_any_moment(besieged):
    api = besieged.api()
    fleet = Fleet.compact(api, "storm")
    fleet.drive_until("ready")
    end = time.monotonic() + 12
    surprises = []

    def storm(act, allowed):
        mine = besieged.api()
        while time.monotonic() < end:
            try:
                answer = act(mine)
            except Exception as surprise:  # it would end this thread and nothing else
                surprises.append(f"{act.__name__}: {surprise}")
                return
            if answer.status_code not in allowed:
                surprises.append(f"{answer.request.method} {answer.url}: {answer.status_code} {answer.text[:300]}")
                return

    def edit(mine):
        return mine.call("PATCH", fleet.path, json={"name": random.choice(["storm", "tempest"])})

    def rename(mine):
        machine = random.choice(fleet.machines)
        return mine.call("PATCH", machine.path, json={"host_name": f"n{random.randrange(9)}-{machine.id[:4]}"})

    def act(mine):
        verb = random.choice(["install", "cancel", "reset", "install"])
        return mine.call("POST", f"{fleet.path}/actions/{verb}")

    def talk(mine):
        machine = copy.copy(random.choice(fleet.machines))
        machine.api = mine
        # Between request and response the host may have been asked to prepare.
        machine.work(expect=(204, 400))
        return mine.call("GET", f"{machine.path}/instructions")

    def report(mine):
        stage = random.choice(["Installing", "Writing image to disk", "Rebooting", "Done"])
        return mine.call("PUT", f"{random.choice(fleet.machines).path}/progress", json={"current_stage": stage})

    acts = [(edit, {201, 400, 409}), (rename, {201, 400, 409}), (act, {202, 409, 400}), (talk, {200}), (talk, {200})]
    acts += [(report, {200, 400, 409})]
    threads = [threading.Thread(target=storm, args=one) for one in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not surprises, surprises
    # When all are quiet it can be brought back to a state from which it installs.
    for verb in ("cancel", "reset"):
        api.call("POST", f"{fleet.path}/actions/{verb}")
    for machine in fleet.machines:
        machine.register()
        machine.send_inventory()
        api.call("PATCH", machine.path, 201, json={"host_name": machine.name})
    fleet.drive_until("ready", 60)
    fleet.install()
    fleet.finalize()
    besieged.assert_calm()


def raw_watch(server, query="", headers=""):
    """A connection that asks to watch and reads only on demand."""
    place = urlsplit(server.url)
    connection = socket.create_connection((place.hostname, place.port), timeout=30)
    connection.sendall(f"GET {BASE_PATH}/v2/watch{query} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode())
    return connection


def test_watchers_beyond_the_limit_do_not_disturb_others(servers):
    server = servers("crowd").start()
    api = server.api()
    cluster = api.new_cluster("crowd")
    crowd = [raw_watch(server, f"?cluster_id={cluster['id']}&last_event_id={n}") for n in range(1000)]
    for one in crowd:
        assert one.recv(12) == b"HTTP/1.1 200"
    refused = raw_watch(server)
    assert refused.recv(12) == b"HTTP/1.1 503"
    refused.close()
    # No watcher reads and all have data pending; other clients do not notice.
    for number in range(20):
        api.patch(f"/v2/clusters/{cluster['id']}", {"tags": f"t{number}"})
    for one in crowd:
        one.close()

    def place_again():
        late = Watcher(server, cluster_id=cluster["id"])
        if late.answer.ok:
            assert late.wait("cluster")["tags"] == "t19"
        late.close()
        return late.answer.ok

    eventually(place_again, "a place for a new watcher")
    server.assert_calm()


def test_bad_places_and_endless_headers_are_refused_with_a_reason(besieged):
    api = besieged.api()
    for place in ("-1", "x", "1e3", "9223372036854775808", "0x10", "1,2", "ü", "9" * 4000):
        answer = api.call("GET", "/v2/watch", headers={"Last-Event-ID": place.encode()}, stream=True)
        assert "did not come from this service" in api_error(answer, 400), place[:40]
    far = Watcher(besieged, last="9223372036854775807", kinds="event")
    assert "continues from now" in far.wait("reset")["reason"]
    far.close()


def test_watching_reveals_no_secret(besieged):
    api = besieged.api()
    watcher = Watcher(besieged, last="0")
    fleet = Fleet.compact(api, "discreet")
    api.patch(fleet.path, {"pull_secret": pull_secret()})
    api.patch(fleet.machines[0].path, {"ignition_endpoint_token": "keep-it-secret"})
    changed = watcher.wait("host", lambda body: body.get("ignition_endpoint_token_set"))
    assert changed["id"] == fleet.machines[0].id
    post_event(api, fleet.cluster_id, "that was all")
    watcher.wait("event", lambda body: body["message"] == "that was all")
    text = json.dumps(watcher.messages)
    assert SECRET_WORD not in text
    assert "keep-it-secret" not in text and "keep-it-secret" not in besieged.log()
    watcher.close()
    fleet.disband()


def test_a_watcher_outlives_the_database(servers, postgres):
    env = {"MUSTER_DATABASE_SEALING_KEY": SEALING_KEY}
    server = servers("watch-outage", args=["--database", postgres.new_database()], env=env).start()
    api = server.api()
    cluster = api.new_cluster("outage")
    infra_env = api.new_infra_env("outage-env", cluster_id=cluster["id"])
    machine = Machine(api, infra_env["id"])
    machine.register()
    watchers = [Watcher(server, cluster_id=cluster["id"]), Watcher(server, infra_env_id=infra_env["id"])]
    for watcher in watchers:
        watcher.wait("sync")
    postgres.stop()
    try:
        early = raw_watch(server)
        answer = api.call("PATCH", f"/v2/clusters/{cluster['id']}", json={"tags": "lost"})
        assert answer.status_code == 503
        # An outage that is long enough for watchers to ask the database several times.
        time.sleep(3)
        early.close()
    finally:
        postgres.restart()
    eventually(lambda: api.call("GET", f"/v2/clusters/{cluster['id']}").ok, "the database again")
    api.patch(machine.path, {"host_name": "back-again"})
    post_event(api, cluster["id"], "after the outage")
    for watcher in watchers:
        watcher.wait("host", lambda body: body["requested_hostname"] == "back-again", 40)
    watchers[0].wait("event", lambda body: body["message"] == "after the outage", 40)
    for watcher in watchers:
        assert not watcher.ended.is_set()
        watcher.close()
    server.assert_calm()


def test_an_address_of_the_cluster_may_be_claimed_by_a_host(besieged):
    """Conflicting answers about one address fail a validation, not the service."""
    api = besieged.api()
    fleet = Fleet.compact(api, "claim")
    fleet.machines[0].inventory["interfaces"][0]["ipv4_addresses"] = [f"{API_VIP}/24"]
    fleet.machines[0].send_inventory()

    def complained():
        report = json.loads(fleet.state()["validations_info"])
        checks = {check["id"]: check["status"] for group in report.values() for check in group}
        return checks.get("api-vips-valid") == "failure"

    eventually(complained, "a complaint about the address")
    fleet.disband()
