"""`muster agent …` before an image is made and beside it: what registries are asked, where the base ISO comes
from, other architectures, and the spelling of the programs whose pipelines Muster takes over."""

import hashlib
import json
import subprocess

import pytest

import live_iso
from muster import BINARY, quiet_environment
from registry import HOME, Registry
from test_agent_based import INSTALL_CONFIG, agent, stage, write  # noqa: F401

VERSION = "4.20.3"


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    registry = Registry(tmp_path_factory.mktemp("registry")).start()
    registry.pinned = registry.push_release(VERSION)
    yield registry
    registry.stop()


def mirrored(registry, password=None, more=""):
    """An install-config of a site that has its release in a mirror only."""
    secret = registry.pull_secret(password) if password else registry.pull_secret()
    text = INSTALL_CONFIG.split("pullSecret:")[0]
    text += f"pullSecret: '{secret}'\n"
    text += "additionalTrustBundle: |\n"
    text += "".join(f"  {line}\n" for line in registry.ca_file.read_text().splitlines())
    text += f"imageDigestSources:\n- {{source: {HOME}/release, mirrors: ['{registry.host}/ocp/release']}}\n"
    text += f"- {{source: {HOME}/content, mirrors: ['{registry.host}/ocp/content']}}\n"
    return text + more


def create(folder, stage, *more):  # noqa: F811
    iso, programs = stage
    command = ["create", "image", "--base-iso", str(iso), "--programs", str(programs)]
    return agent(folder, *command, "--insecure-seed", "7", "--no-cache", *more)


def test_a_mirror_that_lacks_images_is_found_before_the_image_is_made(tmp_path, stage, registry):  # noqa: F811
    folder = write(tmp_path / "lab", mirrored(registry))
    release = ["--release", f"{HOME}/release@{registry.pinned}"]
    done = create(folder, stage, *release, "--release-version", VERSION)
    assert done.returncode == 1, done.stderr
    # The suite's release names components that are nowhere.
    for words in ("4 of 4 images", "machine-config-operator", registry.host, "--offline"):
        assert words in done.stderr, (words, done.stderr)
    assert not (folder / "agent.x86_64.iso").exists()
    assert (folder / "install-config.yaml").exists(), "nothing is used up"
    # Those who know better go on.
    done = create(folder, stage, *release, "--release-version", VERSION, "--offline")
    assert done.returncode == 0, done.stderr


def test_a_release_that_is_whole_is_found(tmp_path, stage, registry):  # noqa: F811
    # Any image that is there plays its component.
    pinned = registry.push_release("4.20.4", components={"installer": f"{HOME}/release@{registry.pinned}"})
    folder = write(tmp_path / "lab", mirrored(registry))
    done = create(folder, stage, "--release", f"{HOME}/release@{pinned}", "--release-version", "4.20")
    assert done.returncode == 0, done.stderr
    assert "release 4.20.4 found, 1 of its images checked" in done.stderr
    other = write(tmp_path / "other", mirrored(registry))
    done = create(other, stage, "--release", f"{HOME}/release@{pinned}", "--release-version", "4.19.1")
    assert done.returncode == 1 and "calls itself 4.20.4" in done.stderr, done.stderr


def test_a_pull_secret_that_is_refused_is_found(tmp_path, stage, registry):  # noqa: F811
    folder = write(tmp_path / "lab", mirrored(registry, password="wrong"))
    release = f"{HOME}/release@{registry.pinned}"
    done = create(folder, stage, "--release", release, "--release-version", VERSION)
    assert done.returncode == 1, done.stderr
    assert "refuses the credentials of the pull secret" in done.stderr
    assert not (folder / "agent.x86_64.iso").exists()


def test_a_registry_that_only_hosts_reach_is_a_warning(tmp_path, stage):  # noqa: F811
    folder = write(tmp_path / "lab")
    release = "127.0.0.1:1/ocp/release:4.20.3"
    done = create(folder, stage, "--release", release, "--release-version", VERSION)
    assert done.returncode == 0, done.stderr
    assert "level=warning" in done.stderr and "cannot be read from this machine" in done.stderr


def test_the_base_iso_may_be_a_url_with_its_digest(tmp_path, stage):  # noqa: F811
    iso, programs = stage
    content = iso.read_bytes()
    mirror = live_iso.Mirror(content)
    try:
        good = hashlib.sha256(content).hexdigest()
        for digest, code in (("0" * 64, 1), (good, 0)):
            folder = write(tmp_path / digest[:4])
            command = [str(BINARY), "agent", "create", "image", "--dir", str(folder), "--programs", str(programs)]
            command += ["--insecure-seed", "7", "--release", "127.0.0.1:1/ocp/release:4.20.3"]
            variables = {
                **quiet_environment(),
                "OPENSHIFT_INSTALL_OS_IMAGE_OVERRIDE": f"{mirror.url}?sha256={digest}",
                "XDG_CACHE_HOME": str(tmp_path / "cache"),
            }
            done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode == code, done.stderr
        asked = len(mirror.asked)
        # The second time it is in the cache.
        again = write(tmp_path / "again")
        command[command.index("--dir") + 1] = str(again)
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert len(mirror.asked) == asked
    finally:
        mirror.stop()


