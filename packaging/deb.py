"""A Debian package: an `ar` archive of two tar archives."""

import hashlib
import lzma

from tree import Tree

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def package(tree, architecture, version, about, scripts, level):
    """The bytes of a package; `scripts` are the maintainer's, by name; `level` is that of xz."""
    files = [(path, entry) for path, entry in tree if not entry.is_folder]
    fields = {
        "Package": about["name"],
        "Version": version,
        "Architecture": ARCHITECTURES[architecture],
        "Maintainer": about["maintainer"],
        "Installed-Size": str(-(-sum(len(entry.content) for _, entry in files) // 1024)),
        "Section": "admin",
        "Priority": "optional",
        "Homepage": about["url"],
        # It has useradd, for the script that makes the user.
        "Depends": "passwd",
        "Recommends": "ca-certificates",
        "Description": about["summary"] + "\n" + indented(about["description"]),
    }
    control = Tree(tree.epoch)
    control.file("/control", "".join(f"{name}: {value}\n" for name, value in fields.items()))
    sums = (f"{hashlib.md5(entry.content).hexdigest()}  {path.lstrip('/')}\n" for path, entry in files)
    control.file("/md5sums", "".join(sums))
    control.file("/conffiles", "".join(f"{path}\n" for path, entry in files if entry.config))
    for name, text in scripts.items():
        control.file(f"/{name}", text, mode=0o755)
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": lzma.compress(control.tar("./"), preset=level),
        "data.tar.xz": lzma.compress(tree.tar("./"), preset=level),
    }
    return ar(members, tree.epoch)


def indented(text):
    """The long form of a description: empty lines are a dot."""
    return "\n".join(f" {line}" if line else " ." for line in text.splitlines())


def ar(members, epoch):
    out = b"!<arch>\n"
    for name, content in members.items():
        out += f"{name:<16}{epoch:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) % 2)
    return out
