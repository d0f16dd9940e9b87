"""Exact key sets, values and codes of clusters that existing clients have come to rely on."""

import json
import re

from muster import (
    BASE_PATH,
    NOWHERE,
    VERSION,
    ZERO_GO_TIME,
    ZERO_TIME,
    api_error,
    eventually,
)

UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
MILLISECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
FRESH_CLUSTER = set(
    """api_vips cluster_networks control_plane_count controller_logs_collected_at controller_logs_started_at
    cpu_architecture created_at deleted_at disk_encryption email_domain feature_usage high_availability_mode
    host_networks hosts href hyperthreading id ignition_endpoint image_info ingress_vips install_completed_at
    install_started_at kind last-installation-preparation load_balancer machine_networks monitored_operators
    name network_type ocp_release_image openshift_version operator_bundles org_soft_timeouts_enabled platform
    progress pull_secret_set schedulable_masters schedulable_masters_forced_true service_networks status
    status_info status_updated_at updated_at user_managed_networking user_name vip_dhcp_allocation""".split()
)
LATER_CLUSTER = {"validations_info", "connectivity_majority_groups", "ip_collisions"}


def test_a_fresh_cluster_has_exactly_these_members(cluster):
    assert set(cluster) == FRESH_CLUSTER


def test_a_fresh_cluster_has_these_values(cluster):
    assert UUID4.fullmatch(cluster["id"])
    wanted = {
        "kind": "Cluster",
        "href": f"{BASE_PATH}/v2/clusters/{cluster['id']}",
        "status": "insufficient",
        "control_plane_count": 3,
        "high_availability_mode": "Full",
        "cpu_architecture": "x86_64",
        "network_type": "OVNKubernetes",
        "hyperthreading": "all",
        "deleted_at": None,
        "user_name": "admin",
        "email_domain": "Unknown",
        "hosts": [],
        "host_networks": [],
        "api_vips": [],
        "ingress_vips": [],
        "machine_networks": [],
        "operator_bundles": [],
        "ignition_endpoint": {},
        "last-installation-preparation": {},
        "pull_secret_set": True,
        "org_soft_timeouts_enabled": True,
        "schedulable_masters": False,
        "schedulable_masters_forced_true": True,
        "user_managed_networking": False,
        "vip_dhcp_allocation": False,
        "load_balancer": {"type": "cluster-managed"},
        "disk_encryption": {"enable_on": "none", "mode": "tpmv2"},
        "platform": {"type": "baremetal", "external": {}},
        "image_info": {"created_at": ZERO_GO_TIME, "expires_at": ZERO_TIME},
        "progress": {"finalizing_stage_started_at": ZERO_TIME},
        "install_started_at": ZERO_TIME,
        "install_completed_at": ZERO_TIME,
        "controller_logs_started_at": ZERO_TIME,
        "controller_logs_collected_at": ZERO_TIME,
    }
    assert {key: cluster[key] for key in wanted} == wanted
    own = {"cluster_id": cluster["id"]}
    assert cluster["cluster_networks"] == [{"cidr": "10.128.0.0/14", "host_prefix": 23, **own}]
    assert cluster["service_networks"] == [{"cidr": "172.30.0.0/16", **own}]
    assert re.fullmatch(rf"{VERSION}\.\d+", cluster["openshift_version"])
    assert MILLISECONDS.fullmatch(cluster["status_updated_at"])
    usage = json.loads(cluster["feature_usage"])
    assert {entry["id"] for entry in usage.values()} >= {"HYPERTHREADING", "OVN_NETWORK_TYPE"}


def test_the_builtin_operator_is_monitored_from_the_start(cluster):
    (console,) = cluster["monitored_operators"]
    assert set(console) == {
        "bundles", "cluster_id", "name", "operator_type", "source_bundles", "status_updated_at", "timeout_seconds",
    }  # fmt: skip
    assert (console["name"], console["operator_type"], console["timeout_seconds"]) == ("console", "builtin", 3600)
    assert console["bundles"] is None and console["status_updated_at"] == ZERO_TIME


