"""The life of a cluster as a person with `aicli` lives it: the real command, unchanged.

The tests of this file build on each other in order, because a life does.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from machines import API_VIP, INGRESS_VIP, Machine
from muster import SECRET_WORD, SSH_KEY, pull_secret, quiet_environment

NAME = "rack1"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Aicli:
    """Runs the command in a home of its own."""

    def __init__(self, url, home):
        self.url = url
        self.home = Path(home)
        self.pull_secret = self.home / "pull.json"
        self.pull_secret.write_text(pull_secret())
        (self.home / ".ssh").mkdir()
        (self.home / ".ssh" / "id_ed25519.pub").write_text(SSH_KEY + "\n")

    def __call__(self, *words, ok=True):
        command = [str(Path(sys.executable).with_name("aicli")), "-u", self.url, *words]
        environment = {**quiet_environment(), "HOME": str(self.home), "PYTHONWARNINGS": "ignore"}
        run = subprocess.run(command, env=environment, cwd=self.home, capture_output=True, text=True, timeout=120)
        text = COLOUR.sub("", run.stdout + run.stderr)
        assert (run.returncode == 0) == ok, f"aicli {' '.join(words)} ended with {run.returncode}:\n{text[-3000:]}"
        assert not ok or "Traceback" not in text, f"aicli {' '.join(words)}:\n{text[-3000:]}"
        return text

    def json(self, *words):
        """The command's answer with `-o json`, without the remarks around it."""
        text = self("-o", "json", *words)
        return json.loads(text[min(text.find(mark) for mark in "[{" if mark in text) :])


@pytest.fixture(scope="module")
def aicli(shared, tmp_path_factory):
    return Aicli(shared.url, tmp_path_factory.mktemp("aicli-home"))


@pytest.fixture(scope="module")
def ids(api):
    """Looks up by name what aicli made."""

    def find(kind, name):
        return next(item["id"] for item in api.get(f"/v2/{kind}").json() if item["name"] == name)

    return find


def test_service_information_lists_versions_and_operators(aicli):
    text = aicli("info", "service")
    assert "4.20" in text and "cnv" in text and "lvm" in text


def test_create_cluster_makes_a_cluster_and_its_infraenv(aicli, api, ids):
    text = aicli(
        "create", "cluster", NAME, "-P", f"pull_secret={aicli.pull_secret}",
        "-P", "base_dns_domain=example.com", "-P", "openshift_version=4.20", "-P", "minimal=true",
    )  # fmt: skip
    assert "Using version 4.20." in text
    cluster = api.cluster(ids("clusters", NAME))
    assert cluster["pull_secret_set"] is True and cluster["ssh_public_key"] == SSH_KEY
    infra_env = api.get(f"/v2/infra-envs/{ids('infra-envs', NAME + '_infra-env')}").json()
    assert infra_env["cluster_id"] == cluster["id"] and infra_env["type"] == "minimal-iso"


def test_a_second_cluster_of_the_same_name_is_refused_by_aicli(aicli):
    assert "already there" in aicli("create", "cluster", NAME, "-P", f"pull_secret={aicli.pull_secret}", ok=False)


def test_lists_show_the_cluster_and_the_infraenv(aicli):
    assert NAME in aicli("list", "cluster")
    table = aicli("list", "infraenv")
    assert f"{NAME}_infra-env" in table and "minimal-iso" in table
    assert NAME in [cluster["name"] for cluster in aicli.json("list", "cluster")]


def test_info_shows_fields_without_the_pull_secret(aicli):
    text = aicli("info", "cluster", NAME, "--full")
    assert "base_dns_domain: example.com" in text and "network_type: OVNKubernetes" in text
    assert SECRET_WORD not in text
    assert "cpu_architecture: x86_64" in aicli("info", "infraenv", NAME)
    assert "operators" in aicli("info", "cluster", NAME, "--preflight")


def test_update_changes_cluster_and_infraenv(aicli, api, ids):
    aicli("update", "cluster", NAME, "-P", "additional_ntp_source=clock.example.com", "-P", "tags=lab")
    cluster = api.cluster(ids("clusters", NAME))
    assert cluster["additional_ntp_source"] == "clock.example.com" and cluster["tags"] == "lab"
    aicli("update", "infraenv", NAME, "-P", "additional_ntp_sources=clock2.example.com")
    infra_env = api.get(f"/v2/infra-envs/{ids('infra-envs', NAME + '_infra-env')}").json()
    assert infra_env["additional_ntp_sources"] == "clock2.example.com"


def test_networks_go_through_update(aicli, api, ids):
    aicli("update", "cluster", NAME, "-P", "service_networks=[172.31.0.0/16]", "-P", "infraenv=false")
    networks = api.cluster(ids("clusters", NAME))["service_networks"]
    assert [network["cidr"] for network in networks] == ["172.31.0.0/16"]


def test_discovery_ignition_ipxe_and_iso_url_are_served(aicli):
    aicli("download", "discovery-ignition", NAME)
    ignition = json.loads((aicli.home / f"discovery.ign.{NAME}").read_text())
    assert ignition["ignition"]["version"].startswith("3.")
    aicli("download", "ipxe-script", NAME)
    assert (aicli.home / f"ipxe-script.{NAME}").read_text().startswith("#!ipxe")
    assert re.search(r"https?://\S+minimal\.iso", aicli("info", "iso", NAME))


def test_installconfig_can_be_read_and_overridden(aicli, api, ids):
    aicli("update", "installconfig", NAME, "-P", "installconfig={'fips': True}")
    cluster = api.cluster(ids("clusters", NAME))
    assert json.loads(cluster["install_config_overrides"]) == {"fips": True}
    assert '"fips":true' in aicli("download", "installconfig", NAME, "-s").replace(" ", "").lower()


