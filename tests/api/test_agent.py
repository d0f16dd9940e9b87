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


def test_the_agent_registers_polls_and_tells_what_the_machine_is(api):
    body = {"name": "agents", "pull_secret": pull_secret(), "openshift_version": VERSION}
    infra_env = api.post("/v2/infra-envs", body).json()["id"]
    host = str(uuid.uuid4())
    done = run_agent(api.url, infra_env, host)
    assert done.returncode == 0, done.stderr
    seen = api.host(infra_env, host)
    assert seen["status"] in {"known-unbound", "insufficient-unbound"}
    # It goes by the version it is told to be: another one would be asked to upgrade.
    versions = api.get("/v2/component-versions").json()["versions"]
    assert seen["discovery_agent_version"] == versions["discovery-agent"]
    inventory = json.loads(seen["inventory"])
    assert inventory["cpu"]["count"] == os.cpu_count()
    assert inventory["hostname"] == os.uname().nodename


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


def test_an_unknown_infra_env_is_told_in_words(api):
    done = run_agent(api.url, str(uuid.uuid4()), str(uuid.uuid4()))
    assert done.returncode != 0
    assert "404" in done.stderr and "was not found" in done.stderr
