"""The metrics page, its documentation, alerts and dashboard name the same metrics."""

import json
import re

import pytest

from muster import ROOT, eventually
from test_commands import end, start

SUFFIXES = re.compile(r"_(bucket|sum|count)$")
NAME = re.compile(r"\b((?:service_)?assisted_installer_\w+|muster_\w+|http_(?:request|response)s?_\w+)\b")


def documented():
    rows = (ROOT / "docs/monitoring.md").read_text().splitlines()
    return {row.split("`")[1] for row in rows if re.match(r"\| `\w+` \|", row)}


def families(text):
    names = {line.split("{")[0].split()[0] for line in text.splitlines() if line and not line.startswith("#")}
    return {SUFFIXES.sub("", name) for name in names}


@pytest.fixture(scope="module")
def page(servers):
    """The page of a service that has installed a cluster of simulated hosts."""
    server = servers("measured", env={"DUMMY_IGNITION": "true"}).start()
    code, _, err = end(start("simulate", "--url", server.url, "--speed", "300", "--keep"), 120)
    assert code == 0, err
    api = server.api()
    eventually(lambda: 'muster_clusters{status="installed"} 1' in api.get("//metrics").text, "the cluster on the page")
    return api.get("//metrics").text


def test_every_metric_is_documented(page):
    assert families(page) - documented() == set()


def test_alerts_and_dashboard_use_only_documented_metrics():
    for path in ("deploy/monitoring/muster-alerts.yml", "deploy/monitoring/muster-dashboard.json"):
        text = (ROOT / path).read_text()
        used = {SUFFIXES.sub("", name) for name in NAME.findall(text)}
        assert used and used - documented() == set(), path
    assert json.loads((ROOT / "deploy/monitoring/muster-dashboard.json").read_text())["panels"]


def test_an_installation_leaves_its_durations_by_phase_of_cluster_and_hosts(page):
    def value(pattern):
        found = re.search(rf"^{pattern} (\S+)$", page, re.MULTILINE)
        assert found, f"{pattern} is not on the page"
        return float(found.group(1))

    service = "service_assisted_installer_"
    assert value(service + r'cluster_installation_seconds_count\{result="installed"\}') == 1
    assert value(service + r'host_installation_phase_seconds_count\{phase="Rebooting",result="Done"\}') >= 1
    assert value(service + r'cluster_hosts\{result="Done",role="master"\}') >= 1
    assert value(r'muster_cluster_phase_seconds_count\{next="installed",status="finalizing"\}') == 1
    assert value(r'muster_host_phase_seconds_count\{next="installed",status="installing-in-progress"\}') >= 1
    assert value(service + r'operation_duration_miliseconds_count\{operation="make-cluster-files"\}') >= 1
