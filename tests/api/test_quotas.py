"""One caller cannot use up what all share: hosts, events, room for logs, places for watchers."""

import json
import socket
import uuid
from urllib.parse import urlsplit

import pytest

from machines import Machine
from muster import BASE_PATH, api_error, eventually, infra_error
from test_auth import From, agent_api, password_hash
from test_watch import Watcher

QUOTAS = {
    "MUSTER_QUOTAS_HOSTS_PER_INFRA_ENV": "3",
    "MUSTER_QUOTAS_NEW_HOSTS_PER_MINUTE": "5",
    "MUSTER_QUOTAS_POSTED_EVENTS_PER_MINUTE": "30",
    "MUSTER_QUOTAS_EVENTS_MIB": "1",
    "MUSTER_QUOTAS_RECORDED_EVENTS_PER_MINUTE": "20",
    "MUSTER_QUOTAS_CLUSTER_LOGS_MIB": "1",
    "MUSTER_QUOTAS_WATCHERS_PER_TOKEN": "2",
}
EVENT = {"name": "noted", "severity": "info", "message": "x", "event_time": "2026-01-01T00:00:00.000Z"}


@pytest.fixture(scope="module")
def server(servers):
    users = [{"name": "ada", "password_hash": password_hash("correct horse"), "role": "admin"}]
    env = {"MUSTER_AUTH_USERS": json.dumps(users), **QUOTAS}
    return servers("quotas", auth="users", env=env).start()


@pytest.fixture(scope="module")
def ada(server):
    body = {"username": "ada", "password": "correct horse"}
    token = server.api().call("POST", "//auth/token", 200, json=body).json()["token"]
    return server.api({"Authorization": f"Bearer {token}"})


@pytest.fixture
def owned(server, ada):
    """A cluster, its infra-env and an agent of it."""
    cluster = ada.new_cluster("limited")["id"]
    infra_env = ada.new_infra_env("limited-env", cluster_id=cluster)["id"]
    return cluster, infra_env, agent_api(server, ada, infra_env)


def refusals(api, reason):
    line = f'muster_refusals_total{{reason="{reason}"}} '
    found = [text for text in api.get("//metrics").text.splitlines() if text.startswith(line)]
    return int(found[0].removeprefix(line)) if found else 0


def register(agent, infra_env, host):
    return agent.call("POST", f"/v2/infra-envs/{infra_env}/hosts", json={"host_id": host})


def test_hosts_of_an_infra_env_are_limited_and_known_ones_always_come_back(server, ada, owned):
    _, infra_env, agent = owned
    known = str(uuid.uuid4())
    assert register(agent, infra_env, known).status_code == 201
    codes = [register(agent, infra_env, str(uuid.uuid4())).status_code for _ in range(2)]
    assert codes == [201, 201]
    # Never 401, 403, 404 or 409: agents of the reference do not come back from these.
    full = register(agent, infra_env, str(uuid.uuid4()))
    assert "quotas.hosts_per_infra_env" in api_error(full, 507) and int(full.headers["Retry-After"]) > 0
    register(agent, infra_env, str(uuid.uuid4()))
    fast = register(agent, infra_env, str(uuid.uuid4()))
    assert "quotas.new_hosts_per_minute" in api_error(fast, 429) and int(fast.headers["Retry-After"]) > 0
    assert register(agent, infra_env, known).status_code == 201
    assert len(ada.get(f"/v2/infra-envs/{infra_env}/hosts").json()) == 3
    assert refusals(ada, "host_quota") == 2 and refusals(ada, "host_rate") == 1
    other = ada.new_infra_env("other-env")["id"]
    neighbour = agent_api(server, ada, other)
    assert register(neighbour, other, str(uuid.uuid4())).status_code == 201, "others do not notice"


