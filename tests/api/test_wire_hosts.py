"""Infra-envs and hosts as existing clients expect them, member by member."""

import json
import re

import pytest

from machines import Fleet, Machine
from muster import (
    BASE_PATH,
    NOWHERE,
    ZERO_GO_TIME,
    ZERO_TIME,
    api_error,
    eventually,
    pull_secret,
)

FRESH_INFRA_ENV = set(
    """cpu_architecture created_at download_url email_domain expires_at href id kind name openshift_version
    proxy pull_secret_set type updated_at user_name""".split()
)
REGISTERED_HOST = set(
    """checked_in_at created_at deleted_at discovery_agent_version href id infra_env_id kind logs_collected_at
    logs_started_at next_step_runner_command progress_stages registered_at requested_hostname role
    stage_started_at stage_updated_at status status_info status_updated_at suggested_role updated_at
    user_name""".split()
)


def test_a_fresh_infra_env_has_exactly_these_members(api, infra_env):
    assert set(infra_env) == FRESH_INFRA_ENV
    assert infra_env["kind"] == "InfraEnv" and infra_env["type"] == "full-iso"
    assert infra_env["href"] == f"{BASE_PATH}/v2/infra-envs/{infra_env['id']}"
    assert infra_env["proxy"] == {} and infra_env["expires_at"] == ZERO_TIME
    url = infra_env["download_url"]
    assert re.search(rf"/byid/{infra_env['id']}/[^/]+/x86_64/full\.iso$", url), url
    assert infra_env["cpu_architecture"] == "x86_64"


def test_the_version_of_an_infra_env_is_that_of_the_os_image(api):
    made = api.post("/v2/infra-envs", {"name": "v", "pull_secret": pull_secret(), "openshift_version": "4.16.1"}).json()
    assert made["openshift_version"] == "4.16"
    api.delete(f"/v2/infra-envs/{made['id']}")


def test_architecture_names_are_normalised_for_infra_envs(api):
    made = api.post("/v2/infra-envs", {"name": "a", "pull_secret": pull_secret(), "cpu_architecture": "aarch64"})
    assert made.json()["cpu_architecture"] == "arm64"
    api.delete(f"/v2/infra-envs/{made.json()['id']}")


def test_a_new_type_gives_a_new_url_and_a_no_op_keeps_it(api, infra_env):
    path = f"/v2/infra-envs/{infra_env['id']}"
    assert api.patch(path, {}).json()["download_url"] == infra_env["download_url"]
    changed = api.patch(path, {"image_type": "minimal-iso"}).json()
    assert changed["type"] == "minimal-iso" and changed["download_url"].endswith("minimal.iso")


def test_infra_env_texts_inside_json(api, infra_env):
    path = f"/v2/infra-envs/{infra_env['id']}"
    arguments = [{"operation": "append", "value": "rd.debug"}]
    assert json.loads(api.patch(path, {"kernel_arguments": arguments}).json()["kernel_arguments"]) == arguments
    assert "kernel_arguments" not in api.patch(path, {"kernel_arguments": []}).json()


def test_an_infra_env_with_hosts_cannot_be_deleted(api, infra_env):
    machine = Machine(api, infra_env["id"])
    machine.register()
    api_error(api.call("DELETE", f"/v2/infra-envs/{infra_env['id']}"), 400)
    names = [event["name"] for event in api.events(infra_env_id=infra_env["id"])]
    assert "infra_env_deregister_failed" in names


def test_an_unknown_cluster_gives_an_empty_infra_env_list(api):
    assert api.get("/v2/infra-envs", params={"cluster_id": NOWHERE}).json() == []


def test_a_first_registration_has_exactly_these_members(api, infra_env):
    machine = Machine(api, infra_env["id"])
    host = machine.register().json()
    assert set(host) == REGISTERED_HOST
    assert host["created_at"] == host["updated_at"] == ZERO_GO_TIME
    assert host["status"] == "discovering-unbound" and host["requested_hostname"] == machine.id
    assert host["role"] == host["suggested_role"] == "auto-assign"
    assert host["progress_stages"] == [] and host["deleted_at"] is None
    command = host["next_step_runner_command"]
    assert set(command) == {"args"} and len(command["args"]) == 1
    assert set(json.loads(command["args"][0])) == {"agent_version", "host_id", "infra_env_id"}
    again = machine.register().json()
    assert again["status"] is None and again["status_info"] is None and again["status_updated_at"] == ZERO_TIME


