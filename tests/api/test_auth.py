"""Who may call what: the modes users, local and agent-installer-local, and TLS with the server's own CA."""

import base64
import contextlib
import datetime
import hashlib
import ipaddress
import json
import os
import signal
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from machines import Machine
from muster import NOWHERE, VERSION, Api, eventually, infra_error, pull_secret

PASSWORDS = {"ada": ("correct horse", "admin"), "bob": ("battery staple", "user"), "eve": ("only looking", "read-only")}


def password_hash(text):
    kdf = Argon2id(salt=os.urandom(16), length=32, iterations=1, lanes=1, memory_cost=1024)
    return kdf.derive_phc_encoded(text.encode())


class Keys:
    """An EC key pair in the notation the reference service is configured with."""

    def __init__(self):
        self.private = ec.generate_private_key(ec.SECP256R1())
        self.private_pem = self.private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        ).decode()
        plain = self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.public_pem = plain.decode().replace("PUBLIC KEY", "EC PUBLIC KEY")

    def token(self, **claims):
        return jwt.encode(claims, self.private_pem, algorithm="ES256")


def unsigned(claims):
    """A token that claims to need no signature."""
    parts = [{"alg": "none", "typ": "JWT"}, claims]
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."


# --- mode users ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded(servers):
    """TLS on, three users."""
    users = [
        {"name": name, "password_hash": password_hash(word), "role": role} for name, (word, role) in PASSWORDS.items()
    ]
    env = {"MUSTER_AUTH_USERS": json.dumps(users), "DUMMY_IGNITION": "true"}
    return servers("users", auth="users", plain=False, env=env).start()


@pytest.fixture(scope="module")
def hasty(servers):
    """Plain HTTP, with short timeouts."""
    return servers("hasty", env={"MUSTER_SERVER_HEADER_TIMEOUT": "2s"}).start()


def login(server, name, word=None):
    body = {"username": name, "password": word or PASSWORDS[name][0]}
    return server.api().call("POST", "//auth/token", json=body)


@pytest.fixture(scope="module")
def people(guarded):
    """An Api per user, logged in."""
    tokens = {name: login(guarded, name).json()["token"] for name in PASSWORDS}
    return {name: guarded.api({"Authorization": f"Bearer {token}"}) for name, token in tokens.items()}


@pytest.fixture(scope="module")
def owned(people):
    """A cluster and a bound infra-env, made by the administrator."""
    cluster = people["ada"].new_cluster("guarded")
    infra_env = people["ada"].new_infra_env("guarded-env", cluster_id=cluster["id"])
    return cluster, infra_env


def test_the_certificate_is_signed_by_the_generated_ca_and_nothing_else_trusts_it(guarded):
    assert guarded.url.startswith("https://")
    assert (guarded.data_dir / "tls" / "ca.crt").exists()
    guarded.api().get("//health")
    with pytest.raises(requests.exceptions.SSLError):
        Api(guarded.url, verify=True).get("//health")


def test_users_and_changes_of_os_images_are_for_administrators(people, guarded):
    expected = [{"name": name, "role": role} for name, (_, role) in sorted(PASSWORDS.items())]
    assert people["ada"].get("//auth/users").json() == expected
    change = "//boot-artifacts/os-image?version=4.20&arch=x86_64"
    for name in ("bob", "eve"):
        people[name].call("GET", "//auth/users", 403)
        for method in ("POST", "PUT", "DELETE"):
            people[name].call(method, change, 403)
    guarded.api().call("GET", "//auth/users", 401)
    guarded.api().call("DELETE", change, 401)
    people["ada"].call("DELETE", change, 404)


def test_old_tls_is_refused(guarded):
    parts = urlsplit(guarded.url)
    context = ssl.create_default_context(cafile=str(guarded.data_dir / "tls" / "ca.crt"))
    context.check_hostname = False
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as wire:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            context.wrap_socket(wire)


def test_answers_forbid_browsers_to_frame_sniff_or_run_anything_else(guarded, hasty):
    for path in ("//", "//docs", "//health", "//openapi.json", "/v2/clusters", "/v2/nonsense", "//boot-artifacts"):
        headers = guarded.api().call("GET", path).headers
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["X-Frame-Options"] == "DENY", path
        assert headers["Referrer-Policy"] == "no-referrer", path
        policy = headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy and "default-src 'none'" in policy and "unsafe" not in policy, path
    page = guarded.api().get("//docs")
    script = page.text.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in page.headers["Content-Security-Policy"], "the page's own script runs"
    # Its name may be shared with other programs on this machine; a unit test has the other cases.
    assert "Strict-Transport-Security" not in page.headers
    assert "Strict-Transport-Security" not in hasty.api().get("//").headers


