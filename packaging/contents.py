"""What is installed where, in packages and in container images."""

import gzip
import json
import subprocess
import tempfile
from pathlib import Path

import licences
from tree import Tree

FILES = Path(__file__).parent / "files"
ABOUT = {
    "name": "muster",
    "summary": "gathers bare machines into an OpenShift or OKD cluster",
    "description": "One service with API, web page, boot images and agents that discovers machines,\n"
    "validates them and installs a cluster on them. Compatible with clients of the\n"
    "Assisted Installer.",
    "license": "Apache-2.0",
    "maintainer": "The Muster developers <muster@localhost>",
    "url": "https://localhost/muster",
}
ARCHITECTURES = ["x86_64", "aarch64"]
LICENCES = "THIRD-PARTY-LICENSES.gz"
# Any free number will do; the group is 0 because OpenShift runs containers under a number of its own
# in that group.
CONTAINER_USER, CONTAINER_GROUP = 1001, 0


def programs(tree, root, architecture, hosts):
    """The service with agents."""
    tree.file("/usr/bin/muster", program_file(root, "programs", architecture), mode=0o755)
    for host, agent in agents(root, architecture, hosts):
        tree.file(f"/usr/lib/muster/agents/{host}/muster-agent", agent, mode=0o755)


def terms(tree, root):
    """Our licence, and those of what is inside the programs."""
    tree.file("/usr/share/doc/muster/copyright", root / "LICENSE")
    tree.file(f"/usr/share/doc/muster/{LICENCES}", third_party(root))


def third_party(root):
    return gzip.compress(licences.document(root).encode(), 9, mtime=0)


def agents(root, architecture, hosts):
    """Agents by architecture: that of the service, and of `hosts` those that were built."""
    for host in ARCHITECTURES:
        agent = program_file(root, "agents", host)
        if host == architecture or (host in hosts and agent.exists()):
            yield host, agent


def program_file(root, kind, architecture):
    """A program that scripts/build-static made: `programs` or `agents`."""
    return root / "target" / kind / architecture / {"programs": "muster", "agents": "muster-agent"}[kind]


def muster_with_agents(root, architecture, hosts, level):
    """The service with agents inside, so that one file is enough: behind its end, as
    crates/boot-images/src/inside_program.rs reads them."""
    whole = program_file(root, "programs", architecture).read_bytes()
    places = []
    for host, agent in agents(root, architecture, hosts):
        packed = gzip.compress(agent.read_bytes(), level, mtime=0)
        places.append({"architecture": host, "offset": len(whole), "len": len(packed)})
        whole += packed
    index = json.dumps(places).encode()
    return whole + index + len(index).to_bytes(8, "little") + b"MUSTERAG"


def package_tree(root, architecture, epoch, runnable, zsh, hosts):
    """Everything a package installs. `runnable` is a muster of this machine, for pages it prints;
    `zsh` the folder in which that distribution keeps completions."""
    tree = Tree(epoch)
    programs(tree, root, architecture, hosts)
    tree.folder("/usr/lib/muster")
    tree.file("/usr/lib/systemd/system/muster.service", FILES / "muster.service")
    tree.file("/usr/lib/sysusers.d/muster.conf", FILES / "sysusers.conf")
    tree.file("/usr/lib/tmpfiles.d/muster.conf", FILES / "tmpfiles.conf")
    tree.file("/etc/muster/muster.toml", FILES / "muster.toml", config=True)
    tree.folder("/etc/muster")
    terms(tree, root)
    tree.file("/usr/share/doc/muster/changelog.gz", gzip.compress((root / "CHANGELOG.md").read_bytes(), 9, mtime=0))
    printed = {
        "/usr/share/bash-completion/completions/muster": "bash",
        f"{zsh}/_muster": "zsh",
        "/usr/share/fish/vendor_completions.d/muster.fish": "fish",
    }
    for path, shell in printed.items():
        tree.file(path, run(runnable, "completion", shell))
    for name, page in man_pages(runnable).items():
        tree.file(f"/usr/share/man/man1/{name}.gz", gzip.compress(page, 9, mtime=0))
    return tree


def container_tree(root, architecture, epoch, hosts):
    """A root without a shell: programs, certificates of public authorities, and a place for data."""
    tree = Tree(epoch)
    programs(tree, root, architecture, hosts)
    tree.file("/etc/ssl/certs/ca-certificates.crt", Path("/etc/ssl/certs/ca-certificates.crt"))
    tree.file("/etc/passwd", f"root:x:0:0::/:/\nmuster:x:{CONTAINER_USER}:{CONTAINER_GROUP}::/data:/\n")
    tree.file("/etc/group", "root:x:0:\n")
    tree.folder("/data", 0o770, uid=CONTAINER_USER, gid=CONTAINER_GROUP)
    tree.folder("/tmp", 0o1777)
    terms(tree, root)
    return tree


def os_image_layer(muster, epoch, architecture, iso, version, folder):
    """A layer with a live ISO where the service looks for images that come with it: a tar archive in the folder.
    `muster` checks what the ISO is, and names it."""
    tree, layer = Tree(epoch), folder / "layer.tar"
    words = ["--release", version, "--arch", architecture, "--data-dir", folder]
    run(muster, "os-images", "add", iso, *words)
    for path in sorted((folder / "os-images").iterdir()):
        tree.large_file(f"/usr/lib/muster/os-images/{path.name}", path)
    with layer.open("wb") as out:
        tree.write_tar(out)
    return layer


def container_images(version):
    """The images, which differ only in what they start. Two stand in for containers that pods made
    for the reference have beside the service."""
    common = {
        "Env": [
            "PATH=/usr/bin",
            "HOME=/data",
            "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
            "MUSTER_DATA_DIR=/data",
            "MUSTER_SERVER_LISTEN=0.0.0.0:8090",
            "MUSTER_IMAGES_SYSTEM_MIRRORS=true",
        ],
        "User": f"{CONTAINER_USER}:{CONTAINER_GROUP}",
        "WorkingDir": "/data",
    }
    service = {
        **common,
        "Entrypoint": ["/usr/bin/muster"],
        "Cmd": ["serve"],
        "ExposedPorts": {"8090/tcp": {}},
        "Volumes": {"/data": {}},
        "StopSignal": "SIGTERM",
    }
    stand_in = {
        role: {**common, "Entrypoint": ["/usr/bin/muster", "container", role], "ExposedPorts": {port: {}}}
        for role, port in [("image-service", "8888/tcp"), ("ui", "8080/tcp")]
    }
    return {
        f"localhost/muster:{version}": service,
        f"localhost/muster-image-service:{version}": stand_in["image-service"],
        f"localhost/muster-ui:{version}": stand_in["ui"],
    }


def run(program, *words):
    return subprocess.run([program, *words], check=True, capture_output=True).stdout


def man_pages(program):
    """Pages by file name."""
    with tempfile.TemporaryDirectory() as folder:
        run(program, "man", folder)
        return {page.name: page.read_bytes() for page in sorted(Path(folder).iterdir())}
