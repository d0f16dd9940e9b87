"""Characters that databases or parsers refuse, in texts from agents and from users, on both databases.

PostgreSQL keeps no NUL in a text, and half of a surrogate pair is no character. An agent cannot correct
what firmware or a program printed, so its report is taken without them. Users get a 400 with the reason.
"""

import copy
import json

import pytest

from machines import BOOTSTRAP_STAGES, MASTER_STAGES, Fleet, Machine
from muster import eventually, infra_error
from test_storage import SEALING_KEY

# A text as it is sent, escaped in JSON, and as it is kept.
TEXTS = [
    pytest.param("disk\x00 lost\x00", "disk lost", id="nul"),
    pytest.param("disk\ud800 lost", "disk\ufffd lost", id="half-pair"),
    pytest.param("disk\x1b\x01\x7f", "disk\x1b\x01\x7f", id="control"),
]
SENT_AS_BYTES = (b"disk\xff lost", "disk? lost")
PADDING = "\x00\ud800\x01\x00"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def service(request, servers):
    env = {"DUMMY_IGNITION": "true", "FILESYSTEM_USAGE_THRESHOLD": "100"}
    args = []
    if request.param == "postgres":
        args = ["--database", request.getfixturevalue("postgres").new_database()]
        env["MUSTER_DATABASE_SEALING_KEY"] = SEALING_KEY
    service = servers(f"unstorable-{request.param}", args=args, env=env).start()
    yield service
    problems = [line for line in service.log().splitlines() if '"level":"ERROR"' in line]
    assert not problems, problems


@pytest.fixture
def fleet(service):
    fleet = Fleet.compact(service.api(), "padded")
    yield fleet
    fleet.disband()


def install(fleet):
    """From ready to installing, with every machine at work."""
    fleet.drive_until("ready")
    fleet.api.post(f"{fleet.path}/actions/install", expect=202)
    fleet.drive_until("installing")
    for machine in fleet.machines:
        machine.wait_for("installing", "installing-in-progress")
        machine.work()


def padded(inventory):
    """The inventory with padding in every text that firmware makes up."""
    inventory = copy.deepcopy(inventory)
    places = [(inventory["system_vendor"], name) for name in ("manufacturer", "product_name", "serial_number")]
    places += [(inventory["disks"][0], name) for name in ("model", "serial", "vendor")]
    places += [(inventory["interfaces"][0], name) for name in ("product", "vendor")]
    places += [(inventory["cpu"], "model_name"), (inventory["boot"], "command_line")]
    for holder, name in places:
        holder[name] += PADDING
    inventory["hostname"] += "\x00\x00"
    return inventory


def test_hosts_with_broken_firmware_strings_are_installed(service, fleet):
    api = service.api()
    for machine in fleet.machines:
        machine.inventory = padded(machine.inventory)
        machine.send_inventory()
    kept = json.loads(fleet.machines[0].state()["inventory"])
    assert kept["system_vendor"]["serial_number"] == "A1\ufffd\x01"
    assert kept["hostname"] == fleet.machines[0].name == fleet.machines[0].state()["requested_hostname"]
    install(fleet)
    hosts = [(machine, machine.state()) for machine in fleet.machines]
    for machine, host in sorted(hosts, key=lambda pair: pair[1].get("bootstrap", False)):
        for stage in BOOTSTRAP_STAGES if host.get("bootstrap") else MASTER_STAGES:
            machine.progress(stage, PADDING)
    eventually(lambda: fleet.state()["status"] == "finalizing", "cluster finalizing")
    for operator in api.get(f"{fleet.path}/monitored-operators").json():
        body = {"name": operator["name"], "status": "progressing", "status_info": "wait" + PADDING, "version": "1"}
        api.put(f"{fleet.path}/monitored-operators", body)
        kept = api.get(f"{fleet.path}/monitored-operators", params={"operator_name": operator["name"]}).json()
        assert kept[0]["status_info"] == "wait\ufffd\x01"
    fleet.finalize()


def test_progress_with_such_a_text_counts(service, fleet):
    install(fleet)
    machine = fleet.machines[0]
    for sent, kept in (text.values for text in TEXTS):
        machine.progress("Installing", sent)
        assert machine.state()["progress"]["progress_info"] == kept
    sent, kept = SENT_AS_BYTES
    body = b'{"current_stage": "Writing image to disk", "progress_info": "' + sent + b'"}'
    headers = {"Content-Type": "application/json"}
    service.api().call("PUT", f"{machine.path}/progress", 200, data=body, headers=headers)
    progress = machine.state()["progress"]
    assert (progress["current_stage"], progress["progress_info"]) == ("Writing image to disk", kept)
    # A row that was written can be read, and written again, by the next process.
    service.stop()
    # On the same port, where the machines look for it.
    service.port = int(service.url.rsplit(":", 1)[1])
    service.start()
    machine.progress("Rebooting")
    assert machine.state()["progress"]["current_stage"] == "Rebooting"
    service.api().post(f"{fleet.path}/actions/cancel", expect=202)


