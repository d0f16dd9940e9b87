"""Clients that hang up, and the port for boot firmware."""

import json
import random
import socket
import time

import pytest
import requests

from backends import free_port
from muster import VERSION, eventually, pull_secret


def test_a_client_that_hangs_up_leaves_nothing_half_done(servers):
    server = servers("hang-up").start()
    api = server.api()
    host, port = server.url.removeprefix("http://").split(":")
    chance = random.Random(7)
    for number in range(60):
        body = json.dumps({"name": f"gone-{number}", "openshift_version": VERSION, "pull_secret": pull_secret()})
        head = f"POST /api/assisted-install/v2/clusters HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall((head + body).encode())
            time.sleep(chance.random() * 0.01)

    def all_evaluated():
        clusters = api.get("/v2/clusters").json()
        return len(clusters) >= 1 and all("validations_info" in cluster for cluster in clusters)

    eventually(all_evaluated, "every stored cluster to be evaluated")
    idle = [line for line in api.get("//metrics").text.splitlines() if line.startswith("http_requests_inflight{")]
    assert idle and all(line.endswith(" 0") or "/v2/clusters" not in line for line in idle), idle


@pytest.fixture(scope="module")
def firmware(servers):
    port = free_port()
    server = servers("firmware", plain=False, env={"HTTP_LISTEN_PORT": str(port)}).start()
    return server, f"http://127.0.0.1:{port}"


def test_the_firmware_port_serves_boot_scripts(firmware):
    server, base = firmware
    body = {"name": "pxe", "pull_secret": pull_secret(), "openshift_version": VERSION}
    infra_env = server.api().post("/v2/infra-envs", body).json()["id"]
    path = f"/api/assisted-install/v2/infra-envs/{infra_env}/downloads/files"
    script = requests.get(base + path, params={"file_name": "ipxe-script"}, timeout=10)
    assert script.status_code == 200 and script.text.startswith("#!ipxe")
    secret = requests.get(base + path, params={"file_name": "discovery.ign"}, timeout=10)
    assert secret.status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/metrics"),
        ("GET", "/docs"),
        ("POST", "/auth/token"),
        ("GET", "/api/assisted-install/v2/clusters"),
    ],
)
def test_the_firmware_port_serves_nothing_else(firmware, method, path):
    _, base = firmware
    answer = requests.request(method, base + path, timeout=10)
    assert answer.status_code == 404
    assert set(answer.json()) == {"code", "message"}
