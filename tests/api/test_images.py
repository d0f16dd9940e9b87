"""Boot images as clients fetch them: every kind of address, ranges, resumption, and OS images that are missing."""

import email
import hashlib
import json
import subprocess
import threading
import time
import zlib
from urllib.parse import urlsplit

import pytest

import live_iso
from backends import free_port
from boot_images import BUILD, VERSION, catalogue, fetch, stock
from muster import BINARY, api_error, eventually, infra_error
from test_auth import Keys


@pytest.fixture(scope="module")
def imager(servers, iso, s390x):
    server = servers("imager", env={"OS_IMAGES": catalogue()}).start()
    server.port = int(urlsplit(server.url).port)
    stock(server, iso)
    stock(server, s390x, "s390x")
    return server


@pytest.fixture
def made(imager):
    return imager.api().new_infra_env("pictured", openshift_version=VERSION)


def read_iso(folder, content, *arguments):
    """What `muster iso` says about downloaded bytes."""
    path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}.iso"
    path.write_bytes(content)
    done = subprocess.run(
        [str(BINARY), "iso", *arguments[:2], str(path), *arguments[2:]], capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def discovery(api, infra_env, **query):
    path = f"/v2/infra-envs/{infra_env['id']}/downloads/files"
    return api.get(path, params={"file_name": "discovery.ign", **query}).text


# --- ISOs -----------------------------------------------------------------------------------


def test_the_full_image_has_the_discovery_config_and_is_otherwise_the_os_image(imager, made, iso, tmp_path):
    url = made["download_url"]
    assert f"/byid/{made['id']}/{VERSION}/x86_64/full.iso" in url
    answer = fetch(url)
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{made["id"]}-discovery.iso"'
    assert int(answer.headers["Content-Length"]) == len(answer.content) == iso.stat().st_size
    inside = read_iso(tmp_path, answer.content, "ignition", "show").decode()
    assert json.loads(inside) == json.loads(discovery(imager.api(), made))
    assert inside.strip() == discovery(imager.api(), made).strip()
    original = iso.read_bytes()
    differing = [n for n in range(0, len(original), 2048) if original[n : n + 2048] != answer.content[n : n + 2048]]
    assert 0 < len(differing) * 2048 <= live_iso.AREA


def test_kernel_arguments_follow_the_published_ones(imager, tmp_path):
    arguments = [{"operation": "append", "value": "console=ttyS0"}, {"operation": "append", "value": "rd.debug"}]
    for kind in ("full-iso", "minimal-iso"):
        made = imager.api().new_infra_env(
            "argued", openshift_version=VERSION, kernel_arguments=arguments, image_type=kind
        )
        words = read_iso(tmp_path, fetch(made["download_url"]).content, "kargs", "show").decode().split()
        assert words[-2:] == ["console=ttyS0", "rd.debug"], kind
        assert ("coreos.liveiso=" + live_iso.LABEL in words) == (kind == "full-iso")


def test_the_minimal_image_lacks_the_root_file_system_and_says_where_it_is(imager, tmp_path):
    made = imager.api().new_infra_env("small", openshift_version=VERSION, image_type="minimal-iso")
    assert made["download_url"].endswith("/minimal.iso")
    content = fetch(made["download_url"]).content
    assert len(content) < len(live_iso.ROOTFS)
    words = dict(
        word.split("=", 1) for word in read_iso(tmp_path, content, "kargs", "show").decode().split() if "=" in word
    )
    assert fetch(words["coreos.live.rootfs_url"]).content == live_iso.ROOTFS
    assert "&" not in words["coreos.live.rootfs_url"], "boot loaders end the command there"
    inside = read_iso(tmp_path, content, "ignition", "show").decode()
    assert inside.strip() == discovery(imager.api(), made, discovery_iso_type="minimal-iso").strip()


def test_a_change_of_the_infra_env_changes_image_and_tag(imager, made):
    before = fetch(made["download_url"], method="HEAD").headers["ETag"]
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHJf0h7bdU1W8xwgWQkjJRZVdG0vzFW5kYV5UXTi0Nn7 a@b"
    imager.api().patch(f"/v2/infra-envs/{made['id']}", {"ssh_authorized_key": key})
    after = fetch(made["download_url"], headers={"If-None-Match": before})
    assert after.status_code == 200 and after.headers["ETag"] != before
    again = fetch(made["download_url"], headers={"If-None-Match": after.headers["ETag"]})
    assert again.status_code == 304 and not again.content


def test_the_long_form_gives_the_same_image(imager, made):
    long = fetch(f"{imager.url}/images/{made['id']}", params={"version": BUILD, "type": "full-iso", "arch": "x86_64"})
    assert long.content == fetch(made["download_url"]).content
    for query, word in (({"type": "full-iso"}, "version"), ({"version": VERSION}, "type")):
        assert word in api_error(fetch(f"{imager.url}/images/{made['id']}", params=query), 400)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/byid/{id}/4.99/x86_64/full.iso", 404),
        ("/byid/{id}/4.20/vax/full.iso", 404),
        ("/byid/{id}/4.20/x86_64/other.iso", 404),
        ("/byid/{id}/4.20/x86_64/disconnected.iso", 409),
        ("/byid/11111111-2222-4333-8444-555555555555/4.20/x86_64/full.iso", 404),
        ("/boot-artifacts/kernel?version=4.99", 400),
        ("/boot-artifacts/kernel", 400),
        ("/boot-artifacts/ins-file?version=4.20", 404),
        ("/images/nonsense?version=4.20&type=full-iso", 404),
    ],
)
def test_what_there_is_not_is_refused_with_a_reason(imager, made, path, status):
    assert api_error(fetch(imager.url + path.format(id=made["id"])), status)


