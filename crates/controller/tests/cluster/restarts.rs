//! A controller that starts again finds what an earlier run left half done.

use muster_controller::{End, kube::Kind};
use serde_json::json;

use crate::{
    bed::{BOOTSTRAPPER, Cluster, ended, until},
    service::Service,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_goes_on_without_the_service_it_knew() {
    let cluster = Cluster::start("assisted-installer").await;
    let kube = &cluster.kube;
    let service = Service::start(&[
        (1, "master-0", "master", "Rebooting"),
        (3, "worker-0", "worker", "Rebooting"),
    ]);
    // An earlier run was killed between the label and the end of the pause.
    let pool = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
        "metadata": {"name": "worker"}, "spec": {"paused": true},
    });
    kube.apply(&pool).await.unwrap();
    let node = json!({"apiVersion": "v1", "kind": "Node",
                      "metadata": {"name": "worker-0", "labels": {"zone": "1"}}});
    kube.apply(&node).await.unwrap();
    let first = cluster.run(&service.url);
    let pool = Kind::MACHINE_CONFIG_POOL.named("worker");
    until("the pool goes on", async || {
        kube.get(&pool).await.unwrap()["spec"]["paused"] == false
    })
    .await;
    until("the record", async || {
        cluster.note("The controller is ready").await
    })
    .await;
    first.abort();

    // The service is away; hosts are known, and what happens to them is kept.
    service.state().away = true;
    let second = cluster.run(&service.url);
    let client = "kube-apiserver-client-kubelet";
    cluster.request("known", BOOTSTRAPPER, client, "master-0", &[]);
    cluster.request("stranger", BOOTSTRAPPER, client, "intruder", &[]);
    until("approval", async || cluster.approvals("known").await == 1).await;
    cluster.node(1, "master-0").await;
    until("the history", async || {
        cluster.note("Host master-0 reached stage Joined").await
    })
    .await;
    assert_eq!(service.stage(1), "Rebooting", "the service is away");
    assert_eq!(cluster.approvals("stranger").await, 0);

    // It comes back, and gets what it missed.
    service.state().away = false;
    until("joined", async || service.stage(1) == "Joined").await;
    cluster.make_ready("master-0").await;
    until("done", async || service.stage(1) == "Done").await;
    let (_, history) = cluster.record().await;
    let text = history.to_string();
    assert_eq!(
        text.matches("Host master-0 reached stage Joined").count(),
        1,
        "{text}"
    );
    service.state().cluster["status"] = json!("cancelled");
    assert_eq!(ended(second).await, End::Cancelled);
}
