"""A small CoreOS live image, laid out like a real one and made with xorriso, and a place to fetch it from."""

import json
import random
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

LABEL = "rhcos-420.1.202601"
KARGS = f"coreos.liveiso={LABEL} ignition.firstboot ignition.platform.id=metal"
AREA = 262_144
ROOM = 1024

KERNEL = random.Random(1).randbytes(70_001)
INITRD = random.Random(2).randbytes(90_000)
ROOTFS = random.Random(3).randbytes(3_000_000)
INS = b"images/pxeboot/vmlinuz 0x00000000\n"


def make(folder, arch="x86_64", rootfs=ROOTFS):
    """Writes the image into a folder and returns its path."""
    tree = folder / f"tree-{arch}"

    def put(path, content):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(content if isinstance(content, bytes) else content.encode())

    put("images/pxeboot/vmlinuz", KERNEL)
    put("images/pxeboot/initrd.img", INITRD)
    put("images/pxeboot/rootfs.img", rootfs)
    if arch == "s390x":
        boot = _boot_blob(put)
    else:
        boot = _boot_configs(put)
    iso = folder / f"live-{arch}.iso"
    command = ["xorriso", "-as", "mkisofs", "-r", "-J", "-joliet-long", "-V", LABEL, *boot, "-o", str(iso), str(tree)]
    subprocess.run(command, check=True, capture_output=True)
    return iso


def _boot_configs(put):
    room = "#" * (ROOM - 1) + "# COREOS_KARG_EMBED_AREA\n"
    grub = "menuentry 'RHEL CoreOS (Live)' {\n\tlinux /images/pxeboot/vmlinuz "
    put("EFI/redhat/grub.cfg", f"{grub}{KARGS}\n{room}\tinitrd /images/pxeboot/initrd.img /images/ignition.img\n}}\n")
    linux = "label linux\n  kernel /images/pxeboot/vmlinuz\n  append initrd=/images/pxeboot/initrd.img,/images/ignition.img "
    put("isolinux/isolinux.cfg", f"{linux}{KARGS}\n{room}")
    put("isolinux/isolinux.bin", random.Random(5).randbytes(40_000))
    put("images/efiboot.img", random.Random(6).randbytes(65_536))
    put("images/ignition.img", bytes(AREA))
    put("coreos/igninfo.json", json.dumps({"file": "images/ignition.img"}))
    files = [
        {"path": "EFI/redhat/grub.cfg", "offset": len(grub), "pad": "#", "end": "\n"},
        {"path": "isolinux/isolinux.cfg", "offset": len(linux), "pad": "#", "end": "\n"},
    ]
    put("coreos/kargs.json", json.dumps({"default": KARGS, "files": files, "size": len(KARGS) + ROOM}))
    bios = "-b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table"
    return f"{bios} -eltorito-alt-boot -e images/efiboot.img -no-emul-boot".split()


def _boot_blob(put):
    """The s390x way: kernel, arguments, initrd and Ignition area in one file."""
    start, size, place = 0x20000, 896, 66_688
    blob = bytearray(random.Random(4).randbytes(start))
    blob[place : place + size] = KARGS.encode().ljust(size, b"\0")
    blob += INITRD
    offset = len(blob)
    blob += bytes(AREA)
    put("images/cdboot.img", bytes(blob))
    put("coreos/igninfo.json", json.dumps({"file": "images/cdboot.img", "length": AREA, "offset": offset}))
    area = {"path": "images/cdboot.img", "offset": place, "pad": "\0", "end": "\0"}
    put("coreos/kargs.json", json.dumps({"default": KARGS, "files": [area], "size": size}))
    put("images/initrd.addrsize", bytes([0, 0, 0, 0, 2, 0, 0, 0]) + len(INITRD).to_bytes(8, "big"))
    put("generic.ins", INS)
    return "-b images/cdboot.img -c boot.catalog -no-emul-boot -boot-load-size 944".split()


class Mirror:
    """Hands out one file; breaks the connection after `cut` bytes of an answer, `cuts_left` times.

    `gate`, if there is one, is waited for before the second half; `claims` is a length to lie with, or "nothing".
    """

    def __init__(self, content, tls=None):
        self.content = content
        self.cut = None
        self.cuts_left = 0
        self.gate = None
        self.claims = None
        self.asked = []
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                mirror.answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.server.server_port}/live.iso"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request):
        wanted = request.headers.get("Range")
        self.asked.append(wanted)
        fits = request.headers.get("If-Range") == '"one"'
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and fits else 0
        body = self.content[start:]
        request.send_response(206 if start else 200)
        request.send_header("ETag", '"one"')
        if self.claims == "nothing":
            request.close_connection = True
        else:
            request.send_header("Content-Length", str(self.claims or len(body)))
        if start:
            request.send_header("Content-Range", f"bytes {start}-{len(self.content) - 1}/{len(self.content)}")
        request.end_headers()
        if self.cut is not None and self.cuts_left > 0:
            self.cuts_left -= 1
            request.wfile.write(body[: self.cut])
            request.close_connection = True
        elif self.gate:
            request.wfile.write(body[: len(body) // 2])
            request.wfile.flush()
            self.gate.wait(60)
            request.wfile.write(body[len(body) // 2 :])
        else:
            request.wfile.write(body)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Proxy:
    """Forwards requests to wherever they want to go, TLS unopened, and remembers what was asked."""

    def __init__(self):
        self.asked = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                proxy.asked.append(f"GET {self.path}")
                where = urlsplit(self.path)
                head = f"GET {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\nConnection: close\r\n\r\n"
                with socket.create_connection((where.hostname, where.port)) as far:
                    far.sendall(head.encode())
                    pump(far, self.connection)
                self.close_connection = True

            def do_CONNECT(self):
                proxy.asked.append(f"CONNECT {self.path}")
                host, port = self.path.rsplit(":", 1)
                with socket.create_connection((host, int(port))) as far:
                    self.connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                    back = threading.Thread(target=pump, args=(far, self.connection), daemon=True)
                    back.start()
                    pump(self.connection, far)
                    back.join()
                self.close_connection = True

            def log_message(self, *_):
                pass

        def pump(source, sink):
            try:
                while data := source.recv(65_536):
                    sink.sendall(data)
                sink.shutdown(socket.SHUT_WR)
            except OSError:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
