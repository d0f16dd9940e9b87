"""What read-only users and log archives show: no secret, wherever one was planted."""

import base64
import json

import pytest

from contract import operations
from machines import Machine
from muster import SECRET_WORD
from test_auth import PASSWORDS, agent_api, password_hash

CLEAN = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: note}\ndata: {text: harmless}\n"


def packed(text):
    return base64.b64encode(text.encode()).decode()


class Canaries:
    """Distinct secrets, so that a leak names its source."""

    def __init__(self):
        self.words = {"pull secret": packed(f"user:{SECRET_WORD}")}

    def plant(self, name):
        self.words[name] = f"canary{len(self.words)}x{len(self.words) * 7919}"
        return self.words[name]

    def in_body(self, body):
        def forms(word):
            # The start of a base64 form is the same wherever it stands in the text.
            return word.encode(), base64.b64encode(word.encode())[:-4]

        return {name for name, word in self.words.items() if any(form in body for form in forms(word))}


@pytest.fixture(scope="module")
def server(servers):
    users = [
        {"name": name, "password_hash": password_hash(word), "role": role} for name, (word, role) in PASSWORDS.items()
    ]
    return servers(
        "secrets", auth="users", env={"MUSTER_AUTH_USERS": json.dumps(users), "MUSTER_FEATURES_TNF_CLUSTERS": "true"}
    ).start()


@pytest.fixture(scope="module")
def people(server):
    def logged_in(name):
        body = {"username": name, "password": PASSWORDS[name][0]}
        token = server.api().post("//auth/token", body, (200, 201)).json()["token"]
        return server.api({"Authorization": f"Bearer {token}"})

    return {name: logged_in(name) for name in PASSWORDS}


def ignition(canaries, where):
    """An override with a password hash and a file."""
    file = {"path": "/etc/note", "contents": {"source": f"data:,{canaries.plant(where + ' file')}"}}
    user = {"name": "core", "passwordHash": "$6$salt$" + canaries.plant(where + " password hash")}
    return json.dumps({"ignition": {"version": "3.2.0"}, "passwd": {"users": [user]}, "storage": {"files": [file]}})


@pytest.fixture(scope="module")
def planted(server, people):
    """A cluster, an infra-env, a host and manifests full of secrets; and where they are."""
    ada, canaries = people["ada"], Canaries()

    def login_at(name):
        return f"http://ann:{canaries.plant(name)}@proxy.example.com:3128"

    cluster = ada.new_cluster(
        "canaries", http_proxy=login_at("cluster http proxy"), https_proxy=login_at("cluster https proxy")
    )
    path = f"/v2/clusters/{cluster['id']}"
    vcenter = {"server": "vc", "user": "ann", "password": canaries.plant("vsphere"), "datacenters": ["dc"]}
    overrides = {"platform": {"vsphere": {"vcenters": [vcenter]}}}
    ada.call("PATCH", f"{path}/install-config", 201, json=json.dumps(overrides))
    ada.call("PUT", f"{path}/ui-settings", 200, json=json.dumps({"password": canaries.plant("ui settings")}))
    secret = f"kind: Secret\napiVersion: v1\nmetadata: {{name: s}}\nstringData: {{x: {canaries.plant('Secret')}}}\n"
    config = {"kind": "MachineConfig", "spec": {"config": json.loads(ignition(canaries, "MachineConfig"))}}
    config["spec"]["config"]["storage"]["files"][0]["mode"] = 0o600
    for name, text in (("secret.yaml", secret), ("machine.json", json.dumps(config)), ("note.yaml", CLEAN)):
        ada.post(f"{path}/manifests", {"file_name": name, "content": packed(text)})

    infra_env = ada.new_infra_env(
        "canaries-env",
        cluster_id=cluster["id"],
        proxy={"http_proxy": login_at("infra-env http proxy"), "https_proxy": login_at("infra-env https proxy")},
        ignition_config_override=ignition(canaries, "infra-env"),
        kernel_arguments=[{"operation": "append", "value": "rd.x.token=" + canaries.plant("kernel argument")}],
    )
    agent = agent_api(server, ada, infra_env["id"])
    machine = Machine(agent, infra_env["id"], 0, "canary-0")
    machine.register()
    machine.inventory["boot"]["command_line"] = f"rootfs={login_at('kernel command line')}/x.img"
    machine.send_inventory()
    fencing = {"address": "redfish+https://bmc", "username": "ann", "password": canaries.plant("BMC")}
    ada.patch(machine.path, {"fencing_credentials": fencing})
    ada.patch(f"{machine.path}/ignition", {"config": ignition(canaries, "host")})
    ada.patch(f"{machine.path}/installer-args", {"args": ["--image-url", login_at("installer args")]})
    event = {
        "name": "custom", "cluster_id": cluster["id"], "severity": "info", "category": "user",
        "message": f"asked {login_at('event')} without success", "event_time": "2026-01-01T00:00:00.000Z",
    }  # fmt: skip
    agent.post("/v2/events", event)
    ids = {"cluster_id": cluster["id"], "infra_env_id": infra_env["id"], "host_id": machine.id}
    return canaries, {**ids, "operator_name": "odf", "id": "virtualization"}