@pytest.mark.parametrize("sent, kept", TEXTS)
def test_the_failure_of_an_installer_is_reported(service, fleet, sent, kept):
    install(fleet)
    machine = fleet.machines[0]
    machine.reply("install", sent, exit_code=1, error=sent)
    host = machine.state()
    assert host["status"] == "error" and kept in host["status_info"]


def test_outputs_with_such_a_text_around_or_inside_are_read(service):
    api = service.api()
    infra_env = api.new_infra_env("outputs")
    machine = Machine(api, infra_env["id"], 0, "outputs-0")
    machine.register()
    for place, kept in [("A1\x00", "A1"), ("A1\\u0000", "A1"), ("A1\\ud800", "A1\ufffd"), ("A1\ud800", "A1\ufffd")]:
        # As text: what is in the output, not what an encoder would make of it.
        output = json.dumps(machine.inventory).replace("A1", place)
        machine.reply("inventory", output, error="warning\x00")
        assert json.loads(machine.state()["inventory"])["system_vendor"]["serial_number"] == kept, repr(place)
    body = {"host_id": machine.id, "discovery_agent_version": "agent\x00:1"}
    api.post(f"/v2/infra-envs/{infra_env['id']}/hosts", body)
    assert machine.state()["discovery_agent_version"] == "agent:1"


def test_events_with_such_a_text_are_kept_and_found(service):
    api = service.api()
    cluster = api.new_cluster("events")
    for number, (sent, kept) in enumerate(text.values for text in TEXTS):
        event = {"cluster_id": cluster["id"], "severity": "warning", "event_time": "2026-01-01T00:00:00.000Z"}
        event |= {"name": f"n{number}\x00", "message": f"{number} {sent}"}
        event["props"] = json.dumps({"why": sent})
        api.post("/v2/events", event)
        found = api.events(cluster_id=cluster["id"], message=f"{number} {kept}")
        assert [(one["name"], one["message"]) for one in found] == [(f"n{number}", f"{number} {kept}")]
        assert json.loads(found[0]["props"]) == {"why": kept}
    api.delete(f"/v2/clusters/{cluster['id']}")


def test_a_controller_may_complete_with_such_a_text(service):
    api = service.api()
    cluster = api.new_cluster("complete")
    reports = [{"name": "dns\x00", "status": "failed\ud800", "statusInfo": PADDING}]
    body = {"is_success": False, "error_info": PADDING, "data": {"CLUSTER_OPERATORS_REPORT": reports}}
    api.post(f"/v2/clusters/{cluster['id']}/actions/complete-installation", body, 202)
    assert any("dns" in event["message"] for event in api.events(cluster_id=cluster["id"]))


def test_users_learn_what_is_wrong_with_their_text(service):
    api = service.api()
    cluster = api.new_cluster("users")
    infra_env = api.new_infra_env("users-env", cluster_id=cluster["id"])
    machine = Machine(api, infra_env["id"])
    machine.register()
    calls = [
        ("POST", "/v2/clusters", "name"),
        ("PATCH", f"/v2/clusters/{cluster['id']}", "tags"),
        ("PATCH", f"/v2/infra-envs/{infra_env['id']}", "ignition_config_override"),
        ("PATCH", machine.path, "host_name"),
        ("PATCH", machine.path, "machine_config_pool_name"),
        ("PATCH", f"{machine.path}/ignition", "config"),
        ("POST", f"/v2/clusters/{cluster['id']}/manifests", "file_name"),
        ("POST", f"/v2/clusters/{cluster['id']}/manifests", "content"),
    ]
    for method, path, member in calls:
        for text, complaint in (("a\x00b", "U+0000"), ("a\ud800b", "half of a surrogate pair")):
            message = infra_error(api.call(method, path, json={member: text}), 400)
            assert complaint in message, (path, member, message)
    for query in ("message=a%00b", "categories=a%00", "host_ids=%00", "severities=info%00"):
        infra_error(api.call("GET", f"/v2/events?cluster_id={cluster['id']}&{query}"), 400)
    for query in ("message=a%ED%A0%80b", "message=%ff"):
        assert "UTF-8" in infra_error(api.call("GET", f"/v2/events?cluster_id={cluster['id']}&{query}"), 400)
