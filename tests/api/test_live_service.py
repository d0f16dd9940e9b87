"""`muster live-iso`: an image that boots the service. Here what is in it; that it boots is a story."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import live_iso
from boot_images import VERSION, catalogue
from muster import BINARY, pull_secret, quiet_environment
from test_discovery import embedded

# Static, and for the architecture of the image: all that is asked of a program in it.
STATIC = "/bin/busybox"


def muster(tmp_path, *words, ok=True, **more):
    environment = {**quiet_environment(), "MUSTER_IMAGES_AGENT_DIR": str(tmp_path), **more}
    run = subprocess.run([str(BINARY), *map(str, words)], env=environment, capture_output=True, text=True, timeout=120)
    assert (run.returncode == 0) == ok, f"muster {words} ended with {run.returncode}: {run.stderr}"
    return run.stdout if ok else run.stderr


def test_a_live_image_of_the_service_holds_program_agents_settings_and_units(iso, tmp_path):
    agents = tmp_path / "agents" / "x86_64"
    agents.mkdir(parents=True)
    shutil.copy(STATIC, agents / "muster-agent")
    settings, key, made = tmp_path / "muster.toml", tmp_path / "key.pub", tmp_path / "live.iso"
    settings.write_text('[log]\nlevel = "debug"\n')
    secret, own = tmp_path / "pull-secret.json", tmp_path / "own.ign"
    secret.write_text(pull_secret())
    own.write_text(
        '{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/etc/own", "contents": {"source": "data:,1"}}]}}'
    )
    key.write_text("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHJf0h7bdU1W8xwgWQkjJRZVdG0vzFW5kYV5UXTi0Nn7 me\n")
    options = ["--settings", settings, "--ssh-key", key, "--data-label", "muster_data", "--medium-is", "4.20"]
    options += ["--cluster-pull-secret", secret, "--ignition", own]
    muster(tmp_path, "live-iso", "create", "--base", iso, "--program", STATIC, *options, "-o", made)

    config = tmp_path / "config.ign"
    config.write_text(muster(tmp_path, "iso", "ignition", "show", made))
    subprocess.run(["ignition-validate", config], check=True)
    content = json.loads(config.read_text())
    paths = {file["path"] for file in content["storage"]["files"]}
    assert {"/etc/muster/pull-secret.json", "/etc/own"} <= paths
    units = {unit["name"]: unit["contents"] for unit in content["systemd"]["units"]}
    assert "What=/dev/disk/by-label/muster_data\n" in units["var-lib-muster.mount"]
    assert {"muster.service", "muster-medium.service"} <= set(units)

    # Its programs lie beside the config, where Ignition need not read them.
    inside = embedded(made)
    for path in ["/usr/local/bin/muster", "/usr/local/lib/muster/agents/x86_64/muster-agent"]:
        mode, program = inside[f"usr/lib/muster-programs{path}"]
        assert mode == 0o100755 and program == Path(STATIC).read_bytes()

    # What was made is a live image like its base, so that machines can boot from the same medium.
    info = json.loads(muster(tmp_path, "iso", "info", "--json", made))
    base = json.loads(muster(tmp_path, "iso", "info", "--json", iso))
    assert info.keys() == base.keys()


def test_without_a_base_the_live_iso_of_the_version_is_fetched_once_and_is_its_os_image(iso, tmp_path):
    agents = tmp_path / "agents" / "x86_64"
    agents.mkdir(parents=True)
    shutil.copy(STATIC, agents / "muster-agent")
    mirror = live_iso.Mirror(iso.read_bytes())
    try:
        more = {"OS_IMAGES": catalogue(mirror.url), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        for name in ["one.iso", "two.iso"]:
            words = ["--medium-is", VERSION, "--program", STATIC, "-o", tmp_path / name]
            muster(tmp_path, "live-iso", "create", *words, **more)
    finally:
        mirror.stop()
    assert len(mirror.asked) == 1
    config = json.loads(muster(tmp_path, "iso", "ignition", "show", tmp_path / "two.iso"))
    files = {file["path"]: file["contents"]["source"] for file in config["storage"]["files"]}
    assert VERSION in files["/etc/muster/medium-is"]


def test_a_program_that_needs_libraries_of_this_machine_is_refused(iso, tmp_path):
    refused = muster(
        tmp_path, "live-iso", "create", "--base", iso, "--program", "/bin/bash", "-o", tmp_path / "x", ok=False
    )
    assert "linked dynamically" in refused and "--program" in refused
    assert not (tmp_path / "x").exists()


@pytest.mark.timeout(180)
def test_a_service_for_one_installation_ends_when_its_credentials_were_downloaded(servers, tmp_path):
    secret = tmp_path / "pull-secret.json"
    secret.write_text(pull_secret())
    settings = ["--set", "server.stop_when_installed=1s", "--set", f"cluster.pull_secret_file={secret}"]
    server = servers("one-shot", args=settings, env={"DUMMY_IGNITION": "true"}).start()
    api = server.api()
    # Whose owner gives no pull secret gets that of the service.
    assert api.new_infra_env("spare", pull_secret="")["pull_secret_set"]
    command = [str(BINARY), "simulate", "--url", server.url, "--name", "once", "--keep", "--speed", "1000"]
    run = subprocess.run(
        [*command, "--topology", "sno"], env=quiet_environment(), capture_output=True, text=True, timeout=150
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    (cluster,) = api.get("/v2/clusters").json()
    assert cluster["status"] == "installed"
    # Looking at the password is not taking the way in along.
    api.get(f"/v2/clusters/{cluster['id']}/credentials")
    assert "the service ends" not in server.log()
    api.get(f"/v2/clusters/{cluster['id']}/downloads/credentials", params={"file_name": "kubeconfig"})
    assert server.process.wait(timeout=60) == 0, server.log()[-2000:]
    assert "everything is installed and downloaded" in server.log()
