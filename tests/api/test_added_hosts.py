"""Hosts that are added to a cluster which was installed here, followed until their nodes are ready."""

import pytest

from kubernetes import NODES, Cluster
from machines import Fleet, Machine
from muster import eventually

STAGES = ["Installing", "Writing image to disk"]
SETTINGS = {"DUMMY_IGNITION": "true", "FILESYSTEM_USAGE_THRESHOLD": "100"}


@pytest.fixture
def running(tmp_path):
    """The API of the cluster that hosts are added to."""
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.stop()


def grown(server, running, name):
    """A cluster that takes more hosts, whose kubeconfig leads to the running API."""
    fleet = Fleet.compact(server.api(), name)
    fleet.drive_until("ready")
    fleet.install()
    fleet.finalize()
    stored = server.data_dir / "files" / fleet.cluster_id / "files" / "kubeconfig"
    assert stored.exists()
    stored.write_text(running.kubeconfig)
    fleet.api.post(f"{fleet.path}/actions/allow-add-hosts", expect=202)
    return fleet


def installing(fleet, name, index):
    """A further machine that has been instructed to install itself."""
    worker = Machine(fleet.api, fleet.infra_env_id, index, name)
    worker.register()

    def known():
        worker.work()
        return worker.state()["status"] == "known"

    eventually(known, f"{name} to be known")
    fleet.api.patch(worker.path, {"node_labels": [{"key": "rack", "value": "b4"}]})
    fleet.api.post(f"{worker.path}/actions/install", expect=202)
    worker.work()
    return worker


def until_followed(worker):
    """Reports progress until the service reaches the cluster: then more stages are expected."""
    attempts = iter(range(1000))

    def followed():
        worker.progress("Starting installation", f"attempt {next(attempts)}")
        return "Joined" in worker.state()["progress_stages"]

    eventually(followed, "the service to reach the API of the cluster")


def progress_of(worker):
    progress = worker.state()["progress"]
    return progress["current_stage"], progress.get("progress_info", "")


def test_an_added_host_is_followed_until_its_node_is_ready(servers, running):
    server = servers("added-hosts", env=SETTINGS).start()
    server.port = int(server.url.rsplit(":", 1)[1])
    fleet = grown(server, running, "grows")
    worker = installing(fleet, "extra-worker", 20)
    until_followed(worker)
    # A node of that name from an earlier life of the machine does not count.
    running.put(
        NODES,
        {
            "metadata": {"name": worker.name, "creationTimestamp": "2020-01-01T00:00:00Z"},
            "status": {
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}]
            },
        },
    )
    for stage in [*STAGES, "Rebooting"]:
        worker.progress(stage)
    assert worker.state()["status"] == "installing-in-progress"
    # The service may go away in between.
    running.objects[NODES].clear()
    server.kill()
    server.start()
    running.request("csr-1", worker.name)
    eventually(lambda: progress_of(worker)[0] == "Configuring", "the request to be seen")
    assert progress_of(worker)[1].endswith("oc adm certificate approve csr-1")
    assert not running.is_approved("csr-1"), "a person approves"
    running.approve("csr-1")
    running.node(worker.name, worker.ip, ready=False)
    eventually(lambda: progress_of(worker)[0] == "Joined", "the node to be seen")
    assert "the network plugin is not ready" in progress_of(worker)[1]
    running.node(worker.name, worker.ip, ready=True)
    worker.wait_for("added-to-existing-cluster")
    assert progress_of(worker) == ("Done", f"node {worker.name} is ready")
    assert running.objects[NODES][worker.name]["metadata"]["labels"] == {"rack": "b4"}
    stages = [event["message"] for event in fleet.api.events(host_id=worker.id, cluster_id=fleet.cluster_id)]
    assert any("reached installation stage Joined" in message for message in stages), stages


def test_requests_of_added_hosts_are_approved_if_that_is_wanted_and_those_of_strangers_are_not(servers, running):
    server = servers("approving", env={**SETTINGS, "MUSTER_CLUSTER_APPROVE_ADDED_HOSTS": "true"}).start()
    fleet = grown(server, running, "approves")
    worker = installing(fleet, "welcome", 21)
    until_followed(worker)
    running.request("too-early", worker.name)
    for stage in STAGES:
        worker.progress(stage)
    assert not running.is_approved("too-early"), "it has not even rebooted"
    worker.progress("Rebooting")
    running.request("stranger", "stranger")
    running.request("other-user", worker.name, user="system:serviceaccount:default:default")
    running.request("csr-client", worker.name)
    eventually(lambda: running.is_approved("csr-client"), "the request of the host to be approved")
    running.node(worker.name, worker.ip, ready=False)
    running.request("csr-wrong-address", worker.name, address="192.168.126.250")
    running.request("csr-serving", worker.name, address=worker.ip)
    eventually(lambda: running.is_approved("csr-serving"), "the serving certificate to be approved")
    for name in ["stranger", "other-user", "csr-wrong-address"]:
        assert not running.is_approved(name), name


def test_without_a_way_to_the_cluster_a_host_is_added_when_it_reboots(servers, running):
    server = servers("unreachable", env={**SETTINGS, "MUSTER_CLUSTER_FOLLOW_ADDED_HOSTS": "false"}).start()
    fleet = grown(server, running, "unfollowed")
    worker = installing(fleet, "alone", 22)
    worker.progress("Starting installation")
    assert "Joined" not in worker.state()["progress_stages"]
    for stage in [*STAGES, "Rebooting"]:
        worker.progress(stage)
    assert worker.state()["status"] == "added-to-existing-cluster"
