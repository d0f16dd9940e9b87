"""Pods of podman: with the containers, variables, ports and volumes that users of the reference have in
their files, where only the names of images change; and with the files that `muster deploy` makes."""

import base64
import json
import platform
import shutil
import ssl
import subprocess

import pytest
import requests
import yaml

import podman
from backends import Postgres
from boot_images import fetch
from muster import ROOT, VERSION, Api, eventually, pull_secret, quiet_environment

pytestmark = [
    pytest.mark.skipif(not podman.ARCHIVE, reason="tests/run-container runs these"),
    pytest.mark.timeout(300),
]

OS_IMAGES = [
    {
        "openshift_version": "4.20",
        "cpu_architecture": "x86_64",
        "url": "https://mirror.example.com/rhcos-4.20-live-iso.x86_64.iso",
        "version": "9.6.20251015-1",
    }
]
RELEASE_IMAGES = [
    {
        "openshift_version": "4.20",
        "cpu_architecture": "x86_64",
        "cpu_architectures": ["x86_64"],
        "url": "quay.io/openshift-release-dev/ocp-release:4.20.1-x86_64",
        "version": "4.20.1",
        "default": True,
        "support_level": "production",
    }
]
HARDWARE = [
    {
        "version": "default",
        "master": {"cpu_cores": 4, "ram_mib": 16384, "disk_size_gb": 100, "installation_disk_speed_threshold_ms": 10},
        "worker": {"cpu_cores": 2, "ram_mib": 8192, "disk_size_gb": 100, "installation_disk_speed_threshold_ms": 10},
        "sno": {"cpu_cores": 8, "ram_mib": 16384, "disk_size_gb": 100, "installation_disk_speed_threshold_ms": 10},
    }
]
# Every variable of the reference's configmap, with its value; sizes of lists aside.
CONFIG = {
    "ASSISTED_SERVICE_HOST": "127.0.0.1:8090",
    "ASSISTED_SERVICE_SCHEME": "http",
    "AIUI_CHAT_API_URL": "http://localhost:12121",
    "AUTH_TYPE": "none",
    "DB_HOST": "127.0.0.1",
    "DB_NAME": "installer",
    "DB_PASS": "admin",
    "DB_PORT": "5432",
    "DB_USER": "admin",
    "DEPLOY_TARGET": "onprem",
    "DEPLOYMENT_TYPE": "Podman",
    "DISK_ENCRYPTION_SUPPORT": "true",
    "DUMMY_IGNITION": "false",
    "ENABLE_SINGLE_NODE_DNSMASQ": "true",
    "ENABLE_UPGRADE_AGENT": "true",
    "HW_VALIDATOR_REQUIREMENTS": json.dumps(HARDWARE),
    "IMAGE_SERVICE_BASE_URL": "http://127.0.0.1:8888",
    "IPV6_SUPPORT": "true",
    "ISO_IMAGE_TYPE": "full-iso",
    "LISTEN_PORT": "8888",
    "NTP_DEFAULT_SERVER": "",
    "OS_IMAGES": json.dumps(OS_IMAGES),
    "POSTGRESQL_DATABASE": "installer",
    "POSTGRESQL_PASSWORD": "admin",
    "POSTGRESQL_USER": "admin",
    "PUBLIC_CONTAINER_REGISTRIES": "quay.io,registry.ci.openshift.org",
    "RELEASE_IMAGES": json.dumps(RELEASE_IMAGES),
    "SERVICE_BASE_URL": "http://127.0.0.1:8090",
    "STORAGE": "filesystem",
}

# Where its configmap for OKD differs.
OKD = {
    "DISK_ENCRYPTION_SUPPORT": "false",
    "ENABLE_OKD_SUPPORT": "true",
    "ENABLE_SINGLE_NODE_DNSMASQ": "false",
    "ENABLE_UPGRADE_AGENT": "false",
    "OS_IMAGES": json.dumps(
        [
            {
                "openshift_version": "4.16",
                "cpu_architecture": "x86_64",
                "url": "https://mirror.example.com/fedora-coreos-39-live.x86_64.iso",
                "version": "39.20240210.3.0",
            }
        ]
    ),
    "RELEASE_IMAGES": json.dumps(
        [
            {
                "openshift_version": "4.16",
                "cpu_architecture": "x86_64",
                "cpu_architectures": ["x86_64"],
                "url": "registry.ci.openshift.org/origin/release:4.16",
                "version": "4.16.0-0.okd",
                "default": True,
            }
        ]
    ),
}


