"""Watching: the current objects, then every change; no event is lost, and only authorised clients watch."""

import contextlib
import json
import socket
import subprocess
import threading
import time
import uuid

import pytest
import requests

from machines import Fleet, Machine
from muster import BASE_PATH, NOWHERE, Api, api_error, eventually, infra_error, quiet_environment
from test_auth import Keys, password_hash
from test_storage import SEALING_KEY


class Watcher(threading.Thread):
    """Reads one stream of server-sent events as the standard says, line by line."""

    def __init__(self, server, last=None, headers=None, **query):
        super().__init__(daemon=True)
        self.messages = []
        self.last_id = last
        self.ended = threading.Event()
        self.problem = None
        headers = {**(headers or {}), **({"Last-Event-ID": last} if last is not None else {})}
        self.session = requests.Session()
        self.session.trust_env = False
        url = server.url + BASE_PATH + "/v2/watch"
        self.answer = self.session.get(url, params=query, headers=headers, stream=True, timeout=60)
        if self.answer.ok:
            self.start()

    def run(self):
        kind, data = "", []
        try:
            for line in self.answer.iter_lines(chunk_size=1):
                line = line.decode()
                if line == "":
                    if data:
                        self.messages.append((kind, json.loads("\n".join(data)), self.last_id))
                    kind, data = "", []
                elif not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    if name == "event":
                        kind = value
                    elif name == "data":
                        data.append(value)
                    elif name == "id":
                        self.last_id = value
        except (requests.RequestException, AttributeError, ValueError, OSError) as problem:
            self.problem = problem
        self.ended.set()

    def of(self, kind):
        return [body for name, body, _ in list(self.messages) if name == kind]

    def wait(self, kind, what=lambda body: True, timeout=20.0):
        """The first message of the kind that fits."""
        found = eventually(
            lambda: [body for body in self.of(kind) if what(body)],
            f"a {kind}; had {self.kinds()} and {self.statuses()}",
            timeout,
            0.02,
        )
        return found[0]

    def kinds(self):
        return [name for name, _, _ in list(self.messages)]

    def statuses(self):
        return [body["status"] for body in self.of("cluster")]

    def close(self):
        """Hangs up in the middle, also while another thread waits for bytes."""
        if self.is_alive() and not self.ended.is_set():
            with contextlib.suppress(OSError, AttributeError):
                self.answer.raw._fp.fp.raw._sock.shutdown(socket.SHUT_RDWR)
            self.join(10)
        self.session.close()


@pytest.fixture
def watch(shared):
    """Opens watchers that are closed again."""
    opened = []

    def open_one(**options):
        watcher = Watcher(options.pop("server", shared), **options)
        opened.append(watcher)
        return watcher

    yield open_one
    for watcher in opened:
        watcher.close()


def post_event(api, cluster_id, message):
    body = {"name": "noted", "severity": "info", "message": message, "event_time": "2026-01-01T00:00:00.000Z"}
    api.post("/v2/events", {**body, "cluster_id": cluster_id})


def stories(watcher):
    return [event["message"] for event in watcher.of("event") if event["name"] == "noted"]


def test_first_comes_everything_as_get_shows_it(api, ready_cluster, watch):
    watcher = watch(cluster_id=ready_cluster.cluster_id)
    assert watcher.answer.headers["Content-Type"] == "text/event-stream"
    assert watcher.answer.headers["Cache-Control"] == "no-store"
    assert watcher.wait("sync")["objects"] == 4
    assert watcher.kinds() == ["cluster", "host", "host", "host", "sync"]
    assert watcher.of("cluster") == [api.get(f"{ready_cluster.path}?exclude-hosts=true").json()]
    for sent, machine in zip(watcher.of("host"), ready_cluster.machines, strict=True):
        shown = machine.state()
        # When a host was last heard does not count as a change.
        for body in (sent, shown):
            body.pop("checked_in_at")
            body.pop("timestamp", None)
        assert sent == shown


def test_changes_are_sent_at_once(api, ready_cluster, watch):
    watcher = watch(cluster_id=ready_cluster.cluster_id)
    watcher.wait("sync")
    began = time.monotonic()
    api.patch(ready_cluster.path, {"tags": "fresh"})
    watcher.wait("cluster", lambda body: body.get("tags") == "fresh")
    # Sent when it is committed, not with the sign of life of 15 s; the rest is for a busy machine.
    assert time.monotonic() - began < 8
    machine = ready_cluster.machines[1]
    api.patch(machine.path, {"host_name": "renamed"})
    sent = watcher.wait("host", lambda body: body["requested_hostname"] == "renamed")
    assert sent["id"] == machine.id
    api.post(f"{ready_cluster.path}/actions/install", expect=202)
    watcher.wait("cluster", lambda body: body["status"] == "preparing-for-installation")
    watcher.wait("event", lambda body: body["name"] == "cluster_status_updated")
    api.post(f"{ready_cluster.path}/actions/cancel", expect=202)
    watcher.wait("event", lambda body: body["name"] == "host_installation_cancelled")
    eventually(lambda: watcher.statuses()[-1] == "ready", "ready again")


