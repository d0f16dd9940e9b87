"""Which events a token for one infra-env or cluster may post and read; size limits of events."""

import json

import pytest

from machines import Machine
from muster import NOWHERE, api_error
from test_auth import Keys

LARGEST_PROPS = 64 << 10


@pytest.fixture(scope="module")
def site(servers):
    """One machine that booted from two infra-envs, and one that did not, under mode local."""
    keys = Keys()
    server = servers("event-scope").start()
    api = server.api()
    cluster, foreign = api.new_cluster("near"), api.new_cluster("far")
    near = api.new_infra_env("near-env", cluster_id=cluster["id"])["id"]
    far = api.new_infra_env("far-env", cluster_id=foreign["id"])["id"]
    twin = Machine(api, near)
    twin.register()
    Machine(api, far, host_id=twin.id).register()
    stranger = Machine(api, far)
    stranger.register()
    server.stop()
    server.auth = "local"
    server.env |= {"EC_PUBLIC_KEY_PEM": keys.public_pem, "EC_PRIVATE_KEY_PEM": keys.private_pem}
    server.start()

    def holder(**claims):
        """Agents write with a header; the same token in a link reads."""
        token = keys.token(**claims)
        writer, reader = server.api({"X-Secret-Key": token}), server.api()
        reader.session.params = {"api_key": token}
        return writer, reader

    return {
        "near": holder(infra_env_id=near),
        "far": holder(infra_env_id=far),
        "cluster": holder(cluster_id=cluster["id"]),
        "ids": {"cluster": cluster["id"], "foreign": foreign["id"], "near_env": near, "far_env": far},
        "twin": twin.id,
        "stranger": stranger.id,
    }


def post_event(client, expect=201, **about):
    body = {"name": "noted", "severity": "info", "message": "a message", "event_time": "2026-01-01T00:00:00.000Z"}
    return client.call("POST", "/v2/events", expect, json=body | about)


def noted_events(client, **query):
    return [event for event in client.events(**query) if event["name"] == "noted"]


def test_an_event_of_an_agent_belongs_to_its_infra_env(site):
    (near, near_reader), (_, far_reader) = site["near"], site["far"]
    post_event(near, host_id=site["twin"], message="only mine")
    (mine,) = noted_events(near_reader, host_id=site["twin"])
    assert mine["infra_env_id"] == site["ids"]["near_env"] and mine["message"] == "only mine"
    assert noted_events(far_reader, host_id=site["twin"]) == [], "the same host id elsewhere is another host"
    own = far_reader.events(host_id=site["twin"])
    assert own and {event["infra_env_id"] for event in own} == {site["ids"]["far_env"]}


def test_an_agent_cannot_report_for_other_hosts(site):
    writer, _ = site["near"]
    ids = site["ids"]
    for about in (
        {"infra_env_id": ids["far_env"]},
        {"cluster_id": ids["foreign"]},
        {"host_id": site["stranger"]},
        {"host_id": NOWHERE},
        {"host_id": site["stranger"], "infra_env_id": ids["near_env"]},
        {"host_id": site["twin"], "infra_env_id": ids["far_env"]},
    ):
        api_error(post_event(writer, None, **about), 404)
    post_event(writer, host_id=site["twin"], infra_env_id=ids["near_env"], cluster_id=ids["cluster"])


def test_a_controller_reports_its_cluster_and_the_hosts_in_it(site):
    writer, reader = site["cluster"]
    ids = site["ids"]
    for about in (
        {"cluster_id": ids["foreign"]},
        {"infra_env_id": ids["far_env"]},
        {"host_id": site["stranger"]},
        {"host_id": site["twin"], "infra_env_id": ids["far_env"]},
    ):
        api_error(post_event(writer, None, **about), 404)
    post_event(writer, host_id=site["twin"], message="from the controller")
    found = [event for event in noted_events(reader, cluster_id=ids["cluster"]) if "controller" in event["message"]]
    assert [event["infra_env_id"] for event in found] == [ids["near_env"]]


def test_events_have_a_size(api):
    post_event(api, name="n" * 256)
    assert "name" in api_error(post_event(api, None, name="n" * 257), 400)
    props = json.dumps({"a": "x" * (LARGEST_PROPS - 9)})
    assert len(props) == LARGEST_PROPS
    post_event(api, props=props)
    assert "props" in api_error(post_event(api, None, props=props + " "), 400)


def test_a_page_of_large_events_ends_early_and_the_next_goes_on(api, cluster):
    props = json.dumps({"a": "x" * (LARGEST_PROPS - 9)})
    for number in range(140):
        post_event(api, cluster_id=cluster["id"], message=f"large {number}", props=props)
    query = {"cluster_id": cluster["id"], "message": "large", "limit": -1}
    first = api.get("/v2/events", params=query)
    assert first.headers["Event-Count"] == "140"
    seen = [event["message"] for event in first.json()]
    assert 100 < len(seen) < 140, f"{len(seen)} events in {len(first.content)} bytes"
    seen += [event["message"] for event in api.events(**query, offset=len(seen))]
    assert seen == [f"large {number}" for number in range(140)]
