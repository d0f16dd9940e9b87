"""The API of a node that is being restored: `node.py CERTIFICATE KEY CLIENT_AUTHORITY STATE`.

Its cluster is the one named in the file STATE, which is read for every answer. Clients must show a certificate of the
authority. Prints its port.
"""

import http.server
import json
import ssl
import sys
from pathlib import Path

certificate, key, authority, state = sys.argv[1:]
TRUE = [{"type": "Available", "status": "True"}, {"type": "Ready", "status": "True"}]
QUIET = [{"type": kind, "status": "False", "message": ""} for kind in ("Progressing", "Degraded", "Failing")]


def named(name):
    return {"metadata": {"name": name}, "status": {"conditions": TRUE + QUIET}}


class Node(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.split("?")[0]
        answers = {
            "/version": {"gitVersion": "v1.31.0"},
            "/apis/config.openshift.io/v1/clusterversions/version": {
                **named("version"),
                "spec": {"clusterID": Path(state).read_text()},
            },
            "/apis/config.openshift.io/v1/clusteroperators": {"metadata": {}, "items": [named("dns")]},
            "/api/v1/nodes": {"metadata": {}, "items": [named("node1")]},
        }
        body = json.dumps(answers.get(path, {"kind": "Status", "code": 404, "reason": "NotFound"})).encode()
        self.send_response(200 if path in answers else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
context.load_verify_locations(authority)
context.verify_mode = ssl.CERT_REQUIRED
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Node)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
