"""Every address of a boot image against every wrong key, and against every way to ask for a part of it."""

import email
import json
import subprocess
import time
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import jwt
import pytest

from boot_images import VERSION, catalogue, fetch, stock
from muster import BASE_PATH, BINARY
from test_auth import Keys, unsigned

WORD = "a long enough word"

# --- keys ---------------------------------------------------------------------------------------


def key_of(url):
    """The key in an address, whether in the path or in the query."""
    parts = urlsplit(url)
    if parts.path.startswith(("/bytoken/", "/byapikey/")):
        return parts.path.split("/")[2]
    return dict(parse_qsl(parts.query))["api_key"]


def with_key(url, key):
    """The address with another key, or without one."""
    parts = urlsplit(url)
    if parts.path.startswith(("/bytoken/", "/byapikey/")):
        return url.replace(f"/{key_of(url)}/", f"/{key}/")
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "api_key"]
    return urlunsplit(parts._replace(query=urlencode(query + ([("api_key", key)] if key else []))))


def claims_of(key):
    return jwt.decode(key, options={"verify_signature": False})


class Links:
    """Addresses of two infra-envs in one auth mode, and the key pair that signs their keys."""

    def __init__(self, server, keys, mine, other):
        self.server, self.keys, self.mine, self.other = server, keys, mine, other

    def signed(self, url, **changes):
        claims = {**claims_of(key_of(url)), **changes}
        return self.keys.token(**{name: value for name, value in claims.items() if value is not None})


@pytest.fixture(scope="module")
def by_token(servers, iso):
    """Mode users: keys that expire and open one thing."""
    hashed = subprocess.run(
        [str(BINARY), "hash-password"], input=WORD, capture_output=True, text=True, check=True
    ).stdout
    users = [{"name": "ada", "password_hash": hashed.strip(), "role": "admin"}]
    keys = Keys()
    env = {"OS_IMAGES": catalogue(), "MUSTER_AUTH_USERS": json.dumps(users)}
    env |= {"EC_PRIVATE_KEY_PEM": keys.private_pem, "EC_PUBLIC_KEY_PEM": keys.public_pem}
    server = servers("links-users", auth="users", env=env).start()
    stock(server, iso)
    login = server.api().call("POST", "//auth/token", 200, json={"username": "ada", "password": WORD}).json()
    ada = server.api({"Authorization": f"Bearer {login['token']}"})

    def addresses(name):
        made = ada.new_infra_env(name, openshift_version=VERSION)
        downloads = f"/v2/infra-envs/{made['id']}/downloads"
        signed = lambda file: ada.get(f"{downloads}/files-presigned", params={"file_name": file}).json()["url"]  # noqa: E731
        script = fetch(signed("ipxe-script")).text
        initrd = next(line.split()[-1] for line in script.splitlines() if line.startswith("initrd "))
        return {
            "iso": ada.get(f"{downloads}/image-url").json()["url"],
            "initrd": initrd,
            "script": signed("ipxe-script"),
            "config": signed("discovery.ign"),
        }

    return Links(server, keys, addresses("mine"), addresses("other"))


@pytest.fixture(scope="module")
def by_api_key(servers, iso):
    """Mode local: keys without end that open all of an infra-env. It has no way to create by REST, so that is done before."""
    server = servers("links-local", env={"OS_IMAGES": catalogue()}).start()
    stock(server, iso)
    ids = [server.api().new_infra_env(name, openshift_version=VERSION)["id"] for name in ("mine", "other")]
    server.stop()
    keys = Keys()
    server.auth = "local"
    server.env |= {"EC_PRIVATE_KEY_PEM": keys.private_pem, "EC_PUBLIC_KEY_PEM": keys.public_pem}
    server.start()

    def addresses(id):
        key = keys.token(infra_env_id=id)
        files = f"{server.url}{BASE_PATH}/v2/infra-envs/{id}/downloads/files"
        return {
            "iso": f"{server.url}/byapikey/{key}/{VERSION}/x86_64/full.iso",
            "long": f"{server.url}/images/{id}?version={VERSION}&type=minimal-iso&api_key={key}",
            "initrd": f"{server.url}/images/{id}/pxe-initrd?version={VERSION}&api_key={key}",
            "script": f"{files}?file_name=ipxe-script&api_key={key}",
            "config": f"{files}?file_name=discovery.ign&api_key={key}",
        }

    return Links(server, keys, *map(addresses, ids))


