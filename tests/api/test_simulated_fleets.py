"""Simulated fleets of every shape and several releases, installed with real files.

`muster simulate` plays the machines; the release comes from a real registry that asks for no
password, as the simulated user has none for it.
"""

import json
import subprocess

import pytest

from muster import BINARY, eventually, quiet_environment
from registry import Registry
from test_preparation import validated

# Minor releases differ in what a bootstrap host runs; the last one is the default.
RELEASES = ["4.14.9", "4.16.5", "4.18.4", "4.19.2", "4.20.3"]
OPERATORS = "lso,odf,cnv,mce,nmstate,metallb,mtv,node-healthcheck,self-node-remediation,kube-descheduler"

# name: arguments, versions of hosts' roles that must have got a config
FLEETS = {
    "sno": (["--topology", "sno"], {"master": 1}),
    "compact": (["--topology", "compact"], {"master": 3}),
    "ha": (["--topology", "ha", "--workers", "2"], {"master": 3, "worker": 2}),
    "arbiter": (["--topology", "arbiter"], {"master": 2, "arbiter": 1}),
    "fencing": (["--topology", "fencing"], {"master": 2}),
    "restarted": (["--topology", "restarted"], {"master": 3}),
    "user-managed": (["--topology", "ha", "--workers", "1", "--with", "user-managed"], {"master": 3, "worker": 1}),
    "dual-stack": (["--topology", "compact", "--with", "dual-stack"], {"master": 3}),
    "encrypted": (["--topology", "compact", "--with", "encrypted"], {"master": 3}),
    "operators": (["--topology", "ha", "--workers", "3", "--operators", OPERATORS], {"master": 3, "worker": 3}),
    "dhcp-vips": (["--topology", "compact", "--with", "dhcp-vips", "--openshift-version", "4.14.9"], {"master": 3}),
    **{
        version: (["--topology", "compact", "--openshift-version", version], {"master": 3}) for version in RELEASES[:-1]
    },
}


@pytest.fixture(scope="module")
def server(servers, tmp_path_factory):
    registry = Registry(tmp_path_factory.mktemp("open-registry"), guarded=False).start()
    releases = {version: registry.push_release(version) for version in RELEASES}
    settings = registry.environment(releases, mirrored=False)
    settings |= {"TNF_CLUSTERS_SUPPORT": "true", "PUBLIC_CONTAINER_REGISTRIES": registry.host}
    yield servers("simulated", env=settings).start()
    registry.stop()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", FLEETS)
def test_a_simulated_fleet_is_installed_with_real_files(server, name, tmp_path):
    arguments, hosts = FLEETS[name]
    cluster_name = f"sim-{name.replace('.', '-')}"
    command = [str(BINARY), "simulate", "--url", server.url, "--name", cluster_name, "--keep", "--speed", "1000"]
    run = subprocess.run([*command, *arguments], env=quiet_environment(), capture_output=True, text=True, timeout=280)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    api = server.api()
    cluster = next(c for c in api.get("/v2/clusters").json() if c["name"] == cluster_name)
    path = f"/v2/clusters/{cluster['id']}"
    stored = server.data_dir / "files" / cluster["id"] / "files"
    configs = {file.name: file.read_text() for file in stored.glob("*.ign")}
    for text in configs.values():
        validated(text, tmp_path)
    assert {file.stat().st_mode & 0o777 for file in stored.iterdir()} == {0o600}, "they hold private keys"
    for role, count in hosts.items():
        assert len([file for file in configs if file.startswith(f"{role}-")]) == count, sorted(configs)
        assert f"{role}.ign" in configs
    bootstrap = api.get(f"{path}/downloads/files", params={"file_name": "bootstrap.ign"}).json()
    paths = {file["path"] for file in bootstrap["storage"]["files"]}
    expected = {
        "arbiter": "openshift/50-arbiters-chrony-configuration.yaml",
        "encrypted": "openshift/99-openshift-master-tpm-encryption.yaml",
        "operators": "openshift/50_openshift-odf_subscription.yaml",
        "fencing": "openshift/99_openshift-etcd_fencing-credentials-secrets-0.yaml",
    }
    if name in expected:
        assert f"/opt/openshift/{expected[name]}" in paths, sorted(paths)
    if name == "dhcp-vips":
        master = json.loads(configs["master.ign"])
        assert "/etc/keepalived/lease-api" in {file["path"] for file in master["storage"]["files"]}
    if name == "dual-stack":
        assert "/etc/NetworkManager/conf.d/01-ipv6.conf" in configs["master.ign"]
    if name == "user-managed":
        hinted = [text for file, text in configs.items() if "-" in file and "KUBELET_NODEIP_HINT" in text]
        assert len(hinted) == sum(hosts.values())
    eventually(lambda: api.call("DELETE", path).status_code in (204, 404), "the cluster to go")


@pytest.mark.timeout(120)
def test_machines_boot_again_after_a_reset_whose_installation_they_never_saw(server):
    """A person resets while files are still prepared: no look of the simulator shows an installation."""
    api = server.api()
    cluster = api.new_cluster(name="hasty", openshift_version=RELEASES[-1], high_availability_mode="None")
    path = f"/v2/clusters/{cluster['id']}"
    infra_env = api.new_infra_env(name="hasty", cluster_id=cluster["id"])
    command = [str(BINARY), "simulate", "--url", server.url, "--join", infra_env["id"], "--topology", "sno"]
    machines = subprocess.Popen([*command, "--speed", "1000"], env=quiet_environment(), stdout=subprocess.DEVNULL)
    try:
        network = {"machine_networks": [{"cidr": "192.168.126.0/24"}]}
        eventually(lambda: api.call("PATCH", path, json=network).status_code == 201, "the network to be known")
        eventually(lambda: api.get(path).json()["status"] == "ready", "the cluster to be ready")
        for act in ("install", "reset"):
            api.post(f"{path}/actions/{act}", expect=202)
        eventually(lambda: api.get(path).json()["status"] == "ready", "the cluster to be ready again", timeout=90)
    finally:
        machines.terminate()
        machines.wait(timeout=30)
        eventually(lambda: api.call("DELETE", path).status_code in (204, 404), "the cluster to go")
