"""Downloads and manifests: names, lengths, dates and codes."""

import base64
from email.utils import parsedate_to_datetime

from machines import Fleet
from muster import (
    api_error,
)


def test_infra_env_files_have_names_lengths_and_dates(api, infra_env):
    path = f"/v2/infra-envs/{infra_env['id']}/downloads/files"
    plain = {"Accept-Encoding": "identity"}
    for name, file_name in [("discovery.ign", "discovery.ign"), ("ipxe-script", f"{infra_env['id']}-ipxe-script")]:
        answer = api.get(path, params={"file_name": name}, headers=plain)
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{file_name}"'
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert int(answer.headers["Content-Length"]) == len(answer.content) > 0
        assert parsedate_to_datetime(answer.headers["Last-Modified"]).tzinfo
    script = api.get(path, params={"file_name": "ipxe-script"}).text
    assert script.startswith("#!ipxe\n") and "\r" not in script and "coreos.live.rootfs_url=" in script


def test_boot_order_control_chains_back_with_the_mac(api, infra_env):
    path = f"/v2/infra-envs/{infra_env['id']}/downloads/files"
    query = {"file_name": "ipxe-script", "ipxe_script_type": "boot-order-control"}
    assert "mac=${net0/mac}" in api.get(path, params=query).text
    assert "kernel" in api.get(path, params={**query, "mac": "52:54:00:11:22:33"}).text


def test_downloads_are_whole_whatever_the_accept_header_says(api, infra_env):
    path = f"/v2/infra-envs/{infra_env['id']}/downloads/files"
    query = {"file_name": "discovery.ign"}
    whole = api.get(path, params=query).json()
    for accept in ("application/octet-stream", "*/*", "application/json, */*", "text/html, */*"):
        assert api.get(path, params=query, headers={"Accept": accept}).json() == whole, accept


def test_a_minimal_initrd_without_content_is_204(api, infra_env):
    answer = api.get(f"/v2/infra-envs/{infra_env['id']}/downloads/minimal-initrd", 204)
    assert answer.content == b""


def test_errors_of_download_operations_are_json_bodies(api, cluster):
    answer = api.call("GET", f"/v2/clusters/{cluster['id']}/downloads/files?file_name=bootstrap.ign")
    api_error(answer, 409)
    assert answer.headers["Content-Type"].startswith(("application/octet-stream", "application/json"))


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def test_manifests_of_the_same_name_cannot_be_in_both_folders(api, cluster):
    path = f"/v2/clusters/{cluster['id']}/manifests"
    created = api.post(path, {"file_name": "a.yaml", "content": encoded("a: 1")}).json()
    assert created == {"file_name": "a.yaml", "folder": "manifests", "manifest_source": "user"}
    body = {"file_name": "a.yaml", "folder": "openshift", "content": encoded("a: 1")}
    api_error(api.call("POST", path, json=body), 400)
    api.post(path, {"file_name": "a.yaml", "content": encoded("a: 2")})
    query = {"file_name": "a.yaml", "folder": "manifests"}
    answer = api.get(f"{path}/files", params=query, headers={"Accept-Encoding": "identity"})
    assert answer.content == b"a: 2" and answer.headers["Content-Length"] == "4"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="a.yaml"'


def test_manifest_names_with_a_leading_dot_are_422(api, cluster):
    path = f"/v2/clusters/{cluster['id']}/manifests"
    for name in (".yaml", ".x.yaml", "a b.yaml"):
        api_error(api.call("POST", path, json={"file_name": name, "content": encoded("a: 1")}), 422)


def test_manifests_can_be_moved_patched_and_deleted(api, cluster):
    path = f"/v2/clusters/{cluster['id']}/manifests"
    api.post(path, {"file_name": "a.yaml", "content": encoded("a: 1")})
    body = {"folder": "manifests", "file_name": "a.yaml", "updated_file_name": "b.yaml"}
    assert api.patch(path, body, expect=200).json()["file_name"] == "b.yaml"
    assert [item["file_name"] for item in api.get(path).json()] == ["b.yaml"]
    assert api.delete(path, 200, params={"file_name": "b.yaml"}).content == b""
    api.delete(path, 200, params={"file_name": "b.yaml"})
    assert api.get(path).json() == []


def test_exactly_one_mebibyte_passes(api, cluster):
    path = f"/v2/clusters/{cluster['id']}/manifests"
    text = "a: " + "b" * (1024 * 1024 - 3)
    api.post(path, {"file_name": "big.yaml", "content": encoded(text)})
    query = {"file_name": "big.yaml"}
    assert api.get(f"{path}/files", params=query).text == text


def test_manifests_of_the_service_are_real_even_where_ignition_is_not(api):
    fleet = Fleet.compact(api, "sealed", disk_encryption={"enable_on": "all", "mode": "tpmv2"})
    try:
        fleet.drive_until("ready")
        api.post(f"{fleet.path}/actions/install", expect=202)
        fleet.drive_until("installing")
        listed = api.get(f"{fleet.path}/manifests", params={"include_system_generated": True}).json()
        names = {entry["file_name"] for entry in listed}
        assert {f"99-openshift-{role}-tpm-encryption.yaml" for role in ("master", "worker")} <= names
    finally:
        fleet.disband()
