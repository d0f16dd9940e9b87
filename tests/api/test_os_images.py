"""OS images: how they get into the data directory, and what is reported about missing ones."""

import hashlib
import os
import ssl
import subprocess
import threading

import pytest

import live_iso
from boot_images import VERSION, WHEN_ASKED, catalogue, fetch, os_images, stock
from muster import BINARY, api_error, eventually, quiet_environment


def test_a_missing_image_is_reported_with_instructions_to_add_it(servers, iso):
    server = servers("empty", env={"OS_IMAGES": catalogue()}).start()
    api = server.api()
    made = api.new_infra_env("bare", openshift_version=VERSION)
    answer = fetch(made["download_url"])
    reason = api_error(answer, 503)
    assert f"muster os-images add FILE --release {VERSION} --arch x86_64" in reason
    assert "images.fetch" in reason and int(answer.headers["Retry-After"]) > 0
    assert {entry["state"] for entry in api.get("//boot-artifacts").json()} == {"missing"}
    stock(server, iso)
    assert fetch(made["download_url"]).status_code == 200, "a running service sees what was added"
    states = {entry["cpu_architecture"]: entry["state"] for entry in api.get("//boot-artifacts").json()}
    assert states == {"x86_64": "ready", "s390x": "missing"}


def test_only_live_images_of_the_architecture_are_added(servers, iso, tmp_path):
    server = servers("picky", env={"OS_IMAGES": catalogue()})
    page = tmp_path / "page.iso"
    page.write_text("<html>not found</html>")
    assert "muster:" in os_images(server, "add", page, "--version", VERSION, expect=1)
    refusal = os_images(server, "add", iso, "--version", VERSION, "--arch", "s390x", expect=1)
    assert "x86_64" in refusal
    assert "SHA-256" in os_images(server, "add", iso, "--version", VERSION, "--sha256", "00" * 32, expect=1)
    assert "4.99" in os_images(server, "add", iso, "--version", "4.99", expect=1)
    assert "ready" not in os_images(server, "list")


def test_verify_finds_a_changed_byte(servers, iso):
    server = servers("verified", env={"OS_IMAGES": catalogue()})
    stock(server, iso)
    assert "sound" in os_images(server, "verify")
    stored = next((server.data_dir / "os-images").glob("*.iso"))
    with stored.open("r+b") as file:
        file.seek(1_000_000)
        byte = file.read(1)[0]
        file.seek(1_000_000)
        file.write(bytes([byte ^ 1]))
    assert "SHA-256" in os_images(server, "verify", expect=1)


@pytest.fixture
def mirror(iso):
    mirror = live_iso.Mirror(iso.read_bytes())
    yield mirror
    mirror.stop()


def test_a_fetch_goes_on_where_it_was_cut(servers, mirror, iso):
    digest = hashlib.sha256(iso.read_bytes()).hexdigest()
    mirror.cut, mirror.cuts_left = 1_000_000, 2
    server = servers("fetching", env={"OS_IMAGES": catalogue(mirror.url)})
    assert digest in os_images(server, "fetch", "--version", VERSION, "--sha256", digest)
    assert mirror.asked[0] is None and len(mirror.asked) == 3
    starts = [int(asked.removeprefix("bytes=").removesuffix("-")) for asked in mirror.asked[1:]]
    assert 0 < starts[0] < starts[1], mirror.asked
    stored = next((server.data_dir / "os-images").glob("*.iso"))
    assert stored.read_bytes() == iso.read_bytes()
    assert "already here" in os_images(server, "fetch", "--version", VERSION)


def test_a_fetched_image_with_another_digest_is_refused(servers, mirror):
    server = servers("wrong-digest", env={"OS_IMAGES": catalogue(mirror.url, sha256="00" * 32)})
    assert "SHA-256" in os_images(server, "fetch", "--version", VERSION, expect=1)
    assert not list((server.data_dir / "os-images").glob("*.iso"))


def test_the_service_fetches_what_is_asked_for_and_says_so_meanwhile(servers, mirror):
    server = servers("on-demand", env={"OS_IMAGES": catalogue(mirror.url), **WHEN_ASKED}).start()
    made = server.api().new_infra_env("wanted", openshift_version=VERSION)
    assert mirror.asked == [], "the image was not requested yet"
    first = fetch(made["download_url"])
    if first.status_code != 200:
        assert "os-images add" in api_error(first, 503) and first.headers["Retry-After"]
    eventually(lambda: fetch(made["download_url"]).status_code == 200, "the image to be fetched")
    assert len(mirror.asked) == 1


def test_an_anonymous_request_starts_no_download_that_no_infra_env_needs(servers, mirror):
    server = servers("strangers", env={"OS_IMAGES": catalogue(mirror.url), **WHEN_ASKED}).start()
    api = server.api()
    rootfs = f"{server.url}/boot-artifacts/rootfs?version={VERSION}&arch=x86_64"
    answer = fetch(rootfs)
    assert "no infra-env boots it" in api_error(answer, 503) and answer.headers["Retry-After"]
    made = api.new_infra_env("elsewhere", openshift_version=VERSION, cpu_architecture="s390x")
    # An address that is open for one image is not open for all.
    assert fetch(made["download_url"].replace("s390x", "x86_64")).status_code == 503
    assert mirror.asked == [] and 'muster_refusals_total{reason="unused_image"} 2' in api.get("//metrics").text
    api.new_infra_env("here", openshift_version=VERSION)
    eventually(lambda: fetch(rootfs).status_code == 200, "the root file system for hosts that boot it")