@pytest.fixture(scope="module", params=["token", "api key"])
def links(request, by_token, by_api_key):
    return by_token if request.param == "token" else by_api_key


def tampered(key):
    head, body, signature = key.split(".")
    flipped = ("A" if signature[3] != "A" else "B") + signature[4:]
    return f"{head}.{body}.{signature[:3]}{flipped}"


def prolonged(key):
    """Other claims under the old signature."""
    head, _, signature = key.split(".")
    body = jwt.encode({**claims_of(key), "exp": int(time.time()) + 10**6}, "0" * 32, algorithm="HS256").split(".")[1]
    return f"{head}.{body}.{signature}"


FAULTS = {
    "tampered": lambda links, url: tampered(key_of(url)),
    "prolonged": lambda links, url: prolonged(key_of(url)),
    "expired": lambda links, url: links.signed(url, exp=int(time.time()) - 5),
    "not valid yet": lambda links, url: links.signed(url, nbf=int(time.time()) + 3600),
    "signed with another key": lambda links, url: Keys().token(**claims_of(key_of(url))),
    "unsigned": lambda links, url: unsigned(claims_of(key_of(url))),
    "signed with the public key as a password": lambda links, url: jwt.encode(
        claims_of(key_of(url)), links.keys.public_pem.encode().ljust(64), algorithm="HS256"
    ),
    "for no infra-env": lambda links, url: links.signed(url, infra_env_id=None),
    "for an infra-env that is not": lambda links, url: links.signed(
        url, infra_env_id="11111111-2222-4333-8444-555555555555"
    ),
    "no key": lambda links, url: "",
    "nonsense": lambda links, url: "eyJ.eyJ.x",
}


def test_every_address_opens_with_its_own_key(links):
    for what, url in links.mine.items():
        answer = fetch(url)
        assert answer.status_code == 200 and answer.content, f"{what}: {answer.text[:300]}"


@pytest.mark.parametrize("fault", FAULTS)
def test_no_address_opens_with_a_wrong_key(links, fault):
    for what, url in links.mine.items():
        key = FAULTS[fault](links, url)
        bad = with_key(url, key)
        assert bad != url
        # Files of the API are not asked for by HEAD; that there is none is no secret.
        for method in ("GET",) if BASE_PATH in url else ("GET", "HEAD"):
            for headers in ({}, {"Range": "bytes=0-9"}):
                answer = fetch(bad, method=method, headers=headers)
                assert answer.status_code in (401, 403, 404), f"{what} with a key that is {fault}: {answer.status_code}"
        assert len(key) < 20 or key not in links.server.log(), "keys do not belong into the log, wrong ones neither"


def test_the_key_of_another_infra_env_opens_only_that_one(links):
    for what, url in links.mine.items():
        strange = fetch(with_key(url, key_of(links.other[what])))
        if what == "iso":
            # Its address names nothing but the key.
            assert strange.content == fetch(links.other["iso"]).content
        else:
            assert strange.status_code in (401, 403, 404), what


def test_a_key_opens_what_it_was_made_for_and_nothing_else(by_token):
    # Image and initrd carry the config, so access to one of the three is access to all.
    carriers = {"iso", "initrd", "config"}
    for made_for, with_it in by_token.mine.items():
        for wanted, url in by_token.mine.items():
            status = fetch(with_key(url, key_of(with_it))).status_code
            if wanted == made_for:
                assert status == 200, wanted
            elif not {made_for, wanted} <= carriers:
                assert status in (401, 403), f"the key of {made_for} opened {wanted}: {status}"


