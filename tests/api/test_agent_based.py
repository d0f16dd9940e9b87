"""`muster agent create …` as a person uses it: what goes in, what comes out, what is used up, exit codes."""

import hashlib
import json
import os
import signal
import subprocess
import zlib

import pytest

import live_iso
from muster import BINARY, eventually, quiet_environment

INSTALL_CONFIG = """\
apiVersion: v1
baseDomain: example.com
metadata: {name: lab}
networking: {machineNetwork: [{cidr: 192.168.111.0/24}]}
controlPlane: {name: master, replicas: 1}
compute: [{name: worker, replicas: 0}]
platform: {none: {}}
pullSecret: '{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'
"""
AGENT_CONFIG = "apiVersion: v1beta1\nrendezvousIP: 192.168.111.80\nbootArtifactsBaseURL: http://192.168.111.1/boot\n"
SAME = ["--insecure-seed", "7", "--insecure-time", "2026-01-02T03:04:05Z", "--release-version", "4.20"]


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """A live image, and programs that look like static executables for it."""
    folder = tmp_path_factory.mktemp("agent-based")
    programs = folder / "programs/x86_64"
    programs.mkdir(parents=True)
    elf = bytearray(b"\x7fELF\x02\x01\x01".ljust(64, b"\0"))
    elf[18] = 62
    for name in ("muster", "muster-agent"):
        (programs / name).write_bytes(bytes(elf) + name.encode())
    return live_iso.make(folder), programs.parent


def agent(folder, *words):
    command = [str(BINARY), "agent", *words, "--dir", str(folder)]
    done = subprocess.run(command, env=quiet_environment(), capture_output=True, text=True, timeout=120, check=False)
    assert "panicked" not in done.stderr, done.stderr
    return done


def boots(stage, what):
    iso, programs = stage
    return ["create", what, "--base-iso", str(iso), "--programs", str(programs), "--offline", *SAME]


def write(folder, install=INSTALL_CONFIG, config=AGENT_CONFIG):
    folder.mkdir(exist_ok=True)
    (folder / "install-config.yaml").write_text(install)
    (folder / "agent-config.yaml").write_text(config)
    return folder


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_image_holds_everything_and_its_inputs_are_used_up(tmp_path, stage):
    folder = write(tmp_path)
    done = agent(folder, *boots(stage, "image"))
    assert done.returncode == 0, done.stderr
    left = sorted(path.name for path in folder.iterdir())
    assert left == [
        ".openshift_install.log",
        ".openshift_install_state.json",
        "agent.x86_64.iso",
        "auth",
        "rendezvousIP",
    ]
    assert (folder / "rendezvousIP").read_text() == "192.168.111.80"
    assert "https://api.lab.example.com:6443" in (folder / "auth/kubeconfig").read_text()
    state_file = folder / ".openshift_install_state.json"
    assert state_file.stat().st_mode & 0o777 == 0o600
    state = json.loads(state_file.read_text())
    assert state["muster"]["serviceURL"] == "https://192.168.111.80:8090/"
    assert "BEGIN CERTIFICATE" in state["muster"]["serviceAuthority"]
    assert "dXNlcjpw" not in (folder / ".openshift_install.log").read_text()

    # A later command works from the state, and makes the same cluster.
    again = agent(folder, *boots(stage, "pxe-files"))
    assert again.returncode == 0, again.stderr
    script = (folder / "boot-artifacts/agent.x86_64.ipxe").read_text()
    assert "coreos.live.rootfs_url=http://192.168.111.1/boot/agent.x86_64-rootfs.img" in script
    assert "coreos.liveiso" not in script
    initrd = (folder / "boot-artifacts/agent.x86_64-initrd.img").read_bytes()
    assert initrd.startswith(live_iso.INITRD)
    assert (folder / "boot-artifacts/agent.x86_64-rootfs.img").read_bytes() == live_iso.ROOTFS
    token = state["*gencrypto.AuthConfig"]["AgentAuthToken"]
    payload = initrd[initrd.index(b"\x1f\x8b", len(live_iso.INITRD)) :]
    config = zlib.decompressobj(wbits=31).decompress(payload)
    assert token.encode() in config or token[:40].encode() in config


def test_the_same_input_gives_the_same_bytes(tmp_path, stage):
    digests = set()
    for name in ("one", "two"):
        folder = write(tmp_path / name)
        done = agent(folder, *boots(stage, "image"))
        assert done.returncode == 0, done.stderr
        digests.add(digest(folder / "agent.x86_64.iso"))
        digests.add(digest(folder / "auth/kubeconfig"))
    assert len(digests) == 2


