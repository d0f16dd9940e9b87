"""`muster login`, `get`, `wait`, `watch`, `version`: the service from the command line, over TLS."""

import json
import os
import subprocess

import pytest

from machines import Machine
from muster import BINARY, SECRET_WORD, quiet_environment

PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def guarded(servers):
    """A service with TLS that asks people to log in."""
    return servers("guarded-commands", plain=False, auth="users").start()


@pytest.fixture(scope="module")
def password(guarded):
    return guarded.log().split("password ", 1)[1].split()[0]


@pytest.fixture
def muster(guarded, tmp_path):
    """Runs a command in a home of its own; expects an exit code."""

    def run(*arguments, expect=0, stdin="", **variables):
        environment = {**quiet_environment(), "HOME": str(tmp_path), "XDG_CONFIG_HOME": "", **variables}
        done = subprocess.run(
            [str(BINARY), *map(str, arguments)],
            env=environment, input=stdin, capture_output=True, text=True, timeout=240, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == expect, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout if expect == 0 else done.stderr

    return run


@pytest.fixture
def logged_in(muster, guarded, password, tmp_path):
    ca = guarded.data_dir / "tls" / "ca.crt"
    muster("login", "--url", guarded.url, "--cacert", ca, "--user", "admin", stdin=password + "\n")
    return muster


def test_a_login_is_kept_for_its_owner_and_used_by_later_commands(logged_in, guarded, tmp_path):
    stored = tmp_path / ".config/muster/login.json"
    assert os.stat(stored).st_mode & 0o777 == 0o600
    token = json.loads(stored.read_text())["token"]
    assert logged_in("login", "--print-token").strip() == token
    assert logged_in("get", "clusters", "-o", "json").strip() == "[]"
    assert "assisted-installer-service" in logged_in("version", "--service")
    logged_in("logout")
    assert not stored.exists()
    ca = guarded.data_dir / "tls" / "ca.crt"
    refusal = logged_in("get", "clusters", "--url", guarded.url, "--cacert", ca, MUSTER_TOKEN=token, expect=1)
    assert "muster login" in refusal and token not in refusal


def test_a_token_goes_to_no_other_service(logged_in, guarded, servers):
    other = servers("another-service", plain=False, auth="users").start()
    ca = other.data_dir / "tls" / "ca.crt"
    refusal = logged_in("get", "clusters", "--url", other.url, "--cacert", ca, expect=1)
    assert "401" in refusal and "log in first" in refusal


def test_a_wrong_password_is_refused_and_not_shown(muster, guarded, tmp_path):
    ca = guarded.data_dir / "tls" / "ca.crt"
    refusal = muster("login", "--url", guarded.url, "--cacert", ca, stdin=SECRET_WORD + "\n", expect=1)
    assert "401" in refusal and SECRET_WORD not in refusal
    assert not (tmp_path / ".config/muster/login.json").exists()


def test_an_unknown_issuer_ends_every_command_at_once_with_the_way_out(muster, guarded):
    # `watch` used to try again for ever.
    for command in (["watch"], ["get", "clusters"], ["wait", "cluster", "x"], ["login"]):
        refusal = muster(*command, "--url", guarded.url, expect=1)
        assert "issuer is unknown" in refusal and "--cacert" in refusal, refusal


def test_on_the_machine_of_the_service_address_and_ca_are_found(muster, servers):
    server = servers("local-commands", plain=False, auth="none").start()
    shown = muster("get", "versions", MUSTER_DATA_DIR=str(server.data_dir))
    assert "4.20.0-okd-scos.13" in shown and "production" in shown


def test_things_are_named_by_name_or_id_in_every_command(shared, api, muster):
    cluster = api.new_cluster("named-cluster")
    infra_env = api.new_infra_env("named-env", cluster_id=cluster["id"])
    machine = Machine(api, infra_env["id"], 3, "named-host")
    machine.register()
    machine.send_inventory()
    machine.wait_for("insufficient", "known", "pending-for-input")
    url = ["--url", shared.url]
    assert cluster["id"] in muster("get", "cluster", "named-cluster", *url)
    assert "named-cluster" in muster("get", "clusters", cluster["id"], *url)
    assert json.loads(muster("get", "infra-env", "named-env", "-o", "json", *url))["id"] == infra_env["id"]
    assert "named-host" in muster("get", "hosts", "--cluster", "named-cluster", *url)
    assert "named-host" in muster("get", "hosts", "named-host", "--infra-env", "named-env", *url)
    assert "registered" in muster("get", "events", "--infra-env", "named-env", *url)
    status = machine.state()["status"]
    assert status in muster("wait", "host", "named-host", "--for", status, *url)
    late = muster("wait", "cluster", "named-cluster", "--for", "installed", "--timeout", "1s", *url, expect=1)
    assert "was not installed after 1s" in late
    assert "muster get clusters" in muster("get", "cluster", "unknown", *url, expect=1)
    api.delete(f"/v2/clusters/{cluster['id']}")


def test_older_spellings_still_work(muster, tmp_path):
    muster("os-images", "--data-dir", tmp_path, "list", "--json")
    muster("os-images", "--data-dir", tmp_path, "verify", "--version", "4.20")
    secret = tmp_path / "secret.json"
    secret.write_text('{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}')
    flags = ["--platform", "none", "--name", "lab", "--base-domain", "example.com", "--topology", "compact"]
    muster("create", "install-config", "--no-input", *flags, "--pull-secret-file", secret)
    image = "quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64"
    said = muster("create", "manifests", "--release-image", image)
    assert f"release: 4.20.3, {image}" in said and "used up: install-config.yaml" in said and "next:" in said


def test_okd_goes_from_flags_to_ignition_without_a_pull_secret(muster, tmp_path):
    flags = ["--platform", "none", "--name", "home", "--base-domain", "example.com", "--topology", "single-node"]
    muster("create", "install-config", "--no-input", "--product", "okd", *flags, "--installation-disk", "/dev/sda")
    said = muster("create", "single-node-ignition-config")
    assert "release: 4.22.0-okd-scos.8, quay.io/okd/scos-release:4.22.0-okd-scos.8" in said
    config = json.loads((tmp_path / "bootstrap-in-place-for-live-iso.ign").read_text())
    assert config["ignition"]["version"].startswith("3.")


def test_findings_are_also_for_programs(muster, tmp_path):
    (tmp_path / "install-config.yaml").write_text("apiVersion: v1\nbaseDomian: x\n")
    environment = {**quiet_environment(), "HOME": str(tmp_path)}
    done = subprocess.run(
        [str(BINARY), "check", "-o", "json"], env=environment, capture_output=True, text=True, cwd=tmp_path, timeout=240
    )
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert not answer["usable"]
    assert "unknown-field" in [finding["rule"] for finding in answer["findings"]]


def test_a_misspelt_variable_stops_the_service_and_names_the_right_one(muster):
    refusal = muster("serve", "--print-config", MUSTER_SERVER_LISTE="127.0.0.1:1", expect=2)
    assert "MUSTER_SERVER_LISTEN" in refusal


def test_a_port_without_permission_is_distinguished_from_one_in_use(muster, shared, tmp_path):
    port = shared.url.rsplit(":", 1)[1]
    refusal = muster("serve", "--listen", f"127.0.0.1:{port}", "--data-dir", tmp_path / "d", expect=1)
    assert "another program uses it" in refusal