def test_the_service_can_fetch_before_anybody_asks(servers, mirror):
    env = {"OS_IMAGES": catalogue(mirror.url), "MUSTER_IMAGES_FETCH": "when-needed"}
    api = servers("ahead", env=env).start().api()
    api.new_infra_env("early", openshift_version=VERSION)
    ready = lambda: api.get("//boot-artifacts").json()[0]["state"] == "ready"  # noqa: E731
    eventually(ready, "the image to be there")


def test_a_source_that_refuses_is_named_as_the_reason(servers):
    server = servers("refused", env={"OS_IMAGES": catalogue("http://127.0.0.1:1/none.iso"), **WHEN_ASKED}).start()
    made = server.api().new_infra_env("unlucky", openshift_version=VERSION)

    def named():
        answer = fetch(made["download_url"])
        assert answer.status_code == 503
        return "does not answer" in answer.json()["reason"]

    eventually(named, "the failure to be reported", timeout=60)


# --- over HTTP, for administrators ------------------------------------------------------------


def change(api, method, arch="x86_64", expect=200, **options):
    parameters = {"version": VERSION, "arch": arch, **options.pop("query", {})}
    return api.call(method, "//boot-artifacts/os-image", expect, params=parameters, **options)


def test_an_image_is_uploaded_and_removed_over_http(servers, iso):
    server = servers("uploads", env={"OS_IMAGES": catalogue()}).start()
    api = server.api()
    content = iso.read_bytes()
    assert "fetches no OS images" in change(api, "POST", expect=409).json()["reason"]
    assert "the upload cannot be used" in change(api, "PUT", expect=400, data=b"<html>").json()["reason"]
    assert "x86_64" in change(api, "PUT", "s390x", expect=400, data=content).json()["reason"]
    wrong = change(api, "PUT", expect=400, data=content, query={"sha256": "00" * 32})
    assert "its SHA-256 is" in wrong.json()["reason"]
    assert not list((server.data_dir / "os-images").iterdir()), "nothing stays of what was refused"
    right = {"sha256": hashlib.sha256(content).hexdigest()}
    states = {entry["cpu_architecture"]: entry for entry in change(api, "PUT", data=content, query=right).json()}
    assert states["x86_64"]["state"] == "ready" and states["x86_64"]["origin"] == "added"
    made = api.new_infra_env("from-upload", openshift_version=VERSION)
    assert fetch(made["download_url"]).status_code == 200
    change(api, "DELETE")
    change(api, "DELETE", expect=404)
    api.call("PUT", "//boot-artifacts/os-image", 404, params={"version": "4.99"}, data=content)
    assert change(api, "GET", expect=405).headers["Allow"] == "POST, PUT, DELETE"


def test_a_fetch_begins_over_http(servers, mirror):
    server = servers("fetch-now", env={"OS_IMAGES": catalogue(mirror.url), **WHEN_ASKED}).start()
    api = server.api()
    change(api, "POST")
    ready = lambda: api.get("//boot-artifacts").json()[0]["state"] == "ready"  # noqa: E731
    eventually(ready, "the image to be there")
    assert len(mirror.asked) == 1


# --- how they are reached -------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A CA file, and what a server with a certificate of it needs."""
    folder = tmp_path_factory.mktemp("authority")

    def openssl(name, subject, *options):
        make = f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN={subject}"
        files = ["-keyout", f"{name}.key", "-out", f"{name}.crt"]
        subprocess.run([*make.split(), *files, *options], check=True, capture_output=True, cwd=folder)

    openssl("ca", "authority")
    signed = "-CA ca.crt -CAkey ca.key -addext basicConstraints=critical,CA:false -addext subjectAltName=IP:127.0.0.1"
    openssl("server", "mirror", *signed.split())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    return folder / "ca.crt", context


@pytest.fixture
def secure_mirror(iso, authority):
    mirror = live_iso.Mirror(iso.read_bytes(), tls=authority[1])
    yield mirror
    mirror.stop()


@pytest.fixture
def proxy():
    proxy = live_iso.Proxy()
    yield proxy
    proxy.stop()


def test_a_source_with_a_private_certificate_needs_its_ca(servers, secure_mirror, authority):
    env = {"OS_IMAGES": catalogue(secure_mirror.url)}
    server = servers("no-ca", env=env)
    refusal = os_images(server, "fetch", "--version", VERSION, expect=1)
    assert "images.fetch_ca_file" in refusal and secure_mirror.asked == [], refusal
    server.env["MUSTER_IMAGES_FETCH_CA_FILE"] = str(authority[0])
    assert "fetched" in os_images(server, "fetch", "--version", VERSION)