def test_images_can_only_be_read(imager, made):
    answer = fetch(made["download_url"], method="POST")
    assert answer.status_code == 405 and answer.headers["Allow"] == "GET, HEAD"


# --- ranges and resumption ------------------------------------------------------------------


def test_head_returns_the_headers_get_would_send(imager, made):
    head, get = fetch(made["download_url"], method="HEAD"), fetch(made["download_url"])
    for name in ("Content-Length", "ETag", "Last-Modified", "Accept-Ranges", "Content-Disposition"):
        assert head.headers[name] == get.headers[name], name
    assert not head.content and not head.headers["ETag"].startswith("W/")


def test_every_range_is_a_slice_of_the_whole(imager, made):
    whole = fetch(made["download_url"]).content
    size = len(whole)
    for first, last in ((0, 0), (0, 99), (262_143, 262_145), (size - 1, size - 1), (32_768, 1_000_000), (5, size + 99)):
        part = fetch(made["download_url"], headers={"Range": f"bytes={first}-{last}"})
        end = min(last, size - 1)
        assert part.status_code == 206
        assert part.headers["Content-Range"] == f"bytes {first}-{end}/{size}"
        assert part.content == whole[first : end + 1]
    assert fetch(made["download_url"], headers={"Range": "bytes=-7"}).content == whole[-7:]
    beyond = fetch(made["download_url"], headers={"Range": f"bytes={size}-"})
    assert beyond.status_code == 416 and beyond.headers["Content-Range"] == f"bytes */{size}"


def test_several_ranges_come_as_parts_of_one_answer(imager, made):
    whole = fetch(made["download_url"]).content
    answer = fetch(made["download_url"], headers={"Range": "bytes=0-9,600000-600100,-5"})
    assert answer.status_code == 206 and int(answer.headers["Content-Length"]) == len(answer.content)
    head = f"Content-Type: {answer.headers['Content-Type']}\r\n\r\n".encode()
    parts = email.message_from_bytes(head + answer.content).get_payload()
    expected = [(0, 10), (600_000, 600_101), (len(whole) - 5, len(whole))]
    assert [part["Content-Range"] for part in parts] == [f"bytes {a}-{b - 1}/{len(whole)}" for a, b in expected]
    at = 0
    for first, end in expected:
        at = answer.content.index(b"\r\n\r\n", at) + 4
        assert answer.content[at : at + end - first] == whole[first:end]
        at += end - first