def test_the_runner_command_comes_last_and_keys_are_in_order(api, infra_env):
    keys = list(json.loads(Machine(api, infra_env["id"]).register().text))
    assert keys == [*sorted(keys[:-1]), "next_step_runner_command"] or keys == sorted(keys)


def test_an_inventory_fills_host_members(api, infra_env):
    machine = Machine(api, infra_env["id"], 0, "named-by-inventory")
    machine.register()
    machine.send_inventory()
    host = machine.state()
    added = {"inventory", "installation_disk_id", "installation_disk_path", "validations_info", "progress"}
    assert added <= set(host), sorted(added - set(host))
    assert host["requested_hostname"] == "named-by-inventory" and host["status"] == "known-unbound"
    assert "cluster_id" not in host
    stored = json.loads(host["inventory"])
    assert list(stored) == sorted(stored)
    assert host["installation_disk_id"] == machine.inventory["disks"][0]["id"]


def test_an_action_right_after_a_reply_sees_its_effect(api, cluster, infra_env):
    """The host is not read in between: the acknowledged inventory must count anyway."""
    machine = Machine(api, infra_env["id"])
    machine.register()
    machine.send_inventory()
    bound = api.post(f"{machine.path}/actions/bind", {"cluster_id": cluster["id"]}, expect=200).json()
    assert bound["status"] == "binding"


def test_polls_are_answered_with_named_steps_and_a_pause(api, infra_env):
    machine = Machine(api, infra_env["id"])
    machine.register()
    answer = machine.poll()
    assert answer["next_instruction_seconds"] == 60 and answer["post_step_action"] == "continue"
    (inventory, *_) = answer["instructions"]
    assert inventory["step_type"] == "inventory" and inventory["args"] == [machine.id]
    assert re.fullmatch(r"inventory-[0-9a-f]{8}", inventory["step_id"])


def test_a_failed_step_is_accepted_and_lost_media_is_noticed(api, infra_env):
    machine = Machine(api, infra_env["id"])
    machine.register()
    machine.reply("inventory", "", exit_code=1, error="boom")
    assert machine.state()["status"] == "discovering-unbound"
    machine.reply("inventory", "", exit_code=256, error="no media")
    host = machine.state()
    assert host["status"] == "disconnected-unbound" and host["media_status"] == "disconnected"
    names = [event["name"] for event in api.events(host_ids=machine.id)]
    assert "host_media_disconnected" in names
    machine.send_inventory()
    assert machine.state()["media_status"] == "connected"


@pytest.fixture(scope="module")
def upgrading(servers):
    """A server whose agent image is named by digest."""
    return servers("upgrading", env={"AGENT_DOCKER_IMAGE": f"quay.io/steel/agent:2@sha256:{'0a' * 32}"}).start()


def test_an_outdated_agent_gets_one_step_without_an_id_until_it_was_upgraded(upgrading):
    api, wanted = upgrading.api(), upgrading.env["AGENT_DOCKER_IMAGE"]
    machine = Machine(api, api.new_infra_env()["id"])
    machine.register()
    (upgrade,) = machine.poll()["instructions"]
    assert upgrade == {
        "step_type": "upgrade-agent",
        "args": [json.dumps({"agent_image": wanted}, separators=(",", ":"))],
    }
    machine.poll()
    machine.reply("upgrade-agent", {"agent_image": wanted, "result": "success"})
    assert machine.poll()["instructions"][0]["step_type"] == "inventory"
    names = [event["name"] for event in api.events(host_ids=machine.id)]
    assert names.count("upgrade_agent_started") == names.count("upgrade_agent_finished") == 1


def test_no_agent_is_asked_to_run_an_image_named_by_tag(api, infra_env):
    machine = Machine(api, infra_env["id"])
    machine.agent = "quay.io/steel/agent:old"
    machine.register()
    assert machine.poll()["instructions"][0]["step_type"] == "inventory"


def test_labels_and_arguments_are_texts_inside_json(api, infra_env):
    machine = Machine(api, infra_env["id"])
    machine.register()
    host = api.patch(machine.path, {"node_labels": [{"key": "zone", "value": "a"}]}).json()
    assert json.loads(host["node_labels"]) == {"zone": "a"}
    assert api.patch(machine.path, {"node_labels": []}).json()["node_labels"] == "{}"
    host = api.patch(f"{machine.path}/installer-args", {"args": ["--append-karg", "a"]}).json()
    assert json.loads(host["installer_args"]) == ["--append-karg", "a"]