def test_a_proxy_of_the_environment_is_used(servers, mirror, secure_mirror, authority, proxy):
    env = {"OS_IMAGES": catalogue(mirror.url), "HTTP_PROXY": proxy.url, "HTTPS_PROXY": proxy.url}
    env["MUSTER_IMAGES_FETCH_CA_FILE"] = str(authority[0])
    plain = servers("proxied", env=env)
    assert "fetched" in os_images(plain, "fetch", "--version", VERSION)
    assert proxy.asked == [f"GET {mirror.url}"]
    secure = servers("proxied-tls", env={**env, "OS_IMAGES": catalogue(secure_mirror.url)})
    assert "fetched" in os_images(secure, "fetch", "--version", VERSION)
    assert proxy.asked[1].startswith("CONNECT 127.0.0.1:") and len(proxy.asked) == 2
    direct = servers("not-proxied", env={**env, "NO_PROXY": "127.0.0.1"})
    assert "fetched" in os_images(direct, "fetch", "--version", VERSION)
    assert len(proxy.asked) == 2


# --- what can go wrong on the way -----------------------------------------------------------


def test_a_fetch_that_was_killed_is_taken_up_by_the_service(servers, mirror, iso):
    mirror.gate = threading.Event()
    server = servers("killed-fetch", env={"OS_IMAGES": catalogue(mirror.url), **WHEN_ASKED})
    command = [str(BINARY), "os-images", "--data-dir", str(server.data_dir), "fetch", "--version", VERSION]
    fetching = subprocess.Popen(command, env={**quiet_environment(), **server.env}, stderr=subprocess.DEVNULL)
    half = len(iso.read_bytes()) // 2

    def arrived():
        parts = list((server.data_dir / "os-images").glob("*.part"))
        return parts and parts[0].stat().st_size >= half

    eventually(arrived, "the first half")
    assert "fetching" in os_images(server, "list", "--here")
    fetching.kill()
    fetching.wait()
    mirror.gate.set()
    assert "unfinished" in os_images(server, "list", "--here")
    server.start()
    made = server.api().new_infra_env("resumed", openshift_version=VERSION)
    eventually(lambda: fetch(made["download_url"], method="HEAD").status_code == 200, "the image")
    assert mirror.asked[0] is None and int(mirror.asked[1].removeprefix("bytes=").removesuffix("-")) >= half
    assert "sound" in os_images(server, "verify")


def test_a_slow_source_shows_its_progress_and_blocks_no_other_request(servers, mirror):
    mirror.gate = threading.Event()
    server = servers("slow", env={"OS_IMAGES": catalogue(mirror.url), **WHEN_ASKED}).start()
    api = server.api()
    made = api.new_infra_env("patient", openshift_version=VERSION)
    try:
        halfway = lambda: "(50 %)" in fetch(made["download_url"]).json()["reason"]  # noqa: E731
        eventually(halfway, "half of the image")
        answer = fetch(made["download_url"])
        assert answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0
        entry = api.get("//boot-artifacts").json()[0]
        assert entry["state"] == "fetching" and entry["active"]
        assert entry["done"] == entry["total"] // 2
        assert "an OS image is being fetched" in server.log(), "progress belongs into the log"
    finally:
        mirror.gate.set()
    eventually(lambda: fetch(made["download_url"]).status_code == 200, "the image")


def test_an_image_that_is_larger_than_the_cache_is_not_begun(servers, mirror):
    mirror.claims = 3 << 30
    env = {"OS_IMAGES": catalogue(mirror.url), "MUSTER_IMAGES_CACHE_GIB": "2"}
    refusal = os_images(servers("small-cache", env=env), "fetch", "--version", VERSION, expect=1)
    assert "images.cache_gib" in refusal and str(3 << 30) in refusal


def on_small_disk(server, mebibytes, *arguments):
    """Runs `muster os-images` with a small disk of its own below the data directory."""
    server.data_dir.mkdir(parents=True, exist_ok=True)
    mount = f'mount -t tmpfs -o size={mebibytes}m none {server.data_dir} && exec "$@"'
    alone = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", mount, "sh"]
    command = [*alone, str(BINARY), "os-images", "--data-dir", str(server.data_dir), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env={**quiet_environment(), **server.env}, timeout=60
    )


def test_a_disk_that_is_too_small_is_reported_up_front_and_a_full_one_when_it_fills(servers, mirror):
    server = servers("small-disk", env={"OS_IMAGES": catalogue(mirror.url)})
    done = on_small_disk(server, 2, "fetch", "--version", VERSION)
    assert done.returncode == 1 and "MiB left" in done.stderr and "data_dir" in done.stderr, done.stderr
    mirror.claims = "nothing"
    done = on_small_disk(server, 2, "fetch", "--version", VERSION)
    assert done.returncode == 1 and "after 1 MiB" in done.stderr and "No space left" in done.stderr, done.stderr


def test_a_source_that_cannot_be_used_is_refused_by_name(servers):
    server = servers("odd-source", env={"OS_IMAGES": catalogue("ftp://user:word@images.invalid/live.iso")})
    refusal = os_images(server, "fetch", "--version", VERSION, expect=1)
    assert "ftp" in refusal and "https" in refusal and "word" not in refusal