class Kube:
    """Files for `podman kube play`, in the home of the user who runs it."""

    def __init__(self, home):
        self.home = home
        self.images = home.images

    def write(self, name, *documents):
        path = self.home.home / name
        path.write_text(yaml.safe_dump_all(documents))
        path.chmod(0o644)
        return str(path)

    def config_map(self, name, data):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}

    def pod(self, mounts=None, volumes=()):
        """The pod `assisted-installer`; its database is a server beside it."""

        def container(name, image, port):
            return {
                "name": name,
                "image": self.images[image],
                "ports": [{"hostPort": port}],
                "envFrom": [{"configMapRef": {"name": "config"}}],
                "volumeMounts": (mounts or {}).get(name, []),
            }

        containers = [
            container("ui", "muster-ui", 8080),
            container("image-service", "muster-image-service", 8888),
            container("service", "muster", 8090),
        ]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"labels": {"app": "assisted-installer"}, "name": "assisted-installer"},
            "spec": {"containers": containers, "restartPolicy": "Never", "volumes": list(volumes)},
        }


@pytest.fixture
def kube(podman_home):
    return Kube(podman_home)


def ready(url, **options):
    # Proxies of the machine that runs the tests have no say on loopback.
    session = requests.Session()
    session.trust_env = False

    def ask():
        try:
            return session.get(url, timeout=5, **options).status_code == 200
        except requests.RequestException:
            return False

    eventually(ask, url, timeout=120)


def life(api, image_url):
    """The part of a life that every installation begins with."""
    cluster = api.new_cluster("pod")
    infra_env = api.new_infra_env("pod-env", cluster_id=cluster["id"])
    assert infra_env["download_url"].startswith(image_url), infra_env["download_url"]
    assert api.cluster(cluster["id"])["status"] in {"insufficient", "pending-for-input"}
    api.delete(f"/v2/clusters/{cluster['id']}")
    return infra_env


def test_the_pod_of_the_reference_works_with_other_images_and_waits_for_its_database(kube, podman_home):
    config = {**CONFIG, "DB_HOST": "10.0.2.2", "DB_USER": "muster", "DB_PASS": "secret"}
    pod = kube.write("pod.yml", kube.pod())
    down = podman.play(
        podman_home,
        ["--configmap", kube.write("configmap.yml", kube.config_map("config", config)), pod],
        "assisted-installer",
    )
    database = Postgres()
    try:
        # The database comes last, as it may in a pod.
        waiting = "the database server does not answer yet"
        eventually(
            lambda: waiting in podman_home.run("sh", "-c", "podman logs assisted-installer-service 2>&1"), waiting
        )
        database.port = 5432
        database.start()
        database._psql("postgres", "CREATE DATABASE installer")
        for url in ["http://127.0.0.1:8090/ready", "http://127.0.0.1:8888/health", "http://127.0.0.1:8080/"]:
            ready(url)
        # Through the port of the page, as its buttons do.
        life(Api("http://127.0.0.1:8080"), "http://127.0.0.1:8888/")
        versions = Api("http://127.0.0.1:8090").get("/v2/openshift-versions").json()
        assert list(versions) == ["4.20.1"]
    finally:
        down()
        database.remove()


def test_the_pod_with_the_configmap_of_okd_needs_no_pull_secret(kube, podman_home):
    without = {"AIUI_CHAT_API_URL", "DEPLOYMENT_TYPE"}
    config = {name: value for name, value in CONFIG.items() if name not in without and not name.startswith("DB_")}
    files = ["--configmap", kube.write("okd-configmap.yml", kube.config_map("config", config | OKD))]
    down = podman.play(podman_home, [*files, kube.write("pod.yml", kube.pod())], "assisted-installer")
    try:
        ready("http://127.0.0.1:8080/ready")
        api = Api("http://127.0.0.1:8080")
        assert list(api.get("/v2/openshift-versions").json()) == ["4.16.0-0.okd"]
        cluster = api.new_cluster("okd", openshift_version="4.16.0-0.okd", pull_secret="")
        infra_env = api.new_infra_env("okd", cluster_id=cluster["id"], pull_secret="", openshift_version="")
        assert infra_env["download_url"].startswith("http://127.0.0.1:8888/"), infra_env["download_url"]
    finally:
        down()


