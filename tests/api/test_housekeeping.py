"""Deleted is kept for a while, then gone for good: records, events and files."""

from muster import VERSION, eventually, pull_secret

DELETED_TOO = {"get_unregistered_clusters": "true"}


def test_a_deleted_cluster_is_removed_for_good_after_its_time(servers):
    env = {"DELETED_UNREGISTERED_AFTER": "2s", "DELETION_WORKER_INTERVAL": "1s"}
    server = servers("housekeeping", env=env).start()
    api = server.api()
    body = {"openshift_version": VERSION, "pull_secret": pull_secret()}
    kept, gone = (api.post("/v2/clusters", {**body, "name": name}).json()["id"] for name in ("kept", "gone"))
    for cluster in (kept, gone):
        api.post(f"/v2/clusters/{cluster}/manifests", {"file_name": "a.yaml", "content": "YTogMQo="})
    api.call("DELETE", f"/v2/clusters/{gone}", 204)
    assert api.call("GET", f"/v2/clusters/{gone}", 200, headers=DELETED_TOO).json()["deleted_at"]

    def removed():
        return api.call("GET", f"/v2/clusters/{gone}", headers=DELETED_TOO).status_code == 404

    eventually(removed, "the deleted cluster to be removed for good")
    files = [str(path) for path in (server.data_dir / "files").rglob("*")]
    assert not any(gone in path for path in files) and any(kept in path for path in files)
    assert api.events(cluster_id=gone) == [] and api.events(cluster_id=kept)