def test_a_login_gives_a_token_with_an_end(guarded):
    answer = login(guarded, "ada")
    assert answer.status_code in (200, 201), answer.text
    body = answer.json()
    assert {"token", "expires_at"} <= set(body)
    assert body["expires_at"] > time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())


def test_wrong_logins_are_401_and_do_not_reveal_which_names_exist(guarded):
    wrong_word, wrong_name = login(guarded, "ada", "nope"), login(guarded, "unknown", "nope")
    assert wrong_word.status_code == wrong_name.status_code == 401
    assert wrong_word.json() == wrong_name.json()
    for body in (b"", b"{", b"[]", b'{"username":"ada"}', b'{"username":{},"password":[]}'):
        answer = guarded.api().call("POST", "//auth/token", data=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 401), f"{body}: {answer.status_code} {answer.text}"


def test_without_credentials_everything_but_the_public_endpoints_is_401(guarded):
    anonymous = guarded.api()
    for path in ("/v2/clusters", "/v2/infra-envs", "/v2/events", f"/v2/clusters/{NOWHERE}", "/v2/domains"):
        infra_error(anonymous.call("GET", path), 401)
    infra_error(anonymous.call("POST", "/v2/clusters", json={}), 401)
    for path in ("//health", "//ready", "//openapi.json"):
        anonymous.get(path)


def test_authentication_comes_before_the_look_at_the_body(guarded):
    bad = guarded.api({"Authorization": "Bearer junk"})
    infra_error(bad.call("POST", "/v2/clusters", data=b"{", headers={"Content-Type": "application/json"}), 401)


@pytest.mark.parametrize(
    "header",
    [
        "Bearer ",
        "Bearer x.y.z",
        "Basic YWRhOng=",
        "junk",
        "Bearer " + "a" * 20000,
        "Bearer " + unsigned({"sub": "ada"}),
    ],
)
def test_wrong_tokens_are_401(guarded, header):
    answer = guarded.api({"Authorization": header}).call("GET", "/v2/clusters")
    assert answer.status_code in (401, 431), answer.text


def test_a_token_with_one_letter_changed_is_401(guarded):
    token = login(guarded, "ada").json()["token"]
    middle = len(token) // 2
    forged = token[:middle] + ("A" if token[middle] != "A" else "B") + token[middle + 1 :]
    infra_error(guarded.api({"Authorization": f"Bearer {forged}"}).call("GET", "/v2/clusters"), 401)


def test_roles_limit_what_people_may_do(people, owned):
    cluster, _ = owned
    body = {"name": "nope", "openshift_version": VERSION, "pull_secret": pull_secret()}
    assert people["eve"].get("/v2/clusters").json()
    infra_error(people["eve"].call("POST", "/v2/clusters", json=body), 403)
    infra_error(people["eve"].call("PATCH", f"/v2/clusters/{cluster['id']}", json={"tags": "x"}), 403)
    infra_error(people["eve"].call("DELETE", f"/v2/clusters/{cluster['id']}"), 403)
    made = people["bob"].post("/v2/clusters", {**body, "name": "bobs"}).json()
    assert made["user_name"] == "bob"
    people["bob"].delete(f"/v2/clusters/{made['id']}")


def test_the_ignition_carries_an_agent_token_that_works_for_its_infra_env(guarded, people, owned):
    _, infra_env = owned
    agent = agent_api(guarded, people["ada"], infra_env["id"])
    machine = Machine(agent, infra_env["id"], 0, "guarded-0")
    machine.register()
    machine.send_inventory()
    assert people["ada"].host(infra_env["id"], machine.id)["requested_hostname"] == "guarded-0"
    people["ada"].delete(machine.path)


def agent_token(ada, infra_env_id):
    """Finds the agent's token where a booted machine finds it: in its ignition."""
    text = ada.get(f"/v2/infra-envs/{infra_env_id}/downloads/files", params={"file_name": "discovery.ign"}).text
    for unit in json.loads(text).get("systemd", {}).get("units", []):
        for line in unit.get("contents", "").splitlines():
            if "PULL_SECRET_TOKEN=" in line:
                return line.split("PULL_SECRET_TOKEN=", 1)[1].strip().strip('"')
    raise AssertionError("no PULL_SECRET_TOKEN in the discovery ignition")


def agent_api(server, ada, infra_env_id):
    return server.api({"X-Secret-Key": agent_token(ada, infra_env_id)})


