"""The generated Python client calls every operation of the contract, in the course of real stories.

The stories run in order on one server. The last test compares what was called with the
contract, so an operation that no story uses fails the suite.
"""

import base64
import io
import json
import tarfile

import pytest
from assisted_service_client import models

from contract import operations
from generated_client import Client
from machines import MASTER_STAGES, Fleet, Machine, ingress_certificate
from muster import NOWHERE, SECRET_WORD, VERSION, eventually, pull_secret


@pytest.fixture(scope="module")
def client(shared):
    return Client(shared.url)


@pytest.fixture(scope="module")
def fleet(api):
    fleet = Fleet.compact(api, "story")
    yield fleet
    fleet.disband()


def raw(client, operation, *args, **kwargs):
    """The bytes of a download, and its headers."""
    response = getattr(client, operation)(*args, _preload_content=False, **kwargs)
    return response.data, response.headers


def test_the_catalogue_can_be_read(client):
    versions = client.v2_list_supported_openshift_versions(only_latest=True)
    assert any(name.startswith(f"{VERSION}.") for name in versions)
    assert "assisted-installer-service" in client.v2_list_component_versions().versions
    assert client.v2_list_release_sources() == []
    operators = client.v2_list_supported_operators()
    assert len(operators) == 28 and {"odf", "lvm", "cnv", "mce"} <= set(operators)
    assert client.v2_list_operator_properties("odf") == []
    assert client.v2_list_managed_domains() == []
    assert client.v2_get_cluster_default_config().cluster_network_cidr == "10.128.0.0/14"


def test_bundles_and_support_levels_can_be_read(client):
    bundles = client.v2_list_bundles(openshift_version=VERSION, cpu_architecture="x86_64")
    assert {bundle.id for bundle in bundles} == {"virtualization", "openshift-ai"}
    assert "cnv" in client.v2_get_bundle("virtualization").operators
    assert client.get_supported_architectures(VERSION).architectures["X86_64_ARCHITECTURE"] == "supported"
    assert "SNO" in client.get_supported_features(VERSION, cpu_architecture="x86_64").features
    detailed = client.get_detailed_supported_features(VERSION, cpu_architecture="x86_64")
    assert len(detailed.operators) == 28


def test_a_cluster_and_an_infra_env_are_made_changed_and_deleted(client):
    params = models.ClusterCreateParams(
        name="brief", openshift_version=VERSION, pull_secret=pull_secret(), base_dns_domain="example.com"
    )
    cluster = client.v2_register_cluster(params)
    assert cluster.status == "insufficient"
    assert client.v2_get_cluster(cluster.id).name == "brief"
    assert cluster.id in [item["id"] for item in client.v2_list_clusters()]
    changed = client.v2_update_cluster(cluster.id, models.V2ClusterUpdateParams(base_dns_domain="example.org"))
    assert changed.base_dns_domain == "example.org"

    params = models.InfraEnvCreateParams(name="brief-env", pull_secret=pull_secret(), cluster_id=cluster.id)
    infra_env = client.register_infra_env(params)
    assert infra_env.cluster_id == cluster.id
    assert client.get_infra_env(infra_env.id).name == "brief-env"
    assert [item["id"] for item in client.list_infra_envs(cluster_id=cluster.id)] == [infra_env.id]
    proxy = models.Proxy(http_proxy="http://proxy.example.com:3128")
    changed = client.update_infra_env(infra_env.id, models.InfraEnvUpdateParams(proxy=proxy))
    assert changed.proxy.http_proxy == "http://proxy.example.com:3128"

    client.deregister_infra_env(infra_env.id)
    client.refused(404, "get_infra_env", infra_env.id)
    client.v2_deregister_cluster(cluster.id)
    client.refused(404, "v2_get_cluster", cluster.id)