def test_the_pod_with_certificates_and_volumes_speaks_tls_on_every_port(kube, podman_home, tmp_path):
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "365", "-subj", "/CN=localhost"]
    make += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / "tls.key", "-out", tmp_path / "tls.crt"]
    subprocess.run(make, check=True, capture_output=True)
    data = {name: (tmp_path / name).read_text() for name in ["tls.crt", "tls.key"]}
    config = {name: value for name, value in CONFIG.items() if not name.startswith("DB_")}
    config |= {
        "ASSISTED_SERVICE_SCHEME": "https",
        "ASSISTED_SERVICE_URL": "https://127.0.0.1:8090",
        "HTTPS_CA_FILE": "/etc/certs/tls.crt",
        "HTTPS_CERT_FILE": "/etc/certs/tls.crt",
        "HTTPS_KEY_FILE": "/etc/certs/tls.key",
        "IMAGE_SERVICE_BASE_URL": "https://127.0.0.1:8888",
        "SERVICE_BASE_URL": "https://127.0.0.1:8090",
    }
    certificates = {"name": "certs-configmap-volume", "mountPath": "/etc/certs", "readOnly": True}
    mounts = {name: [certificates] for name in ["ui", "image-service", "service"]}
    mounts["service"] = [certificates, {"name": "ai-data", "mountPath": "/data"}]
    volumes = [
        {"name": "certs-configmap-volume", "configMap": {"name": "certs"}},
        {"name": "ai-data", "persistentVolumeClaim": {"claimName": "ai-service-data"}},
    ]
    files = ["--configmap", kube.write("configmap_tls_certs.yml", kube.config_map("certs", data))]
    files += ["--configmap", kube.write("configmap_tls.yml", kube.config_map("config", config))]
    files += [kube.write("pod_tls.yml", kube.pod(mounts, volumes))]
    trust = str(tmp_path / "tls.crt")
    clusters = []
    for _ in range(2):
        down = podman.play(podman_home, files, "assisted-installer")
        try:
            for port in [8090, 8888, 8080]:
                ready(f"https://127.0.0.1:{port}/health", verify=trust)
            api = Api("https://127.0.0.1:8080", verify=trust)
            life(api, "https://127.0.0.1:8888/")
            clusters.append(api.new_cluster(f"kept{len(clusters)}")["name"])
            # Volumes stay when the pod goes.
            assert [cluster["name"] for cluster in api.get("/v2/clusters").json()] == clusters
        finally:
            down()


def test_mirrors_at_the_places_of_the_reference_reach_hosts(kube, podman_home):
    registries = '[[registry]]\nlocation = "quay.io"\n[[registry.mirror]]\nlocation = "mirror.example.com:5000"\n'
    config = {name: value for name, value in CONFIG.items() if not name.startswith("DB_")}
    config |= {"registries.conf": registries, "tls-ca-bundle.pem": "-----BEGIN CERTIFICATE-----\nMIIB\n"}
    items = [{"key": name, "path": name} for name in ["registries.conf", "tls-ca-bundle.pem"]]
    volumes = [{"name": "mirror-registry-config", "configMap": {"name": "config", "items": items}}]
    mounts = {
        "service": [
            {"name": "mirror-registry-config", "mountPath": "/etc/containers"},
            {"name": "mirror-registry-config", "mountPath": "/etc/pki/ca-trust/extracted/pem"},
        ]
    }
    files = ["--configmap", kube.write("configmap-disconnected.yml", kube.config_map("config", config))]
    files += [kube.write("pod-disconnected.yml", kube.pod(mounts, volumes))]
    down = podman.play(podman_home, files, "assisted-installer")
    try:
        ready("http://127.0.0.1:8090/ready")
        api = Api("http://127.0.0.1:8090")
        body = {"name": "mirrored", "pull_secret": pull_secret(), "openshift_version": VERSION}
        infra_env = api.post("/v2/infra-envs", body).json()
        ignition = api.get(f"/v2/infra-envs/{infra_env['id']}/downloads/files?file_name=discovery.ign").json()
        files = {entry["path"]: entry for entry in ignition["storage"]["files"]}
        source = files["/etc/containers/registries.conf"]["contents"]["source"]
        assert "mirror.example.com:5000" in requests.utils.unquote(
            base64.b64decode(source.split(",")[1]).decode() if ";base64," in source else source
        )
    finally:
        down()


