"""Behaviour of the reference that was measured beside ours, one test per difference, from outside."""

import io
import json
import tarfile

import pytest

from machines import GIB, Fleet, Machine
from muster import ZERO_TIME, api_error, eventually, pull_secret

TANG = json.dumps([{"URL": "http://tang.example.com:7500", "Thumbprint": "PLjNyRdGw03zlRoGjQYMahSZGu9"}])


@pytest.fixture
def made(api):
    """Makes clusters and removes them afterwards."""
    ids = []

    def make(name, **fields):
        cluster = api.new_cluster(name, **fields)
        ids.append(cluster["id"])
        return cluster

    yield make
    for cluster in ids:
        api.call("DELETE", f"/v2/clusters/{cluster}")


# --- what is accepted and refused --------------------------------------------------------------


def test_an_install_config_without_hosts_counts_none_and_names_no_architecture(api, made):
    cluster = made("hostless", user_managed_networking=True)
    config = json.loads(api.get(f"/v2/clusters/{cluster['id']}/install-config").json())
    for pool in (config["controlPlane"], *config["compute"]):
        assert pool["replicas"] == 0 and "architecture" not in pool, pool


def test_hosts_of_ibm_z_are_refused_where_operators_or_images_do_not_exist_for_them(api, made):
    cluster = made("z", openshift_version="4.20-multi", user_managed_networking=True, olm_operators=[{"name": "cnv"}])
    body = {"name": "z-env", "pull_secret": pull_secret(), "cpu_architecture": "s390x", "cluster_id": cluster["id"]}
    assert "CNV" in api_error(api.call("POST", "/v2/infra-envs", json=body), 400)
    infra_env = api.new_infra_env("z-alone", cpu_architecture="s390x")
    path = f"/v2/infra-envs/{infra_env['id']}"
    assert infra_env["type"] == "full-iso"
    api_error(api.call("PATCH", path, json={"image_type": "minimal-iso"}), 400)
    assert api.get(path).json()["type"] == "full-iso"
    api.delete(path)


def test_virtual_addresses_of_single_nodes_and_of_both_families_are_accepted(made):
    api_vip, ingress_vip = {"ip": "192.0.2.5"}, {"ip": "192.0.2.6"}
    single = made("one", control_plane_count=1, api_vips=[api_vip], ingress_vips=[ingress_vip])
    assert single["user_managed_networking"] is True and single["api_vips"][0]["ip"] == "192.0.2.5"
    both = made(
        "two-families",
        api_vips=[api_vip, {"ip": "2001:db8::5"}],
        ingress_vips=[ingress_vip, {"ip": "2001:db8::6"}],
    )
    assert len(both["api_vips"]) == len(both["ingress_vips"]) == 2


def test_json_inside_texts_is_read_whatever_the_case_of_its_names(api, made):
    disks = {"enable_on": "all", "mode": "tang", "tang_servers": TANG}
    cluster = made("any-case", disk_encryption=disks)
    assert cluster["disk_encryption"]["mode"] == "tang"
    path = f"/v2/clusters/{cluster['id']}"
    api.patch(f"{path}/install-config", json.dumps({"FIPS": True, "Metadata": {"Labels": {"Kept": "As It Is"}}}))
    config = json.loads(api.get(f"{path}/install-config").json())
    assert config["fips"] is True and config["metadata"]["labels"] == {"Kept": "As It Is"}
    infra_env = api.new_infra_env("any-case-env", cluster_id=cluster["id"])
    override = {"Ignition": {"Version": "3.1.0"}, "Storage": {"Files": [{"Path": "/etc/ours"}]}}
    api.patch(f"/v2/infra-envs/{infra_env['id']}", {"ignition_config_override": json.dumps(override)})
    config = api.get(f"/v2/infra-envs/{infra_env['id']}/downloads/files", params={"file_name": "discovery.ign"}).json()
    assert "/etc/ours" in [file["path"] for file in config["storage"]["files"]]
    api.delete(f"/v2/infra-envs/{infra_env['id']}")


