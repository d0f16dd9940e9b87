"""Every operation of the contract, asked for by every kind of caller.

What is expected follows from the security of the operation in the served document, from the
scope of the caller's token, and from the exceptions in `access_matrix.txt`. A new operation is
covered once it is in the contract; a new kind of caller is one row in `callers`.

Requests that change something carry a body that cannot be read, or name things that do not
exist: who may call is decided before either is looked at, and nothing is changed.
"""

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import jwt
import pytest

from machines import Machine
from muster import NOWHERE
from test_auth import PASSWORDS, Keys, agent_token, password_hash, presigned

FILE = "discovery.ign"
ADMITTED = "admitted"


def exceptions():
    """The sections of the text: heading → operations."""
    sections = {}
    for line in (Path(__file__).parent / "access_matrix.txt").read_text().splitlines():
        if line.startswith("["):
            current = sections.setdefault(line.strip("[]"), set())
        elif line and not line.startswith("#"):
            current.add(line)
    return sections


SECRETS, BOOT_IMAGE = exceptions().values()


@dataclass
class Caller:
    """What a caller brings, and what is expected of an operation: a function of (operation, security)."""

    expects: object
    headers: dict = field(default_factory=dict)
    query: dict = field(default_factory=dict)
    # The things its requests name; by default those that exist and are its own.
    ids: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    security: frozenset

    @property
    def scoped(self):
        return "{infra_env_id}" in self.path or "{cluster_id}" in self.path


def never(operation):
    return 401


def person(operation):
    return ADMITTED if "userAuth" in operation.security else 401


def read_only(operation):
    if "userAuth" not in operation.security:
        return 401
    return ADMITTED if operation.method == "get" and operation.id not in SECRETS else 403


def agent(operation):
    return ADMITTED if "agentAuth" in operation.security else 401


def foreign_agent(operation):
    """Names things that are not its own: as if they did not exist."""
    return 404 if agent(operation) == ADMITTED and operation.scoped else agent(operation)


def pool_agent(operation):
    """The machine belongs to no cluster, and opens none."""
    return 404 if agent(operation) == ADMITTED and "{cluster_id}" in operation.path else agent(operation)


def machine_elsewhere(operation):
    """Another machine of its own infra-env."""
    return 404 if agent(operation) == ADMITTED and "{host_id}" in operation.path else agent(operation)


def link_to_another_file(operation):
    return 403 if "urlAuth" in operation.security else 401


def withdrawn_link(operation):
    return 401 if operation.id == "v2DownloadInfraEnvFiles" else link_to_another_file(operation)


def boot_image(operation):
    if "imageAuth" not in operation.security:
        return 401
    return ADMITTED if operation.id in BOOT_IMAGE else 403


def foreign_boot_image(operation):
    return 404 if boot_image(operation) == ADMITTED else boot_image(operation)


@pytest.fixture(scope="module")
def keys():
    """The key the service signs with, so that tokens can be made that it made once."""
    return Keys()


@pytest.fixture(scope="module")
def server(servers, keys):
    users = [
        {"name": name, "password_hash": password_hash(word), "role": role} for name, (word, role) in PASSWORDS.items()
    ]
    env = {"EC_PUBLIC_KEY_PEM": keys.public_pem, "EC_PRIVATE_KEY_PEM": keys.private_pem}
    return servers("matrix", auth="users", env={**env, "MUSTER_AUTH_USERS": json.dumps(users)}).start()