def test_if_range_gives_the_part_only_of_the_same_image(imager, made):
    tag = fetch(made["download_url"], method="HEAD").headers["ETag"]
    same = fetch(made["download_url"], headers={"Range": "bytes=1-2", "If-Range": tag})
    other = fetch(made["download_url"], headers={"Range": "bytes=1-2", "If-Range": '"other"'})
    assert (same.status_code, other.status_code) == (206, 200)


def test_a_download_goes_on_after_a_restart(imager, made):
    url = made["download_url"]
    whole = fetch(url)
    tag, half = whole.headers["ETag"], len(whole.content) // 2
    imager.kill()
    imager.start()
    rest = fetch(url, headers={"Range": f"bytes={half}-", "If-Range": tag})
    assert rest.status_code == 206 and rest.headers["ETag"] == tag
    assert rest.content == whole.content[half:]


def test_parallel_downloads_are_identical(imager, made):
    digests = []

    def download():
        digests.append(hashlib.sha256(fetch(made["download_url"]).content).hexdigest())

    threads = [threading.Thread(target=download) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(digests) == 12 and len(set(digests)) == 1


# --- network boot ---------------------------------------------------------------------------


def test_the_script_leads_to_kernel_initrd_and_root_file_system(imager, made):
    api = imager.api()
    script = api.get(f"/v2/infra-envs/{made['id']}/downloads/files", params={"file_name": "ipxe-script"}).text
    words = script.split()
    initrd, kernel = words[words.index("initrd") + 3], words[words.index("kernel") + 1]
    rootfs = next(word for word in words if word.startswith("coreos.live.rootfs_url=")).split("=", 1)[1]
    answer = fetch(kernel)
    assert answer.content == live_iso.KERNEL
    assert answer.headers["Content-Disposition"] == 'attachment; filename="vmlinuz"'
    assert fetch(rootfs).content == live_iso.ROOTFS
    assert fetch(rootfs, headers={"Range": "bytes=100-199"}).content == live_iso.ROOTFS[100:200]
    loaded = fetch(initrd).content
    assert loaded.startswith(live_iso.INITRD) and len(loaded) % 4 == 0
    assert loaded[len(live_iso.INITRD) :][:2] == b"\x1f\x8b", "the config follows as a gzip archive"
    archive = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(loaded[len(live_iso.INITRD) :])
    assert discovery(api, made).strip().encode() in archive


def test_s390x_boot_files_name_the_end_of_the_initrd(imager):
    made = imager.api().new_infra_env("mainframe", openshift_version=VERSION, cpu_architecture="s390x")
    place = f"{imager.url}/images/{made['id']}"
    initrd = fetch(f"{place}/pxe-initrd", params={"version": VERSION, "arch": "s390x"}).content
    addrsize = fetch(f"{place}/s390x-initrd-addrsize", params={"version": VERSION}).content
    assert addrsize == bytes([0, 0, 0, 0, 2, 0, 0, 0]) + len(initrd).to_bytes(8, "big")
    ins = fetch(f"{imager.url}/boot-artifacts/ins-file", params={"version": VERSION, "arch": "s390x"})
    assert ins.content == live_iso.INS
    assert fetch(made["download_url"]).status_code == 200


def test_the_firmware_port_gives_what_a_network_boot_needs(servers, iso):
    port = free_port()
    env = {"HTTP_LISTEN_PORT": str(port), "OS_IMAGES": catalogue()}
    server = servers("pxe", plain=False, env=env).start()
    stock(server, iso)
    made = server.api().new_infra_env("pxe", openshift_version=VERSION)
    base = f"http://127.0.0.1:{port}"
    script = fetch(
        f"{base}/api/assisted-install/v2/infra-envs/{made['id']}/downloads/files", params={"file_name": "ipxe-script"}
    ).text
    addresses = [word.removeprefix("coreos.live.rootfs_url=") for word in script.split() if "http" in word]
    assert len(addresses) == 3 and all(address.startswith(base + "/") for address in addresses), addresses
    for address in addresses:
        assert fetch(address).status_code == 200, address
    path = urlsplit(made["download_url"]).path
    assert infra_error(fetch(base + path), 404)


# --- who may have them ----------------------------------------------------------------------


def guarded(servers, iso, name, auth, **env):
    env = {"OS_IMAGES": catalogue(), **env}
    server = servers(name, auth=auth, env=env).start()
    stock(server, iso)
    return server


@pytest.fixture(scope="module")
def token_server(servers, iso):
    word = "a long enough word"
    hashed = subprocess.run(
        [str(BINARY), "hash-password"], input=word, capture_output=True, text=True, check=True
    ).stdout
    users = [{"name": "ada", "password_hash": hashed.strip(), "role": "admin"}]
    server = guarded(servers, iso, "tokens", "users", MUSTER_AUTH_USERS=json.dumps(users), IMAGE_EXPIRATION_TIME="4s")
    body = {"username": "ada", "password": word}
    token = server.api().call("POST", "//auth/token", 200, json=body).json()["token"]
    return server, server.api({"Authorization": f"Bearer {token}"})


def test_a_token_opens_its_image_until_it_expires(token_server):
    server, ada = token_server
    made = ada.new_infra_env("token", openshift_version=VERSION)
    fresh = ada.get(f"/v2/infra-envs/{made['id']}/downloads/image-url").json()["url"]
    began = time.monotonic()
    assert "/bytoken/" in fresh
    assert fetch(fresh).status_code == 200
    assert fetch(fresh.replace("full.iso", "minimal.iso")).status_code == 200
    key = urlsplit(fresh).path.split("/")[2]
    assert fetch(fresh.replace(key, key[:-6] + "AAAAAA")).status_code == 401
    assert fetch(fresh.replace(f"bytoken/{key}", f"byid/{made['id']}")).status_code == 401
    eventually(lambda: fetch(fresh, method="HEAD").status_code == 401, "the token to expire", timeout=15)
    assert time.monotonic() - began >= 3
    assert key not in server.log(), "keys of images do not belong into the log"


def test_a_new_signing_key_ends_image_addresses(token_server):
    _, ada = token_server
    made = ada.new_infra_env("withdrawn", openshift_version=VERSION)
    assert fetch(made["download_url"], method="HEAD").status_code == 200
    ada.post(f"/v2/infra-envs/{made['id']}/regenerate-signing-key", expect=204)
    assert fetch(made["download_url"], method="HEAD").status_code == 401


def test_images_by_id_need_credentials_where_users_log_in(token_server):
    server, ada = token_server
    made = ada.new_infra_env("by-id", openshift_version=VERSION)
    query = f"//images/{made['id']}?version={VERSION}&type=full-iso"
    assert server.api().call("GET", query).status_code == 401
    ada.get(query)
    assert server.api().call("GET", "//boot-artifacts").status_code == 401


def test_an_api_key_opens_the_image_of_its_infra_env(servers, iso):
    # Mode local has no way to create by REST, so the infra-envs are made before.
    server = guarded(servers, iso, "api-keys", "none")
    made, other = (server.api().new_infra_env(name, openshift_version=VERSION) for name in ("keyed", "other"))
    server.stop()
    keys = Keys()
    server.auth = "local"
    server.env |= {"EC_PRIVATE_KEY_PEM": keys.private_pem, "EC_PUBLIC_KEY_PEM": keys.public_pem}
    server.start()
    plain = f"{server.url}/byid/{made['id']}/{VERSION}/x86_64/full.iso"
    assert fetch(plain).status_code == 401, "the id alone is no permission in this mode"
    url = plain.replace(f"byid/{made['id']}", f"byapikey/{keys.token(infra_env_id=made['id'])}")
    answer = fetch(url)
    assert answer.status_code == 200 and made["id"] in answer.headers["Content-Disposition"]
    stranger = Keys().token(infra_env_id=made["id"])
    assert fetch(f"{server.url}/byapikey/{stranger}/{VERSION}/x86_64/full.iso").status_code == 401
    query = {"version": VERSION, "arch": "x86_64", "api_key": keys.token(infra_env_id=made["id"])}
    assert fetch(f"{server.url}/images/{made['id']}/pxe-initrd", params=query).status_code == 200
    assert fetch(f"{server.url}/images/{other['id']}/pxe-initrd", params=query).status_code in (401, 403, 404)