def test_the_use_of_features_says_how_they_are_used(api, made):
    cluster = made("features", hyperthreading="masters", disk_encryption={"enable_on": "all", "mode": "tpmv2"})
    infra_env = api.new_infra_env("features-env", cluster_id=cluster["id"])
    guest = Machine(api, infra_env["id"], 4, "guest")
    guest.inventory["system_vendor"]["virtual"] = True
    guest.register()
    guest.send_inventory()
    path = f"/v2/clusters/{cluster['id']}"
    api.patch(f"{path}/install-config", json.dumps({"fips": True, "proxy": {"httpProxy": "http://u:hidden@p:1"}}))
    api.patch(path, {"additional_ntp_source": "clock.example.com"})
    uses = json.loads(api.cluster(cluster["id"])["feature_usage"])
    assert uses["Hyperthreading"]["data"] == {"hyperthreading_enabled": "masters"}
    assert uses["Disk encryption"]["data"]["mode"] == "tpmv2"
    assert uses["Cluster managed networking with VMs"]["data"] == {"VM Hosts": [guest.id]}
    overrides = json.dumps(uses["Install Config Overrides"]["data"])
    assert "fips" in overrides and "hidden" not in overrides
    api.delete(path)
    api.delete(f"/v2/infra-envs/{infra_env['id']}")


# --- hosts --------------------------------------------------------------------------------------


def test_networks_found_from_hosts_go_with_the_last_host(api):
    fleet = Fleet.compact(api, "leaving", size=2)
    found = lambda: [network["cidr"] for network in fleet.state()["machine_networks"]]  # noqa: E731
    eventually(found, "the machine network to be found")
    first, last = fleet.machines
    api.delete(first.path)
    assert found() == ["192.168.126.0/24"], "another host is still there"
    api.delete(last.path)
    assert found() == []
    fleet.disband()


def test_logs_are_named_by_the_role_that_was_set(api, made):
    cluster = made("bundle")
    infra_env = api.new_infra_env("bundle-env", cluster_id=cluster["id"])
    machine = Machine(api, infra_env["id"], 5, "logged")
    machine.register()
    machine.send_inventory()
    path = f"/v2/clusters/{cluster['id']}/logs"
    query = {"logs_type": "host", "host_id": machine.id, "infra_env_id": infra_env["id"]}
    api.call("POST", path, 204, params=query, files={"upfile": ("logs.tar.gz", b"data")})
    bundle = tarfile.open(fileobj=io.BytesIO(api.get(path).content))
    assert any("_auto-assign_" in name for name in bundle.getnames()), bundle.getnames()
    api.delete(f"/v2/clusters/{cluster['id']}")
    api.delete(f"/v2/infra-envs/{infra_env['id']}")


def test_servers_of_names_are_part_of_the_inventory(api, infra_env):
    machine = Machine(api, infra_env["id"], 6, "resolving")
    machine.inventory["dns"] = {"servers": ["192.0.2.53"], "search_domains": ["lab.example.com"]}
    machine.register()
    machine.send_inventory()
    assert json.loads(machine.state()["inventory"])["dns"] == machine.inventory["dns"]


# --- installations ------------------------------------------------------------------------------


def test_installing_with_unfit_hosts_is_a_bad_request_once_all_have_reported(api, ready_cluster):
    fleet = ready_cluster
    small = Machine(api, fleet.infra_env_id, 9, "small")
    small.inventory["memory"] = {"physical_bytes": 2 * GIB, "usable_bytes": 2 * GIB}
    small.register()
    fleet.machines.append(small)
    install = f"{fleet.path}/actions/install"
    # One host has not reported yet: what is missing may come.
    api_error(api.call("POST", install), 409)
    small.send_inventory()
    small.wait_for("insufficient")
    reason = api_error(api.call("POST", install), 400)
    assert "small" in reason or small.id in reason, reason
    assert fleet.state()["status"] in {"ready", "insufficient"}
    roles = {machine.state()["role"] for machine in fleet.machines}
    assert roles == {"auto-assign"}, "a refused installation fixes no roles"


def test_a_role_that_was_set_stays_while_the_cluster_is_not_ready(api):
    fleet = Fleet.compact(api, "fixed-role", size=2)
    machine = fleet.machines[0]
    api.patch(machine.path, {"host_role": "worker"})
    for _ in range(3):
        fleet.step()
        assert fleet.state()["status"] != "ready"
        host = machine.state()
        assert (host["role"], host["suggested_role"]) == ("worker", "worker")
    fleet.disband()


@pytest.fixture(scope="module")
def measured(servers):
    """A service that asks hosts for images, and one whose figures no other test moves."""
    env = {"DUMMY_IGNITION": "true", "INSTALLER_IMAGE": "quay.io/steel/installer:1"}
    return servers("measured-differences", env={**env, "MUSTER_TIMEOUTS_DISCOVERY_LOGS": "1m"}).start()


