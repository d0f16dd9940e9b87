"""The catalogue and the wire itself: newlines, compression, slashes, error texts."""

import uuid

from machines import Fleet, Machine
from muster import (
    NOWHERE,
    VERSION,
    api_error,
    infra_error,
)


def test_default_config_has_these_members(api):
    config = api.get("/v2/clusters/default-config").json()
    assert set(config) == {
        "cluster_network_cidr", "cluster_network_host_prefix", "cluster_networks_dualstack",
        "cluster_networks_ipv4", "forbidden_hostnames", "inactive_deletion_hours", "ntp_source",
        "service_network_cidr", "service_networks_dualstack", "service_networks_ipv4",
    }  # fmt: skip
    assert config["inactive_deletion_hours"] == 480 and len(config["forbidden_hostnames"]) == 6


def test_versions_are_listed_filtered_and_marked(api):
    everything = api.get("/v2/openshift-versions").json()
    entry = next(value for name, value in everything.items() if name.startswith(f"{VERSION}.") and "multi" not in name)
    assert {"display_name", "support_level", "cpu_architectures"} <= set(entry)
    assert all("default" not in value or value["default"] is True for value in everything.values())
    some = api.get("/v2/openshift-versions", params={"version": "4.16"}).json()
    assert some and all("4.16" in name for name in some)
    assert api.get("/v2/openshift-versions", params={"version": "nosuch"}).json() == {}


def test_unknown_operators_are_404_with_an_empty_body(api):
    for name in ("nosuch", "console", "ocs"):
        assert api.get(f"/v2/supported-operators/{name}", 404).content == b""


def test_support_levels_have_the_known_number_of_entries(api):
    query = {"openshift_version": VERSION, "cpu_architecture": "x86_64"}
    without = api.get("/v2/support-levels/features", params=query).json()["features"]
    with_platform = api.get("/v2/support-levels/features", params={**query, "platform_type": "baremetal"}).json()
    assert (len(without), len(with_platform["features"])) == (55, 50)
    detailed = api.get("/v2/support-levels/features/detailed", params=query).json()
    assert (len(detailed["features"]), len(detailed["operators"])) == (27, 28)
    assert all("feature-support-level-id" in item for item in detailed["features"])


def test_answers_of_handlers_end_with_a_newline_and_vary_by_encoding(api, cluster):
    answer = api.get(f"/v2/clusters/{cluster['id']}")
    assert answer.content.endswith(b"\n") and answer.headers["Vary"] == "Accept-Encoding"
    refusal = api.call("GET", f"/v2/clusters/{NOWHERE}")
    assert refusal.content.endswith(b"\n") and refusal.headers["Vary"] == "Accept-Encoding"
    assert not api.call("GET", "/v2/nosuch").content.endswith(b"\n")


def test_large_answers_are_compressed_only_for_those_who_ask(api, cluster):
    path = f"/v2/clusters/{cluster['id']}"
    assert api.get(path, headers={"Accept-Encoding": "gzip"}).headers.get("Content-Encoding") == "gzip"
    assert "Content-Encoding" not in api.get(path, headers={"Accept-Encoding": "identity"}).headers
    assert "Content-Encoding" not in api.get("/v2/domains", headers={"Accept-Encoding": "gzip"}).headers


def test_slashes_are_forgiven(api, cluster):
    for path in ("/v2/clusters/", "//api/assisted-install//v2/clusters", f"/v2/clusters/{cluster['id']}/"):
        api.get(path)


def test_health_and_ready_answer_empty(api):
    for path in ("//health", "//ready"):
        assert api.get(path).content == b""
    infra_error(api.call("POST", "//health"), 404)
    infra_error(api.call("GET", "//health/"), 404)


def test_metrics_use_the_names_of_the_reference(api, cluster):
    answer = api.get("//metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    for name in ("service_assisted_installer_cluster_creations", "http_request_duration_seconds_bucket"):
        assert name in answer.text, name


def test_no_body_no_content_type(api, infra_env):
    answer = api.call("DELETE", f"/v2/infra-envs/{infra_env['id']}")
    assert answer.status_code == 204 and answer.content == b"" and "Content-Type" not in answer.headers


def test_unknown_fields_are_named_in_the_message(api):
    message = infra_error(api.call("POST", "/v2/clusters", json={"colour": "red"}), 400)
    assert message == ('parsing newClusterParams body from "" failed, because json: unknown field "colour"')


def test_only_the_first_violation_in_alphabetical_order_is_reported(api):
    body = {"pull_secret": "{}", "openshift_version": VERSION, "hyperthreading": "some", "name": ""}
    message = infra_error(api.call("POST", "/v2/clusters", json=body), 400)
    assert message.startswith("hyperthreading in body should be one of ["), message


def test_roles_in_the_wrong_state_are_409_not_500(api):
    fleet = Fleet.compact(api, "locked")
    try:
        fleet.drive_until("ready")
        api.post(f"{fleet.path}/actions/install", expect=202)
        fleet.drive_until("installing")
        for body in ({"host_role": "worker"}, {"node_labels": [{"key": "a", "value": "b"}]}, {"host_name": "other"}):
            api_error(api.call("PATCH", fleet.machines[0].path, json=body), 409)
    finally:
        fleet.disband()


def test_one_host_id_may_live_in_two_infra_envs(api, infra_env):
    """The same machine booted from two infra-envs is two hosts."""
    other = api.new_infra_env("twin-env")
    host_id = str(uuid.uuid4())
    for place in (infra_env["id"], other["id"]):
        Machine(api, place, host_id=host_id).register()
        assert api.host(place, host_id)["infra_env_id"] == place
    api.delete(f"/v2/infra-envs/{other['id']}/hosts/{host_id}")
    api.host(infra_env["id"], host_id)
    api.delete(f"/v2/infra-envs/{other['id']}")