def test_an_agent_token_opens_nothing_else(guarded, people, owned):
    cluster, infra_env = owned
    agent = agent_api(guarded, people["ada"], infra_env["id"])
    other = people["ada"].new_infra_env("other-env")
    machine = Machine(agent, other["id"], 1, "stranger")
    answer = machine.register(expect=None)
    assert answer.status_code in (401, 403, 404), f"{answer.status_code}: {answer.text}"
    assert agent.call("GET", "/v2/clusters").status_code == 401, "users' operations need a user"
    assert agent.call("DELETE", f"/v2/clusters/{cluster['id']}").status_code == 401
    people["ada"].delete(f"/v2/infra-envs/{other['id']}")


def test_agents_without_or_with_a_wrong_token_are_401(guarded, owned):
    _, infra_env = owned
    for headers in ({}, {"X-Secret-Key": ""}, {"X-Secret-Key": "junk"}):
        answer = Machine(guarded.api(headers), infra_env["id"], 2).register(expect=None)
        infra_error(answer, 401)


def test_signed_links_work_without_a_login_and_not_when_altered(guarded, people, owned):
    _, infra_env = owned
    link = (
        people["ada"]
        .get(f"/v2/infra-envs/{infra_env['id']}/downloads/files-presigned", params={"file_name": "discovery.ign"})
        .json()["url"]
    )
    parts = urlsplit(link)
    target = "/" + parts.path + "?" + parts.query
    anonymous = guarded.api()
    anonymous.get(target)
    key = parse_qs(parts.query).get("api_key") or parse_qs(parts.query).get("image_token")
    assert key, f"an unsigned link in mode users: {link}"
    altered = target.replace(key[0], key[0][:-6] + "AAAAAA")
    assert anonymous.call("GET", altered).status_code == 401
    other = people["ada"].new_infra_env("linked-env")
    moved = target.replace(infra_env["id"], other["id"])
    assert anonymous.call("GET", moved).status_code in (401, 403, 404)
    people["ada"].delete(f"/v2/infra-envs/{other['id']}")


def presigned(person, infra_env_id, name, **options):
    """Path and query of a signed link, as Api.call takes them, and its key."""
    path = f"/v2/infra-envs/{infra_env_id}/downloads/files-presigned"
    parts = urlsplit(person.get(path, params={"file_name": name, **options}).json()["url"])
    return "/" + parts.path + "?" + parts.query, parse_qs(parts.query)["api_key"][0]


def test_a_link_opens_its_own_file_and_no_other(guarded, people, owned):
    _, infra_env = owned
    anonymous = guarded.api()
    files = f"/v2/infra-envs/{infra_env['id']}/downloads/files"
    link, key = presigned(people["ada"], infra_env["id"], "ipxe-script")
    assert "#!ipxe" in anonymous.get(link).text
    assert "#!ipxe" in anonymous.get(link + "&mac=52:54:00:11:22:33").text
    for query in (
        "file_name=discovery.ign",
        "file_name=static-network-config",
        "file_name=ipxe-script&file_name=discovery.ign",
        "file_name=discovery.ign&file_name=ipxe-script",
    ):
        infra_error(anonymous.call("GET", f"{files}?{query}&api_key={key}"), 403)
        infra_error(anonymous.call("GET", f"{files}?{query}&image_token={key}"), 403)
        infra_error(anonymous.call("GET", f"{files}?{query}", headers={"Image-Token": key}), 403)
    for path in (f"/v2/infra-envs/{infra_env['id']}", "/v2/events", files.replace("/files", "/minimal-initrd")):
        infra_error(anonymous.call("GET", path, params={"api_key": key}), 403)


def test_the_ipxe_chain_works_with_the_keys_it_carries(guarded, people, owned):
    _, infra_env = owned
    anonymous = guarded.api()
    link, _ = presigned(people["ada"], infra_env["id"], "ipxe-script", ipxe_script_type="boot-order-control")
    chain = anonymous.get(link).text
    address = next(line.split(" ", 1)[1] for line in chain.splitlines() if line.startswith("chain "))
    parts = urlsplit(address.replace("${net0/mac}", "52:54:00:11:22:33"))
    script = anonymous.get("/" + parts.path + "?" + parts.query).text
    initrd = next(line.split()[-1] for line in script.splitlines() if line.startswith("initrd "))
    check_image_key(anonymous, infra_env["id"], params={"api_key": parse_qs(urlsplit(initrd).query)["api_key"][0]})


