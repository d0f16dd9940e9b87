"""A real registry (Debian's docker-registry) with TLS and a password, and a small release in it.

The release has the structure of a real one: an image whose top layer holds `release-manifests/`
with the list of components and the metadata. Its components are named by digest and are not there:
preparing an installation never pulls them.
"""

import base64
import datetime
import gzip
import hashlib
import io
import ipaddress
import json
import subprocess
import tarfile

import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from backends import free_port, reachable
from muster import eventually, pull_secret

USER, PASSWORD = "muster", "open-sesame"
# The two above, as `htpasswd -B` writes them.
HTPASSWD = "muster:$2y$05$SK8P0Rs5J1cmrTfAdbQWnOQZM6LRMCB1fgwFqZKFRkz3C6r.91HbG\n"
# The name by which releases call their registry; only mirrors know it.
HOME = "quay.example.invalid/ocp"
COMPONENTS = ["machine-config-operator", "must-gather", "rhel-coreos", "installer"]


def digest(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def component(name, version):
    """Where a component of a release would be."""
    return f"{HOME}/content@{digest(f'{name} {version}'.encode())}"


class Registry:
    """One registry; may be stopped and started again on the same port and data."""

    def __init__(self, home, guarded=True, port=None, names=()):
        self.home = home
        self.guarded = guarded
        self.names = list(names)
        self.port = port or free_port()
        self.host = f"127.0.0.1:{self.port}"
        self.process = None
        self.ca_file = home / "ca.crt"
        key, certificate = self._authority()
        self._server(key, certificate)
        (home / "users").write_text(HTPASSWD)
        config = {
            "version": 0.1,
            "log": {"level": "error"},
            "storage": {"filesystem": {"rootdirectory": str(home / "storage")}},
            "http": {
                "addr": self.host,
                "secret": "for-this-test",
                "tls": {"certificate": str(home / "tls.crt"), "key": str(home / "tls.key")},
            },
        }
        if guarded:
            config["auth"] = {"htpasswd": {"realm": "test", "path": str(home / "users")}}
        (home / "config.yml").write_text(json.dumps(config))

    def _authority(self):
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of the test registry")])
        certificate = self._signed(name, name, key.public_key(), key, authority=True)
        self.ca_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return key, certificate

    def _server(self, issuer_key, issuer):
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test registry")])
        certificate = self._signed(name, issuer.subject, key.public_key(), issuer_key, authority=False)
        (self.home / "tls.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        form = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        (self.home / "tls.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))

    def _signed(self, subject, issuer, public_key, key, authority):
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = x509.CertificateBuilder(
            issuer_name=issuer,
            subject_name=subject,
            public_key=public_key,
            serial_number=x509.random_serial_number(),
            not_valid_before=now - datetime.timedelta(hours=1),
            not_valid_after=now + datetime.timedelta(days=2),
        ).add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        if not authority:
            names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), *map(x509.DNSName, self.names)]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(key, hashes.SHA256())

    def start(self):
        command = ["docker-registry", "serve", str(self.home / "config.yml")]
        with (self.home / "registry.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        eventually(lambda: reachable(self.port), "the registry to listen", timeout=60)
        return self

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=20)

    # Who may read, and where.

    def pull_secret(self, password=PASSWORD):
        """The suite's pull secret with an entry for this registry."""
        secret = json.loads(pull_secret())
        entry = {"auth": base64.b64encode(f"{USER}:{password}".encode()).decode()}
        secret["auths"][self.host] = entry
        secret["auths"][HOME.split("/")[0]] = entry
        return json.dumps(secret)

    def mirrors_file(self):
        """A registries.conf in which this registry stands in for the home of the releases."""
        path = self.home / "registries.conf"
        path.write_text(f'[[registry]]\nlocation = "{HOME}"\n[[registry.mirror]]\nlocation = "{self.host}/ocp"\n')
        return path

    def environment(self, releases, mirrored):
        """Settings of a server that offers releases of this registry, by version with their digests."""
        offered = []
        for version, pinned in releases.items():
            url = f"{HOME}/release@{pinned}" if mirrored else f"{self.host}/ocp/release:{version}"
            entry = {"openshift_version": ".".join(version.split(".")[:2]), "version": version, "url": url}
            entry |= {"cpu_architecture": "x86_64", "cpu_architectures": ["x86_64"]}
            offered.append(entry)
        offered[-1]["default"] = True
        settings = {"RELEASE_IMAGES": json.dumps(offered)}
        if mirrored:
            settings["MUSTER_IMAGES_MIRRORS_FILE"] = str(self.mirrors_file())
            settings["MUSTER_IMAGES_MIRRORS_CA_FILE"] = str(self.ca_file)
        else:
            settings["OS_IMAGE_DOWNLOAD_TRUSTED_CA_FILE"] = str(self.ca_file)
        return settings

    # Filling it.

    def _send(self, method, url, expect, **options):
        answer = requests.request(
            method, url, auth=(USER, PASSWORD), verify=str(self.ca_file), timeout=30, proxies={}, **options
        )
        assert answer.status_code == expect, f"{method} {url}: {answer.status_code} {answer.text[:300]}"
        return answer

    def push_blob(self, repository, data):
        begun = self._send("POST", f"https://{self.host}/v2/{repository}/blobs/uploads/", 202)
        place = begun.headers["Location"]
        joint = "&" if "?" in place else "?"
        headers = {"Content-Type": "application/octet-stream"}
        self._send("PUT", f"{place}{joint}digest={digest(data)}", 201, data=data, headers=headers)
        return digest(data)

    def push_release(self, version, components=COMPONENTS, more=None):
        """Pushes a release, with more manifests, and returns the digest of its image.

        `components` are names, or images by name.
        """
        images = components if isinstance(components, dict) else {n: component(n, version) for n in components}
        tags = [{"name": n, "from": {"kind": "DockerImage", "name": image}} for n, image in images.items()]
        references = {
            "kind": "ImageStream",
            "apiVersion": "image.openshift.io/v1",
            "metadata": {"name": version, "creationTimestamp": "2026-01-02T03:04:05Z"},
            "spec": {"tags": tags},
        }
        metadata = {"kind": "cincinnati-metadata-v0", "version": version, "previous": []}
        top = layer(
            {
                "release-manifests/image-references": json.dumps(references),
                "release-manifests/release-metadata": json.dumps(metadata),
                **{f"release-manifests/{name}": text for name, text in (more or {}).items()},
            }
        )
        repository = "ocp/release"
        config = json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {}}).encode()
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": described("application/vnd.oci.image.config.v1+json", config),
            "layers": [described("application/vnd.oci.image.layer.v1.tar+gzip", top)],
        }
        for blob in (config, top):
            self.push_blob(repository, blob)
        body = json.dumps(manifest).encode()
        headers = {"Content-Type": manifest["mediaType"]}
        self._send("PUT", f"https://{self.host}/v2/{repository}/manifests/{version}", 201, data=body, headers=headers)
        return digest(body)


def described(media_type, data):
    return {"mediaType": media_type, "digest": digest(data), "size": len(data)}


def layer(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(packed.getvalue(), mtime=0)