def test_a_deletion_is_reported_and_ends_the_stream(api, watch):
    fleet = Fleet.compact(api, "leaving")
    watcher = watch(cluster_id=fleet.cluster_id)
    watcher.wait("sync")
    api.delete(fleet.machines[0].path)
    gone = watcher.wait("deleted")
    assert gone == {"kind": "host", "id": fleet.machines[0].id, "infra_env_id": fleet.infra_env_id}
    api.delete(fleet.path)
    watcher.wait("deleted", lambda body: body == {"kind": "cluster", "id": fleet.cluster_id})
    watcher.wait("event", lambda body: body["name"] == "cluster_deregistered")
    assert watcher.ended.wait(10), "there is nothing more to say"
    assert {body["id"] for body in watcher.of("deleted")} == {fleet.cluster_id, *(m.id for m in fleet.machines)}
    refused = watch(cluster_id=fleet.cluster_id)
    assert refused.answer.status_code == 404


def test_no_event_is_lost_or_doubled_when_the_client_comes_back(api, cluster, watch):
    """Events flow all the time while the connection is cut again and again."""
    total, seen, last = 150, [], None
    first = watch(cluster_id=cluster["id"], kinds="event")
    first.wait("sync")
    last = first.last_id
    first.close()
    first.ended.wait(10)
    stop = threading.Thread(target=lambda: [post_event(Api(api.url), cluster["id"], f"n{n}") for n in range(total)])
    stop.start()
    deadline = time.monotonic() + 60
    while len(seen) < total and time.monotonic() < deadline:
        watcher = watch(cluster_id=cluster["id"], kinds="event", last=last)
        time.sleep(0.15)
        watcher.close()
        assert watcher.ended.wait(10)
        # The id of a message that did not arrive whole does not count.
        whole = list(watcher.messages)
        last = whole[-1][2] if whole else last
        seen += [body["message"] for kind, body, _ in whole if kind == "event" and body["name"] == "noted"]
    stop.join()
    assert seen == [f"n{number}" for number in range(total)]


def test_the_whole_history_can_be_had(api, cluster, watch):
    # A list goes by time, the stream by the moment of saving: they agree where one client posts at a time,
    # so the service has to have finished its own story first.
    eventually(
        lambda: any(event["name"] == "cluster_status_updated" for event in api.events(cluster_id=cluster["id"])),
        "the first evaluation",
    )
    for number in range(5):
        post_event(api, cluster["id"], f"old {number}")
    listed = api.events(cluster_id=cluster["id"])
    watcher = watch(cluster_id=cluster["id"], last_event_id="0")
    eventually(lambda: len(watcher.of("event")) == len(listed), "all events")
    assert watcher.of("event") == listed, "the same bodies in the same order"
    fresh = watch(cluster_id=cluster["id"])
    fresh.wait("sync")
    post_event(api, cluster["id"], "new")
    fresh.wait("event")
    assert stories(fresh) == ["new"], "without a place in history it starts now"


def test_a_position_older_than_the_history_is_reported(cluster, watch):
    watcher = watch(cluster_id=cluster["id"], last="999999999999")
    assert "history" in watcher.wait("reset")["reason"]
    watcher.wait("sync")


def test_hosts_of_an_infra_env_and_everything_at_once(api, infra_env, watch):
    env = watch(infra_env_id=infra_env["id"])
    everything = watch()
    env.wait("sync")
    everything.wait("sync")
    machine = Machine(api, infra_env["id"])
    machine.register()
    for watcher in (env, everything):
        watcher.wait("host", lambda body: body["id"] == machine.id)
        watcher.wait("event", lambda body: body.get("host_id") == machine.id)
    assert "cluster" not in env.kinds()
    other = api.new_cluster("beside")
    everything.wait("cluster", lambda body: body["id"] == other["id"])
    api.delete(f"/v2/clusters/{other['id']}")
    everything.wait("deleted", lambda body: body["id"] == other["id"])
    assert not everything.ended.is_set()


def test_bad_requests_are_refused_with_a_reason(api, cluster):
    for query, status, word in (
        ({"cluster_id": "me"}, 400, "cluster_id"),
        ({"kinds": "dog"}, 400, "dog"),
        ({"cluster_id": NOWHERE}, 404, NOWHERE),
        ({"infra_env_id": NOWHERE}, 404, NOWHERE),
        ({"cluster_id": cluster["id"], "infra_env_id": NOWHERE}, 400, "either"),
        ({"last_event_id": "x"}, 400, "last event id"),
        ({"sience": "x"}, 400, "sience"),
    ):
        answer = api.call("GET", "/v2/watch", params=query)
        assert word in api_error(answer, status), query
    answer = api.call("POST", "/v2/watch")
    infra_error(answer, 405)
    assert answer.headers["Allow"] == "GET"


