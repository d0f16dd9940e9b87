"""A container image archive, written without a daemon.

One file that `podman load`, `docker load` and `skopeo copy oci-archive:` read: an OCI layout, and the
list that Docker's older archives have. It holds several images that share their layers.
"""

import gzip
import hashlib
import json
import tarfile
from datetime import UTC, datetime
from pathlib import Path

from tree import add_content

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
PLAIN_LAYER = "application/vnd.oci.image.layer.v1.tar"


def write(out, tree, architecture, images, labels, level, more=()):
    """Writes images (name with tag → what their config says) over the files of a tree; `level` is that of gzip.
    Tar archives in `more` are further layers, taken as they are."""
    created = datetime.fromtimestamp(tree.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    plain = tree.tar()
    blobs = Blobs()
    layers = [blobs.add(LAYER, gzip.compress(plain, level, mtime=0))]
    digests = [digest(plain)]
    for path in more:
        layers.append(blobs.add(PLAIN_LAYER, path))
        digests.append(layers[-1]["digest"])
    manifests, listed = [], []
    for name, runs in images.items():
        config = blobs.add_json(
            CONFIG,
            {
                "architecture": ARCHITECTURES[architecture],
                "config": {**runs, "Labels": labels},
                "created": created,
                "history": [{"created": created, "created_by": "muster make dist"}] * len(layers),
                "os": "linux",
                "rootfs": {"diff_ids": digests, "type": "layers"},
            },
        )
        manifest = blobs.add_json(
            MANIFEST, {"config": config, "layers": layers, "mediaType": MANIFEST, "schemaVersion": 2}
        )
        platform = {"architecture": ARCHITECTURES[architecture], "os": "linux"}
        names = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
        manifests.append({**manifest, "annotations": names, "platform": platform})
        listed.append({"Config": place(config), "Layers": [place(layer) for layer in layers], "RepoTags": [name]})
    files = {
        "oci-layout": as_json({"imageLayoutVersion": "1.0.0"}),
        "index.json": as_json(
            {
                "manifests": manifests,
                "mediaType": "application/vnd.oci.image.index.v1+json",
                "schemaVersion": 2,
            }
        ),
        "manifest.json": as_json(listed),
        **blobs.files,
    }
    pack(out, files, tree.epoch)


class Blobs:
    """Content by digest: bytes, or the path of a file."""

    def __init__(self):
        self.files = {}

    def add(self, media_type, content):
        size = content.stat().st_size if isinstance(content, Path) else len(content)
        descriptor = {"digest": digest(content), "mediaType": media_type, "size": size}
        self.files[place(descriptor)] = content
        return descriptor

    def add_json(self, media_type, value):
        return self.add(media_type, as_json(value))


def digest(content):
    if isinstance(content, Path):
        with content.open("rb") as file:
            return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
    return "sha256:" + hashlib.sha256(content).hexdigest()


def place(descriptor):
    return "blobs/" + descriptor["digest"].replace(":", "/")


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def pack(out, files, epoch):
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.mode, info.mtime = 0o644, epoch
            add_content(archive, info, content)