def crawl(person, ids):
    """Every reading operation of the contract: (what was asked, the answer)."""
    queries = {
        "v2ListEvents": [{"cluster_id": ids["cluster_id"]}],
        "ListInfraEnvs": [{}],
        "v2ListClusters": [{"with_hosts": "true"}],
        "ListClusterHosts": [{"with-inventory": "true"}],
        "v2DownloadClusterManifest": [{"file_name": name} for name in ("secret.yaml", "machine.json", "note.yaml")],
        "v2DownloadInfraEnvFiles": [{"file_name": "discovery.ign"}],
        "V2DownloadClusterFiles": [{"file_name": "install-config.yaml"}],
    }
    for operation in operations():
        if operation.method == "get":
            for query in queries.get(operation.id, [{}]):
                yield f"{operation.id} {query}", person.call("GET", operation.path.format(**ids), params=query)


def watched(person, cluster_id):
    """What a watcher is sent: the current objects, and all events so far."""
    path = f"/v2/watch?cluster_id={cluster_id}&last_event_id=0"
    body = b""
    with person.call("GET", path, 200, stream=True) as answer:
        for line in answer.iter_lines():
            body += line + b"\n"
            if b"without success" in line:
                return body
    raise AssertionError(f"the stream ended early: {body[:500]}")


def test_no_planted_secret_reaches_a_read_only_user(people, planted):
    canaries, ids = planted
    seen_by_user, leaks, shown = set(), {}, 0
    for _, answer in crawl(people["bob"], ids):
        seen_by_user |= canaries.in_body(answer.content)
    assert seen_by_user == set(canaries.words), f"planted where no one looks: {set(canaries.words) - seen_by_user}"
    for what, answer in crawl(people["eve"], ids):
        shown += answer.status_code == 200
        if leaked := canaries.in_body(answer.content):
            leaks[what] = sorted(leaked)
    assert not leaks, json.dumps(leaks, indent=1)
    assert shown > 20, "a crawl that is refused everywhere proves nothing"
    cluster = people["eve"].cluster(ids["cluster_id"])
    assert cluster["http_proxy"] == "http://***@proxy.example.com:3128"


def test_no_planted_secret_reaches_a_read_only_watcher(people, planted):
    canaries, ids = planted
    assert "event" in canaries.in_body(watched(people["bob"], ids["cluster_id"]))
    assert canaries.in_body(watched(people["eve"], ids["cluster_id"])) == set()


def test_no_planted_secret_travels_in_a_log_archive(people, planted):
    canaries, ids = planted
    for name in PASSWORDS:
        archive = people[name].get(f"/v2/clusters/{ids['cluster_id']}/logs").content
        assert canaries.in_body(archive) == set(), name
        assert b"harmless" in archive and b"cluster_manifest_user_manifests_secret.yaml" in archive


def test_manifests_with_secrets_are_listed_for_all_and_read_by_users(people, planted):
    _, ids = planted
    path = f"/v2/clusters/{ids['cluster_id']}/manifests"
    listed = {item["file_name"] for item in people["eve"].get(path).json()}
    assert listed == {"secret.yaml", "machine.json", "note.yaml"}
    for name, status in (("secret.yaml", 403), ("machine.json", 403), ("note.yaml", 200)):
        people["bob"].get(f"{path}/files", params={"file_name": name})
        people["eve"].get(f"{path}/files", status, params={"file_name": name})
    assert people["eve"].get(f"{path}/files", params={"file_name": "note.yaml"}).text == CLEAN
