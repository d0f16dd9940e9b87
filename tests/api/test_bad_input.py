"""Hostile and clumsy input: every request gets a clear 4xx of the right shape, and changes nothing.

The tables hold one wrong thing per row. After each table the state is compared with the one
before, and the server must still answer on the same connection.
"""

import base64
import http.client
import json
import socket
from urllib.parse import urlsplit

import pytest

from bad_inputs import HEADERS, MANIFEST_NAMES, NEW, QUERIES, UNKNOWN, WRONG_BODIES, WRONG_BYTES
from machines import Machine
from muster import BASE_PATH, NOWHERE, VERSION, api_error, infra_error, pull_secret

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def place(api):
    """A cluster, an infra-env and a discovering host that nothing here may change."""
    cluster = api.new_cluster("victim")
    infra_env = api.new_infra_env("victim-env", cluster_id=cluster["id"])
    machine = Machine(api, infra_env["id"], 0, "victim-0")
    machine.register()
    machine.send_inventory()
    # A first change brings the validations up to date, so that later comparisons are exact.
    api.patch(f"/v2/clusters/{cluster['id']}", {"tags": "lab"})
    names = {"c": cluster["id"], "i": infra_env["id"], "h": machine.id, "machine": machine}
    yield names
    api.delete(f"/v2/clusters/{cluster['id']}")
    api.call("DELETE", f"/v2/infra-envs/{infra_env['id']}")


def snapshot(api, place):
    """All that a client can see of the place, minus what merely reading it may touch."""
    # A host that is silent for minutes changes by itself, so it checks in first.
    place["machine"].poll()
    state = {
        "cluster": api.cluster(place["c"]),
        "infra_env": api.get(f"/v2/infra-envs/{place['i']}").json(),
        "hosts": api.get(f"/v2/infra-envs/{place['i']}/hosts").json(),
        "manifests": api.get(f"/v2/clusters/{place['c']}/manifests").json(),
        "ignored": api.get(f"/v2/clusters/{place['c']}/ignored-validations").json(),
        "settings": api.get(f"/v2/clusters/{place['c']}/ui-settings").json(),
        "clusters": sorted(item["id"] for item in api.get("/v2/clusters").json()),
        "infra_envs": sorted(item["id"] for item in api.get("/v2/infra-envs").json()),
    }
    for thing in [state["cluster"], *state["cluster"]["hosts"], *state["hosts"]]:
        for clock in ("checked_in_at", "updated_at", "timestamp"):
            thing.pop(clock, None)
    return state


@pytest.fixture
def unchanged(api, place):
    """Whatever the test sends: afterwards everything is as before."""
    before = snapshot(api, place)
    yield
    assert snapshot(api, place) == before


def fails(rows):
    """Reports all rows of a table that did not behave, not only the first."""
    complaints = []
    for label, check in rows:
        try:
            check()
        except (AssertionError, OSError, ValueError) as complaint:
            complaints.append(f"- {label}: {complaint}")
    assert not complaints, f"{len(complaints)} of {len(rows)} rows:\n" + "\n".join(complaints)


def shape(answer, kind, status=400):
    if kind == "any":
        kind = "infra" if "message" in answer.json() else "api"
    (infra_error if kind == "infra" else api_error)(answer, status)


def test_wrong_values_are_refused_with_400_and_the_right_error_shape(api, place, unchanged):
    def check(method, path, body, kind):
        answer = api.call(method, path.format(**place), json=body, timeout=30)
        shape(answer, kind)
        assert answer.headers["Content-Type"].startswith("application/json")

    fails([(row[0], lambda row=row: check(*row[1:])) for row in WRONG_BODIES])


def test_unknown_things_are_404_of_the_right_shape(api, place, unchanged):
    def check(method, path, status, kind):
        body = {} if method in ("PATCH", "PUT") else None
        shape(api.call(method, path.format(**place), json=body), kind, status)

    fails([(row[0], lambda row=row: check(*row[1:])) for row in UNKNOWN])


