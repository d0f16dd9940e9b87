//! `bootkube.sh`: the head, the stages of the release, and what brings the cluster up.

use super::stages::{Given, Stage, stages};
use crate::plan::Plan;

const HEAD: &str = include_str!("files/bin/bootkube-head.sh");

/// Pods that must run before the bootstrap host may go.
const REQUIRED_PODS: &str = "openshift-kube-apiserver/kube-apiserver,\
openshift-kube-scheduler/openshift-kube-scheduler,\
openshift-kube-controller-manager/kube-controller-manager,\
openshift-cluster-version/cluster-version-operator";

/// The script for this cluster.
pub(super) fn script(plan: &Plan, given: Given) -> String {
    let driver = if plan.profile.k8s_file_logs {
        " --log-driver=k8s-file "
    } else {
        " "
    };
    let stages = stages(plan, given);
    let components = components(&stages).join(" ");
    let mut script = HEAD
        .replace(" @LOG_DRIVER@ ", driver)
        .replace("@COMPONENTS@", &components);
    script.push_str(OWN_MANIFESTS);
    for stage in stages {
        script.push_str(&stage.render());
    }
    let domain = plan.config.cluster_domain();
    script.push_str(&format!(
        "\nlookup_name resolve-api-url api-dns-resolved 'api.{domain}'\n\
         lookup_name resolve-api-int-url api-int-dns-resolved 'api-int.{domain}'\n"
    ));
    script.push_str(CLOUD_CREDENTIALS);
    script.push_str(WAIT_FOR_ETCD);
    let pods = if given.in_place { "" } else { REQUIRED_PODS };
    script.push_str(&START.replace("@REQUIRED_PODS@", pods));
    script.push_str(if given.in_place { IN_PLACE } else { HAND_OVER });
    script.push_str(&format!(
        "\ncheck_url check-api-url api-dns-check 'api.{domain}'\n\
         check_url check-api-int-url api-int-dns-check 'api-int.{domain}'\n\
         \ntouch /opt/openshift/.bootkube.done\necho 'the control plane runs'\n"
    ));
    script
}

/// Components that stages run, and those that they or the rest of the script name.
fn components(stages: &[Stage]) -> Vec<&'static str> {
    let run = stages.iter().filter_map(|stage| stage.component);
    let named = [
        "cloud-credential-operator",
        "cluster-bootstrap",
        "cluster-etcd-operator",
        "cluster-policy-controller",
        "etcd",
        "hyperkube",
    ];
    let mut all: Vec<_> = run.chain(named).collect();
    all.sort_unstable();
    all.dedup();
    all
}

const OWN_MANIFESTS: &str = r"
if todo openshift-manifests; then
  begin openshift-manifests
  copy openshift manifests
  finished openshift-manifests
fi
";

/// The operator renders nothing where the cluster has no credentials to look after.
const CLOUD_CREDENTIALS: &str = r#"
if todo cco-bootstrap; then
  begin cco-bootstrap
  run --user 0 "${images[cloud-credential-operator]}" render \
    --dest-dir=/assets/cco-bootstrap \
    --manifests-dir=/assets/manifests \
    "--cloud-credential-operator-image=${images[cloud-credential-operator]}"
  copy cco-bootstrap/manifests manifests
  copy cco-bootstrap/bootstrap-manifests bootstrap-manifests
  finished cco-bootstrap
fi
"#;

const WAIT_FOR_ETCD: &str = r#"
# A node that bootstraps itself stops etcd at the end; a second run must not wait for it.
if todo stop-etcd && todo wait-for-etcd; then
  begin wait-for-etcd
  until run --entrypoint etcdctl "${images[etcd]}" \
    --dial-timeout=10m \
    --cacert=/assets/tls/etcd-ca-bundle.crt \
    --cert=/assets/tls/etcd-client.crt \
    --key=/assets/tls/etcd-client.key \
    --endpoints=https://localhost:2379 \
    endpoint health; do
    echo "etcd does not answer yet"
    sleep 5
  done
  finished wait-for-etcd
fi
"#;

const START: &str = r#"
if todo cb-bootstrap; then
  begin cb-bootstrap
  if ! run --volume /etc/kubernetes:/etc/kubernetes:z "${images[cluster-bootstrap]}" start \
    --tear-down-early=false \
    --asset-dir=/assets \
    '--required-pods=@REQUIRED_PODS@'; then
    echo "the control plane did not come up" >&2
    /usr/local/bin/bootstrap-cluster-gather.sh </dev/null || true
    exit 1
  fi
  finished cb-bootstrap
fi
"#;

const HAND_OVER: &str = r#"
if todo cvo-overrides; then
  begin cvo-overrides
  # From here on the version operator looks after everything.
  until oc patch clusterversion version --kubeconfig=/opt/openshift/auth/kubeconfig \
    --type=merge --patch-file=original_cvo_overrides.patch; do
    echo "the cluster version cannot be patched yet"
    sleep 10
  done
  finished cvo-overrides
fi

rm -f /etc/kubernetes/manifests/machineconfigoperator-bootstrap-pod.yaml

if todo wait-for-ceo; then
  begin wait-for-ceo
  # The etcd member on this machine may leave once the cluster has enough of its own.
  run "${images[cluster-etcd-operator]}" /usr/bin/cluster-etcd-operator wait-for-ceo \
    --kubeconfig=/assets/auth/kubeconfig
  finished wait-for-ceo
fi
"#;

const IN_PLACE: &str = r#"
CLUSTER_BOOTSTRAP_IMAGE=${images[cluster-bootstrap]}
. /usr/local/bin/bootstrap-in-place.sh
"#;
