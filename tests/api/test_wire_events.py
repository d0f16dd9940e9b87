"""The event list: filters, order, counters and members."""

import re

import pytest

from machines import Machine

MILLISECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture(scope="module")
def history(api):
    """A cluster with ten events of known severities besides its own."""
    cluster = api.new_cluster("chronicle")
    for number, severity in enumerate(["info"] * 4 + ["warning"] * 3 + ["error"] * 2 + ["critical"]):
        body = {"name": "noted", "cluster_id": cluster["id"], "severity": severity}
        body |= {"message": f"Story {number} 100%_done", "event_time": "2026-01-01T00:00:00.000Z"}
        api.post("/v2/events", body)
    yield cluster["id"]
    api.delete(f"/v2/clusters/{cluster['id']}")


def counts(answer):
    names = ("Info", "Warning", "Error", "Critical")
    return [int(answer.headers[f"Severity-Count-{name}"]) for name in names]


def test_counters_ignore_severity_and_paging(api, history):
    query = {"cluster_id": history, "message": "story"}
    answer = api.get("/v2/events", params=query)
    assert counts(answer) == [4, 3, 2, 1] and answer.headers["Event-Count"] == "10"
    answer = api.get("/v2/events", params={**query, "severities": "warning,error", "limit": 2, "offset": 1})
    assert counts(answer) == [4, 3, 2, 1] and answer.headers["Event-Count"] == "5"
    assert [event["severity"] for event in answer.json()] == ["warning", "warning"]
    assert api.get("/v2/events", params={**query, "limit": 0}).json() == []
    assert len(api.get("/v2/events", params={**query, "limit": -1}).json()) == 10


def test_order_and_search_of_events(api, history):
    query = {"cluster_id": history, "message": "100%_DONE"}
    up = [event["message"] for event in api.events(**query)]
    down = [event["message"] for event in api.events(**query, order="descending")]
    assert len(up) == 10 and down == up[::-1]
    assert api.events(cluster_id=history, message="100__done") == [], "an underscore is no wildcard"


def test_event_members(api, history):
    first = api.events(cluster_id=history)[0]
    assert first["name"] == "cluster_registration_succeeded" and first["severity"] == "info"
    assert MILLISECONDS.fullmatch(first["event_time"])
    assert "category" not in first and "request_id" not in first
    event = api.events(cluster_id=history, message="story")[0]
    assert not event["event_time"].startswith("2026-01-01T00:00:00"), "the time is that of the writing"


def test_unfiltered_events_have_zero_counters(api, history):
    answer = api.get("/v2/events", params={"limit": 3})
    assert len(answer.json()) == 3 and counts(answer) == [0, 0, 0, 0] and answer.headers["Event-Count"] == "0"


def test_cluster_level_leaves_host_events_out(api, cluster):
    infra_env = api.new_infra_env("levels", cluster_id=cluster["id"])
    machine = Machine(api, infra_env["id"])
    machine.register()
    everything = api.events(cluster_id=cluster["id"])
    level = api.events(cluster_id=cluster["id"], cluster_level="true")
    assert any("host_id" in event for event in everything) and not any("host_id" in event for event in level)
    only = api.events(cluster_id=cluster["id"], host_ids=machine.id)
    assert only and {event["host_id"] for event in only} == {machine.id}
    api.delete(machine.path)
    gone = api.events(cluster_id=cluster["id"], deleted_hosts="true")
    assert {event["host_id"] for event in gone} == {machine.id}
    api.delete(f"/v2/infra-envs/{infra_env['id']}")