def check_image_key(anonymous, infra_env_id, expect=200, **carrier):
    """Asks for what a maker of boot images asks for, with the key it was shown."""
    base = f"/v2/infra-envs/{infra_env_id}/downloads"
    options = {**carrier, "params": {**carrier.get("params", {}), "file_name": "discovery.ign"}}
    anonymous.get(f"{base}/files", expect, **options)
    anonymous.get(f"{base}/minimal-initrd", (200, 204) if expect == 200 else expect, **carrier)


def test_a_new_signing_key_ends_links_and_images_and_spares_agents(guarded, people):
    ada, anonymous = people["ada"], guarded.api()
    infra_env = ada.new_infra_env("revoked-env")
    agent = agent_api(guarded, ada, infra_env["id"])
    path = f"/v2/infra-envs/{infra_env['id']}"
    token = infra_env["download_url"].split("/bytoken/")[1].split("/")[0]
    link, _ = presigned(ada, infra_env["id"], "discovery.ign")
    anonymous.get(link)
    check_image_key(anonymous, infra_env["id"], headers={"Image-Token": token})
    anonymous.get(path, headers={"Image-Token": token})

    ada.call("POST", f"{path}/regenerate-signing-key", 204)
    infra_error(anonymous.call("GET", link), 401)
    check_image_key(anonymous, infra_env["id"], 401, headers={"Image-Token": token})
    fresh = ada.get(path).json()["download_url"].split("/bytoken/")[1].split("/")[0]
    assert fresh != token
    check_image_key(anonymous, infra_env["id"], headers={"Image-Token": fresh})
    anonymous.get(presigned(ada, infra_env["id"], "discovery.ign")[0])
    machine = Machine(agent, infra_env["id"], 7)
    machine.register()
    ada.delete(machine.path)
    ada.delete(path)


def test_a_link_to_logs_of_one_host_opens_no_other_logs(guarded, people, owned):
    cluster, infra_env = owned
    machine = Machine(agent_api(guarded, people["ada"], infra_env["id"]), infra_env["id"], 5)
    machine.register()
    logs = f"/v2/clusters/{cluster['id']}/logs"
    query = {"logs_type": "host", "host_id": machine.id, "infra_env_id": infra_env["id"]}
    machine.api.call("POST", logs, 204, params=query, files={"upfile": ("logs.tar.gz", b"x")})
    path = f"/v2/clusters/{cluster['id']}/downloads/files-presigned"
    asked = {"file_name": "logs", "logs_type": "host", "host_id": machine.id}
    parts = urlsplit(people["ada"].get(path, params=asked).json()["url"])
    anonymous = guarded.api()
    anonymous.get("/" + parts.path + "?" + parts.query)
    key = parse_qs(parts.query)["api_key"][0]
    for query in (
        {"file_name": "host", "host_id": machine.id},
        {"file_name": "host", "logs_type": machine.id},
        {"logs_type": "host", "host_id": machine.id, "file_name": ""},
    ):
        infra_error(anonymous.call("GET", logs, params={**query, "api_key": key}), 403)
    people["ada"].delete(machine.path)


def test_a_logout_ends_this_login_for_good_and_no_other(guarded):
    first, second = (login(guarded, "bob").json()["token"] for _ in range(2))
    api = {token: guarded.api({"Authorization": f"Bearer {token}"}) for token in (first, second)}
    api[first].get("/v2/clusters")
    api[first].call("POST", "//auth/logout", 204)
    infra_error(api[first].call("GET", "/v2/clusters"), 401)
    infra_error(api[first].call("POST", "//auth/logout"), 401)
    api[second].get("/v2/clusters")