@pytest.fixture(scope="module")
def callers(server, keys):
    """All kinds of callers by name."""

    def token(name):
        body = {"username": name, "password": PASSWORDS[name][0]}
        return server.api().post("//auth/token", body, (200, 201)).json()["token"]

    def bearer(text):
        return {"Authorization": f"Bearer {text}"}

    def image_token(infra_env):
        return infra_env["download_url"].split("/bytoken/")[1].split("/")[0]

    tokens = {name: token(name) for name in PASSWORDS}
    ada = server.api(bearer(tokens["ada"]))

    def world(name, bound=True):
        """Things that belong together."""
        cluster = ada.new_cluster(name)
        options = {"cluster_id": cluster["id"]} if bound else {}
        infra_env = ada.new_infra_env(f"{name}-env", **options)
        secret_key = agent_token(ada, infra_env["id"])
        machine = Machine(server.api({"X-Secret-Key": secret_key}), infra_env["id"], 0)
        own = {"X-Secret-Key": machine.register().headers["X-Host-Token"]}
        ids = {"cluster_id": cluster["id"], "infra_env_id": infra_env["id"], "host_id": machine.id}
        return ids, {"X-Secret-Key": secret_key}, own, infra_env

    (mine, agent_of_a, machine_of_a, env_a), (other, agent_of_b, _, env_b) = world("mine"), world("other")
    pool, agent_of_pool, machine_of_pool, _ = world("pool", bound=False)
    rotated, agent_of_rotated, _, _ = world("rotated")
    rotation = f"/v2/infra-envs/{rotated['infra_env_id']}/regenerate-signing-key"
    ada.call("POST", rotation, 204, params={"agent_tokens": "true"})
    neighbour = Machine(server.api(agent_of_a), mine["infra_env_id"], 1)
    neighbour.register()
    logged_out = token("bob")
    server.api(bearer(logged_out)).call("POST", "//auth/logout", (200, 204))
    links = {name: presigned(ada, mine["infra_env_id"], name)[1] for name in (FILE, "ipxe-script")}
    withdrawn = presigned(ada, other["infra_env_id"], FILE)[1]
    old_image = image_token(env_b)
    ada.call("POST", f"/v2/infra-envs/{other['infra_env_id']}/regenerate-signing-key", 204)

    def forged(text, key=None, **changes):
        """The same token with other claims, signed by the service's key or another one."""
        claims = jwt.decode(text, options={"verify_signature": False}) | changes
        key = key or keys.private_pem
        return jwt.encode(claims, key, algorithm="ES256", headers=jwt.get_unverified_header(text))

    past, stranger = int(time.time()) - 60, Keys().private_pem
    agent_key = agent_of_a["X-Secret-Key"]
    server.api(bearer(forged(tokens["ada"]))).get("/v2/clusters")
    return {
        "anonymous": Caller(never, ids=mine),
        "read-only": Caller(read_only, bearer(tokens["eve"]), ids=mine),
        "user": Caller(person, bearer(tokens["bob"]), ids=mine),
        "admin": Caller(person, bearer(tokens["ada"]), ids=mine),
        "user, expired": Caller(never, bearer(forged(tokens["ada"], exp=past)), ids=mine),
        "user, removed": Caller(never, bearer(forged(tokens["ada"], sub="zoe")), ids=mine),
        "user, logged out": Caller(never, bearer(logged_out), ids=mine),
        "user, password changed": Caller(never, bearer(forged(tokens["ada"], user_key="0" * 16)), ids=mine),
        "user, wrong key": Caller(never, bearer(forged(tokens["ada"], stranger)), ids=mine),
        "user's token as an agent's": Caller(never, {"X-Secret-Key": tokens["ada"]}, ids=mine),
        "agent's token as a user's": Caller(never, bearer(agent_key), ids=mine),
        "agent of A on A": Caller(agent, agent_of_a, ids=mine),
        "agent of A on B": Caller(foreign_agent, agent_of_a, ids=other),
        "agent of B on A": Caller(foreign_agent, agent_of_b, ids=mine),
        "agent of a pool on a cluster": Caller(
            pool_agent, agent_of_pool, ids=pool | {"cluster_id": mine["cluster_id"]}
        ),
        "machine on itself": Caller(agent, machine_of_a, ids=mine),
        "machine on its neighbour": Caller(machine_elsewhere, machine_of_a, ids=mine | {"host_id": neighbour.id}),
        "machine of A on B": Caller(foreign_agent, machine_of_a, ids=other),
        "unbound machine on a cluster": Caller(
            pool_agent, machine_of_pool, ids=pool | {"cluster_id": mine["cluster_id"]}
        ),
        "agent, token replaced": Caller(never, agent_of_rotated, ids=rotated),
        "agent, expired": Caller(never, {"X-Secret-Key": forged(agent_key, exp=past)}, ids=mine),
        "agent, wrong key": Caller(never, {"X-Secret-Key": forged(agent_key, stranger)}, ids=mine),
        "link to another file": Caller(link_to_another_file, query={"api_key": links["ipxe-script"]}, ids=mine),
        "link, withdrawn": Caller(withdrawn_link, query={"api_key": withdrawn}, ids=other),
        "boot image on its own": Caller(boot_image, {"Image-Token": image_token(env_a)}, ids=mine),
        "boot image on another's": Caller(foreign_boot_image, {"Image-Token": image_token(env_a)}, ids=other),
        "boot image, withdrawn": Caller(never, {"Image-Token": old_image}, ids=other),
    }


@pytest.fixture(scope="module")
def contract(server):
    """The operations with their security, as the service publishes them."""
    paths = server.api().get("//swagger.json").json()["paths"]
    return [
        Operation(call["operationId"], method, path, frozenset(scheme for way in call["security"] for scheme in way))
        for path, calls in paths.items()
        for method, call in calls.items()
        if method in ("get", "post", "put", "patch", "delete")
    ]


def access_of(answer):
    """401 and 403, 404 of a scope (not of a handler: those have another body), or admitted."""
    if answer.status_code in (401, 403):
        return answer.status_code
    if answer.status_code == 404 and "message" in answer.json():
        return 404
    assert answer.status_code < 500, f"{answer.status_code}: {answer.text[:300]}"
    return ADMITTED


def ask(api, caller, operation):
    # A person who is admitted must not change anything: what it would change does not exist.
    changes = operation.method != "get"
    ids = dict.fromkeys(caller.ids, NOWHERE) if changes and caller.expects is person else caller.ids
    path = operation.path.format(**ids, operator_name="odf", id="virtualization", validation_id="ntp-synced")
    query = {**caller.query, **({"file_name": FILE} if operation.id == "v2DownloadInfraEnvFiles" else {})}
    unreadable = {"data": b"[", "headers": {**caller.headers, "Content-Type": "application/json"}}
    options = unreadable if changes else {"headers": caller.headers}
    return api.call(operation.method.upper(), path, params=query, **options)


def test_every_caller_gets_what_the_contract_says_and_no_more(server, callers, contract):
    assert len(contract) == 81
    assert SECRETS | BOOT_IMAGE <= {operation.id for operation in contract}
    api, wrong = server.api(), []
    for name, caller in callers.items():
        for operation in contract:
            expected, got = caller.expects(operation), access_of(ask(api, caller, operation))
            if got != expected:
                wrong.append(f"{name}: {operation.id} is {got}, expected {expected}")
    assert not wrong, "\n".join(wrong)


def test_a_link_opens_its_own_file(server, callers):
    """So that the rows about links fail for the right reason."""
    caller = callers["boot image on its own"]
    path = f"/v2/infra-envs/{caller.ids['infra_env_id']}/downloads/files"
    server.api().get(path, params={"file_name": FILE}, headers=caller.headers)