@pytest.mark.parametrize(
    "change, code, words",
    [
        (("baseDomain", "baseDomian"), 3, "install-config.yaml:2:1: error"),
        (("replicas: 1", "replicas: 9"), 1, "install-config.yaml:5:"),
        (("{none: {}}", "{aws: {region: x}}"), 1, "[platform-offered]"),
    ],
)
def test_what_is_wrong_has_its_line_and_its_code_and_changes_nothing(tmp_path, stage, change, code, words):
    folder = write(tmp_path, INSTALL_CONFIG.replace(*change))
    done = agent(folder, *boots(stage, "image"))
    assert words in done.stderr, done.stderr
    assert done.returncode == code, done.stderr
    assert (folder / "install-config.yaml").exists()
    assert not (folder / "agent.x86_64.iso").exists()


def test_an_interrupted_command_leaves_no_unfinished_image(tmp_path, stage):
    folder = write(tmp_path)
    (folder / "tls").mkdir()
    # Nothing writes into it, so the command waits with a copy of the base ISO in the directory.
    os.mkfifo(folder / "tls/kubeadmin-password.hash")
    before = {path.name for path in folder.iterdir()} | {".openshift_install.log"}
    command = [str(BINARY), "agent", *boots(stage, "image"), "--dir", str(folder)]
    with subprocess.Popen(command, env=quiet_environment(), stderr=subprocess.PIPE, text=True) as running:
        eventually(lambda: {path.name for path in folder.iterdir()} - before, "a copy of the base ISO")
        running.send_signal(signal.SIGTERM)
        said = running.communicate(timeout=60)[1]
    assert running.returncode == 8, said
    assert {path.name for path in folder.iterdir()} == before


def test_programs_that_are_missing_are_named(tmp_path, stage):
    folder = write(tmp_path)
    iso, _ = stage
    words = ["create", "image", "--base-iso", str(iso), "--programs", str(tmp_path), "--offline", *SAME]
    done = agent(folder, *words)
    assert done.returncode == 1
    assert "agents/x86_64/muster-agent" in done.stderr and "--programs" in done.stderr


def test_manifests_can_be_edited_between_two_commands(tmp_path):
    folder = write(tmp_path)
    done = agent(folder, "create", "cluster-manifests", *SAME)
    assert done.returncode == 0, done.stderr
    assert not (folder / "install-config.yaml").exists()
    manifest = folder / "cluster-manifests/infraenv.yaml"
    text = manifest.read_text()
    assert "rendezvous" not in text
    manifest.write_text(text.replace("spec:\n", "spec:\n  additionalNTPSources: [time.lab]\n"))
    done = agent(folder, "create", "config-image", *SAME)
    assert done.returncode == 0, done.stderr
    assert not (folder / "cluster-manifests").exists()
    iso = (folder / "agentconfig.noarch.iso").read_bytes()
    archive = zlib.decompressobj(wbits=31).decompress(iso[iso.index(b"\x1f\x8b") :])
    assert b"time.lab" in archive


def test_an_unconfigured_image_comes_with_its_programs(tmp_path, stage):
    folder = write(tmp_path / "lab")
    done = agent(folder, "create", "cluster-manifests", *SAME)
    assert done.returncode == 0, done.stderr
    bare = tmp_path / "appliance"
    (bare / "cluster-manifests").mkdir(parents=True)
    for name in ("infraenv.yaml", "pull-secret.yaml"):
        (folder / "cluster-manifests" / name).rename(bare / "cluster-manifests" / name)
    done = agent(bare, "create", "unconfigured-ignition", "--programs", str(stage[1]), *SAME)
    assert done.returncode == 0, done.stderr
    config = json.loads((bare / "unconfigured-agent.ign").read_text())
    paths = {file["path"] for file in config["storage"]["files"]}
    assert "/etc/issue.d/60-check-config-image.issue" in paths
    assert "/etc/assisted/rendezvous-host.env" not in paths
    archive = zlib.decompress((bare / "unconfigured-agent-programs.x86_64.img").read_bytes(), wbits=31)
    for name in (b"muster-agent", b"muster"):
        assert b"usr/lib/muster-programs/usr/local/bin/" + name + b"\0" in archive
    done = agent(bare, "create", "unconfigured-ignition", "--programs", str(tmp_path), *SAME)
    assert done.returncode == 1 and "--programs" in done.stderr, done.stderr


def test_a_template_is_written_once(tmp_path):
    done = agent(tmp_path, "create", "agent-config-template")
    assert done.returncode == 0, done.stderr
    template = (tmp_path / "agent-config.yaml").read_text()
    assert "rendezvousIP" in template
    done = agent(tmp_path, "create", "agent-config-template")
    assert done.returncode == 1 and "exists" in done.stderr
    assert (tmp_path / "agent-config.yaml").read_text() == template


def test_the_name_of_the_reference_takes_its_spelling(tmp_path):
    link = tmp_path / "openshift-install"
    link.symlink_to(BINARY)
    command = [str(link), "--dir", str(tmp_path), "--log-level=debug", "agent", "create", "agent-config-template"]
    done = subprocess.run(command, env=quiet_environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "agent-config.yaml").exists()