def test_a_pool_token_opens_no_credentials_and_a_machine_only_its_own_cluster(guarded, people):
    ada = people["ada"]
    pool = ada.new_infra_env("pool-env")
    clusters = [ada.new_cluster(name) for name in ("pool-one", "pool-two")]
    agent = agent_api(guarded, ada, pool["id"])
    machines = [Machine(agent, pool["id"], index) for index in range(3)]
    own = []
    for machine in machines:
        token = machine.register().headers.get("X-Host-Token", "")
        own.append(guarded.api({"X-Secret-Key": token}))
        machine.send_inventory()
    for machine, cluster in zip(machines, clusters, strict=False):
        Machine(ada, pool["id"], host_id=machine.id).wait_for("known-unbound")
        ada.post(f"{machine.path}/actions/bind", {"cluster_id": cluster["id"]}, 200)

    def credentials(api, cluster):
        path = f"/v2/clusters/{cluster['id']}/downloads/credentials"
        return api.call("GET", path, params={"file_name": "kubeconfig-noingress"}).status_code

    def ignition(api, cluster):
        path = f"/v2/clusters/{cluster['id']}/downloads/files"
        return api.call("GET", path, params={"file_name": "bootstrap.ign"}).status_code

    # 404 is the answer of the authorization, 409 that of the handler: the files are not made yet.
    for cluster in clusters:
        assert credentials(agent, cluster) == ignition(agent, cluster) == 404
        assert credentials(own[2], cluster) == ignition(own[2], cluster) == 404, "an unbound machine"
        infra_error(own[2].call("GET", f"/v2/clusters/{cluster['id']}"), 404)
        agent.get(f"/v2/clusters/{cluster['id']}")
    assert ignition(own[0], clusters[0]) == 409 and ignition(own[0], clusters[1]) == 404
    own[0].get(f"/v2/clusters/{clusters[0]['id']}")
    own[0].get(f"{machines[0].path}/instructions")
    infra_error(own[0].call("GET", f"{machines[1].path}/instructions"), 404)
    stranger = Machine(own[0], pool["id"], 1, host_id=machines[1].id)
    assert stranger.register(expect=None).status_code == 404
    again = machines[1].register()
    assert "X-Host-Token" not in again.headers, "a bound machine must not be taken over with the pool's token"
    infra_error(own[1].call("GET", f"{machines[1].path}/instructions"), 401)
    renewed = Machine(own[0], pool["id"], host_id=machines[0].id).register().headers["X-Host-Token"]
    infra_error(own[0].call("GET", f"{machines[0].path}/instructions"), 401)
    guarded.api({"X-Secret-Key": renewed}).get(f"/v2/clusters/{clusters[0]['id']}")


def test_a_replaced_agent_token_ends_images_and_spares_machines_that_have_their_own(guarded, people):
    ada = people["ada"]
    infra_env = ada.new_infra_env("rotated-env")
    path = f"/v2/infra-envs/{infra_env['id']}"
    stolen = agent_api(guarded, ada, infra_env["id"])
    machine = Machine(stolen, infra_env["id"], 8)
    own = guarded.api({"X-Secret-Key": machine.register().headers["X-Host-Token"]})
    controller = guarded.api({"X-Secret-Key": agent_token(ada, infra_env["id"])})
    controller.get(f"{machine.path}/instructions")

    ada.call("POST", f"{path}/regenerate-signing-key", 204, params={"agent_tokens": "true"})
    infra_error(stolen.call("GET", f"{machine.path}/instructions"), 401)
    infra_error(Machine(stolen, infra_env["id"], 9).register(expect=None), 401)
    own.get(f"{machine.path}/instructions")
    fresh = agent_api(guarded, ada, infra_env["id"])
    Machine(fresh, infra_env["id"], 9).register()
    infra_error(people["eve"].call("POST", f"{path}/regenerate-signing-key"), 403)


class From(requests.adapters.HTTPAdapter):
    """Calls from another loopback address."""

    def __init__(self, address):
        self.address = address
        super().__init__()

    def init_poolmanager(self, *args, **options):
        super().init_poolmanager(*args, source_address=(self.address, 0), **options)


def login_from(server, address, name, word):
    api = server.api()
    api.session.mount("https://", From(address))
    return api.call("POST", "//auth/token", json={"username": name, "password": word})


def test_guessing_locks_out_the_guesser_and_not_the_owner(guarded):
    codes, wait = [], 0
    # Each wait is twice the last. The first ones are over before a slow machine can ask again.
    while wait < 4 and len(codes) < 40:
        answer = login_from(guarded, "127.0.0.2", "bob", "guess")
        codes.append(answer.status_code)
        wait = int(answer.headers.get("Retry-After", 0))
        time.sleep(wait if wait < 4 else 0)
    assert codes[:5] == [401] * 5 and codes[-1] == 429, codes
    limited = login_from(guarded, "127.0.0.2", "bob", PASSWORDS["bob"][0])
    infra_error(limited, 429)
    assert 1 <= int(limited.headers["Retry-After"]) <= 60
    assert login_from(guarded, "127.0.0.3", "bob", PASSWORDS["bob"][0]).status_code == 200


def test_a_crowd_of_logins_is_answered_and_the_owner_gets_in_elsewhere(guarded):
    def guess(number):
        return login_from(guarded, "127.0.0.4", f"stranger-{number}", "guess").status_code

    with ThreadPoolExecutor(24) as pool:
        crowd = [pool.submit(guess, number) for number in range(72)]
        owner = login_from(guarded, "127.0.0.5", "ada", PASSWORDS["ada"][0]).status_code
        codes = {future.result() for future in crowd}
    assert codes <= {401, 503}, codes
    assert owner == 200