def test_boot_files_of_a_mainframe(tmp_path):
    arch = "s390x"
    iso = live_iso.make(tmp_path, arch=arch)
    elf = bytearray(b"\x7fELF\x02\x02".ljust(64, b"\0"))
    elf[19] = 22
    programs = tmp_path / "programs" / arch
    programs.mkdir(parents=True)
    for name in ("muster", "muster-agent"):
        (programs / name).write_bytes(bytes(elf))
    install = INSTALL_CONFIG.replace("{name: master,", f"{{name: master, architecture: {arch},")
    install = install.replace("{name: worker,", f"{{name: worker, architecture: {arch},")
    folder = write(tmp_path / "lab", install)
    command = ["create", "pxe-files", "--base-iso", str(iso), "--programs", str(programs.parent), "--offline"]
    done = agent(folder, *command, "--insecure-seed", "7", "--release", "quay.io/x/y:4.20.3-multi")
    assert done.returncode == 0, done.stderr
    boot = folder / "boot-artifacts"
    names = {path.name for path in boot.iterdir()}
    initrd = (boot / f"agent.{arch}-initrd.img").read_bytes()
    assert initrd.startswith(live_iso.INITRD) and len(initrd) > len(live_iso.INITRD)
    assert (boot / f"agent.{arch}-vmlinuz").read_bytes() == live_iso.KERNEL
    usual = {f"agent.{arch}{end}" for end in ("-initrd.img", "-vmlinuz", "-rootfs.img", ".ipxe")}
    assert names == usual | {f"agent.{arch}{end}" for end in ("-initrd.addrsize", "-generic.ins", ".prm")}
    place = (boot / f"agent.{arch}-initrd.addrsize").read_bytes()
    assert place[:8] == bytes([0, 0, 0, 0, 2, 0, 0, 0])
    assert int.from_bytes(place[8:], "big") == len(initrd)
    assert f"agent.{arch}-vmlinuz 0x00000000" in (boot / f"agent.{arch}-generic.ins").read_text()
    rootfs = f"coreos.live.rootfs_url=http://192.168.111.1/boot/agent.{arch}-rootfs.img"
    kernel_arguments = f"{rootfs} ignition.firstboot ignition.platform.id=metal"
    assert (boot / f"agent.{arch}.prm").read_text() == kernel_arguments


def called(folder, name, *words):
    link = folder / name
    if not link.exists():
        link.symlink_to(BINARY)
    variables = {name: value for name, value in quiet_environment().items() if name != "KUBECONFIG"}
    return subprocess.run(
        [str(link), *words], env=variables, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


def test_pipelines_find_the_spelling_codes_and_lines_of_the_reference(tmp_path):
    done = called(tmp_path, "openshift-install", "version")
    lines = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    assert done.returncode == 0 and {"openshift-install", "release image", "release architecture"} <= set(lines)
    assert called(tmp_path, "openshift-install", "--dir", "d", "graph", "--output-file", "g.dot").returncode == 0
    assert "digraph" in (tmp_path / "g.dot").read_text()
    assert called(tmp_path, "openshift-install", "agent", "graph", "--log-level=debug").returncode == 0
    assert called(tmp_path, "openshift-install", "explain", "installconfig.baseDomain").returncode == 0
    for words in (["agent", "create", "image", "--nonsense"], ["--log-level", "loud", "agent", "create", "image"]):
        done = called(tmp_path, "openshift-install", *words)
        assert done.returncode == 1, (words, done.stderr)
    assert called(tmp_path, "openshift-install", "agent").returncode == 0, "help"
    assert called(tmp_path, "muster", "agent", "create", "image", "--nonsense").returncode == 2


def test_node_joiner_leaves_its_report_and_its_code(tmp_path):
    assets = tmp_path / "assets"
    assets.mkdir()
    (assets / "nodes-config.yaml").write_text("hosts: []\n")
    done = called(tmp_path, "node-joiner", "add-nodes", "--dir=assets", "--log-level=debug")
    assert done.returncode == 1 and "--kubeconfig" in done.stderr, done.stderr
    assert (assets / "exit_code").read_text() == "1"
    report = json.loads((assets / "report.json").read_text())
    assert report["result"]["exit_code"] == 1
    assert [one["id"] for one in report["stages"]] == ["add-nodes-cluster-inspection"]
    done = called(tmp_path, "node-joiner", "add-nodes", "--pxe", "--config-iso")
    assert done.returncode == 1 and "cannot be used with" in done.stderr
    done = called(tmp_path, "node-joiner", "monitor-add-nodes", "--dir=assets")
    assert done.returncode == 1 and "address" in done.stderr


def test_the_stream_of_a_release_is_printed(tmp_path, registry):
    stream = {"stream": "rhcos-4.20", "architectures": {"x86_64": {"artifacts": {}}}}
    pinned = registry.push_release("4.20.5", more={"0000_50_coreos-bootimages.yaml": bootimages(stream)})
    secret = tmp_path / "secret.json"
    secret.write_text(registry.pull_secret())
    words = ["coreos", "print-stream-json", "--pull-secret", str(secret), "--cacert", str(registry.ca_file)]
    done = called(tmp_path, "openshift-install", *words, "--release", f"{registry.host}/ocp/release@{pinned}")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == stream


def bootimages(stream):
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "coreos-bootimages"}}
    return json.dumps({**head, "data": {"stream": json.dumps(stream)}})