def test_the_files_of_an_infra_env_can_be_fetched(client, fleet):
    infra_env_id = fleet.infra_env_id
    url = client.get_infra_env_download_url(infra_env_id)
    assert f"/byid/{infra_env_id}/" in url.url
    ignition, headers = raw(client, "v2_download_infra_env_files", infra_env_id, "discovery.ign")
    assert json.loads(ignition)["ignition"]["version"].startswith("3.")
    assert 'filename="discovery.ign"' in headers["Content-Disposition"]
    presigned = client.get_infra_env_presigned_file_url(infra_env_id, "discovery.ign")
    assert f"/v2/infra-envs/{infra_env_id}/downloads/files" in presigned.url
    client.download_minimal_initrd(infra_env_id, _preload_content=False)
    assert client.last.status == 204, "no static network and no proxy: nothing to add"
    client.regenerate_infra_env_signing_key(infra_env_id)
    assert client.last.status == 204


def test_hosts_can_be_read_named_and_prepared(client, fleet):
    machine = fleet.machines[0]
    infra_env_id, host_id = fleet.infra_env_id, machine.id
    assert {host["id"] for host in client.v2_list_hosts(infra_env_id)} == {m.id for m in fleet.machines}
    assert {host["id"] for host in client.list_cluster_hosts(fleet.cluster_id)} == {m.id for m in fleet.machines}
    assert client.v2_get_host(infra_env_id, host_id).requested_hostname == machine.name
    update = models.HostUpdateParams(host_name="first.example.com", host_role="master")
    assert client.v2_update_host(infra_env_id, host_id, update).requested_hostname == "first.example.com"
    args = models.InstallerArgsParams(args=["--append-karg", "rd.debug"])
    host = client.v2_update_host_installer_args(infra_env_id, host_id, args)
    assert json.loads(host.installer_args) == ["--append-karg", "rd.debug"]
    override = models.HostIgnitionParams(config=json.dumps({"ignition": {"version": "3.1.0"}}))
    client.v2_update_host_ignition(infra_env_id, host_id, override)
    assert client.last.status == 201
    client.v2_update_host_logs_progress(infra_env_id, host_id, models.LogsProgressParams(logs_state="requested"))
    assert client.last.status == 204
    client.v2_reset_host_validation(infra_env_id, host_id, "container-images-available", _preload_content=False)
    assert client.last.status == 200


def test_a_host_registers_polls_replies_and_is_deleted(client, fleet):
    guest = Machine(fleet.api, fleet.infra_env_id, 30, "guest")
    params = models.HostCreateParams(host_id=guest.id, discovery_agent_version=guest.agent)
    client.v2_register_host(fleet.infra_env_id, params)
    assert json.loads(client.last.data)["id"] == guest.id
    steps = client.v2_get_next_steps(fleet.infra_env_id, guest.id)
    assert [step.step_type for step in steps.instructions] == ["inventory"]
    reply = models.StepReply(step_type="inventory", step_id="inventory-1", output=json.dumps(guest.inventory))
    client.v2_post_step_reply(fleet.infra_env_id, guest.id, reply=reply)
    assert client.last.status == 204
    assert json.loads(client.v2_get_host(fleet.infra_env_id, guest.id).inventory)["hostname"] == "guest"
    client.v2_deregister_host(fleet.infra_env_id, guest.id)
    client.refused(404, "v2_get_host", fleet.infra_env_id, guest.id)


def test_a_pool_host_is_bound_and_unbound(client, api):
    cluster = api.new_cluster("late")
    pool = api.new_infra_env("pool")
    machine = Machine(api, pool["id"], 31, "pooled")
    machine.register()
    machine.send_inventory()
    machine.wait_for("known-unbound")
    client.refused(400, "bind_host", pool["id"], machine.id, models.BindHostParams(cluster_id=NOWHERE))
    bound = client.bind_host(pool["id"], machine.id, models.BindHostParams(cluster_id=cluster["id"]))
    assert (bound.status, bound.cluster_id) == ("binding", cluster["id"])
    assert machine.poll() == {"instructions": None, "post_step_action": "exit"}
    machine.register()
    assert machine.state()["status"] == "discovering"
    unbound = client.unbind_host(pool["id"], machine.id)
    assert (unbound.status, unbound.cluster_id) == ("unbinding", None)
    api.delete(machine.path)
    api.delete(f"/v2/infra-envs/{pool['id']}")
    api.delete(f"/v2/clusters/{cluster['id']}")


