"""A firewall between hosts is an event of the host, and changes no validation."""

import json

from machines import Machine


def test_dropped_ports_are_reported_once_until_they_are_reachable(api):
    infra_env = api.new_infra_env("walled")
    machine = Machine(api, infra_env["id"], 7, "behind-the-wall")
    machine.register()
    machine.send_inventory()

    def report(**blocked):
        remote = {"host_id": machine.id, "l2_connectivity": None, "l3_connectivity": None, "mtu_report": None}
        machine.reply("connectivity-check", {"remote_hosts": [{**remote, **blocked}]})
        events = api.events(infra_env_id=infra_env["id"])
        return [event for event in events if event["name"].startswith("host_ports_")]

    assert report() == [], "agents that probe no ports say nothing"
    ids = validation_ids(machine)
    walls = [{"remote_ip_address": "192.168.126.11", "ports": [2379, 6443]}]
    (event,) = report(blocked_ports=walls)
    assert event["severity"] == "warning"
    assert "192.168.126.11 TCP 2379 (etcd" in event["message"] and "6443 (Kubernetes API" in event["message"]
    assert json.loads(machine.state()["connectivity"])["remote_hosts"][0]["blocked_ports"] == walls
    assert len(report(blocked_ports=walls)) == 1, "reported already"
    assert validation_ids(machine) == ids, "clients know the validations of the reference and no others"
    assert [event["name"] for event in report()][-1] == "host_ports_reachable"


def validation_ids(machine):
    info = json.loads(machine.state().get("validations_info") or "{}")
    return sorted(entry["id"] for entries in info.values() for entry in entries)