def test_the_files_of_muster_deploy_run_the_service_with_a_read_only_root(kube, podman_home):
    command = ["podman", "run", "--rm", "--read-only", "--network=none", kube.images["muster"], "deploy", "podman"]
    command += ["--address", "127.0.0.1", "--auth", "none", "--plain-http", "--image", kube.images["muster"]]
    path = podman_home.home / "muster.yml"
    path.write_text(podman_home.run(*command))
    path.chmod(0o644)
    down = podman.play(podman_home, [str(path)], "muster")
    try:
        ready("http://127.0.0.1:8090/ready")
        life(Api("http://127.0.0.1:8090"), "http://127.0.0.1:8090/")
        inspected = json.loads(podman_home.run("podman", "inspect", "muster-service"))[0]
        assert inspected["HostConfig"]["ReadonlyRootfs"] is True
        assert inspected["EffectiveCaps"] in ([], None)
    finally:
        down()


def test_certificates_of_muster_deploy_are_read_by_the_group_and_renewed_without_a_restart(kube, podman_home):
    site = podman_home.home / "site"
    site.mkdir()
    cert, key = site / "tls.crt", site / "tls.key"

    def renew(name):
        """As programs do that renew certificates: new files take the place of the old ones."""
        made = [site / "new.key", site / "new.crt"]
        make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj", f"/CN={name}"]
        make += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", made[0], "-out", made[1]]
        subprocess.run(make, check=True, capture_output=True)
        for path, place in zip(made, [key, cert], strict=True):
            # The group of the user who runs podman, as tests/rootless does.
            shutil.chown(path, "nobody", "nogroup")
            path.chmod(0o640)
            path.rename(place)

    renew("first")
    shutil.chown(site, "nobody", "nogroup")
    site.chmod(0o750)
    command = ["podman", "run", "--rm", "--read-only", "--network=none", kube.images["muster"], "deploy", "podman"]
    command += ["--address", "127.0.0.1", "--ephemeral", "--image", kube.images["muster"]]
    path = podman_home.home / "muster-tls.yml"
    path.write_text(podman_home.run(*command, "--tls-cert", str(cert), "--tls-key", str(key)))
    path.chmod(0o644)
    down = podman.play(podman_home, [str(path)], "muster")
    try:
        ready("https://127.0.0.1:8090/ready", verify=str(cert))
        renew("second")

        def shown():
            return ssl.get_server_certificate(("127.0.0.1", 8090)).strip() == cert.read_text().strip()

        eventually(shown, "the renewed certificate", timeout=30)
    finally:
        down()


def test_a_live_iso_inside_the_image_is_an_os_image_that_is_there(contained, podman_home, iso):
    out = podman_home.home / "with-os-image"
    build = [ROOT / "packaging/build", "--only", "container", "--quick", "--out", out, platform.machine()]
    build += ["--os-image", iso, "--os-image-release", VERSION]
    subprocess.run(build, check=True, env=quiet_environment(), timeout=120)
    (archive,) = out.glob("*.oci.tar")
    images = podman_home.load(archive)
    assert images["muster"] != podman_home.images["muster"]
    # Nothing is fetched, and the volume of the container is new.
    api = contained("boxed", image=images["muster"]).start(timeout=120).api()
    ready = [entry for entry in api.get("//boot-artifacts").json() if entry["state"] == "ready"]
    assert {entry["cpu_architecture"] for entry in ready} == {platform.machine()}, ready
    image = fetch(api.new_infra_env("boxed")["download_url"])
    assert image.status_code == 200 and len(image.content) >= iso.stat().st_size


def test_an_image_has_no_shell_and_does_not_run_as_root(kube, podman_home):
    run = ["podman", "run", "--rm", "--network=none", "--entrypoint", "/bin/sh", kube.images["muster"], "-c", "true"]
    refused = subprocess.run(
        [podman.ROOTLESS, str(podman_home.home), *run], env=quiet_environment(), capture_output=True, text=True
    )
    assert refused.returncode != 0 and "/bin/sh" in refused.stderr
    inspected = json.loads(podman_home.run("podman", "image", "inspect", kube.images["muster"]))[0]
    assert inspected["User"] == "1001:0" and inspected["Config"]["Entrypoint"] == ["/usr/bin/muster"]