def test_events_that_a_token_posts_are_limited_and_others_do_not_notice(server, ada, owned):
    cluster, infra_env, agent = owned
    event = {**EVENT, "infra_env_id": infra_env, "cluster_id": cluster}
    before = refusals(ada, "event_rate")
    codes = [agent.call("POST", "/v2/events", json=event).status_code for _ in range(40)]
    # A token comes back every two seconds.
    assert codes[:30] == [201] * 30 and 429 in codes[30:], codes
    assert refusals(ada, "event_rate") > before
    other = ada.new_infra_env("quiet-env")["id"]
    agent_api(server, ada, other).post("/v2/events", {**EVENT, "infra_env_id": other})


def test_hosts_and_events_from_one_address_are_limited_over_all_tokens(servers):
    limits = {
        "MUSTER_QUOTAS_NEW_HOSTS_PER_MINUTE_OF_ADDRESS": "4",
        "MUSTER_QUOTAS_POSTED_EVENTS_PER_MINUTE_OF_ADDRESS": "6",
    }
    users = [{"name": "ada", "password_hash": password_hash("correct horse"), "role": "admin"}]
    env = {"MUSTER_AUTH_USERS": json.dumps(users), **limits}
    server = servers("quotas-of-addresses", auth="users", env=env).start()
    body = {"username": "ada", "password": "correct horse"}
    token = server.api().call("POST", "//auth/token", 200, json=body).json()["token"]
    ada = server.api({"Authorization": f"Bearer {token}"})
    infra_envs = [ada.new_infra_env(f"env-{number}")["id"] for number in range(2)]
    agents = [agent_api(server, ada, infra_env) for infra_env in infra_envs]
    both = list(zip(agents, infra_envs, strict=True))

    known = [register(agent, infra_env, str(uuid.uuid4())) for agent, infra_env in both * 2]
    assert [answer.status_code for answer in known] == [201] * 4
    for agent, infra_env in both:
        fast = register(agent, infra_env, str(uuid.uuid4()))
        assert "quotas.new_hosts_per_minute_of_address" in api_error(fast, 429)
        assert int(fast.headers["Retry-After"]) > 0
    assert register(agents[0], infra_envs[0], known[0].json()["id"]).status_code == 201
    assert refusals(ada, "host_rate_of_address") == 2 and refusals(ada, "host_rate") == 0

    posted = [agent.call("POST", "/v2/events", json={**EVENT, "infra_env_id": id}) for agent, id in both * 3]
    assert [answer.status_code for answer in posted] == [201] * 6
    fast = agents[0].call("POST", "/v2/events", json={**EVENT, "infra_env_id": infra_envs[0]})
    assert "quotas.posted_events_per_minute_of_address" in api_error(fast, 429)
    assert refusals(ada, "event_rate_of_address") == 1 and refusals(ada, "event_rate") == 0

    agents[1].session.mount("http://", From("127.0.0.2"))
    agents[1].post("/v2/events", {**EVENT, "infra_env_id": infra_envs[1]})
    elsewhere = register(agents[1], infra_envs[1], str(uuid.uuid4()))
    assert elsewhere.status_code == 201, "another address does not notice"


def test_events_have_limited_room(server, ada, owned):
    _, infra_env, agent = owned
    event = {**EVENT, "infra_env_id": infra_env, "props": json.dumps({"x": "y" * (60 << 10)})}
    codes = [agent.call("POST", "/v2/events", json=event).status_code for _ in range(20)]
    assert set(codes[:15]) == {201} and set(codes[17:]) == {507}, codes
    assert refusals(ada, "event_quota") >= 3
    server.kill()
    server.port = urlsplit(server.url).port
    server.start()
    again = agent.call("POST", "/v2/events", json=event)
    assert "quotas.events_mib" in api_error(again, 507), "what is stored counts, not what is remembered"


def upload(api, cluster, host, size):
    files = {"upfile": ("logs.tar.gz", b"x" * size, "application/gzip")}
    query = {"logs_type": "host", "host_id": host}
    return api.call("POST", f"/v2/clusters/{cluster}/logs", params=query, files=files)