def test_manifests_are_kept_with_their_exact_bytes(client, fleet):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\n"
    content = base64.b64encode(text.encode()).decode()
    params = models.CreateManifestParams(file_name="note.yaml", content=content)
    created = client.v2_create_cluster_manifest(fleet.cluster_id, params)
    assert (created.folder, created.file_name, created.manifest_source) == ("manifests", "note.yaml", "user")
    params = models.UpdateManifestParams(
        folder="manifests", file_name="note.yaml", updated_folder="openshift", updated_file_name="memo.yaml"
    )
    client.v2_update_cluster_manifest(fleet.cluster_id, params)
    listed = client.v2_list_cluster_manifests(fleet.cluster_id)
    assert [(item["folder"], item["file_name"]) for item in listed] == [("openshift", "memo.yaml")]
    data, _ = raw(client, "v2_download_cluster_manifest", fleet.cluster_id, "memo.yaml", folder="openshift")
    assert data.decode() == text
    client.v2_delete_cluster_manifest(fleet.cluster_id, "memo.yaml", folder="openshift")
    assert client.v2_list_cluster_manifests(fleet.cluster_id) == []


def test_settings_of_a_cluster_are_kept(client, fleet):
    client.v2_update_cluster_install_config(fleet.cluster_id, json.dumps({"fips": True}))
    config = json.loads(client.v2_get_cluster_install_config(fleet.cluster_id))
    assert config["fips"] is True and config["metadata"]["name"] == "story"
    client.v2_update_cluster_install_config(fleet.cluster_id, "")
    assert client.v2_update_cluster_ui_settings(fleet.cluster_id, '{"step":3}') == '{"step":3}'
    assert client.v2_get_cluster_ui_settings(fleet.cluster_id) == '{"step":3}'
    ignored = models.IgnoredValidations(host_validation_ids=json.dumps(["ntp-synced"]))
    client.v2_set_ignored_validations(fleet.cluster_id, ignored)
    stored = client.v2_get_ignored_validations(fleet.cluster_id)
    assert json.loads(stored.host_validation_ids) == ["ntp-synced"]
    assert client.v2_get_preflight_requirements(fleet.cluster_id).ocp.master.quantitative.cpu_cores == 4
    assert "baremetal" in client.get_cluster_supported_platforms(fleet.cluster_id)


def test_events_are_written_and_found_again(client, fleet):
    event = models.Event(
        name="custom", cluster_id=fleet.cluster_id, severity="info", category="user",
        message="a word from outside", event_time="2026-01-01T00:00:00.000Z",
    )  # fmt: skip
    client.v2_trigger_event(event)
    assert client.last.status == 201
    found = client.v2_list_events(cluster_id=fleet.cluster_id, message="WORD from")
    assert [item["message"] for item in found] == ["a word from outside"]


def test_an_installation_can_be_cancelled_and_reset(client, api):
    fleet = Fleet.compact(api, "undone")
    fleet.drive_until("ready")
    cluster = client.v2_install_cluster(fleet.cluster_id)
    assert cluster.status == "preparing-for-installation"
    fleet.drive_until("installing")
    client.refused(409, "v2_deregister_cluster", fleet.cluster_id)
    assert client.v2_cancel_installation(fleet.cluster_id).status == "cancelled"
    assert client.v2_reset_cluster(fleet.cluster_id).status == "insufficient"
    assert {machine.state()["status"] for machine in fleet.machines} == {"resetting-pending-user-action"}
    for machine in fleet.machines:
        machine.register()
    fleet.drive_until("ready")
    fleet.disband()


