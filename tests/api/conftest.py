"""Fixtures of the black-box tests: one shared server, and a workshop for servers of one's own."""

import pytest

import live_iso
import podman
from backends import S3, Postgres
from machines import Fleet
from muster import BINARY, VERSION, Server, pull_secret


def pytest_sessionstart(session):
    if not BINARY.exists():
        pytest.exit(f"no server at {BINARY}: build it with cargo or set MUSTER_BIN", returncode=2)


def pytest_collection_modifyitems(items):
    """Files are handed out in this order: the longest comes first, so that it does not run alone at the end."""
    items.sort(key=lambda item: item.path.name != "test_schemathesis.py")


@pytest.fixture(scope="session")
def servers(tmp_path_factory):
    """Makes servers; each is stopped and its log inspected when the session ends."""
    made = []

    def make(name, **options):
        server = Server(tmp_path_factory.mktemp(name), **options)
        made.append(server)
        return server

    yield make
    complaints = []
    for server in made:
        try:
            server.stop()
            server.assert_calm()
        except AssertionError as complaint:
            complaints.append(str(complaint))
    assert not complaints, "\n".join(complaints)


@pytest.fixture(scope="session")
def shared(servers, request):
    """The server most tests share; DUMMY_IGNITION lets clusters install without a real release."""
    # However full the disk of the machine that runs the tests is.
    env = {"DUMMY_IGNITION": "true", "FILESYSTEM_USAGE_THRESHOLD": "100"}
    if podman.ARCHIVE:
        return request.getfixturevalue("contained")("shared", env=env).start(timeout=120)
    return servers("shared", env=env).start()


@pytest.fixture(scope="session")
def podman_home():
    """Podman of a user without rights, with our images."""
    home = podman.Podman()
    yield home
    home.remove()


@pytest.fixture(scope="session")
def contained(tmp_path_factory, podman_home):
    """Makes servers in containers; each is stopped and its log inspected when the session ends."""
    made = []

    def make(name, **options):
        made.append(podman.Container(tmp_path_factory.mktemp(name), podman_home, **options))
        return made[-1]

    yield make
    for server in made:
        server.stop()
        server.assert_calm()


@pytest.fixture(scope="session")
def api(shared):
    return shared.api()


@pytest.fixture(scope="session")
def postgres():
    server = Postgres()
    try:
        yield server.start()
    finally:
        server.remove()


@pytest.fixture(scope="session")
def s3(tmp_path_factory):
    server = S3(tmp_path_factory.mktemp("s3"))
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture(scope="session")
def iso(tmp_path_factory):
    """A small CoreOS live image."""
    return live_iso.make(tmp_path_factory.mktemp("iso"))


@pytest.fixture(scope="session")
def s390x(tmp_path_factory):
    """The same for mainframes."""
    return live_iso.make(tmp_path_factory.mktemp("iso-s390x"), "s390x")


@pytest.fixture
def ready_cluster(api):
    """A compact cluster of three hosts that is ready to install, with the fleet behind it."""
    fleet = Fleet.compact(api, "ready")
    fleet.drive_until("ready")
    yield fleet
    fleet.disband()


@pytest.fixture
def cluster(api):
    """A fresh cluster with nothing but the required members."""
    body = {"name": "fresh", "openshift_version": VERSION, "pull_secret": pull_secret()}
    made = api.post("/v2/clusters", body).json()
    yield made
    api.call("DELETE", f"/v2/clusters/{made['id']}")


@pytest.fixture
def infra_env(api):
    """A fresh infra-env without a cluster; its hosts go with it."""
    made = api.post("/v2/infra-envs", {"name": "fresh-env", "pull_secret": pull_secret()}).json()
    yield made
    hosts = api.call("GET", f"/v2/infra-envs/{made['id']}/hosts")
    for host in hosts.json() if hosts.ok else []:
        api.call("DELETE", f"/v2/infra-envs/{made['id']}/hosts/{host['id']}")
    api.call("DELETE", f"/v2/infra-envs/{made['id']}")