# Fifty readers in one Python process: a minute of processor time, and several on a busy machine.
@pytest.mark.timeout(600)
def test_fifty_watchers_all_see_the_last_state_and_every_event(api, cluster, watch):
    watchers = [watch(cluster_id=cluster["id"]) for _ in range(50)]
    for watcher in watchers:
        watcher.wait("sync", timeout=200)
    for number in range(20):
        api.patch(f"/v2/clusters/{cluster['id']}", {"tags": f"t{number}"})
        post_event(api, cluster["id"], f"n{number}")
    for watcher in watchers:
        watcher.wait("cluster", lambda body: body.get("tags") == "t19", timeout=200)
        eventually(lambda watcher=watcher: len(stories(watcher)) == 20, "all events", 200)
        assert stories(watcher) == [f"n{number}" for number in range(20)]
        tags = [int(body["tags"][1:]) for body in watcher.of("cluster") if body.get("tags")]
        assert tags == sorted(tags), "states may be skipped but never go back"


def test_a_reader_that_sleeps_gets_the_newest_state_and_costs_no_memory(servers):
    server = servers("sleeper").start()
    api = server.api()
    cluster = api.new_cluster("sleeper")
    path = f"/v2/clusters/{cluster['id']}"
    url = server.url + BASE_PATH + f"/v2/watch?cluster_id={cluster['id']}&kinds=cluster"
    # So large that a few states fill every buffer on the way.
    api.patch(f"{path}/install-config", json.dumps({"additionalTrustBundle": "x" * 300_000}))
    with requests.get(url, stream=True, timeout=60) as answer:
        for number in range(200):
            api.patch(path, {"tags": f"t{number}"})
            time.sleep(0.02)
        # Nothing was read until now; then the reader catches up without seeing every state.
        states = 0
        for line in answer.iter_lines(chunk_size=65536):
            if line.startswith(b"data: ") and b'"tags"' in line:
                states += 1
                if json.loads(line[6:])["tags"] == "t199":
                    break
    assert 1 <= states < 200, states


def test_stopping_the_service_ends_streams_at_once(servers):
    server = servers("stopping").start()
    cluster = server.api().new_cluster("stopping")
    watchers = [Watcher(server, cluster_id=cluster["id"]) for _ in range(3)]
    for watcher in watchers:
        watcher.wait("sync")
    began = time.monotonic()
    server.stop()
    # A stream never ends by itself; the limit is for a busy machine.
    assert time.monotonic() - began < 15, "streams do not hold up the end"
    for watcher in watchers:
        assert watcher.ended.wait(5)
        assert watcher.problem is None, f"a clean end, not {watcher.problem!r}"


def test_a_restart_does_not_move_the_place_in_history(servers):
    server = servers("restarting").start()
    api = server.api()
    cluster = api.new_cluster("restarting")
    watcher = Watcher(server, cluster_id=cluster["id"])
    watcher.wait("sync")
    post_event(api, cluster["id"], "before")
    watcher.wait("event", lambda body: body["message"] == "before")
    place = watcher.last_id
    server.kill()
    watcher.ended.wait(10)
    server.start()
    api = server.api()
    post_event(api, cluster["id"], "after")
    again = Watcher(server, last=place, cluster_id=cluster["id"])
    again.wait("event", lambda body: body["message"] == "after")
    assert stories(again) == ["after"]
    again.close()


def test_two_replicas_report_each_others_changes(servers, postgres):
    database = postgres.new_database()
    env = {"MUSTER_DATABASE_SEALING_KEY": SEALING_KEY}
    args = ["--database", database]
    one, two = (servers(f"watch-pg-{n}", args=args, env=env).start() for n in (1, 2))
    near, far = one.api(), two.api()
    cluster = near.new_cluster("twins")
    watcher = Watcher(one, cluster_id=cluster["id"])
    watcher.wait("sync")
    far.patch(f"/v2/clusters/{cluster['id']}", {"tags": "from two"})
    watcher.wait("cluster", lambda body: body.get("tags") == "from two", timeout=10)

    def many(api, name):
        for number in range(60):
            post_event(api, cluster["id"], f"{name}{number}")

    writers = [threading.Thread(target=many, args=(Api(url), name)) for url, name in ((one.url, "a"), (two.url, "b"))]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    eventually(lambda: len(stories(watcher)) >= 120, "all events of both", 20)
    assert sorted(stories(watcher)) == sorted([f"{name}{n}" for name in "ab" for n in range(60)])
    for name in "ab":
        own = [text for text in stories(watcher) if text[0] == name]
        assert own == [f"{name}{number}" for number in range(60)], "in order for each writer"
    watcher.close()


