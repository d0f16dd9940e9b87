"""What an installer asks of a service, and the image it writes.

service.py ADDRESS PORT FOLDER
"""

import http.server
import os
import sys

address, port, folder = sys.argv[1:]
os.chdir(folder)


class Handler(http.server.SimpleHTTPRequestHandler):
    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path.endswith("/downloads/ignition"):
            return self.answer(200, b'{"ignition": {"version": "3.2.0"}}')
        if "/clusters/" in self.path:
            return self.answer(200, b'{"kind": "AddHostsCluster"}')
        return super().do_GET()

    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(200)

    def do_POST(self):
        self.do_PUT()


http.server.ThreadingHTTPServer((address, int(port)), Handler).serve_forever()