def test_validations_appear_soon_and_move_the_status(api, cluster):
    later = eventually(
        lambda: (found := api.cluster(cluster["id"])).get("validations_info") and found, "validations", 20
    )
    assert set(later) == FRESH_CLUSTER | LATER_CLUSTER
    assert later["status"] == "pending-for-input"
    report = json.loads(later["validations_info"])
    assert set(report) <= {"configuration", "hosts-data", "network", "operators"}
    for checks in report.values():
        for check in checks:
            assert list(check) == ["id", "status", "message"]
        assert [check["id"] for check in checks] == sorted(check["id"] for check in checks)
    assert json.loads(later["connectivity_majority_groups"]) == {
        "majority_groups": {"IPv4": [], "IPv6": []}, "l3_connected_addresses": {},
    }  # fmt: skip
    assert later["ip_collisions"] == "{}"


def test_a_patch_answers_201_with_fresh_validations(api, cluster):
    answer = api.patch(f"/v2/clusters/{cluster['id']}", {"base_dns_domain": "example.com"})
    body = answer.json()
    assert body["base_dns_domain"] == "example.com"
    checks = [check for group in json.loads(body["validations_info"]).values() for check in group]
    assert {"id": "dns-domain-defined", "status": "success"} in [
        {"id": check["id"], "status": check["status"]} for check in checks
    ]


def test_a_null_patch_is_an_empty_patch(api, cluster):
    api.call("PATCH", f"/v2/clusters/{cluster['id']}", 201, data=b"null", headers={"Content-Type": "application/json"})


def test_member_names_match_in_any_case_and_text_after_the_body_is_ignored(api, cluster):
    body = b'{"TAGS":"lab"} and then some'
    path = f"/v2/clusters/{cluster['id']}"
    answer = api.call("PATCH", path, 201, data=body, headers={"Content-Type": "application/json"})
    assert answer.json()["tags"] == "lab"


def test_the_list_shows_clusters_without_hosts_and_with_nulls(api, cluster):
    listed = next(item for item in api.get("/v2/clusters").json() if item["id"] == cluster["id"])
    assert listed["hosts"] == [] and listed["host_networks"] is None and listed["operator_bundles"] is None
    assert listed["image_info"]["created_at"] == listed["created_at"]
    assert set(listed) - LATER_CLUSTER == FRESH_CLUSTER


def test_exclude_hosts_gives_null(api, cluster):
    found = api.get(f"/v2/clusters/{cluster['id']}", params={"exclude-hosts": "true"}).json()
    assert found["hosts"] is None and found["host_networks"] == []


def test_a_deleted_cluster_is_seen_only_with_the_header(api, cluster):
    api.delete(f"/v2/clusters/{cluster['id']}")
    api_error(api.call("GET", f"/v2/clusters/{cluster['id']}"), 404)
    header = {"get_unregistered_clusters": "true"}
    found = api.get(f"/v2/clusters/{cluster['id']}", headers=header).json()
    assert found["deleted_at"] is not None
    assert cluster["id"] in [item["id"] for item in api.get("/v2/clusters", headers=header).json()]
    assert cluster["id"] not in [item["id"] for item in api.get("/v2/clusters").json()]


def test_single_node_clusters_get_platform_none(api):
    made = api.new_cluster("alone", high_availability_mode="None")
    assert made["platform"]["type"] == "none" and made["user_managed_networking"] is True
    assert made["control_plane_count"] == 1
    api.delete(f"/v2/clusters/{made['id']}")


def test_networks_are_masked_at_create_and_refused_at_update(api):
    made = api.new_cluster("masked", cluster_networks=[{"cidr": "10.0.0.1/14", "host_prefix": 23}])
    assert made["cluster_networks"][0]["cidr"] == "10.0.0.0/14"
    body = {"cluster_networks": [{"cidr": "10.0.0.1/14", "host_prefix": 23}]}
    api_error(api.call("PATCH", f"/v2/clusters/{made['id']}", json=body), 400)
    api.delete(f"/v2/clusters/{made['id']}")