# --- parts --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def open_server(servers, iso, s390x):
    server = servers("links-none", env={"OS_IMAGES": catalogue()}).start()
    stock(server, iso)
    stock(server, s390x, "s390x")
    server.infra_env = server.api().new_infra_env("parts", openshift_version=VERSION)["id"]
    server.mainframe = server.api().new_infra_env("mainframe", openshift_version=VERSION, cpu_architecture="s390x")[
        "id"
    ]
    return server


PATHS = [
    "/byid/{id}/4.20/x86_64/full.iso",
    "/byid/{id}/4.20/x86_64/minimal.iso",
    "/images/{id}?version=4.20&type=full-iso",
    "/images/{id}?version=4.20&type=minimal-iso&arch=x86_64",
    "/images/{id}/pxe-initrd?version=4.20",
    "/images/{s390x}/pxe-initrd?version=4.20&arch=s390x",
    "/images/{s390x}/s390x-initrd-addrsize?version=4.20",
    "/boot-artifacts/kernel?version=4.20",
    "/boot-artifacts/rootfs?version=4.20",
    "/boot-artifacts/kernel/x86_64/4.20",
    "/boot-artifacts/rootfs/x86_64/4.20",
    "/boot-artifacts/ins-file?version=4.20&arch=s390x",
]


@pytest.mark.parametrize("path", PATHS)
def test_every_address_can_be_asked_for_in_parts(open_server, path):
    url = open_server.url + path.format(id=open_server.infra_env, s390x=open_server.mainframe)
    whole = fetch(url)
    assert whole.status_code == 200
    size, tag, date = len(whole.content), whole.headers["ETag"], whole.headers["Last-Modified"]
    ask = lambda **headers: fetch(url, headers={name.replace("_", "-"): value for name, value in headers.items()})  # noqa: E731

    head = fetch(url, method="HEAD", headers={"Range": "bytes=0-0"})
    assert (head.status_code, head.content) == (200, b""), "only a GET has ranges"
    for name in ("Content-Length", "ETag", "Last-Modified", "Accept-Ranges", "Content-Disposition", "Content-Type"):
        assert head.headers[name] == whole.headers[name], name

    for first, last in ((0, 0), (3, 9), (size - 1, size - 1), (size // 2, size + 5)):
        part = ask(Range=f"bytes={first}-{last}")
        end = min(last, size - 1)
        assert (part.status_code, part.headers["Content-Range"]) == (206, f"bytes {first}-{end}/{size}")
        assert part.content == whole.content[first : end + 1] and part.headers["ETag"] == tag
    assert ask(Range="bytes=-4").content == whole.content[-4:]
    assert ask(Range=f"bytes={size - 3}-").content == whole.content[-3:]
    beyond = ask(Range=f"bytes={size}-")
    assert (beyond.status_code, beyond.headers["Content-Range"]) == (416, f"bytes */{size}")

    several = ask(Range=f"bytes=0-1,{size - 2}-")
    assert several.status_code == 206
    kind = f"Content-Type: {several.headers['Content-Type']}\r\n\r\n".encode()
    parts = email.message_from_bytes(kind + several.content).get_payload()
    assert [part["Content-Range"] for part in parts] == [f"bytes 0-1/{size}", f"bytes {size - 2}-{size - 1}/{size}"]
    assert whole.content[:2] in several.content and whole.content[-2:] in several.content

    for mark, status in ((tag, 206), (date, 206), ('"other"', 200), (f"W/{tag}", 200)):
        assert ask(Range="bytes=1-2", If_Range=mark).status_code == status, mark
    assert ask(If_None_Match=tag).status_code == 304
    assert ask(If_Modified_Since=date).status_code == 304
    assert ask(If_Match='"other"').status_code == 412
    assert fetch(url, method="DELETE").status_code == 405