@pytest.fixture(scope="module")
def guarded(servers):
    users = [{"name": "ada", "password_hash": password_hash("correct horse"), "role": "admin"}]
    users += [{"name": "eve", "password_hash": password_hash("only looking"), "role": "read-only"}]
    server = servers("watch-users", auth="users", env={"MUSTER_AUTH_USERS": json.dumps(users)}).start()

    def token(name, word):
        body = {"username": name, "password": word}
        return server.api().call("POST", "//auth/token", 200, json=body).json()["token"]

    return server, token


def test_only_who_may_read_may_watch(guarded):
    server, token = guarded
    ada = {"Authorization": f"Bearer {token('ada', 'correct horse')}"}
    eve = {"Authorization": f"Bearer {token('eve', 'only looking')}"}
    cluster = server.api(ada).new_cluster("guarded")
    for headers in ({}, {"Authorization": "Bearer nonsense"}):
        for query in ({}, {"cluster_id": cluster["id"]}):
            infra_error(Watcher(server, headers=headers, **query).answer, 401)
    for headers in (ada, eve):
        watcher = Watcher(server, headers=headers, cluster_id=cluster["id"])
        watcher.wait("sync")
        watcher.close()


def test_a_machine_watches_only_what_its_token_was_made_for(servers):
    keys = Keys()
    server = servers("watch-local").start()
    api = server.api()
    own, foreign = api.new_cluster("own"), api.new_cluster("foreign")
    near = api.new_infra_env("near", cluster_id=own["id"])["id"]
    far = api.new_infra_env("far", cluster_id=foreign["id"])["id"]
    server.stop()
    server.auth = "local"
    server.env |= {"EC_PUBLIC_KEY_PEM": keys.public_pem, "EC_PRIVATE_KEY_PEM": keys.private_pem}
    server.start()
    agent = {"X-Secret-Key": keys.token(infra_env_id=near)}

    def status(headers=agent, **query):
        watcher = Watcher(server, headers=headers, **query)
        code = watcher.answer.status_code
        watcher.close()
        return code

    assert status(infra_env_id=near) == 200
    assert status(infra_env_id=near, kinds="host,event") == 200
    assert status(cluster_id=own["id"]) == 200, "agents may read their cluster"
    assert status(cluster_id=own["id"], kinds="event") == 404, "but not its history"
    assert status(cluster_id=foreign["id"]) == 404
    assert status(infra_env_id=far) == 404
    assert status() == 401
    assert status(headers={}, infra_env_id=near) == 401
    watcher = Watcher(server, headers=agent, cluster_id=own["id"])
    watcher.wait("sync")
    writer = server.api(agent)
    event = {"name": "noted", "severity": "info", "message": "x", "event_time": "2026-01-01T00:00:00.000Z"}
    writer.post("/v2/events", {**event, "cluster_id": own["id"]})
    # Nothing must come, so there is nothing to wait for: other watchers are notified within this time.
    time.sleep(0.5)
    assert watcher.of("event") == []
    watcher.close()


def test_the_command_shows_changes_as_lines_and_comes_back_after_a_restart(servers):
    server = servers("watch-cli").start()
    server.port = server.url.rsplit(":", 1)[1]
    api = server.api()
    cluster = api.new_cluster("lines")
    command = [str(server.binary), "watch", "--url", server.url, "--cluster", cluster["id"]]
    out = server.work_dir / "watch.out"
    with out.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=quiet_environment())
    try:
        eventually(lambda: "live updates follow" in out.read_text(), "the snapshot")
        assert "cluster  lines  pending-for-input" in out.read_text()
        word = f"word {uuid.uuid4()}"
        post_event(api, cluster["id"], word)
        eventually(lambda: word in out.read_text(), "the event")
        server.kill()
        eventually(lambda: "connecting again" in out.read_text(), "the note about the break")
        server.start()
        word2 = f"word {uuid.uuid4()}"
        post_event(server.api(), cluster["id"], word2)
        eventually(lambda: word2 in out.read_text(), "the event after the restart")
        assert out.read_text().count(word) == 1, "sent once"
        server.api().delete(f"/v2/clusters/{cluster['id']}")
        assert process.wait(timeout=20) == 0, "nothing left to watch"
    finally:
        process.kill()
        process.wait()
    refused = subprocess.run(command, capture_output=True, text=True, env=quiet_environment(), timeout=20)
    assert refused.returncode == 1 and cluster["id"] in refused.stderr