def test_a_host_cannot_fill_the_history(ada, owned):
    cluster, infra_env, agent = owned
    machine = Machine(agent, infra_env, 1, "noisy")
    machine.register()
    before = refusals(ada, "event_rate")
    for _ in range(60):
        assert upload(agent, cluster, machine.id, 10).status_code == 204
    stored = [event for event in ada.events(cluster_id=cluster) if event["name"] == "host_logs_uploaded"]
    assert 1 <= len(stored) <= 25, len(stored)
    assert refusals(ada, "event_rate") >= before + 30


def unfinished(server):
    return [path.name for path in (server.data_dir / "files").glob("incoming#*")]


def test_logs_of_a_cluster_have_limited_room(server, ada, owned):
    cluster, infra_env, agent = owned
    first, second = (Machine(agent, infra_env, number, f"logger-{number}") for number in (2, 3))
    first.register()
    second.register()
    assert upload(agent, cluster, first.id, 700 << 10).status_code == 204
    assert "quotas.cluster_logs_mib" in infra_error(upload(agent, cluster, second.id, 700 << 10), 507)
    assert upload(agent, cluster, first.id, 800 << 10).status_code == 204, "it replaces what was there"
    assert upload(agent, cluster, second.id, 100 << 10).status_code == 204
    assert unfinished(server) == [] and refusals(ada, "log_quota") == 1


def test_watchers_of_a_token_leave_places_to_people(server, ada, owned):
    _, infra_env, agent = owned
    token = {"X-Secret-Key": agent.session.headers["X-Secret-Key"]}
    watchers = [Watcher(server, headers=token, infra_env_id=infra_env) for _ in range(3)]
    assert [watcher.answer.status_code for watcher in watchers] == [200, 200, 429]
    assert refusals(ada, "watch_places") == 1
    person = {"Authorization": ada.session.headers["Authorization"]}
    watchers.append(Watcher(server, headers=person, infra_env_id=infra_env))
    assert watchers[-1].answer.status_code == 200
    for watcher in watchers:
        watcher.close()


def half_an_upload(server, api, cluster, host):
    """A connection that has sent the beginning of logs and says nothing more."""
    place = urlsplit(server.url)
    connection = socket.create_connection((place.hostname, place.port), timeout=30)
    secret = api.session.headers["X-Secret-Key"]
    part = '--xyz\r\nContent-Disposition: form-data; name="upfile"; filename="l"\r\n\r\n' + "x" * 9000
    head = (
        f"POST {BASE_PATH}/v2/clusters/{cluster}/logs?logs_type=host&host_id={host} HTTP/1.1\r\nHost: localhost\r\n"
        f"X-Secret-Key: {secret}\r\nContent-Length: 100000\r\n"
        "Content-Type: multipart/form-data; boundary=xyz\r\n\r\n"
    )
    connection.sendall((head + part).encode())
    return connection


def test_what_is_left_of_an_interrupted_upload_is_cleared(server, ada, owned):
    cluster, infra_env, agent = owned
    machine = Machine(agent, infra_env, 4, "cut-off")
    machine.register()
    half_an_upload(server, agent, cluster, machine.id).close()
    eventually(lambda: not unfinished(server), "an upload whose client left to be cleared")
    connection = half_an_upload(server, agent, cluster, machine.id)
    eventually(lambda: unfinished(server), "the upload to begin")
    adding = server.data_dir / "os-images" / ".adding-dead"
    adding.parent.mkdir(exist_ok=True)
    adding.write_bytes(b"half an image")
    server.kill()
    connection.close()
    assert unfinished(server), "nothing can clean up after a power cut"
    # And while it starts again: a disk that is nearly full takes no uploads.
    server.env["MUSTER_QUOTAS_MIN_FREE_DISK_MIB"] = "4000000000"
    server.port = urlsplit(server.url).port
    server.start()
    assert unfinished(server) == [] and not adding.exists()
    assert "quotas.min_free_disk_mib" in infra_error(upload(agent, cluster, machine.id, 10), 507)
    assert refusals(ada, "disk_full") == 1