def test_who_may_only_look_gets_no_file_or_link_with_secrets(people, owned):
    cluster, infra_env = (f"/v2/clusters/{owned[0]['id']}", f"/v2/infra-envs/{owned[1]['id']}")
    host = f"{infra_env}/hosts/{NOWHERE}"
    secrets = [
        f"{cluster}/credentials",
        f"{cluster}/downloads/credentials?file_name=kubeconfig",
        f"{cluster}/downloads/credentials-presigned?file_name=kubeconfig",
        f"{cluster}/install-config",
        f"{cluster}/downloads/files?file_name=install-config.yaml",
        f"{cluster}/downloads/files-presigned?file_name=install-config.yaml",
        f"{host}/ignition",
        f"{host.replace('/infra-envs/', '/infra-env/')}/downloads/ignition",
        f"{infra_env}/downloads/files?file_name=discovery.ign",
        f"{infra_env}/downloads/files-presigned?file_name=discovery.ign",
        f"{infra_env}/downloads/image-url",
        f"{infra_env}/downloads/minimal-initrd",
    ]
    for path in secrets:
        infra_error(people["eve"].call("GET", path), 403)
        assert people["bob"].call("GET", path).status_code != 403, path
    assert "download_url" in people["bob"].get(infra_env).json()
    assert "download_url" not in people["eve"].get(infra_env).json()
    assert all("download_url" not in shown for shown in people["eve"].get("/v2/infra-envs").json())


def test_half_a_login_is_not_waited_for_for_ever(guarded):
    parts = urlsplit(guarded.url)
    context = ssl.create_default_context(cafile=str(guarded.data_dir / "tls" / "ca.crt"))
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as wire:
        with context.wrap_socket(wire, server_hostname=parts.hostname) as line:
            line.sendall(b'POST /auth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40\r\n\r\n{"user')
            answer = b""
            while piece := line.recv(4096):
                answer += piece
    assert answer.startswith(b"HTTP/1.1 408 "), answer


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
EMPTY_SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])


def waits_in_vain(line, first):
    """How long a connection lives that says no more than this."""
    line.sendall(first)
    began = time.monotonic()
    while line.recv(4096):
        pass
    return time.monotonic() - began


