"""Unused is deleted, deleted is kept for a while, then gone for good; and events have their rate."""

import json
import time

from machines import Machine
from muster import VERSION, eventually, pull_secret

# Deletions wait for this time of notice, and for as long after a first start.
NOTICE = {"MUSTER_HOUSEKEEPING_NOTICE": "1s"}
DELETED_TOO = {"get_unregistered_clusters": "true"}


def test_a_deleted_cluster_is_removed_for_good_after_its_time(servers):
    env = {"DELETED_UNREGISTERED_AFTER": "2s", "DELETION_WORKER_INTERVAL": "1s", **NOTICE}
    server = servers("housekeeping", env=env).start()
    api = server.api()
    body = {"openshift_version": VERSION, "pull_secret": pull_secret()}
    kept, gone = (api.post("/v2/clusters", {**body, "name": name}).json()["id"] for name in ("kept", "gone"))
    for cluster in (kept, gone):
        api.post(f"/v2/clusters/{cluster}/manifests", {"file_name": "a.yaml", "content": "YTogMQo="})
    api.call("DELETE", f"/v2/clusters/{gone}", 204)
    assert api.call("GET", f"/v2/clusters/{gone}", 200, headers=DELETED_TOO).json()["deleted_at"]

    def removed():
        return api.call("GET", f"/v2/clusters/{gone}", headers=DELETED_TOO).status_code == 404

    eventually(removed, "the deleted cluster to be removed for good")
    files = [str(path) for path in (server.data_dir / "files").rglob("*")]
    assert not any(gone in path for path in files) and any(kept in path for path in files)
    assert api.events(cluster_id=gone) == [] and api.events(cluster_id=kept)


def names(api, **query):
    return [event["name"] for event in api.events(**query)]


def test_an_unused_cluster_is_deleted_and_one_with_a_live_host_is_kept(servers):
    env = {"DELETED_INACTIVE_AFTER": "3s", "DEREGISTER_WORKER_INTERVAL": "1s", **NOTICE}
    env["ENABLE_DEREGISTER_INACTIVE_GC"] = "true"
    api = servers("inactive", env=env).start().api()
    used, unused = api.new_cluster("used")["id"], api.new_cluster("unused")["id"]
    machine = Machine(api, api.new_infra_env("used-env", cluster_id=used)["id"])
    machine.register()

    def gone():
        machine.poll()
        return api.call("GET", f"/v2/clusters/{unused}").status_code == 404

    eventually(gone, "the unused cluster to be deleted")
    assert names(api, cluster_id=unused)[-2:] == ["after_inactivity_cluster_deregistered", "cluster_deregistered"]
    assert api.get(f"/v2/clusters/{unused}", headers=DELETED_TOO).json()["deleted_at"], "deleted, not removed"
    machine.poll()
    api.get(f"/v2/clusters/{used}")
    # Once the host is silent, too, nothing holds the cluster.
    eventually(lambda: api.call("GET", f"/v2/clusters/{used}").status_code == 404, "the other one to follow")
    api.get(machine.path, 404)


def test_what_is_inactive_stays_unless_that_is_switched_on(servers):
    env = {"DELETED_INACTIVE_AFTER": "1s", "DEREGISTER_WORKER_INTERVAL": "1s", **NOTICE}
    env |= {"INFRAENV_DELETED_INACTIVE_AFTER": "1s", "INFRAENV_DELETION_WORKER_INTERVAL": "1s"}
    api = servers("inactive-off", env=env).start().api()
    cluster, infra_env = api.new_cluster("kept")["id"], api.new_infra_env("kept")["id"]
    # Nothing must happen, so there is nothing to wait for: three rounds of housekeeping.
    time.sleep(3.5)
    api.get(f"/v2/clusters/{cluster}")
    api.get(f"/v2/infra-envs/{infra_env}")


def test_infra_envs_that_lead_nowhere_are_deleted_with_their_hosts(servers):
    env = {"INFRAENV_DELETED_INACTIVE_AFTER": "3s", "INFRAENV_DELETION_WORKER_INTERVAL": "1s", **NOTICE}
    env["MUSTER_HOUSEKEEPING_DELETE_INACTIVE_INFRA_ENVS"] = "true"
    api = servers("orphans", env=env).start().api()
    cluster = api.new_cluster("live")["id"]
    bound, lost = api.new_infra_env("bound", cluster_id=cluster)["id"], api.new_infra_env("lost")["id"]
    dead = api.new_cluster("dead")["id"]
    left_over = api.new_infra_env("left-over", cluster_id=dead)["id"]
    api.delete(f"/v2/clusters/{dead}")
    awake = api.new_infra_env("awake")["id"]
    sleeper, worker = Machine(api, lost), Machine(api, awake)
    sleeper.register()
    worker.register()

    def gone():
        worker.poll()
        left = {env["id"] for env in api.get("/v2/infra-envs").json()}
        return not left & {lost, left_over}

    eventually(gone, "the orphans to be deleted")
    assert {env["id"] for env in api.get("/v2/infra-envs").json()} == {bound, awake}
    api.get(sleeper.path, 404)
    api.get(worker.path)


def test_deleted_hosts_and_history_without_an_owner_are_removed_for_good(servers):
    env = {"DELETED_UNREGISTERED_AFTER": "2s", "DELETION_WORKER_INTERVAL": "1s", **NOTICE}
    server = servers("leftovers", env=env).start()
    api = server.api()
    kept, lost = api.new_infra_env("kept")["id"], api.new_infra_env("lost")["id"]
    machine = Machine(api, lost, name="forgotten")
    machine.register()
    api.delete(machine.path)
    api.delete(f"/v2/infra-envs/{lost}")
    everything = {"order": "ascending", "limit": -1}
    assert any(event.get("infra_env_id") == lost for event in api.events(**everything))
    eventually(
        lambda: not any(event.get("infra_env_id") == lost for event in api.events(**everything)),
        "the history of the deleted infra-env to go",
    )
    assert names(api, infra_env_id=kept), "what still has an owner stays"


def test_an_event_that_comes_too_often_is_dropped(servers):
    limits = {"chatter": "2s"}
    api = servers("limits", env={"EVENT_RATE_LIMITS": json.dumps(limits)}).start().api()
    one, two = api.new_cluster("one")["id"], api.new_cluster("two")["id"]

    def post_event(cluster, name):
        body = {"name": name, "severity": "info", "message": name, "event_time": "2026-01-01T00:00:00.000Z"}
        api.post("/v2/events", {**body, "cluster_id": cluster})

    for _ in range(5):
        for cluster in (one, two):
            post_event(cluster, "chatter")
            post_event(cluster, "speech")
    for cluster in (one, two):
        found = names(api, cluster_id=cluster)
        assert (found.count("chatter"), found.count("speech")) == (1, 5), "limited by name and cluster"
    # The limit of "chatter" is two seconds.
    time.sleep(2.1)
    post_event(one, "chatter")
    assert names(api, cluster_id=one).count("chatter") == 2, "after the interval it is stored again"
