"""Pressing install with a real release in a real registry: the files are what was asked for, and
neither a dead registry nor a dead service spoils them.

Machines are played by the test (see machines.py); everything the service hands out is checked by
other programs: Ignition's validator, OpenSSL, a YAML reader.
"""

import base64
import json
import subprocess
from urllib.parse import unquote_to_bytes

import pytest
import yaml

from machines import API_VIP, INGRESS_VIP, NETWORK, Fleet, Machine
from muster import SSH_KEY, api_error, eventually
from registry import Registry, component
from test_storage import SEALING_KEY

RELEASE = "4.20.3"
HOST_LABELS = [{"key": "example.com/rack", "value": "r7"}]
OVERRIDE = {
    "ignition": {"version": "3.2.0"},
    "storage": {"files": [{"path": "/etc/mine", "contents": {"source": "data:,mine"}}]},
}
# Generating keys takes seconds in a debug build on a busy machine.
TIMEOUT = 180.0


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    registry = Registry(tmp_path_factory.mktemp("registry")).start()
    registry.pinned = registry.push_release(RELEASE)
    yield registry
    registry.stop()


@pytest.fixture(scope="module")
def server(servers, registry):
    """A service that reads the release from a mirror."""
    settings = registry.environment({RELEASE: registry.pinned}, mirrored=True)
    settings["ENABLE_SINGLE_NODE_DNSMASQ"] = "true"
    return servers("preparation", env=settings).start()


def fleet_of(server, registry, name, **fields):
    return Fleet.compact(server.api(), name, pull_secret=registry.pull_secret(), **fields)


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def download(fleet, name):
    return fleet.api.get(f"{fleet.path}/downloads/files", params={"file_name": name})


def credentials(fleet, name):
    return fleet.api.get(f"{fleet.path}/downloads/credentials", params={"file_name": name})


def contents(config, path):
    """A file inside an Ignition config; the last one wins."""
    for file in reversed(config["storage"]["files"]):
        if file["path"] == path:
            kind, data = file["contents"]["source"].removeprefix("data:").split(",", 1)
            return base64.b64decode(data) if kind.endswith(";base64") else unquote_to_bytes(data)
    raise AssertionError(f"no {path} among {sorted(file['path'] for file in config['storage']['files'])}")