@pytest.mark.parametrize("first", [b"", b"GET /ready HTTP/1.1\r\n"])
def test_a_connection_without_a_request_is_closed(hasty, first):
    parts = urlsplit(hasty.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as wire:
        assert waits_in_vain(wire, first) > 1


def test_http2_is_refused_where_it_was_not_negotiated(hasty):
    parts = urlsplit(hasty.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as wire:
        wire.sendall(PREFACE + EMPTY_SETTINGS)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := wire.recv(4096):
                answer += piece
    assert not answer or answer.startswith(b"HTTP/1.1 4"), answer


@pytest.mark.parametrize("first", [PREFACE[:16], PREFACE + EMPTY_SETTINGS])
def test_an_encrypted_connection_without_a_request_is_closed(servers, first):
    hasty = servers("hasty-tls", plain=False, env={"MUSTER_SERVER_HEADER_TIMEOUT": "2s"}).start()
    parts = urlsplit(hasty.url)
    context = ssl.create_default_context(cafile=str(hasty.data_dir / "tls" / "ca.crt"))
    context.set_alpn_protocols(["h2"])
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as wire:
        with context.wrap_socket(wire, server_hostname=parts.hostname) as line:
            assert line.selected_alpn_protocol() == "h2"
            assert waits_in_vain(line, first) > 1


def test_the_log_never_holds_passwords_or_tokens(guarded):
    token = login(guarded, "bob").json()["token"]
    text = guarded.log()
    assert token not in text
    for word, _ in PASSWORDS.values():
        assert word not in text


# --- mode local ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def local(servers, tmp_path_factory):
    """Mode local on data made before with mode none, because it has no way to create by REST."""
    keys = Keys()
    server = servers("local").start()
    api = server.api()
    cluster, other = api.new_cluster("near"), api.new_cluster("other")
    infra_env = api.new_infra_env("near-env", cluster_id=cluster["id"])
    server.stop()
    server.auth = "local"
    server.env |= {"EC_PUBLIC_KEY_PEM": keys.public_pem, "EC_PRIVATE_KEY_PEM": keys.private_pem}
    server.start()
    return server, keys, cluster["id"], infra_env["id"], other["id"]


def test_local_agents_work_with_a_token_of_their_infra_env(local):
    server, keys, _, infra_env_id, _ = local
    agent = server.api({"X-Secret-Key": keys.token(infra_env_id=infra_env_id)})
    machine = Machine(agent, infra_env_id, 0)
    machine.register()
    assert [step["step_type"] for step in machine.poll()["instructions"]] == ["inventory"]
    machine.send_inventory()


def test_local_refuses_tokens_of_other_keys_things_and_algorithms(local):
    server, keys, cluster_id, infra_env_id, _ = local
    stranger = Keys()
    wrong = [
        stranger.token(infra_env_id=infra_env_id),
        keys.token(infra_env_id=NOWHERE),
        keys.token(colour="red"),
        unsigned({"infra_env_id": infra_env_id}),
        jwt.encode({"infra_env_id": infra_env_id}, keys.public_pem.encode().ljust(64), algorithm="HS256"),
        "junk",
    ]
    for token in wrong:
        answer = Machine(server.api({"X-Secret-Key": token}), infra_env_id, 1).register(expect=None)
        infra_error(answer, 401)


def test_local_links_are_bound_to_their_resource(local):
    server, keys, cluster_id, infra_env_id, other_id = local
    anonymous = server.api()
    path = f"/v2/infra-envs/{infra_env_id}/downloads/files"
    query = {"file_name": "discovery.ign", "api_key": keys.token(infra_env_id=infra_env_id)}
    assert anonymous.get(path, params=query).json()["ignition"]
    events = {"api_key": keys.token(cluster_id=cluster_id), "cluster_id": cluster_id}
    anonymous.get("/v2/events", params=events)
    infra = {**events, "cluster_id": other_id}
    assert anonymous.call("GET", "/v2/events", params=infra).status_code == 404
    logs = {"api_key": keys.token(cluster_id=cluster_id)}
    infra_error(anonymous.call("GET", f"/v2/clusters/{other_id}/logs", params=logs), 404)


def test_local_has_no_user_operations(local):
    server, keys, cluster_id, infra_env_id, _ = local
    token = keys.token(infra_env_id=infra_env_id)
    for headers in ({}, {"Authorization": token}, {"Authorization": f"Bearer {token}"}):
        answer = server.api(headers).call("POST", "/v2/clusters", json={})
        infra_error(answer, 401)


# --- mode none and the first start ---------------------------------------------------------


def test_mode_none_refuses_foreign_names_and_proxies(hasty):
    api = hasty.api()
    api.get("/v2/clusters")
    api.get("/v2/clusters", headers={"Host": "localhost:1"})
    for headers in ({"Host": "evil.example.com"}, {"X-Forwarded-For": "192.0.2.7"}, {"Forwarded": "for=192.0.2.7"}):
        infra_error(api.call("GET", "/v2/clusters", headers=headers), 403)


def test_behind_a_proxy_people_log_in_and_a_lost_first_password_is_shown_again(servers):
    server = servers("proxied", auth=None, args=["--base-url", "https://muster.example.com"])
    server.data_dir.mkdir(parents=True)
    (server.data_dir / "first-user.hash").write_text("")
    taken = socket.create_server(("127.0.0.1", 0))
    server.env["HTTP_LISTEN_PORT"] = str(taken.getsockname()[1])
    with pytest.raises(AssertionError, match="cannot listen"):
        server.start()
    taken.close()
    del server.env["HTTP_LISTEN_PORT"]
    server.start()
    infra_error(server.api().call("GET", "/v2/clusters"), 401)
    word = server.log().split("first login  user admin  password ")[1].split()[0]
    assert login(server, "admin", word).status_code == 200
    # The file goes once the password was printed and its hash is on disk, which may take a moment.
    eventually(lambda: not (server.data_dir / "first-user.password").exists(), "the password to be only a hash")
    server.stop()
    server.start()
    assert login(server, "admin", word).status_code == 200


# --- mode agent-installer-local -----------------------------------------------------------


@pytest.fixture(scope="module")
def installer(servers):
    keys = Keys()
    env = {"EC_PUBLIC_KEY_PEM": base64.b64encode(keys.public_pem.encode()).decode()}
    return servers("agent-installer", auth="agent-installer-local", env=env).start(), keys


def carriers(server, keys, **claims):
    """One Api per scheme, each with the right token in the right place."""
    schemes = {"userAuth": "Authorization", "agentAuth": "X-Secret-Key", "watcherAuth": "Watcher-Authorization"}
    return {
        scheme: server.api({header: keys.token(auth_scheme=scheme, **claims)}) for scheme, header in schemes.items()
    }


def test_each_scheme_opens_its_own_operations(installer):
    who = carriers(*installer)
    cluster = who["userAuth"].new_cluster("abi")
    infra_env = who["userAuth"].new_infra_env("abi-env", cluster_id=cluster["id"])
    Machine(who["agentAuth"], infra_env["id"], 0).register()
    for path in ("/v2/clusters", f"/v2/clusters/{cluster['id']}", "/v2/infra-envs", "/v2/events"):
        who["watcherAuth"].get(path)
    assert who["watcherAuth"].call("DELETE", f"/v2/clusters/{cluster['id']}").status_code == 401
    assert who["agentAuth"].call("GET", "/v2/clusters").status_code == 401


def test_a_token_of_another_scheme_is_403(installer):
    server, keys = installer
    swapped = server.api({"Authorization": keys.token(auth_scheme="agentAuth")})
    infra_error(swapped.call("GET", "/v2/clusters"), 403)


def test_expired_foreign_and_prefixed_tokens_are_401(installer):
    server, keys = installer
    expired = carriers(server, keys, exp=int(time.time()) - 60)["userAuth"]
    infra_error(expired.call("GET", "/v2/clusters"), 401)
    foreign = carriers(server, Keys())["userAuth"]
    infra_error(foreign.call("GET", "/v2/clusters"), 401)
    fresh = carriers(server, keys, exp=int(time.time()) + 600)["userAuth"]
    fresh.get("/v2/clusters")


def test_claims_that_are_missing_or_mistyped_are_refused_without_500(installer):
    server, keys = installer
    for claims in ({}, {"auth_scheme": ""}, {"auth_scheme": 5}, {"auth_scheme": "nosuch"}):
        answer = server.api({"Authorization": keys.token(**claims)}).call("GET", "/v2/clusters")
        assert 400 <= answer.status_code < 500, f"{claims}: {answer.status_code} {answer.text}"


# --- changes without a restart ----------------------------------------------------------------


def certificate(folder, name):
    """A certificate of its own for 127.0.0.1, as files."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, pkcs8, plain = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "tls.key").write_bytes(key.private_bytes(pem, pkcs8, plain))
    (folder / "tls.crt").write_bytes(made.public_bytes(pem))
    return made.public_bytes(pem).decode()


def test_users_and_certificates_change_without_a_restart(servers, tmp_path):
    config = tmp_path / "muster.toml"

    def configure(word):
        lines = ["[[auth.users]]", 'name = "ada"', f'password_hash = "{password_hash(word)}"', 'role = "admin"']
        config.write_text("\n".join(lines) + "\n")

    configure("the first word")
    first = certificate(tmp_path, "first")
    files = {"HTTPS_CERT_FILE": str(tmp_path / "tls.crt"), "HTTPS_KEY_FILE": str(tmp_path / "tls.key")}
    server = servers("reload", auth="users", plain=False, args=["--config", str(config)], env=files).start()
    host, port = server.url.removeprefix("https://").split(":")

    def shown():
        return ssl.get_server_certificate((host, int(port)))

    def log_in(word):
        body = {"username": "ada", "password": word}
        api = Api(server.url, verify=False)
        return api.call("POST", "//auth/token", json=body)

    assert shown() == first
    session = Api(server.url, {"Authorization": f"Bearer {log_in('the first word').json()['token']}"}, verify=False)
    session.get("/v2/clusters")

    # While no file changes, nothing but the signal makes the service read them again.
    reloads = server.log().count("users reloaded")
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: server.log().count("users reloaded") > reloads, "the users to be read again")

    # A file that cannot be used changes nothing.
    config.write_text("[[auth.users]\n")
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: "the configuration is not usable" in server.log(), "the error in the log")
    configure("the first word")
    (tmp_path / "tls.crt").write_text("no certificate")
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: "certificate not reloaded" in server.log(), "the error in the log")
    session = Api(server.url, {"Authorization": f"Bearer {log_in('the first word').json()['token']}"}, verify=False)
    session.get("/v2/clusters")
    assert shown() == first

    second = certificate(tmp_path, "second")
    configure("the second word")
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: shown() == second, "the new certificate")
    eventually(lambda: log_in("the second word").status_code in (200, 201), "the new password")
    infra_error(session.call("GET", "/v2/clusters"), 401)

    # Without a signal the files are compared every few seconds.
    third = certificate(tmp_path, "third")
    eventually(lambda: shown() == third, "the certificate to be read without a signal")