def test_a_cluster_installs_from_ready_to_installed(client, fleet):
    fleet.drive_until("ready")
    client.refused(409, "v2_get_credentials", fleet.cluster_id)
    client.v2_install_cluster(fleet.cluster_id)
    fleet.drive_until("installing")
    for machine in fleet.machines:
        machine.wait_for("installing")
        machine.work()
    others = [machine for machine in fleet.machines if not machine.state().get("bootstrap")]
    assert len(others) == 2, "exactly one machine leads the installation"
    first = others[0]
    progress = models.HostProgress(current_stage="Starting installation", progress_info="")
    client.v2_update_host_install_progress(fleet.infra_env_id, first.id, progress)
    assert first.state()["status"] == "installing-in-progress"
    assert first.state()["progress"]["installation_percentage"] == 12
    ignition, headers = raw(client, "v2_download_host_ignition", fleet.infra_env_id, first.id)
    assert json.loads(ignition)["ignition"]["version"].startswith("3.")
    assert f'filename="master-{first.id}.ign"' in headers["Content-Disposition"]
    assert json.loads(client.v2_get_host_ignition(fleet.infra_env_id, first.id).config)["ignition"]
    for machine in [*others, *[m for m in fleet.machines if m not in others]]:
        for stage in MASTER_STAGES:
            machine.progress(stage)
    eventually(lambda: fleet.state()["status"] == "finalizing", "cluster finalizing")


def test_finalizing_ends_in_installed_with_credentials(client, fleet):
    if fleet.state()["status"] != "finalizing":
        pytest.fail("the installation before did not get this far")
    stage = models.ClusterFinalizingProgress(finalizing_stage="Waiting for cluster operators")
    client.v2_update_cluster_finalizing_progress(fleet.cluster_id, stage)
    client.v2_upload_cluster_ingress_cert(fleet.cluster_id, ingress_certificate())
    assert client.last.status == 201
    operators = client.v2_list_of_cluster_operators(fleet.cluster_id)
    assert "console" in [operator["name"] for operator in operators]
    for operator in operators:
        report = models.OperatorMonitorReport(name=operator["name"], status="available", status_info="fine")
        client.v2_report_monitored_operator_status(fleet.cluster_id, report)
    eventually(lambda: fleet.state()["status"] == "installed", "cluster installed")
    completion = models.CompletionParams(is_success=True)
    assert client.v2_complete_installation(fleet.cluster_id, completion).status == "installed"

    credentials = client.v2_get_credentials(fleet.cluster_id)
    assert credentials.username == "kubeadmin" and credentials.password
    assert credentials.console_url == "https://console-openshift-console.apps.story.example.com"
    kubeconfig, headers = raw(client, "v2_download_cluster_credentials", fleet.cluster_id, "kubeconfig")
    assert b"clusters" in kubeconfig and 'filename="kubeconfig"' in headers["Content-Disposition"]
    for name in ["bootstrap.ign", "master.ign", "worker.ign", "metadata.json", "install-config.yaml"]:
        data, _ = raw(client, "v2_download_cluster_files", fleet.cluster_id, name)
        assert data, name


def test_presigned_links_need_a_real_s3_or_are_usable(client, api, fleet):
    for operation, name in [
        ("v2_get_presigned_for_cluster_credentials", "kubeconfig"),
        ("v2_get_presigned_for_cluster_files", "metadata.json"),
    ]:
        try:
            link = getattr(client, operation)(fleet.cluster_id, name)
        except Exception as refusal:
            assert getattr(refusal, "status", None) == 400, refusal
        else:
            assert api.session.get(link.url, timeout=10).status_code == 200


