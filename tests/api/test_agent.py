"""The real `muster-agent` against the real server."""

import json
import os
import pathlib
import subprocess
import uuid

from muster import BINARY, VERSION, pull_secret

AGENT = pathlib.Path(os.environ.get("MUSTER_AGENT_BIN", BINARY.with_name("muster-agent")))


def run_agent(server_url, infra_env_id, host_id, *more):
    command = [AGENT, "--url", server_url, "--infra-env-id", infra_env_id, "--host-id", host_id, "--once", *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=30)


def test_the_agent_registers_polls_and_reports_its_inventory(api):
    body = {"name": "agents", "pull_secret": pull_secret(), "openshift_version": VERSION}
    infra_env = api.post("/v2/infra-envs", body).json()["id"]
    host = str(uuid.uuid4())
    done = run_agent(api.url, infra_env, host)
    assert done.returncode == 0, done.stderr
    seen = api.host(infra_env, host)
    assert seen["status"] in {"known-unbound", "insufficient-unbound"}
    # It reports the version it is given: with another one it would be asked to upgrade.
    versions = api.get("/v2/component-versions").json()["versions"]
    assert seen["discovery_agent_version"] == versions["discovery-agent"]
    inventory = json.loads(seen["inventory"])
    assert inventory["cpu"]["count"] == os.cpu_count()
    assert inventory["hostname"] == os.uname().nodename
    words = [line.split() for line in pathlib.Path("/etc/resolv.conf").read_text().splitlines()]
    servers = [word[1] for word in words if word[:1] == ["nameserver"]]
    assert (inventory.get("dns") or {}).get("servers", []) == servers[:3]


def test_the_agent_reads_its_settings_from_the_image_or_the_environment(api, tmp_path):
    """Flags are left out; the file is below an /etc that only this agent sees."""
    infra_env = api.new_infra_env("configured")["id"]
    etc = tmp_path / "etc"
    (etc / "assisted").mkdir(parents=True)
    conf = etc / "assisted/agent.conf"
    conf.write_text(f"SERVICE_URL={api.url}\nINFRA_ENV_ID={infra_env}\nAGENT_AUTH_TOKEN=unused\n")
    (etc / "resolv.conf").write_text("search lab.example.com\nnameserver 192.0.2.53\n")
    for name in ("passwd", "hosts", "nsswitch.conf"):
        (etc / name).write_bytes(pathlib.Path("/etc", name).read_bytes())
    enter = f'mount --bind {etc} /etc && exec "$@"'
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", enter, "sh", str(AGENT), "--once", "--host-id"]

    def run(host, **variables):
        environment = {**os.environ, **variables}
        done = subprocess.run([*command, host], capture_output=True, text=True, timeout=60, env=environment)
        assert done.returncode == 0, done.stderr

    host = str(uuid.uuid4())
    run(host)
    dns = json.loads(api.host(infra_env, host)["inventory"])["dns"]
    assert dns == {"servers": ["192.0.2.53"], "search_domains": ["lab.example.com"]}
    # The environment wins over the file.
    other = api.new_infra_env("configured-otherwise")["id"]
    host = str(uuid.uuid4())
    run(host, INFRA_ENV_ID=other)
    assert api.host(other, host)["id"] == host


def test_the_agent_trusts_the_generated_ca_and_nothing_else(servers):
    server = servers("agent-tls", plain=False).start()
    api = server.api()
    body = {"name": "agents", "pull_secret": pull_secret(), "openshift_version": VERSION}
    infra_env = api.post("/v2/infra-envs", body).json()["id"]
    host = str(uuid.uuid4())
    refused = run_agent(server.url, infra_env, host)
    assert refused.returncode != 0
    accepted = run_agent(server.url, infra_env, host, "--cacert", str(server.data_dir / "tls" / "ca.crt"))
    assert accepted.returncode == 0, accepted.stderr


def test_an_unknown_infra_env_is_reported_in_plain_text(api):
    done = run_agent(api.url, str(uuid.uuid4()), str(uuid.uuid4()))
    assert done.returncode != 0
    assert "404" in done.stderr and "was not found" in done.stderr
