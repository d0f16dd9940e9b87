"""What a new cluster finds under the name of its API, beside the API itself: the part of
cluster-bootstrap that applies manifests, and the machine-config server.

    outside.py ADDRESS PORT FOLDER KUBECONFIG CERTIFICATE KEY

Namespaces that the version operator would have created are created when an object needs them;
objects of kinds that this API does not have are left out, and the log says which. Configs come
from the bootstrap host, which renders them, and are served over TLS with the cluster's certificate;
requests are logged in the form of the real server, for the installer that reads it there.
"""

import base64
import http.server
import io
import json
import os
import re
import ssl
import subprocess
import sys
import tarfile
import threading

address, port, folder, kubeconfig, certificate, key = sys.argv[1:]
# Configs for nodes: over TLS for those of a new cluster, plain for those added to a running one.
CONFIG_PORT, PLAIN_CONFIG_PORT = 22623, 22624
# As many nodes as cluster-bootstrap finds pods of the control plane on before it ends: an arbiter counts, and of
# two nodes that fence each other one is the bootstrap host.
needed = {"DualReplica": 1}
topology = None
configs = {}
requests = []


def kubectl(*words):
    return subprocess.run(["kubectl", "--kubeconfig", kubeconfig, *words], capture_output=True, text=True)


def apply(manifests):
    for _ in range(3):
        done = kubectl("apply", "--server-side", "--force-conflicts", "--filename", manifests)
        missing = set(re.findall(r'namespaces "([^"]+)" not found', done.stderr))
        if not missing:
            break
        for namespace in missing:
            kubectl("create", "namespace", namespace)
    print(done.stdout, done.stderr, flush=True)


def set_status(path, status):
    """By path, because Debian's kubectl is older than its flag for subresources."""
    read = kubectl("get", "--raw", path)
    if read.returncode != 0:
        # It was not applied; the log says why, and who needs it will wait.
        return print(path, read.stderr, flush=True)
    found = {**json.loads(read.stdout), "status": status}
    file = os.path.join(folder, "status.json")
    with open(file, "w") as out:
        json.dump(found, out)
    done = kubectl("replace", "--raw", path + "/status", "--filename", file)
    print(path, done.stderr, flush=True)


def apply_manifests(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    for part in ("manifests", "openshift"):
        apply(os.path.join(folder, part))
    # What applies manifests leaves out the status, which says what kind of cluster this is.
    file = os.path.join(folder, "manifests/cluster-infrastructure-02-config.yml")
    described = kubectl("create", "--dry-run=client", "--output=json", "--filename", file)
    if described.returncode == 0:
        status = json.loads(described.stdout)["status"]
        global topology
        topology = status.get("controlPlaneTopology")
        set_status("/apis/config.openshift.io/v1/infrastructures/cluster", status)
    apply_rendered_configs()
    open(os.path.join(folder, "applied"), "w").close()


def apply_rendered_configs():
    """What the machine-config operator makes of the configs of a pool."""
    file = os.path.join(folder, "rendered.json")
    for pool in ("master", "worker", "arbiter"):
        head = {"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig"}
        with open(file, "w") as out:
            json.dump({**head, "metadata": {"name": f"rendered-{pool}-standin"}, "spec": {}}, out)
        print(kubectl("apply", "--server-side", "--force-conflicts", "--filename", file).stderr, flush=True)


def is_ready(node):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))


def control_plane_runs():
    listed = kubectl("get", "nodes", "--selector=!node-role.kubernetes.io/worker", "--output=json")
    if listed.returncode != 0:
        return False
    ready = [node["metadata"] for node in json.loads(listed.stdout)["items"] if is_ready(node)]
    enough = len(ready) >= needed.get(topology, 2)
    if enough:
        report_api_servers([node["name"] for node in ready if "node-role.kubernetes.io/master" in node["labels"]])
    return enough


def report_api_servers(nodes):
    """What the operator of the API says once it has started one on each of these nodes."""
    statuses = [{"nodeName": node, "currentRevision": 1} for node in nodes]
    file = os.path.join(folder, "kubeapiserver.json")
    with open(file, "w") as out:
        head = {"apiVersion": "operator.openshift.io/v1", "kind": "KubeAPIServer", "metadata": {"name": "cluster"}}
        json.dump({**head, "spec": {}, "status": {"nodeStatuses": statuses}}, out)
    print(kubectl("apply", "--server-side", "--force-conflicts", "--filename", file).stderr, flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        return base64.b64decode(self.rfile.read(int(self.headers["Content-Length"])))


class ForBootstrap(Handler):
    """For the programs of the release on the bootstrap host."""

    def do_GET(self):
        if self.path == "/control-plane":
            return self.answer(200 if control_plane_runs() else 503)
        if self.path == "/config-requests":
            return self.answer(200, "".join(requests).encode())
        return self.answer(404)

    def do_POST(self):
        if self.path.startswith("/config/"):
            configs[self.path] = self.body()
            return self.answer(200)
        archive = self.body()
        if kubectl("get", "--raw", "/readyz").returncode != 0:
            return self.answer(503)
        apply_manifests(archive)
        return self.answer(200, b"applied\n")


class ForNodes(Handler):
    """The machine-config server."""

    def do_GET(self):
        pool = self.path.rsplit("/", 1)[-1]
        source = f"{self.client_address[0]}:{self.client_address[1]}"
        agent, accept = self.headers.get("User-Agent"), self.headers.get("Accept")
        requests.append(f'Pool {pool} requested by address:"{source}" User-Agent:"{agent}" Accept-Header: "{accept}"\n')
        config = configs.get(self.path)
        return self.answer(200, config) if config else self.answer(404)


def serve_configs(port, context=None):
    # Under the virtual address of the API as well, where a cluster has one.
    server = http.server.ThreadingHTTPServer(("", port), ForNodes)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
serve_configs(CONFIG_PORT, context)
serve_configs(PLAIN_CONFIG_PORT)
http.server.ThreadingHTTPServer((address, int(port)), ForBootstrap).serve_forever()