def test_logs_go_up_and_come_down(client, fleet, tmp_path):
    archive = tmp_path / "logs.tar.gz"
    archive.write_bytes(b"\x1f\x8b not really, but the bytes must survive")
    machine = fleet.machines[0]
    client.v2_update_cluster_logs_progress(fleet.cluster_id, models.LogsProgressParams(logs_state="requested"))
    client.v2_upload_logs(fleet.cluster_id, "host", upfile=str(archive), host_id=machine.id)
    client.v2_upload_logs(fleet.cluster_id, "controller", upfile=str(archive))
    assert client.last.status == 204
    data, _ = raw(client, "v2_download_cluster_logs", fleet.cluster_id, logs_type="controller")
    assert data == archive.read_bytes()
    data, headers = raw(client, "v2_download_cluster_logs", fleet.cluster_id)
    assert headers["Content-Disposition"].endswith('.tar"')
    with tarfile.open(fileobj=io.BytesIO(data)) as bundle:
        names = bundle.getnames()
        assert {"cluster_metadata.json", "cluster_events.json"} <= set(names), names
        metadata = bundle.extractfile("cluster_metadata.json").read().decode()
    assert SECRET_WORD not in metadata and fleet.cluster_id in metadata


def test_day_two_hosts_join_an_installed_cluster(client, fleet, api):
    client.refused(404, "transform_cluster_to_day2", NOWHERE)
    grown = client.transform_cluster_to_adding_hosts(fleet.cluster_id)
    assert (grown.status, grown.kind) == ("adding-hosts", "AddHostsCluster")
    client.refused(400, "transform_cluster_to_day2", fleet.cluster_id)
    worker = Machine(api, fleet.infra_env_id, 20, "extra-worker")
    worker.register()
    assert worker.state()["kind"] == "AddToExistingClusterHost"

    def known():
        worker.work()
        return worker.state()["status"] == "known"

    eventually(known, "the new worker to be known")
    assert client.v2_install_host(fleet.infra_env_id, worker.id).status == "installing"
    worker.work()
    for stage in ["Starting installation", "Installing", "Writing image to disk", "Rebooting"]:
        worker.progress(stage)
    assert worker.state()["status"] == "added-to-existing-cluster"
    assert client.v2_reset_host(fleet.infra_env_id, worker.id).status == "resetting-pending-user-action"
    api.delete(worker.path)


def test_clusters_from_elsewhere_are_imported_or_noted(client):
    params = models.ImportClusterParams(
        name="ignored", api_vip_dnsname="api.elsewhere.example.com", openshift_cluster_id=NOWHERE,
        openshift_version=VERSION,
    )  # fmt: skip
    imported = client.v2_import_cluster(params)
    assert (imported.name, imported.status, imported.imported) == ("elsewhere", "adding-hosts", True)
    client.v2_deregister_cluster(imported.id)
    params = models.DisconnectedClusterCreateParams(name="far", openshift_version=VERSION)
    noted = client.v2_register_disconnected_cluster(params)
    assert (noted.kind, noted.status) == ("DisconnectedCluster", "unmonitored")
    client.v2_deregister_cluster(noted.id)


def test_the_deprecated_day2_name_still_transforms(client, api):
    fleet = Fleet.compact(api, "oldname")
    fleet.drive_until("ready")
    fleet.install()
    fleet.finalize()
    assert client.transform_cluster_to_day2(fleet.cluster_id).status == "adding-hosts"
    fleet.disband()


def test_every_operation_of_the_contract_was_called_and_succeeded(client):
    contract = {(operation.method, operation.path): operation.id for operation in operations()}
    assert len(contract) == 81
    called = client.transport.seen
    missing = sorted(name for key, name in contract.items() if key not in called)
    assert not missing, f"never called: {missing}"
    unknown = sorted(key for key in called if key not in contract)
    assert not unknown, f"called, but not in the contract: {unknown}"
    may_refuse = {"V2GetPresignedForClusterCredentials", "V2GetPresignedForClusterFiles"}
    refused = sorted(
        name
        for key, name in contract.items()
        if name not in may_refuse and not any(200 <= status < 300 for status in called[key])
    )
    assert not refused, f"only ever refused: {refused}"
