"""Property tests of the whole API by schemathesis, driven by the document the server publishes.

Two passes: one with whatever ids the generator invents, one in which path and query ids are
those of things that exist, so that handlers are really reached. Seeded and bounded in time.
"""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from machines import Machine
from muster import quiet_environment

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
SECONDS = int(os.environ.get("SCHEMATHESIS_SECONDS", "85"))
SEED = "20240229"

# Feeds existing ids into the generated cases; read by schemathesis in its own process.
HOOKS = """
import os
import schemathesis

KNOWN = {name: os.environ["KNOWN_" + name.upper()] for name in ("cluster_id", "infra_env_id", "host_id")}

@schemathesis.hook
def before_call(context, case, kwargs):
    for values in (case.path_parameters, case.query):
        for name in set(values or {}) & set(KNOWN):
            values[name] = KNOWN[name]
"""

# The things under test must live through the run.
DEADLY = ["v2DeregisterCluster", "v2DeregisterHost", "DeregisterInfraEnv"]


@pytest.fixture
def target(servers):
    """A server for each pass: the generator leaves much behind, and the seed must mean the same again."""
    server = servers("schemathesis", env={"DUMMY_IGNITION": "true"}).start()
    api = server.api()
    cluster = api.new_cluster("fuzzed")
    infra_env = api.new_infra_env("fuzzed-env", cluster_id=cluster["id"])
    machine = Machine(api, infra_env["id"], 0, "fuzzed-0")
    machine.register()
    machine.send_inventory()
    known = {"KNOWN_CLUSTER_ID": cluster["id"], "KNOWN_INFRA_ENV_ID": infra_env["id"], "KNOWN_HOST_ID": machine.id}
    return server, known


def run(server, tmp_path, hooks=None, environment=None):
    """Runs the tool for a bounded time; returns its status and report."""
    program = Path(sys.executable).with_name("schemathesis")
    command = [str(program), "run", f"{server.url}/openapi.json", "--checks", CHECKS]
    command += ["--seed", SEED, "--max-time", str(SECONDS), "--phases", "examples,coverage,fuzzing"]
    command += ["--max-examples", "40", "--generation-database", "none", "--no-color", "--workers", "1"]
    command += ["--request-timeout", "20", "--max-failures", "60"]
    env = {**quiet_environment(), **(environment or {})}
    if hooks:
        path = tmp_path / "known_ids.py"
        path.write_text(textwrap.dedent(hooks))
        for operation in DEADLY:
            command += ["--exclude-operation-id", operation]
        env |= {"SCHEMATHESIS_HOOKS": "known_ids", "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS + 120)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.timeout(SECONDS + 180)
@pytest.mark.parametrize("ids", ["invented", "existing"])
def test_answers_keep_to_the_published_document(target, tmp_path, ids):
    server, known = target
    status, report = run(server, tmp_path, HOOKS if ids == "existing" else None, known)
    assert "Test cases:" in report or "generated" in report, f"the tool did not run:\n{report[-3000:]}"
    assert status == 0, report[-12000:]
    server.api().get("/v2/clusters")