def validated(text, tmp_path):
    """The config, after Ignition's own validator has accepted it."""
    path = tmp_path / "config.ign"
    path.write_text(text)
    done = subprocess.run(["ignition-validate", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(text)


def verified(certificate, authorities, tmp_path):
    """The subject of a certificate, after OpenSSL has found its way to an authority."""
    (tmp_path / "leaf.pem").write_bytes(certificate)
    (tmp_path / "cas.pem").write_bytes(authorities)
    command = ["openssl", "verify", "-CAfile", str(tmp_path / "cas.pem"), str(tmp_path / "leaf.pem")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    command = ["openssl", "x509", "-noout", "-subject", "-in", str(tmp_path / "leaf.pem")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def failure(fleet):
    """Why the last preparation failed, if it did."""
    last = fleet.state().get("last-installation-preparation") or {}
    return last.get("reason") if last.get("status") == "failed" else None


def wait_for_failure(fleet):
    """The reason why a preparation failed, once the cluster is ready again."""

    def reason():
        fleet.step()
        return failure(fleet) if fleet.state()["status"] == "ready" else None

    return eventually(reason, "the cluster to be ready again", timeout=90)


def drive_to_installing(fleet):
    """Lets the machines talk until the installation has begun, and gives up when it never will."""

    def arrived():
        fleet.step()
        assert not failure(fleet), failure(fleet)
        return fleet.state()["status"] == "installing"

    eventually(arrived, "the installation to begin", TIMEOUT)


def press_install(fleet):
    fleet.api.post(f"{fleet.path}/actions/install", expect=202)


@pytest.fixture(scope="module")
def installed(server, registry):
    """A compact cluster with everything a user can add, gone all the way to installed."""
    fleet = fleet_of(server, registry, "genuine", olm_operators=[{"name": "cnv"}])
    api = fleet.api
    overrides = {"capabilities": {"baselineCapabilitySet": "vCurrent"}, "cpuPartitioningMode": "AllNodes"}
    api.patch(f"{fleet.path}/install-config", json.dumps(overrides))
    first = fleet.machines[0]
    api.patch(first.path, {"node_labels": HOST_LABELS, "host_name": "renamed-0"})
    api.patch(f"{first.path}/ignition", {"config": json.dumps(OVERRIDE)})
    manifests = {
        ("manifests", "two.yaml"): "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a, namespace: default}\n"
        "---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: b, namespace: default}\n",
        ("openshift", "cluster-network-02-config.yml.patch_1"): "- {op: add, path: /spec/mine, value: yes}\n",
    }
    for (folder, name), text in manifests.items():
        api.post(f"{fleet.path}/manifests", {"folder": folder, "file_name": name, "content": encoded(text)})
    fleet.drive_until("ready", 60)
    press_install(fleet)
    drive_to_installing(fleet)
    fleet.install_step = next(
        json.loads(step["args"][0])
        for step in fleet.machines[0].poll()["instructions"]
        if step["step_type"] == "install"
    )
    fleet.finish_installation()
    fleet.finalize()
    return fleet


@pytest.mark.timeout(400)
def test_the_bootstrap_host_gets_all_manifests_and_keys(installed, tmp_path):
    config = validated(download(installed, "bootstrap.ign").text, tmp_path)
    paths = {file["path"] for file in config["storage"]["files"]}
    assert "/opt/openshift/assisted-install-bootstrap" in paths
    assert contents(config, "/etc/NetworkManager/conf.d/99-kni.conf") == b"[main]\nrc-manager=unmanaged\n"
    # Two documents of a user are two files, and a patch changed what was generated.
    split = sorted(path for path in paths if path.startswith("/opt/openshift/manifests/two-"))
    assert len(split) == 2 and split[0].endswith("-00.yaml")
    network = yaml.safe_load(contents(config, "/opt/openshift/manifests/cluster-network-02-config.yml"))
    assert network["spec"]["mine"] is True
    assert not [path for path in paths if ".patch_" in path]
    # A compact cluster runs workloads on its control plane.
    scheduler = yaml.safe_load(contents(config, "/opt/openshift/manifests/cluster-scheduler-02-config.yml"))
    assert scheduler["spec"]["mastersSchedulable"] is True
    # The clocks the machines found, and the operator the user chose.
    chrony = yaml.safe_load(contents(config, "/opt/openshift/openshift/50-masters-chrony-configuration.yaml"))
    assert "server clock.example.com iburst" in contents(chrony["spec"]["config"], "/etc/chrony.conf").decode()
    subscription = yaml.safe_load(contents(config, "/opt/openshift/openshift/50_openshift-cnv_subscription.yaml"))
    assert subscription["spec"]["name"] == "kubevirt-hyperconverged"
    # The hosts as they were found: the cluster must not inspect or provision them.
    hosts = [yaml.safe_load(contents(config, path)) for path in sorted(paths) if "cluster-api_hosts-" in path]
    assert {host["metadata"]["name"] for host in hosts} == {"renamed-0", "genuine-1", "genuine-2"}
    for host in hosts:
        assert host["spec"]["externallyProvisioned"] is True
        status = json.loads(host["metadata"]["annotations"]["baremetalhost.metal3.io/status"])
        assert status["hardware"]["cpu"]["count"] == 16 and status["poweredOn"] is True
    version = yaml.safe_load(contents(config, "/opt/openshift/manifests/cvo-overrides.yaml"))
    assert version["spec"]["clusterID"] == installed.state()["openshift_cluster_id"]
    assert json.loads(download(installed, "metadata.json").text)["clusterID"] == version["spec"]["clusterID"]


def test_the_way_into_the_cluster_is_signed_by_its_authorities(installed, tmp_path):
    config = json.loads(download(installed, "bootstrap.ign").text)
    early = yaml.safe_load(credentials(installed, "kubeconfig-noingress").text)
    assert early["clusters"][0]["cluster"]["server"] == "https://api.genuine.example.com:6443"
    client = base64.b64decode(early["users"][0]["user"]["client-certificate-data"])
    authorities = contents(config, "/opt/openshift/tls/admin-kubeconfig-ca-bundle.crt")
    assert "system:admin" in verified(client, authorities, tmp_path)
    trusted = base64.b64decode(early["clusters"][0]["cluster"]["certificate-authority-data"])
    verified(contents(config, "/opt/openshift/tls/kube-apiserver-lb-server.crt"), trusted, tmp_path)
    final = yaml.safe_load(credentials(installed, "kubeconfig").text)
    both = base64.b64decode(final["clusters"][0]["cluster"]["certificate-authority-data"])
    assert trusted in both and len(both) > len(trusted), "the ingress authority came on top"
    shown = installed.api.get(f"{installed.path}/credentials").json()
    assert shown["password"] == credentials(installed, "kubeadmin-password").text
    assert [len(group) for group in shown["password"].split("-")] == [5, 5, 5, 5]


def test_each_host_gets_its_own_config(installed, tmp_path):
    for machine in installed.machines:
        text = installed.api.get(f"/v2/infra-env/{installed.infra_env_id}/hosts/{machine.id}/downloads/ignition").text
        config = validated(text, tmp_path)
        first = machine is installed.machines[0]
        wanted = "renamed-0" if first else machine.name
        assert contents(config, "/etc/hostname").decode() == wanted
        pointer = config["ignition"]["config"]["merge"][0]["source"]
        assert pointer == f"https://{API_VIP}:22623/config/master"
        assert config["ignition"]["security"]["tls"]["certificateAuthorities"]
        assert ("/etc/mine" in text) == first
    for role in ("master", "worker"):
        validated(download(installed, f"{role}.ign").text, tmp_path)


def test_the_install_config_says_what_was_asked(installed, registry):
    config = yaml.safe_load(download(installed, "install-config.yaml").text)
    assert config["metadata"]["name"] == "genuine" and config["baseDomain"] == "example.com"
    assert config["controlPlane"]["replicas"] == 3 and config["compute"][0]["replicas"] == 0
    assert config["networking"]["machineNetwork"] == [{"cidr": NETWORK}]
    assert config["capabilities"] == {"baselineCapabilitySet": "vCurrent"}
    assert config["cpuPartitioningMode"] == "AllNodes"
    assert config["platform"]["baremetal"]["apiVIPs"] == [API_VIP]
    assert config["platform"]["baremetal"]["ingressVIPs"] == [INGRESS_VIP]
    assert config["sshKey"] == SSH_KEY
    mirrors = config["imageDigestSources"]
    assert mirrors == [{"source": "quay.example.invalid/ocp", "mirrors": [f"{registry.host}/ocp"]}]
    assert registry.ca_file.read_text().strip() in config["additionalTrustBundle"]
    assert json.loads(config["pullSecret"])["auths"][registry.host]


def test_hosts_receive_images_that_only_the_release_names(installed):
    assert installed.install_step["mco_image"] == component("machine-config-operator", RELEASE)
    assert component("must-gather", RELEASE) in installed.install_step["must_gather_image"]


def test_generated_manifests_are_listed_apart_from_the_users(installed):
    listed = installed.api.get(f"{installed.path}/manifests", params={"include_system_generated": True}).json()
    system = {item["file_name"] for item in listed if item["manifest_source"] == "system"}
    user = {item["file_name"] for item in listed if item["manifest_source"] == "user"}
    assert user == {"two.yaml", "cluster-network-02-config.yml.patch_1"}
    assert {
        "50-masters-chrony-configuration.yaml",
        "50-workers-iscsi-nic-reapply.yaml",
        "50_openshift-cnv_ns.yaml",
        "cluster-scheduler-02-config.yml.patch_ai_set_masters_schedulable",
        "olm_operator_manifests.yaml",
    } <= system
    later = json.loads(download(installed, "custom_manifests.json").text)
    kinds = [yaml.safe_load(base64.b64decode(entry["Content"]))["kind"] for entry in later if entry["Name"] == "cnv"]
    assert kinds == ["HyperConverged"]


@pytest.mark.timeout(400)
def test_a_single_node_installs_itself(server, registry, tmp_path):
    api = server.api()
    fields = {"high_availability_mode": "None", "user_managed_networking": True, "ssh_public_key": SSH_KEY}
    cluster = api.new_cluster("alone", pull_secret=registry.pull_secret(), **fields)
    infra_env = api.new_infra_env("alone-env", cluster_id=cluster["id"])
    machine = Machine(api, infra_env["id"], 0, "alone-0")
    fleet = Fleet(api, cluster, infra_env, [machine])
    machine.register()
    machine.send_inventory()
    api.patch(fleet.path, {"machine_networks": [{"cidr": NETWORK}]})
    fleet.drive_until("ready", 60)
    press_install(fleet)
    drive_to_installing(fleet)
    install_config = yaml.safe_load(download(fleet, "install-config.yaml").text)
    assert install_config["bootstrapInPlace"]["installationDisk"] == machine.inventory["disks"][0]["id"]
    config = validated(download(fleet, "bootstrap.ign").text, tmp_path)
    units = {unit["name"] for unit in config["systemd"]["units"]}
    assert "install-to-disk.service" in units
    own = contents(config, "/opt/openshift/openshift/dnsmasq-bootstrap-in-place.yaml")
    script = contents(yaml.safe_load(own)["spec"]["config"], "/usr/local/bin/dnsmasq_config.sh").decode()
    assert f"ADDRESS={machine.ip}\n" in script and "NAME=alone\n" in script
    assert "ignition" in json.loads(download(fleet, "master.ign").text)
    text = api.get(f"/v2/infra-env/{fleet.infra_env_id}/hosts/{machine.id}/downloads/ignition").text
    config = validated(text, tmp_path)
    assert contents(config, "/etc/hostname") == b"alone-0"
    assert contents(config, "/etc/default/nodeip-configuration") == b"KUBELET_NODEIP_HINT=192.168.126.0\n"


@pytest.mark.timeout(400)
def test_a_dead_registry_brings_the_cluster_back_with_the_reason(servers, tmp_path_factory):
    registry = Registry(tmp_path_factory.mktemp("mortal")).start()
    pinned = registry.push_release(RELEASE)
    server = servers("mortal", env=registry.environment({RELEASE: pinned}, mirrored=False)).start()
    fleet = fleet_of(server, registry, "patient")
    fleet.drive_until("ready", 60)
    stranger = Fleet.compact(server.api(), "stranger", pull_secret=registry.pull_secret(password="nonsense"))
    stranger.drive_until("ready", 60)
    press_install(stranger)
    why = wait_for_failure(stranger)
    assert registry.host in why and "pull secret" in why and "nonsense" not in why, why
    stranger.disband()
    registry.stop()
    press_install(fleet)
    why = wait_for_failure(fleet)
    assert registry.host in why and "cannot be read" in why, why
    assert "open-sesame" not in why
    events = fleet.api.events(cluster_id=fleet.cluster_id)
    assert any(registry.host in event["message"] for event in events), "an event names the reason"
    answer = fleet.api.call("GET", f"{fleet.path}/downloads/files", params={"file_name": "bootstrap.ign"})
    api_error(answer, 409)
    registry.start()
    fleet.drive_until("ready", 60)
    press_install(fleet)
    drive_to_installing(fleet)
    assert json.loads(download(fleet, "bootstrap.ign").text)["ignition"]["version"].startswith("3.")
    registry.stop()


@pytest.mark.timeout(300)
def test_problems_in_an_install_config_are_reported(server, registry):
    fleet = fleet_of(server, registry, "refused")
    fleet.api.patch(f"{fleet.path}/install-config", json.dumps({"sshKey": "no key at all"}))
    fleet.drive_until("ready", 60)
    press_install(fleet)
    why = wait_for_failure(fleet)
    assert "sshKey" in why and "install-config.yaml:" in why, why
    fleet.disband()


def wait_for_line(server, words, timeout=60.0):
    eventually(lambda: words in server.log(), f"{words!r} in the log", timeout, every=0.02)


@pytest.mark.timeout(400)
def test_a_kill_in_the_middle_only_delays(servers, registry, tmp_path):
    server = servers("killed", env=registry.environment({RELEASE: registry.pinned}, mirrored=True)).start()
    fleet = fleet_of(server, registry, "phoenix")
    fleet.drive_until("ready", 60)
    press_install(fleet)
    wait_for_line(server, "the release was read")
    server.kill()
    assert "install files are stored" not in server.log(), "the kill came too late to prove anything"
    server.start()
    fleet.api.url = server.url
    drive_to_installing(fleet)
    config = validated(download(fleet, "bootstrap.ign").text, tmp_path)
    version = yaml.safe_load(contents(config, "/opt/openshift/manifests/cvo-overrides.yaml"))
    assert version["spec"]["clusterID"] == fleet.state()["openshift_cluster_id"]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("action", ["cancel", "reset"])
def test_a_preparation_that_is_given_up_ends_and_leaves_nothing(servers, registry, action):
    server = servers(action, env=registry.environment({RELEASE: registry.pinned}, mirrored=True)).start()
    fleet = fleet_of(server, registry, "fickle")
    fleet.drive_until("ready", 60)
    press_install(fleet)
    wait_for_line(server, "the release was read")
    fleet.api.post(f"{fleet.path}/actions/{action}", expect=202)
    assert "install files are stored" not in server.log(), "the files came first; nothing was given up in between"
    wait_for_line(server, "aborted while its files were generated", TIMEOUT)
    stored = server.data_dir / "files" / fleet.cluster_id / "files"
    assert not list(stored.glob("*"))
    if action == "reset":
        # The machines boot the discovery image again.
        for machine in fleet.machines:
            machine.register()
            machine.send_inventory()
    fleet.drive_until("ready", 60)
    press_install(fleet)
    drive_to_installing(fleet)
    assert (stored / "bootstrap.ign").exists(), "the files are looked for where they are"


def test_a_cluster_deleted_while_its_files_are_made_is_no_error(servers, registry):
    server = servers("deleted", env=registry.environment({RELEASE: registry.pinned}, mirrored=True)).start()
    fleet = fleet_of(server, registry, "short-lived")
    fleet.drive_until("ready", 60)
    press_install(fleet)
    wait_for_line(server, "the release was read")
    fleet.api.delete(fleet.path)
    assert "install files are stored" not in server.log(), "the files came first; nothing was deleted in between"
    wait_for_line(server, "a job is not needed any more", TIMEOUT)
    faults = [line for line in server.log().splitlines() if '"ERROR"' in line or " ERROR " in line]
    assert faults == []


@pytest.mark.timeout(600)
def test_one_of_two_replicas_does_it_and_the_other_takes_over(servers, registry, postgres, s3, tmp_path):
    env = {
        **registry.environment({RELEASE: registry.pinned}, mirrored=True),
        **s3.environment(),
        "STORAGE": "s3",
        "MUSTER_DATABASE_SEALING_KEY": SEALING_KEY,
    }
    args = ["--database", postgres.new_database()]
    one, two = (servers(f"pair-{n}", args=args, env=env).start() for n in (1, 2))
    fleet = fleet_of(one, registry, "pair")
    # Half of the machines talk to the other replica, so that both see the request.
    fleet.machines[1].api = two.api()
    fleet.drive_until("ready", 60)
    press_install(fleet)
    drive_to_installing(fleet)
    stored = [server.log().count("install files are stored") for server in (one, two)]
    assert sorted(stored) == [0, 1], stored

    second = fleet_of(one, registry, "orphan")
    second.machines[1].api = two.api()
    second.drive_until("ready", 60)
    press_install(second)
    # The replica that takes it is killed while it generates the keys.
    eventually(
        lambda: [s for s in (one, two) if s.log().count("making install files") > s.log().count("files are stored")],
        "a replica to begin",
        every=0.02,
    )
    maker = next(s for s in (one, two) if s.log().count("making install files") > s.log().count("files are stored"))
    other = two if maker is one else one
    maker.kill()
    for machine in second.machines:
        machine.api = other.api()
    second.api = other.api()
    drive_to_installing(second)
    validated(download(second, "bootstrap.ign").text, tmp_path)
    assert other.log().count("install files are stored") >= 1


@pytest.mark.timeout(300)
def test_a_host_that_joins_later_gets_a_config_without_a_registry(server, registry, tmp_path):
    api = server.api()
    body = {"name": "elder", "api_vip_dnsname": "api.elder.example.com", "openshift_version": "4.20"}
    body["openshift_cluster_id"] = "0badcafe-0000-4000-8000-000000000001"
    cluster = api.post("/v2/clusters/import", body).json()
    infra_env = api.new_infra_env("elder-env", cluster_id=cluster["id"])
    machine = Machine(api, infra_env["id"], 5, "late-5")
    fleet = Fleet(api, cluster, infra_env, [machine])
    machine.register()
    machine.send_inventory()

    def known():
        machine.work()
        return machine.state()["status"] == "known"

    eventually(known, "the late host to be known", timeout=60)
    api.post(f"{machine.path}/actions/install", expect=202)
    path = f"/v2/infra-env/{fleet.infra_env_id}/hosts/{machine.id}/downloads/ignition"
    text = eventually(lambda: (a := api.call("GET", path)).ok and a.text, "its config")
    config = validated(text, tmp_path)
    assert contents(config, "/etc/hostname") == b"late-5"
    source = config["ignition"]["config"]["merge"][0]["source"]
    assert source == "http://api.elder.example.com:22624/config/worker"
