"""A container image archive, written without a daemon.

One file that `podman load`, `docker load` and `skopeo copy oci-archive:` read: an OCI layout, and the
list that Docker's older archives have. It holds several images that share one layer.
"""

import gzip
import hashlib
import io
import json
import tarfile
from datetime import UTC, datetime

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


def archive(tree, architecture, images, labels, level=9):
    """Images (name with tag → what their config says) over the files of one tree; `level` is that of gzip."""
    created = datetime.fromtimestamp(tree.epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    plain = tree.tar()
    layer = gzip.compress(plain, level, mtime=0)
    blobs = Blobs()
    layer_descriptor = blobs.add(LAYER, layer)
    manifests, listed = [], []
    for name, runs in images.items():
        config = blobs.add_json(
            CONFIG,
            {
                "architecture": ARCHITECTURES[architecture],
                "config": {**runs, "Labels": labels},
                "created": created,
                "history": [{"created": created, "created_by": "muster make dist"}],
                "os": "linux",
                "rootfs": {"diff_ids": [digest(plain)], "type": "layers"},
            },
        )
        manifest = blobs.add_json(
            MANIFEST, {"config": config, "layers": [layer_descriptor], "mediaType": MANIFEST, "schemaVersion": 2}
        )
        platform = {"architecture": ARCHITECTURES[architecture], "os": "linux"}
        names = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
        manifests.append({**manifest, "annotations": names, "platform": platform})
        listed.append({"Config": path(config), "Layers": [path(layer_descriptor)], "RepoTags": [name]})
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
    return pack(files, tree.epoch)


class Blobs:
    """Content by digest."""

    def __init__(self):
        self.files = {}

    def add(self, media_type, content):
        descriptor = {"digest": digest(content), "mediaType": media_type, "size": len(content)}
        self.files[path(descriptor)] = content
        return descriptor

    def add_json(self, media_type, value):
        return self.add(media_type, as_json(value))


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def path(descriptor):
    return "blobs/" + descriptor["digest"].replace(":", "/")


def as_json(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def pack(files, epoch):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(content), 0o644, epoch
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()