def test_other_spellings_of_an_id_mean_the_same_cluster_or_none(api, place):
    for spelling in (place["c"].upper(), place["c"].replace("-", "")):
        answer = api.call("GET", f"/v2/clusters/{spelling}")
        assert answer.status_code in (200, 404), answer.text
        assert answer.status_code == 404 or answer.json()["id"] == place["c"]


BAD_IDS = ["nope", "1", "..", "%2e%2e", "%00", "a%2Fb", "%ff%fe", "'; drop table hosts; --", "{c}x", "%E2%98%83"]


@pytest.mark.parametrize(
    "template",
    ["/v2/clusters/{}", "/v2/infra-envs/{}", "/v2/infra-envs/{}/hosts", "/v2/clusters/{}/manifests"],
)
def test_malformed_ids_are_refused(api, place, template, unchanged):
    def check(bad):
        # Sent raw: a client library would tidy the dots away.
        answer = raw_get(api, BASE_PATH + template.format(bad.replace("{c}", place["c"])))
        assert answer.status in (400, 404), f"{answer.status}: {answer.text[:300]}"
        body = json.loads(answer.text)
        assert set(body) == {"code", "message"}, body

    fails([(repr(bad), lambda bad=bad: check(bad)) for bad in BAD_IDS])


def test_the_message_about_a_bad_id_names_parameter_and_value(api):
    message = infra_error(api.call("GET", "/v2/clusters/nope"), 400)
    assert message == 'cluster_id in path must be of type uuid: "nope"'


class Raw:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode(errors="replace")


