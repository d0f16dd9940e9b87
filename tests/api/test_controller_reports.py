"""What the controller inside a new cluster sends when things go wrong."""


def test_the_report_of_failed_operators_becomes_an_event(api, cluster):
    report = [{"name": "dns", "status": "failed"}, {"name": "etcd", "status": "available"}]
    body = {
        "is_success": False,
        "error_info": "timed out",
        "data": {"CLUSTER_OPERATORS_REPORT": report, "note": "text"},
    }
    api.call("POST", f"/v2/clusters/{cluster['id']}/actions/complete-installation", 202, json=body)
    events = [event for event in api.events(cluster_id=cluster["id"]) if event["name"] == "cluster_operator_report"]
    assert len(events) == 1 and "dns" in events[0]["message"] and "etcd" not in events[0]["message"]