def test_a_host_is_prepared_when_every_image_was_reported(measured):
    fleet = Fleet.compact(measured.api(), "partly")
    fleet.drive_until("ready")
    fleet.api.post(f"{fleet.path}/actions/install", expect=202)
    late, *others = fleet.machines

    def asked():
        for machine in others:
            machine.work(fleet.state())
        steps = late.poll().get("instructions") or []
        for step in steps:
            if step["step_type"] == "installation-disk-speed-check":
                late.reply(step["step_type"], late._answer(step, {}), step_id=step["step_id"])
        return [step for step in steps if step["step_type"] == "container-image-availability"]

    (step,) = eventually(asked, "the step about images")
    answer = late._answer(step, {})
    assert len(answer["images"]) > 1, "one image has no part that is left out"
    late.reply(step["step_type"], {"images": answer["images"][:1]}, step_id=step["step_id"])
    for _ in range(5):
        asked()
        assert late.state()["status"] == "preparing-for-installation"
    assert fleet.state()["status"] == "preparing-for-installation"
    late.reply(step["step_type"], answer, step_id=step["step_id"])
    fleet.drive_until("installing")


def metrics_events(api, cluster):
    events = api.events(cluster_id=cluster, categories="metrics", limit=500)
    return [(event["message"], json.loads(event["props"])) for event in events]


def test_an_installation_leaves_figures_among_the_events(measured):
    api = measured.api()
    fleet = Fleet.compact(api, "counted")
    fleet.drive_until("ready")
    assert "host.mem.cpu" not in dict(metrics_events(api, fleet.cluster_id))
    fleet.install()
    fleet.finalize()
    found = metrics_events(api, fleet.cluster_id)
    of = lambda name: [props for message, props in found if message == name]  # noqa: E731
    hardware = of("host.mem.cpu")
    assert len(hardware) == 3 and {one["host_result"] for one in hardware} == {"Done"}
    assert {one["core_count"] for one in hardware} == {16} and {one["host_role"] for one in hardware} == {
        "bootstrap",
        "master",
    }
    assert len(of("disk.size.type")) == len(of("nic.speed")) == 3
    (result,) = of("cluster.installation.results")
    assert result["result"] == "installed" and result["duration"] >= 0
    usual = {event["message"] for event in api.events(cluster_id=fleet.cluster_id)}
    assert usual and not usual & {message for message, _ in found}, "figures are for those who ask for them"


def figure(api, name, **labels):
    """A counter of the metrics page; 0 if it is not there."""
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    for line in api.get("//metrics").text.splitlines():
        if line.startswith(f"service_assisted_installer_{name}{{") and all(label in line for label in wanted):
            return float(line.rsplit(" ", 1)[1])
    return 0.0


def test_validations_that_fail_after_success_and_at_deletion_are_counted(measured):
    api = measured.api()
    fleet = Fleet.compact(api, "lost")
    fleet.drive_until("ready")
    machine = fleet.machines[0]
    lost = dict(name="host_validation_failed_after_success_before_installation", hostValidationType="has-min-memory")
    gone = dict(name="host_validation_is_in_failed_status_on_cluster_deletion", hostValidationType="has-min-memory")
    before = figure(api, **lost), figure(api, **gone)
    machine.inventory["memory"] = {"physical_bytes": 2 * GIB, "usable_bytes": 2 * GIB}
    machine.send_inventory()
    machine.wait_for("insufficient")
    assert figure(api, **lost) == before[0] + 1 and figure(api, **gone) == before[1]
    fleet.disband()
    assert figure(api, **gone) == before[1] + 1


def test_hosts_that_wait_send_their_logs_where_the_site_asks_for_it(measured, api):
    def steps(fleet):
        return [step["step_type"] for step in fleet.machines[0].poll()["instructions"]]

    quiet = Fleet.compact(api, "silent", size=1)
    assert "logs-gather" not in steps(quiet), "off by default"
    quiet.disband()
    asking = measured.api()
    fleet = Fleet.compact(asking, "talkative", size=1)
    machine = fleet.machines[0]
    assert "logs-gather" in steps(fleet)
    assert machine.state()["logs_collected_at"] == ZERO_TIME
    query = {"logs_type": "host", "host_id": machine.id, "infra_env_id": fleet.infra_env_id}
    files = {"upfile": ("logs.tar.gz", b"first")}
    asking.call("POST", f"{fleet.path}/logs", 204, params=query, files=files)
    assert "logs-gather" not in steps(fleet), "those that came are new enough"
    assert b"first" in asking.get(f"{fleet.path}/logs", params={"logs_type": "host", "host_id": machine.id}).content
    fleet.disband()