def test_emptying_and_filling_members(api, cluster):
    path = f"/v2/clusters/{cluster['id']}"
    filled = api.patch(path, {"additional_ntp_source": "a.example.com,10.0.0.1", "tags": "a,b c"}).json()
    assert filled["additional_ntp_source"] == "a.example.com,10.0.0.1" and filled["tags"] == "a,b c"
    emptied = api.patch(path, {"additional_ntp_source": "", "tags": "", "pull_secret": ""}).json()
    assert not {"additional_ntp_source", "tags", "pull_secret_set"} & set(emptied)


def test_an_empty_operator_list_replaces_and_an_alias_is_resolved(api, cluster):
    path = f"/v2/clusters/{cluster['id']}"
    names = lambda found: {operator["name"] for operator in found["monitored_operators"]}  # noqa: E731
    with_odf = api.patch(path, {"olm_operators": [{"name": "ocs"}, {"name": "odf"}]}).json()
    assert {"console", "odf"} <= names(with_odf) and "ocs" not in names(with_odf)
    odf = next(operator for operator in with_odf["monitored_operators"] if operator["name"] == "odf")
    assert odf["operator_type"] == "olm" and odf["namespace"] and odf["subscription_name"]
    assert names(api.patch(path, {"tags": "x"}).json()) == names(with_odf)
    assert names(api.patch(path, {"olm_operators": []}).json()) == {"console"}


def test_a_bundle_expands_and_is_shown(api):
    made = api.new_cluster("bundled", operator_bundles=[{"id": "virtualization"}])
    assert [bundle["id"] for bundle in made["operator_bundles"]] == ["virtualization"]
    cnv = next(operator for operator in made["monitored_operators"] if operator["name"] == "cnv")
    assert cnv["source_bundles"] == ["virtualization"]
    api.delete(f"/v2/clusters/{made['id']}")


def test_an_imported_cluster_answers_with_nulls(api):
    body = {"name": "given", "api_vip_dnsname": "api.real.example.com", "openshift_cluster_id": NOWHERE}
    made = api.post("/v2/clusters/import", body).json()
    assert made["name"] == "real" and made["base_dns_domain"] == "example.com"
    assert made["kind"] == "AddHostsCluster" and made["status"] == "adding-hosts" and made["imported"] is True
    for key in ("api_vips", "ingress_vips", "cluster_networks", "service_networks", "machine_networks",
                "monitored_operators", "operator_bundles"):  # fmt: skip
        assert made[key] is None, key
    gone = "cpu_architecture control_plane_count high_availability_mode network_type feature_usage hyperthreading"
    assert not set(gone.split()) & set(made)
    api.delete(f"/v2/clusters/{made['id']}")


def test_a_disconnected_cluster_cannot_be_changed(api):
    made = api.post("/v2/clusters/disconnected", {"name": "far", "openshift_version": "whatever"}).json()
    assert made["kind"] == "DisconnectedCluster" and made["status"] == "unmonitored"
    assert made["hosts"] is None and "platform" not in made
    api_error(api.call("PATCH", f"/v2/clusters/{made['id']}", json={}), 409)
    api.delete(f"/v2/clusters/{made['id']}")


def test_settings_are_json_texts(api, cluster):
    path = f"/v2/clusters/{cluster['id']}"
    assert api.get(f"{path}/ui-settings").json() == ""
    assert api.put(f"{path}/ui-settings", "anything").json() == "anything"
    config = api.get(f"{path}/install-config").json()
    assert isinstance(config, str) and json.loads(config)["metadata"]["name"] == "fresh"
    assert api.patch(f"{path}/install-config", '{"fips":true}').content == b""
    assert api.cluster(cluster["id"])["install_config_overrides"] == '{"fips":true}'
    api.patch(f"{path}/install-config", "")
    assert "install_config_overrides" not in api.cluster(cluster["id"])


def test_ignored_validations_are_replaced_as_a_whole_and_kept_as_sent(api, cluster):
    path = f"/v2/clusters/{cluster['id']}/ignored-validations"
    assert api.get(path).json() == {}
    api.put(path, {"host-validation-ids": '["ALL"]'}, expect=201)
    assert api.get(path).json() == {"host-validation-ids": '["ALL"]'}
    api.put(path, {"cluster-validation-ids": '["ntp-server-configured"]'}, expect=201)
    assert api.get(path).json() == {"cluster-validation-ids": '["ntp-server-configured"]'}