def test_kubeconfig_of_a_cluster_that_is_not_installed_is_an_understandable_error(aicli):
    assert "409" in aicli("download", "kubeconfig", NAME, ok=False)


def test_manifests_go_up_are_listed_come_down_and_go_away(aicli):
    folder = aicli.home / "manifests"
    folder.mkdir()
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hello\n"
    (folder / "50-hello.yaml").write_text(text)
    aicli("create", "manifests", "--dir", str(folder), NAME)
    assert "50-hello.yaml" in aicli("list", "manifest", NAME)
    down = aicli.home / "down"
    down.mkdir()
    aicli("download", "manifests", "--path", str(down), NAME)
    assert (down / "50-hello.yaml").read_text() == text
    aicli("delete", "manifests", "-y", NAME, "50-hello.yaml")
    assert "50-hello.yaml" not in aicli("list", "manifest", NAME)


def test_hosts_appear_can_be_renamed_and_given_a_role(aicli, api, ids):
    infra_env_id = ids("infra-envs", f"{NAME}_infra-env")
    machines = [Machine(api, infra_env_id, index, f"blade-{index}") for index in range(3)]
    for machine in machines:
        machine.register()
        machine.send_inventory()
    table = aicli("list", "host")
    assert all(machine.name in table and machine.ip in table for machine in machines)
    aicli("update", "host", "blade-0", "-P", "name=ctl-0", "-P", "role=master", "-P", "labels=[zone=a]")
    host = machines[0].state()
    assert (host["requested_hostname"], host["role"]) == ("ctl-0", "master")
    assert json.loads(host["node_labels"]) == {"zone": "a"}
    aicli("update", "host", "ctl-0", "-P", "extra_args=--append-karg=rd.debug")
    assert json.loads(machines[0].state()["installer_args"]) == ["--append-karg", "rd.debug"]
    assert "ip: 192.168.126.11" in aicli("info", "host", "blade-1")


def test_vips_can_be_set_once_hosts_are_known(aicli, api, ids):
    aicli(
        "update", "cluster", NAME, "-P", f"api_ip={API_VIP}", "-P", f"ingress_ip={INGRESS_VIP}",
        "-P", "infraenv=false",
    )  # fmt: skip
    cluster = api.cluster(ids("clusters", NAME))
    assert [vip["ip"] for vip in cluster["api_vips"]] == [API_VIP]
    assert [network["cidr"] for network in cluster["machine_networks"]] == ["192.168.126.0/24"]


def test_validations_and_events_are_readable(aicli):
    assert "sufficient-masters-count" in aicli("info", "validation", NAME, "--all")
    assert "blade" in aicli("list", "event", NAME)


def test_export_gives_parameters_back(aicli):
    assert "base_dns_domain: example.com" in aicli("export", "cluster", NAME)


def test_fake_hosts_of_aicli_register(aicli, api, ids):
    before = len(api.get(f"/v2/infra-envs/{ids('infra-envs', NAME + '_infra-env')}/hosts").json())
    aicli("create", "fakehosts", "-c", "2", "-P", f"pull_secret={aicli.pull_secret}", NAME)
    after = api.get(f"/v2/infra-envs/{ids('infra-envs', NAME + '_infra-env')}/hosts").json()
    assert len(after) == before + 2


def test_pool_hosts_are_bound_and_unbound(aicli, api, ids):
    aicli("create", "infraenv", "pool", "-P", f"pull_secret={aicli.pull_secret}", "-P", "openshift_version=4.20")
    machine = Machine(api, ids("infra-envs", "pool"), 40, "spare")
    machine.register()
    machine.send_inventory()
    assert machine.state()["status"] == "known-unbound"
    aicli("bind", "host", "spare", NAME)
    assert machine.state()["status"] == "binding"
    machine.work()
    machine.work()
    assert machine.state()["cluster_id"] == ids("clusters", NAME)
    aicli("unbind", "host", "spare")
    assert "cluster_id" not in machine.state()
    machine.work()
    machine.work()
    aicli("delete", "host", "-y", "spare")
    aicli("delete", "infraenv", "-y", "pool")
    assert "pool" not in [item["name"] for item in api.get("/v2/infra-envs").json()]


def test_day2_cluster_of_an_unknown_base_is_imported(aicli, api, ids):
    aicli(
        "create", "cluster", "old-day2", "-P", f"pull_secret={aicli.pull_secret}", "-P", "domain=example.com",
        "-P", "openshift_version=4.20", "-P", "infraenv=false", "-P", "api_vip_dnsname=192.168.126.7",
    )  # fmt: skip
    cluster = api.cluster(ids("clusters", "old-day2"))
    assert (cluster["kind"], cluster["status"]) == ("AddHostsCluster", "adding-hosts")
    assert cluster["api_vip_dns_name"] == "192.168.126.7"
    aicli("delete", "cluster", "-y", "old-day2")


def test_delete_removes_cluster_infraenv_and_hosts(aicli, api):
    aicli("delete", "cluster", "-y", NAME)
    assert NAME not in [cluster["name"] for cluster in api.get("/v2/clusters").json()]
    assert f"{NAME}_infra-env" not in [item["name"] for item in api.get("/v2/infra-envs").json()]


def test_unknown_names_are_reported_not_crashed_on(aicli):
    assert "not found" in aicli("info", "cluster", "nosuch", ok=False)
    assert os.listdir(aicli.home), "the home of the test must survive"
