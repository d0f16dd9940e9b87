"""The API of a running cluster, as far as one that follows its nodes needs it: lists and watches of
nodes and certificate requests, approval, labels. Everything is in memory; tests change it directly."""

import base64
import copy
import datetime
import http.server
import ipaddress
import json
import ssl
import threading
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NODES, REQUESTS = "nodes", "certificatesigningrequests"
LISTS = {"/api/v1/nodes": NODES, f"/apis/certificates.k8s.io/v1/{REQUESTS}": REQUESTS}
BOOTSTRAPPER = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"
TOKEN = "token-of-the-administrator"


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def subject(common_name, organization):
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)] if organization else []
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


class Cluster:
    """One API on loopback. `kubeconfig` is what an administrator would be given."""

    def __init__(self, folder):
        self.objects = {NODES: {}, REQUESTS: {}}
        self.history = []
        self.changed = threading.Condition()
        certificate, key = self._identity(folder)
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                api.get(self)

            def do_PUT(self):
                api.write(self)

            def do_PATCH(self):
                api.write(self)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        authority = base64.b64encode(certificate.read_bytes()).decode()
        self.kubeconfig = json.dumps(
            {
                "current-context": "admin",
                "contexts": [{"name": "admin", "context": {"cluster": "here", "user": "admin"}}],
                "clusters": [
                    {
                        "name": "here",
                        "cluster": {
                            "server": f"https://127.0.0.1:{self.server.server_port}",
                            "certificate-authority-data": authority,
                        },
                    }
                ],
                "users": [{"name": "admin", "user": {"token": TOKEN}}],
            }
        )
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @staticmethod
    def _identity(folder):
        key = ec.generate_private_key(ec.SECP256R1())
        name = subject("api", "")
        start = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=5)
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        builder = x509.CertificateBuilder(
            issuer_name=name,
            subject_name=name,
            public_key=key.public_key(),
            serial_number=x509.random_serial_number(),
            not_valid_before=start,
            not_valid_after=start + datetime.timedelta(days=1),
        )
        signed = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
        pem = signed.public_bytes(serialization.Encoding.PEM)
        (folder / "api.crt").write_bytes(pem)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (folder / "api.key").write_bytes(private)
        return folder / "api.crt", folder / "api.key"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    # What tests do.

    def put(self, kind, value):
        """Creates or replaces an object; watches see it."""
        with self.changed:
            name = value["metadata"]["name"]
            known = name in self.objects[kind]
            version = len(self.history) + 1
            value = copy.deepcopy(value)
            value["metadata"]["resourceVersion"] = str(version)
            self.objects[kind][name] = value
            self.history.append((kind, {"type": "MODIFIED" if known else "ADDED", "object": value}))
            self.changed.notify_all()
            return value

    def node(self, name, address, ready, message="the network plugin is not ready"):
        old = self.objects[NODES].get(name, {"metadata": {"name": name, "creationTimestamp": now()}})
        condition = {"type": "Ready", "status": str(ready), "message": message, "lastTransitionTime": now()}
        addresses = [{"type": "InternalIP", "address": address}]
        return self.put(NODES, {**old, "status": {"conditions": [condition], "addresses": addresses}})

    def request(self, name, node, address=None, user=None):
        """A kubelet asks for a client certificate, or with an address for a serving one."""
        builder = x509.CertificateSigningRequestBuilder(subject_name=subject(f"system:node:{node}", "system:nodes"))
        if address:
            names = [x509.DNSName(node), x509.IPAddress(ipaddress.ip_address(address))]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        signed = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
        pem = signed.public_bytes(serialization.Encoding.PEM)
        serving = address is not None
        spec = {
            "signerName": f"kubernetes.io/{'kubelet-serving' if serving else 'kube-apiserver-client-kubelet'}",
            "username": user or (f"system:node:{node}" if serving else BOOTSTRAPPER),
            "groups": ["system:nodes"] if serving else ["system:serviceaccounts"],
            "usages": ["digital signature", "server auth" if serving else "client auth"],
            "request": base64.b64encode(pem).decode(),
        }
        return self.put(REQUESTS, {"metadata": {"name": name}, "spec": spec, "status": {}})

    def approve(self, name):
        found = copy.deepcopy(self.objects[REQUESTS][name])
        found["status"] = {"conditions": [{"type": "Approved", "status": "True"}]}
        return self.put(REQUESTS, found)

    def is_approved(self, name):
        conditions = self.objects[REQUESTS][name]["status"].get("conditions") or []
        return any(condition["type"] == "Approved" for condition in conditions)

    # What the service asks.

    def get(self, call):
        place, query = self._read(call)
        if place is None:
            return None
        if place == "/version":
            return self._answer(call, {"gitVersion": "v1.33.0"})
        kind = LISTS.get(place)
        if kind and query.get("watch") == ["true"]:
            return self._watch(call, kind, int(query["resourceVersion"][0]))
        with self.changed:
            if kind:
                items = copy.deepcopy(list(self.objects[kind].values()))
                version = str(len(self.history))
                return self._answer(call, {"metadata": {"resourceVersion": version}, "items": items})
            folder, name = place.rsplit("/", 1)
            found = self.objects[LISTS[folder]].get(name) if folder in LISTS else None
        return self._answer(call, found or {"message": "not found"}, 200 if found else 404)

    def write(self, call):
        place, _ = self._read(call)
        if place is None:
            return None
        body = json.loads(call.rfile.read(int(call.headers["Content-Length"])))
        if call.command == "PUT" and place.endswith("/approval"):
            return self._answer(call, self.put(REQUESTS, body))
        folder, name = place.rsplit("/", 1)
        found = copy.deepcopy(self.objects[LISTS[folder]][name])
        found["metadata"].setdefault("labels", {}).update(body["metadata"]["labels"])
        return self._answer(call, self.put(LISTS[folder], found))

    def _read(self, call):
        place = urllib.parse.urlsplit(call.path)
        if place.path != "/version" and call.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._answer(call, {"message": "who are you?"}, 401)
            return None, None
        return place.path, urllib.parse.parse_qs(place.query)

    @staticmethod
    def _answer(call, value, status=200):
        body = json.dumps(value).encode()
        call.send_response(status)
        call.send_header("Content-Type", "application/json")
        call.send_header("Content-Length", str(len(body)))
        call.end_headers()
        call.wfile.write(body)

    def _watch(self, call, kind, version):
        call.send_response(200)
        call.end_headers()
        while True:
            with self.changed:
                while len(self.history) <= version:
                    self.changed.wait()
                news = self.history[version:]
                version = len(self.history)
            for changed, event in news:
                if changed == kind:
                    try:
                        call.wfile.write(json.dumps(event).encode() + b"\n")
                    except OSError:
                        return
