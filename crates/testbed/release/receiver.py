"""Takes the manifests of a new cluster and applies them: receiver.py ADDRESS PORT FOLDER KUBECONFIG

Stands in for the part of cluster-bootstrap that talks to the API. Namespaces that the version
operator would have created are created when an object needs them; objects of kinds that this API
does not have are left out, and the log says which.
"""

import base64
import http.server
import io
import os
import re
import subprocess
import sys
import tarfile

address, port, folder, kubeconfig = sys.argv[1:]


def kubectl(*words, text=None):
    return subprocess.run(["kubectl", "--kubeconfig", kubeconfig, *words], input=text, capture_output=True, text=True)


def apply(path):
    for _ in range(20):
        done = kubectl("apply", "--server-side", "--force-conflicts", "--filename", path)
        missing = re.search(r'namespaces "([^"]+)" not found', done.stderr)
        if done.returncode == 0 or not missing:
            break
        kubectl("create", "namespace", missing.group(1))
    print(os.path.basename(path), "applied" if done.returncode == 0 else done.stderr.strip(), flush=True)


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = base64.b64decode(self.rfile.read(int(self.headers["Content-Length"])))
        if kubectl("get", "--raw", "/readyz").returncode != 0:
            self.send_response(503)
            self.end_headers()
            return
        with tarfile.open(fileobj=io.BytesIO(body)) as archive:
            archive.extractall(folder, filter="data")
        for part in ("manifests", "openshift"):
            here = os.path.join(folder, part)
            for name in sorted(os.listdir(here)):
                if name.endswith((".yaml", ".yml", ".json")):
                    apply(os.path.join(here, name))
        open(os.path.join(folder, "applied"), "w").close()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"applied\n")


http.server.ThreadingHTTPServer((address, int(port)), Receiver).serve_forever()