def test_list_reads_on_unknown_clusters_are_empty(api):
    assert api.get(f"/v2/clusters/{NOWHERE}/hosts").json() == []
    assert api.get(f"/v2/clusters/{NOWHERE}/monitored-operators").json() == []
    assert api.get("/v2/events", params={"cluster_id": NOWHERE}).json() == []


def test_cluster_hosts_hide_inventory_unless_asked(api, cluster):
    infra_env = api.new_infra_env("bound", cluster_id=cluster["id"])
    machine = Machine(api, infra_env["id"])
    machine.register()
    machine.send_inventory()
    path = f"/v2/clusters/{cluster['id']}/hosts"
    (host,) = api.get(path).json()
    assert not host.get("inventory") and host["progress_stages"] is None and "requested_hostname" not in host
    (host,) = api.get(path, params={"with-inventory": "true"}).json()
    assert json.loads(host["inventory"])["hostname"] == machine.name
    assert api.get(path, params={"status": "nosuch"}).json() == []
    counted = api.cluster(cluster["id"])
    assert counted["total_host_count"] == counted["enabled_host_count"] == 1
    (network,) = counted["host_networks"]
    assert network == {"cidr": "192.168.126.0/24", "host_ids": [machine.id]}
    api.delete(machine.path)
    api.delete(f"/v2/infra-envs/{infra_env['id']}")


def test_deleting_a_cluster_deletes_hosts_of_bound_infra_envs_but_not_the_infra_env(api):
    cluster = api.new_cluster("doomed")
    infra_env = api.new_infra_env("survivor", cluster_id=cluster["id"])
    machine = Machine(api, infra_env["id"])
    machine.register()
    api.delete(f"/v2/clusters/{cluster['id']}")
    api_error(api.call("GET", machine.path), 404)
    assert api.get(f"/v2/infra-envs/{infra_env['id']}").json()["cluster_id"] == cluster["id"]
    api_error(Machine(api, infra_env["id"]).register(expect=None), 404)
    api.delete(f"/v2/infra-envs/{infra_env['id']}")


def test_a_ready_cluster_has_roles_networks_and_counters(ready_cluster):
    found = ready_cluster.state()
    assert found["ready_host_count"] == 3
    assert [network["cidr"] for network in found["machine_networks"]] == ["192.168.126.0/24"]
    assert [vip["verification"] for vip in found["api_vips"]] == ["succeeded"]
    assert {host["suggested_role"] for host in found["hosts"]} == {"master"}
    for host in found["hosts"]:
        assert {"cluster_id", "connectivity", "ntp_sources", "domain_name_resolutions"} <= set(host)
        assert "free_addresses" not in host


def test_preparing_can_be_cancelled_back_to_ready(api, ready_cluster):
    path = ready_cluster.path
    started = api.post(f"{path}/actions/install", expect=202).json()
    assert started["status"] == "preparing-for-installation"
    api_error(api.call("PATCH", path, json={}), 409)
    answer = api.post(f"{path}/actions/cancel", expect=202).json()
    assert answer["status"] == "ready"


def test_progress_is_checked_and_counted(api):
    fleet = Fleet.compact(api, "staged")
    try:
        fleet.drive_until("ready")
        api.post(f"{fleet.path}/actions/install", expect=202)
        fleet.drive_until("installing")
        machine = next(machine for machine in fleet.machines if not machine.state().get("bootstrap"))
        machine.progress("Installing")
        assert machine.state()["progress"]["installation_percentage"] == 25
        machine.progress("Installing")
        machine.progress("Starting installation", expect=409)
        machine.progress("Waiting for bootkube", expect=409)
        machine.progress("Writing image to disk", "50%")
        assert machine.state()["progress"]["progress_info"] == "50%"
        assert machine.state()["status_info"] == "Writing image to disk"
        api_error(api.call("PATCH", machine.path, json={}), 409)
        api_error(api.call("DELETE", fleet.path), 409)
        machine.progress("Failed", "disk on fire")
        host = machine.state()
        assert host["status"] == "error" and host["progress"]["current_stage"] == "Writing image to disk"
        eventually(lambda: fleet.state()["status"] == "error", "cluster in error")
        assert fleet.state()["install_completed_at"] != ZERO_TIME
    finally:
        fleet.disband()
