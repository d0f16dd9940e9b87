"""What a host finds in its boot image: the agent, its config, its static network. Ignition itself reads it."""

import io
import json
import os
import struct
import subprocess
import tarfile
import zlib

import pytest

import live_iso
from muster import BINARY, api_error
from test_images import VERSION, catalogue, fetch, stock

IGNITION = "/usr/lib/dracut/modules.d/30ignition/ignition"
PROGRAMS_CONFIG = "usr/lib/ignition/base.d/40-muster-programs.ign"
PROGRAMS_DROPIN = "etc/systemd/system/ignition-files.service.d/10-muster-programs.conf"
AGENT = "usr/lib/muster-programs/usr/local/bin/agent"
NETWORK = "interfaces:\n- name: eth0\n  type: ethernet\n  ipv4:\n    enabled: true\n    dhcp: true\n"
MAC = "02:00:00:00:00:01"


def static_elf(machine):
    """The smallest thing that looks like a static executable, with some bytes to recognise it by."""
    head = struct.pack("<4sBBB9xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 2, machine, 1, 0, 64, 0, 0, 64, 56, 0, 0, 0, 0)
    return head + bytes(range(256)) * 400


def members(payload):
    """Name, mode and content of every file in the archives of an initrd payload."""
    found = {}
    while payload := payload.lstrip(b"\0"):
        unpack = zlib.decompressobj(31)
        plain, at = unpack.decompress(payload), 0
        payload = unpack.unused_data
        while True:
            fields = [int(plain[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
            name = plain[at + 110 : at + 110 + fields[11] - 1].decode()
            start = (at + 110 + fields[11] + 3) & ~3
            if name == "TRAILER!!!":
                break
            found[name] = (fields[1], plain[start : start + fields[6]])
            at = (start + fields[6] + 3) & ~3
    return found


def embedded(path):
    """The payload inside an ISO."""
    done = subprocess.run(
        [str(BINARY), "iso", "cat", str(path), "images/ignition.img"], capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return members(done.stdout)


def downloaded(infra_env, folder):
    """The payload inside the ISO of an infra-env."""
    path = folder / "image.iso"
    path.write_bytes(fetch(infra_env["download_url"]).content)
    return embedded(path)


@pytest.fixture(scope="module")
def shipping(servers, tmp_path_factory):
    """A server with an agent for x86_64 and none for arm64."""
    folder = tmp_path_factory.mktemp("shipping")
    agent = folder / "agents" / "x86_64" / "muster-agent"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(static_elf(62))
    server = servers("shipping", env={"OS_IMAGES": catalogue(), "MUSTER_IMAGES_AGENT_DIR": str(folder)}).start()
    stock(server, live_iso.make(folder))
    return server


def test_ignition_puts_the_agent_from_the_image_where_its_unit_runs_it(shipping, tmp_path):
    made = shipping.api().new_infra_env("carried", openshift_version=VERSION)
    inside = downloaded(made, tmp_path)
    assert set(inside) >= {"config.ign", PROGRAMS_CONFIG, PROGRAMS_DROPIN, AGENT}
    root, system = tmp_path / "root", tmp_path / "system"
    for path, text in [("etc/passwd", "root:x:0:0::/root:/bin/sh\n"), ("etc/group", "root:x:0:\n")]:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (system / "base.d").mkdir(parents=True)
    (system / "base.d" / "40-muster-programs.ign").write_bytes(inside[PROGRAMS_CONFIG][1])
    # What systemd does in the initrd before it starts Ignition's unit.
    initrd = tmp_path / "initrd"
    (initrd / AGENT).parent.mkdir(parents=True)
    (initrd / AGENT).write_bytes(inside[AGENT][1])
    (initrd / AGENT).chmod(0o600)
    section, *commands = inside[PROGRAMS_DROPIN][1].decode().splitlines()
    assert section == "[Service]" and len(commands) == 2
    for line in commands:
        command = line.removeprefix("ExecStartPre=").replace("/sysroot/", f"{root}/")
        subprocess.run(command.replace("/usr/lib/muster", f"{initrd}/usr/lib/muster").split(), check=True)
    (tmp_path / "config.ign").write_bytes(inside["config.ign"][1])
    env = {
        **os.environ,
        "IGNITION_SYSTEM_CONFIG_DIR": str(system),
        "IGNITION_CONFIG_FILE": str(tmp_path / "config.ign"),
    }
    places = [word for name in ("config-cache", "state-file", "neednet") for word in (f"-{name}", str(tmp_path / name))]
    for stage in ("fetch", "files"):
        command = [IGNITION, "-platform", "file", "-log-to-stdout", "-stage", stage, "-root", str(root), *places]
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60)
        # The bare root has no SELinux policy to label files by, which is Ignition's last act.
        messages = done.stdout + done.stderr
        assert done.returncode == 0 or "failed to handle relabeling" in messages, messages[-2000:]
    agent = root / "usr" / "local" / "bin" / "agent"
    assert agent.read_bytes() == static_elf(62)
    assert agent.stat().st_mode & 0o7777 == 0o755
    unit = (root / "etc" / "systemd" / "system" / "agent.service").read_text()
    assert "ExecStart=/usr/local/bin/agent --url " in unit


def test_every_kind_of_boot_carries_the_same_agent(shipping, tmp_path):
    api = shipping.api()
    full = api.new_infra_env("full", openshift_version=VERSION)
    minimal = api.new_infra_env("minimal", openshift_version=VERSION, image_type="minimal-iso")
    initrd = fetch(f"{shipping.url}/images/{full['id']}/pxe-initrd", params={"version": VERSION}).content
    assert initrd.startswith(live_iso.INITRD)
    kinds = [
        downloaded(full, tmp_path),
        downloaded(minimal, tmp_path),
        members(initrd[len(live_iso.INITRD) :]),
    ]
    assert len({kind[AGENT] for kind in kinds}) == 1


def test_the_history_lists_sizes_and_whether_the_agent_is_in_the_image(shipping):
    api = shipping.api()
    x86 = api.new_infra_env("with", openshift_version=VERSION)
    messages = [
        event["message"] for event in api.events(infra_env_id=x86["id"]) if event["name"] == "image_info_updated"
    ]
    assert "bytes are added to it: config " in messages[-1] and ", agent " in messages[-1], messages
    s390x = api.new_infra_env("without", openshift_version=VERSION, cpu_architecture="s390x")
    messages = [
        event["message"] for event in api.events(infra_env_id=s390x["id"]) if event["name"] == "image_info_updated"
    ]
    assert "hosts pull it: there are no agents for s390x" in messages[-1], messages


def test_a_static_network_reaches_each_kind_of_boot_once(shipping, tmp_path):
    api = shipping.api()
    network = [{"network_yaml": NETWORK, "mac_interface_map": [{"mac_address": MAC, "logical_nic_name": "eth0"}]}]
    full = api.new_infra_env("wired", openshift_version=VERSION, static_network_config=network)
    path = "/etc/assisted/network/host0/eth0.nmconnection"
    config = downloaded(full, tmp_path)["config.ign"][1].decode()
    assert path in [file["path"] for file in json.loads(config)["storage"]["files"]]
    initrd = fetch(f"{shipping.url}/images/{full['id']}/pxe-initrd", params={"version": VERSION}).content
    inside = members(initrd[len(live_iso.INITRD) :])
    assert path not in inside["config.ign"][1].decode()
    mode, text = inside[path.lstrip("/")]
    assert mode == 0o100600 and b"interface-name=eth0\n" in text
    wanted = "etc/systemd/system/initrd.target.wants/pre-network-manager-config.service"
    assert inside[wanted] == (0o120777, b"/etc/systemd/system/pre-network-manager-config.service")
    files = f"/v2/infra-envs/{full['id']}/downloads"
    archive = api.get(f"{files}/files", params={"file_name": "static-network-config"}).content
    names = tarfile.open(fileobj=io.BytesIO(archive)).getnames()
    stem = "etc/assisted/network/host0/"
    assert {name.lstrip("/") for name in names} == {
        stem + name for name in ("eth0.nmconnection", "mac_interface.ini", "ymlFile0.yml")
    }
    assert path.lstrip("/") in members(api.get(f"{files}/minimal-initrd").content)


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("interfaces:\n- name: eth0\n  type: ethernet\n- name: b\n  type: bond\n", 'interface "b" (line 4)'),
        (
            "interfaces:\n- {name: eth0, type: ethernet, ipv4: {address: [{ip: 999.0.0.1}]}}\n",
            'interface "eth0" (line 2)',
        ),
        ("interfaces:\n- {name: ../../etc/x, type: dummy}\n", "begins with a dot"),
        (
            "a: &a [x, x]\nb: &b [*a, *a]\n" + "c: [*b, *b, *b, *b, *b, *b, *b, *b]\n" * 3000,
            "counting what aliases repeat",
        ),
        ("[" * 100_000, "recursion limit"),
        ("interfaces: \x01", "control character"),
    ],
)
def test_a_faulty_network_is_refused_when_it_is_saved(shipping, yaml, expected):
    network = [{"network_yaml": yaml, "mac_interface_map": [{"mac_address": MAC, "logical_nic_name": "eth0"}]}]
    body = {"name": "x", "pull_secret": '{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}', "openshift_version": VERSION}
    answer = shipping.api().post("/v2/infra-envs", {**body, "static_network_config": network}, 400)
    reason = api_error(answer, 400)
    assert "static_network_config[0]" in reason and expected in reason, reason


def test_an_override_larger_than_the_room_in_an_image_is_carried(shipping):
    api = shipping.api()
    made = api.new_infra_env("large", openshift_version=VERSION)
    override = {
        "ignition": {"version": "3.2.0"},
        "storage": {"files": [{"path": "/big", "contents": {"source": "data:," + "A" * 400_000}}]},
    }
    api.patch(f"/v2/infra-envs/{made['id']}", {"ignition_config_override": json.dumps(override)}, 201)
    shown = fetch(f"{shipping.url}/images/{made['id']}/pxe-initrd", params={"version": VERSION}).content
    assert b"/big" in members(shown[len(live_iso.INITRD) :])["config.ign"][1]