def raw_get(api, target):
    """A request whose target no library touches."""
    parts = urlsplit(api.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    try:
        connection.putrequest("GET", target.encode().decode("latin-1").replace(" ", "%20"))
        connection.endheaders()
        return Raw(connection.getresponse())
    finally:
        connection.close()


def send_bytes(api, data, timeout=10):
    """Raw bytes on a socket; returns the first bytes of the answer (empty: closed without one)."""
    parts = urlsplit(api.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=timeout) as wire:
        wire.sendall(data)
        wire.shutdown(socket.SHUT_WR)
        return wire.recv(4096)


def test_bytes_that_are_no_request_body_are_refused(api, unchanged):
    def check(data):
        infra_error(api.call("POST", "/v2/clusters", data=data, headers=JSON), 400)

    fails([(label, lambda data=data: check(data)) for label, data in WRONG_BYTES])


def test_a_missing_body_names_the_missing_parameter(api, place):
    message = infra_error(api.call("POST", "/v2/clusters", headers=JSON), 400)
    assert message == "newClusterParams in body is required"
    message = infra_error(api.call("PATCH", f"/v2/clusters/{place['c']}", headers=JSON), 400)
    assert message == "clusterUpdateParams in body is required"


def test_a_duplicate_key_is_not_a_way_around_the_checks(api, unchanged):
    body = (
        b'{"name":"good","name":"BAD","openshift_version":"4.20","pull_secret":%s}' % json.dumps(pull_secret()).encode()
    )
    answer = api.call("POST", "/v2/clusters", data=body, headers=JSON)
    assert answer.status_code == 400, answer.text


CONTENT_TYPES = ["text/plain", "application/xml", "nonsense", "multipart/form-data", ""]


def test_content_types_that_the_operation_does_not_take_are_400(api, unchanged):
    def check(kind):
        answer = api.call("POST", "/v2/clusters", data=json.dumps(NEW).encode(), headers={"Content-Type": kind})
        infra_error(answer, 400)

    fails([(repr(kind), lambda kind=kind: check(kind)) for kind in CONTENT_TYPES])


def test_an_accept_that_cannot_be_met_is_400(api):
    infra_error(api.call("GET", "/v2/clusters", headers={"Accept": "image/png"}), 400)


def test_methods_that_do_not_exist_are_405_with_allow(api, place, unchanged):
    for method, path, allowed in [
        ("PUT", "/v2/clusters", {"GET", "POST"}),
        ("DELETE", "/v2/clusters", {"GET", "POST"}),
        ("POST", f"/v2/clusters/{place['c']}", {"GET", "PATCH", "DELETE"}),
        ("OPTIONS", "/v2/clusters", {"GET", "POST"}),
        ("PATCH", "/v2/events", {"GET", "POST"}),
    ]:
        answer = api.call(method, path)
        infra_error(answer, 405)
        assert {word.strip() for word in answer.headers["Allow"].split(",")} == allowed, path
    head = api.call("HEAD", "/v2/clusters")
    assert head.status_code == 405 and head.content == b""


def test_an_unknown_method_is_refused(api):
    answer = api.call("BREW", "/v2/clusters")
    assert answer.status_code in (400, 405, 501), answer.text


def test_manifest_names_cannot_leave_their_folder(api, place, shared, unchanged):
    content = base64.b64encode(b"a: 1").decode()

    def check(name, status):
        wanted = status if isinstance(status, tuple) else (status,)
        body = {"file_name": name, "content": content}
        answer = api.call("POST", f"/v2/clusters/{place['c']}/manifests", json=body)
        assert answer.status_code in wanted, f"create: {answer.status_code} {answer.text[:200]}"
        if answer.status_code == 201:
            api.delete(f"/v2/clusters/{place['c']}/manifests", 200, params={"file_name": name})
        query = {"file_name": name, "folder": "manifests"}
        for method, path in [("GET", "/manifests/files"), ("DELETE", "/manifests")]:
            answer = api.call(method, f"/v2/clusters/{place['c']}{path}", params=query)
            assert answer.status_code in (200, 400, 404, 422), f"{method}: {answer.status_code} {answer.text[:200]}"
            assert answer.status_code != 200 or not answer.content, f"{method} found something: {answer.text[:200]}"

    fails([(repr(name)[:60], lambda row=(name, status): check(*row)) for name, status in MANIFEST_NAMES])
    strays = [path for path in shared.work_dir.rglob("*evil*")]
    assert not strays, strays


TRICKY_FILES = [
    "../../etc/passwd",
    "/etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "bootstrap.ign/../../x",
    "\0",
    "",
    "a" * 9000,
]


def test_download_names_come_from_a_closed_list(api, place):
    def check(path, name):
        answer = api.call("GET", path.format(**place), params={"file_name": name})
        infra_error(answer, 400)

    paths = [
        "/v2/clusters/{c}/downloads/files",
        "/v2/clusters/{c}/downloads/credentials",
        "/v2/infra-envs/{i}/downloads/files",
        "/v2/clusters/{c}/downloads/files-presigned",
    ]
    fails([(f"{path} {name!r:.40}", lambda row=(path, name): check(*row)) for path in paths for name in TRICKY_FILES])


def test_uploaded_logs_are_stored_under_our_names_only(api, place, shared):
    path = f"/v2/clusters/{place['c']}/logs"
    files = {"upfile": ("../../../evil-name.tar.gz", b"data", "application/gzip")}
    api.call("POST", path, 204, params={"logs_type": "controller"}, files=files)
    assert not list(shared.work_dir.rglob("*evil-name*"))
    assert api.get(path, params={"logs_type": "controller"}).content == b"data"


def test_bad_log_uploads_are_400_or_404_never_a_crash(api, place):
    path = f"/v2/clusters/{place['c']}/logs"
    good = {"upfile": ("logs.tar.gz", b"data")}
    rows = [
        ("no upfile part", {"logs_type": "controller"}, {"other": ("a", b"b")}, None, 400),
        ("host without id", {"logs_type": "host"}, good, None, 400),
        ("unknown host", {"logs_type": "host", "host_id": NOWHERE}, good, None, 404),
        ("type unknown", {"logs_type": "gossip"}, good, None, 400),
        ("type missing", {}, good, None, 400),
        ("host id junk", {"logs_type": "host", "host_id": "x"}, good, None, 400),
        ("not multipart", {"logs_type": "controller"}, None, b"data", 400),
    ]

    def check(query, files, data, status):
        headers = {**(JSON if data else {}), "Connection": "close"}
        answer = api.call("POST", path, params=query, files=files, data=data, headers=headers)
        assert answer.status_code == status, f"{answer.status_code}: {answer.text[:300]}"
        assert set(answer.json()) in ({"code", "message"}, {"code", "href", "id", "kind", "reason"})

    fails([(row[0], lambda row=row: check(*row[1:])) for row in rows])
    broken = b'--x\r\nContent-Disposition: form-data; name="upfile"; filename="a"\r\n\r\ndata without an end'
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = api.call("POST", path, params={"logs_type": "controller"}, data=broken, headers=headers)
    assert answer.status_code == 400, answer.text
    headers = {"Content-Type": "multipart/form-data"}
    answer = api.call("POST", path, params={"logs_type": "controller"}, data=broken, headers=headers)
    assert answer.status_code == 400, answer.text


def test_a_refused_upload_keeps_the_connection_or_says_that_it_closes(api, place):
    """A client that did not receive `Connection: close` sends its next request on the same connection."""
    parts = urlsplit(api.url)
    body = b'--x\r\nContent-Disposition: form-data; name="upfile"; filename="a"\r\n\r\ndata\r\n--x--\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    target = f"{BASE_PATH}/v2/clusters/{place['c']}/logs?logs_type=host"
    for _ in range(20):
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
        try:
            connection.request("POST", target, body=body, headers=headers)
            refusal = connection.getresponse()
            refusal.read()
            assert refusal.status == 400
            if (refusal.getheader("Connection") or "").lower() == "close":
                continue
            connection.request("GET", f"{BASE_PATH}/v2/domains")
            assert connection.getresponse().status == 200
        finally:
            connection.close()


def test_inputs_that_crash_the_reference_are_400(api, place, unchanged):
    host = f"/v2/infra-envs/{place['i']}/hosts/{place['h']}"
    answer = api.call("POST", f"{host}/instructions", headers=JSON)
    assert answer.status_code == 400, answer.text
    event = {"name": "a", "severity": "info", "message": "m", "event_time": "2026-01-01T00:00:00Z"}
    answer = api.call("POST", "/v2/events", json={**event, "props": "[1,2]"})
    assert answer.status_code == 400, answer.text


def test_arm_is_arm_whatever_it_is_called(api):
    for path in ("/v2/support-levels/features", "/v2/operators/bundles"):
        query = {"openshift_version": VERSION}
        one = api.get(path, params={**query, "cpu_architecture": "aarch64"}).json()
        other = api.get(path, params={**query, "cpu_architecture": "arm64"}).json()
        assert one == other, path


def test_replies_that_an_unbound_host_cannot_give_are_400(api):
    pool = api.new_infra_env("pool-dhcp")
    machine = Machine(api, pool["id"], 5, "loose")
    machine.register()
    for kind, output in [
        ("free-network-addresses", []),
        ("dhcp-lease-allocate", {"api_vip_address": "10.0.0.1", "ingress_vip_address": "10.0.0.2"}),
        ("verify-vips", [{"vip": "10.0.0.1", "vip_type": "api", "verification": "succeeded"}]),
    ]:
        answer = machine.reply(kind, output, expect=None)
        # The contract of this operation knows no 409.
        assert answer.status_code == 400, f"{kind}: {answer.status_code} {answer.text}"
        api_error(answer, 400)
    api.delete(machine.path)
    api.delete(f"/v2/infra-envs/{pool['id']}")


def test_an_inventory_with_holes_never_brings_the_service_down(api, place):
    """Every sub-object of an inventory may be missing or null."""
    machine = Machine(api, place["i"], 60, "holes")
    machine.register()
    whole = machine.inventory
    variants = [{}, {"hostname": "x"}]
    variants += [{key: value for key, value in whole.items() if key != gone} for gone in whole]
    variants += [{**whole, gone: None} for gone in whole]
    variants += [{**whole, "disks": [{}]}, {**whole, "interfaces": [{}]}, {**whole, "routes": [{}]}]
    variants += [{**whole, "interfaces": [{"name": "eth0", "ipv4_addresses": ["junk"], "ipv6_addresses": ["::/999"]}]}]
    variants += [{**whole, "memory": {"physical_bytes": -5}}, {**whole, "cpu": {"count": -1}}]

    def check(variant):
        answer = machine.reply("inventory", variant, expect=None)
        assert answer.status_code in (204, 400), f"{answer.status_code}: {answer.text[:300]}"
        assert machine.state()["status"], "the host must stay readable"
        api.cluster(place["c"])
        machine.poll()

    fails([(json.dumps(variant)[:80], lambda variant=variant: check(variant)) for variant in variants])
    api.delete(machine.path)


def test_abuse_of_http_itself_is_refused_and_the_service_stays(api):
    def check(data):
        try:
            answer = send_bytes(api, data)
        except OSError:
            # Closed in the middle of our sending: a refusal, too.
            answer = b""
        status = int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/1") else 400
        assert status == 200 or 400 <= status < 500 or status == 505, answer[:200]
        api.get("/v2/domains")

    fails([(label, lambda data=data: check(data)) for label, data in HEADERS])


def test_query_parameters_are_checked(api, place, unchanged):
    def check(path, status):
        answer = api.call("GET", path.format(**place))
        assert answer.status_code < 500, f"{answer.status_code}: {answer.text[:200]}"
        if status == 400:
            assert answer.status_code == 400, f"{answer.status_code}: {answer.text[:200]}"
            assert set(answer.json()) in ({"code", "message"}, {"code", "href", "id", "kind", "reason"})
        elif status:
            assert answer.status_code == status, f"{answer.status_code}: {answer.text[:200]}"

    fails([(label, lambda row=(path, status): check(*row)) for label, path, status in QUERIES])


def test_a_refused_request_leaves_the_connection_usable(api):
    parts = urlsplit(api.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    try:
        connection.connect()
        wire = connection.sock
        for _ in range(3):
            connection.request("POST", f"{BASE_PATH}/v2/clusters", body=b"{", headers=JSON)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 400
        connection.request("GET", f"{BASE_PATH}/v2/domains")
        answer = connection.getresponse()
        assert (answer.status, answer.read().strip()) == (200, b"[]")
        assert connection.sock is wire, "the server closed the connection after an ordinary refusal"
    finally:
        connection.close()


def test_state_actions_in_the_wrong_state_are_refused_without_effect(api, place, unchanged):
    cluster, host = f"/v2/clusters/{place['c']}", f"/v2/infra-envs/{place['i']}/hosts/{place['h']}"
    rows = [
        # Every host has reported, and one cannot be installed: the request is wrong, not the moment.
        ("install", "POST", f"{cluster}/actions/install", None, 400),
        ("cancel", "POST", f"{cluster}/actions/cancel", None, 409),
        ("reset", "POST", f"{cluster}/actions/reset", None, 409),
        ("credentials", "GET", f"{cluster}/credentials", None, 409),
        ("kubeconfig", "GET", f"{cluster}/downloads/credentials?file_name=kubeconfig", None, 409),
        ("bootstrap ignition", "GET", f"{cluster}/downloads/files?file_name=bootstrap.ign", None, 409),
        ("install of a day-1 host", "POST", f"{host}/actions/install", None, 409),
        ("reset of a day-1 host", "POST", f"{host}/actions/reset", None, 409),
        ("unbind in a bound infra-env", "POST", f"{host}/actions/unbind", None, 409),
        ("bind of a bound host", "POST", f"{host}/actions/bind", {"cluster_id": place["c"]}, 409),
        ("progress before installing", "PUT", f"{host}/progress", {"current_stage": "Rebooting"}, 409),
        ("disk that is not there", "PATCH", host,
         {"disks_selected_config": [{"id": "/dev/nosuch", "role": "install"}]}, 409),
        ("two install disks", "PATCH", host,
         {"disks_selected_config": [{"id": "a", "role": "install"}, {"id": "b", "role": "install"}]}, 409),
        ("controller logs never sent", "GET", f"{cluster}/logs?logs_type=host&host_id={place['h']}", None, 409),
    ]  # fmt: skip
    fails([(row[0], lambda row=row: api_error(api.call(row[1], row[2], json=row[3]), row[4])) for row in rows])
