"""Other spellings of paths lead to the same operations."""

import pytest

from machines import Machine


def test_the_prefix_may_be_left_out(api, cluster):
    path = f"v2/clusters/{cluster['id']}"
    assert api.get(f"//{path}").json() == api.get(f"/{path}").json()
    assert api.call("GET", "//v1/clusters").status_code == 404


def test_an_image_is_found_at_the_address_of_its_download(api, infra_env):
    path = f"/v2/infra-envs/{infra_env['id']}/downloads"
    answer = api.call("GET", f"{path}/image", 307, allow_redirects=False)
    assert answer.headers["Location"] == api.get(f"{path}/image-url").json()["url"]


@pytest.mark.parametrize(
    ("alias", "path"),
    [("downloads/logs", "logs"), ("downloads/kubeconfig", "downloads/credentials?file_name=kubeconfig")],
)
def test_downloads_of_a_cluster_have_two_names(api, cluster, alias, path):
    base = f"/v2/clusters/{cluster['id']}"
    one, other = (api.call("GET", f"{base}/{name}") for name in (alias, path))
    assert one.status_code == other.status_code != 404
    assert one.headers.get("Content-Disposition") == other.headers.get("Content-Disposition")


def test_an_agent_may_poll_and_reply_under_either_name(api, infra_env):
    machine = Machine(api, infra_env["id"], 7, "aliased-7")
    machine.register()
    steps = api.get(f"{machine.path}/next-step-instructions").json()
    (step,) = [step for step in steps["instructions"] if step["step_type"] == "inventory"]
    reply = {"exit_code": 1, "step_id": step["step_id"], "step_type": "inventory", "output": "", "error": "none"}
    api.post(f"{machine.path}/instructions/{step['step_id']}", reply, expect=204)
