#!/usr/bin/env bash
# Makes a control plane: the operators of the release render its parts, the kubelet of this machine
# starts them, and the cluster takes over from there.
#
# Every stage leaves a marker <stage>.done in /opt/openshift. After a failure systemd starts the
# script again, and it goes on with the first stage that has none.
set -euo pipefail

. /usr/local/bin/bootstrap-service-record.sh
. /usr/local/bin/release-image.sh
. /usr/local/bin/bootstrap-verify-api-server-urls.sh

cd /opt/openshift
mkdir -p /etc/kubernetes/{manifests,bootstrap-configs,bootstrap-manifests} bootstrap-manifests manifests

todo() { [[ ! -e $1.done ]]; }

# begin STAGE [DIRECTORY]: what an interrupted run left behind goes first.
begin() {
  echo "== $1"
  stage_start "$1"
  rm -rf "${2:-$1}"
}

finished() {
  touch "$1.done"
  stage_success
}

# A program of the release, with this directory as /assets.
run() {
  podman run --quiet --rm --net=host --log-driver=k8s-file --volume "$PWD:/assets:z" "$@"
}

# copy SOURCE TARGET: everything in a directory, if it is there.
copy() {
  [[ -d $1 ]] || return 0
  mkdir -p "$2"
  cp --recursive "$1/." "$2/"
}

# What the release calls itself and its parts is written in it; no registry is asked.
if [[ ! -s image-references ]]; then
  podman run --quiet --rm --net=none --entrypoint cat "$RELEASE_IMAGE_DIGEST" \
    /release-manifests/image-references >image-references.part
  mv image-references.part image-references
fi
VERSION=$(jq --raw-output .metadata.name image-references)
KUBERNETES_VERSION=$(jq --raw-output '[.spec.tags[].annotations["io.openshift.build.versions"] // empty
  | split(",")[] | select(startswith("kubernetes=")) | ltrimstr("kubernetes=")][0] // empty' image-references)

# Where the release has the images of its parts.
declare -A images
for component in cloud-credential-operator cluster-authentication-operator cluster-bootstrap cluster-config-api cluster-config-operator cluster-etcd-operator cluster-ingress-operator cluster-kube-apiserver-operator cluster-kube-controller-manager-operator cluster-kube-scheduler-operator cluster-node-tuning-operator cluster-policy-controller etcd hyperkube machine-config-operator; do
  if ! images[$component]=$(jq --raw-output --exit-status --arg name "$component" \
    '.spec.tags[] | select(.name == $name) | .from.name' image-references); then
    echo "release $VERSION has no image $component" >&2
    exit 1
  fi
done

if todo openshift-manifests; then
  begin openshift-manifests
  copy openshift manifests
  finished openshift-manifests
fi

if todo api-bootstrap; then
  begin api-bootstrap
  run "${images[cluster-config-api]}" /usr/bin/render \
    --asset-output-dir=/assets/api-bootstrap \
    --rendered-manifest-dir=/assets/manifests \
    --cluster-profile=self-managed-high-availability \
    "--payload-version=$VERSION"
  copy api-bootstrap/manifests manifests
  finished api-bootstrap
fi

if todo auth-api-bootstrap; then
  begin auth-api-bootstrap
  run "${images[cluster-authentication-operator]}" render \
    --asset-output-dir=/assets/auth-api-bootstrap/manifests \
    --rendered-manifest-dir=/assets/manifests \
    --cluster-profile=self-managed-high-availability \
    "--payload-version=$VERSION"
  copy auth-api-bootstrap/manifests manifests
  finished auth-api-bootstrap
fi

if todo config-bootstrap; then
  begin config-bootstrap
  run "${images[cluster-config-operator]}" /usr/bin/cluster-config-operator render \
    --skip-api-rendering \
    --cluster-infrastructure-input-file=/assets/manifests/cluster-infrastructure-02-config.yml \
    --cloud-provider-config-output-file=/assets/config-bootstrap/cloud-provider-config-generated.yaml \
    --config-output-file=/assets/config-bootstrap/config \
    --asset-input-dir=/assets/tls \
    --asset-output-dir=/assets/config-bootstrap \
    --rendered-manifest-files=/assets/manifests \
    "--payload-version=$VERSION"
  finished config-bootstrap
fi

if todo cvo-bootstrap; then
  begin cvo-bootstrap
  run "$RELEASE_IMAGE_DIGEST" render \
    --output-dir=/assets/cvo-bootstrap \
    "--release-image=$RELEASE_IMAGE_DIGEST" \
    --cluster-version-manifest-path=/assets/manifests/cvo-overrides.yaml \
    --feature-gate-manifest-path=/assets/manifests/99_feature-gate.yaml
  copy cvo-bootstrap/bootstrap bootstrap-manifests
  copy cvo-bootstrap/manifests manifests
  cp auth/kubeconfig-loopback /etc/kubernetes/kubeconfig
  finished cvo-bootstrap
fi

if todo etcd-bootstrap; then
  begin etcd-bootstrap
  run "${images[cluster-etcd-operator]}" /usr/bin/cluster-etcd-operator render \
    --asset-output-dir=/assets/etcd-bootstrap \
    --cluster-configmap-file=/assets/manifests/cluster-config.yaml \
    "--etcd-image=${images[etcd]}" \
    --infra-config-file=/assets/manifests/cluster-infrastructure-02-config.yml \
    --network-config-file=/assets/manifests/cluster-network-02-config.yml
  copy etcd-bootstrap/manifests manifests
  copy etcd-bootstrap/tls tls
  # The kubelet starts etcd from here on.
  copy etcd-bootstrap/etc-kubernetes /etc/kubernetes
  finished etcd-bootstrap
fi

if todo kube-apiserver-bootstrap; then
  begin kube-apiserver-bootstrap
  run "${images[cluster-kube-apiserver-operator]}" /usr/bin/cluster-kube-apiserver-operator render \
    --manifest-etcd-serving-ca=etcd-ca-bundle.crt \
    --manifest-etcd-server-urls=https://localhost:2379 \
    "--manifest-image=${images[hyperkube]}" \
    "--manifest-operator-image=${images[cluster-kube-apiserver-operator]}" \
    --asset-input-dir=/assets/tls \
    --asset-output-dir=/assets/kube-apiserver-bootstrap \
    --config-output-file=/assets/kube-apiserver-bootstrap/config \
    --cluster-config-file=/assets/manifests/cluster-network-02-config.yml \
    --cluster-auth-file=/assets/manifests/cluster-authentication-02-config.yaml \
    --infra-config-file=/assets/manifests/cluster-infrastructure-02-config.yml \
    --rendered-manifest-files=/assets/manifests \
    "--payload-version=$VERSION" \
    "--operand-kubernetes-version=$KUBERNETES_VERSION"
  cp kube-apiserver-bootstrap/config /etc/kubernetes/bootstrap-configs/kube-apiserver-config.yaml
  copy kube-apiserver-bootstrap/bootstrap-manifests bootstrap-manifests
  copy kube-apiserver-bootstrap/manifests manifests
  finished kube-apiserver-bootstrap
fi

if todo kube-controller-manager-bootstrap; then
  begin kube-controller-manager-bootstrap
  run "${images[cluster-kube-controller-manager-operator]}" /usr/bin/cluster-kube-controller-manager-operator render \
    "--cluster-policy-controller-image=${images[cluster-policy-controller]}" \
    "--manifest-image=${images[hyperkube]}" \
    --asset-input-dir=/assets/tls \
    --asset-output-dir=/assets/kube-controller-manager-bootstrap \
    --config-output-file=/assets/kube-controller-manager-bootstrap/config \
    --cpc-config-output-file=/assets/kube-controller-manager-bootstrap/cpc-config \
    --cluster-config-file=/assets/manifests/cluster-network-02-config.yml \
    --rendered-manifest-files=/assets/manifests \
    "--payload-version=$VERSION"
  cp kube-controller-manager-bootstrap/config /etc/kubernetes/bootstrap-configs/kube-controller-manager-config.yaml
  cp kube-controller-manager-bootstrap/cpc-config /etc/kubernetes/bootstrap-configs/cluster-policy-controller-config.yaml
  copy kube-controller-manager-bootstrap/bootstrap-manifests bootstrap-manifests
  copy kube-controller-manager-bootstrap/manifests manifests
  # The operator may bring a service account key of its own.
  copy kube-controller-manager-bootstrap/tls tls
  finished kube-controller-manager-bootstrap
fi

if todo kube-scheduler-bootstrap; then
  begin kube-scheduler-bootstrap
  run "${images[cluster-kube-scheduler-operator]}" /usr/bin/cluster-kube-scheduler-operator render \
    "--manifest-image=${images[hyperkube]}" \
    --asset-input-dir=/assets/tls \
    --asset-output-dir=/assets/kube-scheduler-bootstrap \
    --config-output-file=/assets/kube-scheduler-bootstrap/config
  cp kube-scheduler-bootstrap/config /etc/kubernetes/bootstrap-configs/kube-scheduler-config.yaml
  copy kube-scheduler-bootstrap/bootstrap-manifests bootstrap-manifests
  copy kube-scheduler-bootstrap/manifests manifests
  finished kube-scheduler-bootstrap
fi

if todo ingress-operator-bootstrap; then
  begin ingress-operator-bootstrap ingress-operator-manifests
  run "${images[cluster-ingress-operator]}" render \
    --prefix=cluster-ingress- \
    --output-dir=/assets/ingress-operator-manifests
  copy ingress-operator-manifests manifests
  finished ingress-operator-bootstrap
fi

if todo node-tuning-bootstrap; then
  begin node-tuning-bootstrap
  run "${images[cluster-node-tuning-operator]}" render \
    --asset-input-dir=/assets/manifests \
    --asset-output-dir=/assets/node-tuning-bootstrap
  copy node-tuning-bootstrap manifests
  finished node-tuning-bootstrap
fi

cloud_flags=()
cloud_flag() { # cloud_flag FLAG FILE
  [[ ! -s $2 ]] || cloud_flags+=("--$1=/assets/$2")
}
cloud_flag cloud-config-file config-bootstrap/cloud-provider-config-generated.yaml
cloud_flag cloud-provider-ca-file tls/cloud-ca-cert.pem

if todo mco-bootstrap; then
  begin mco-bootstrap
  run --user 0 "${images[machine-config-operator]}" bootstrap \
    --root-ca=/assets/tls/root-ca.crt \
    --kube-ca=/assets/tls/kube-apiserver-complete-client-ca-bundle.crt \
    --config-file=/assets/manifests/cluster-config.yaml \
    --dest-dir=/assets/mco-bootstrap \
    --pull-secret=/assets/manifests/openshift-config-secret-pull-secret.yaml \
    "--release-image=$RELEASE_IMAGE_DIGEST" \
    --image-references=/assets/image-references \
    "--payload-version=$VERSION" \
    "${cloud_flags[@]}"
  mkdir -p /etc/mcc/bootstrap /etc/mcs /etc/ssl/mcs
  copy mco-bootstrap/bootstrap/manifests /etc/mcc/bootstrap
  copy openshift /etc/mcc/bootstrap
  copy manifests /etc/mcc/bootstrap
  cp image-references /etc/mcc/bootstrap/
  cp auth/kubeconfig-kubelet /etc/mcs/kubeconfig
  cp tls/machine-config-server.crt /etc/ssl/mcs/tls.crt
  cp tls/machine-config-server.key /etc/ssl/mcs/tls.key
  copy mco-bootstrap/manifests manifests
  for platform in baremetal vsphere openstack ovirt nutanix gcp aws azure; do
    copy "mco-bootstrap/$platform/manifests" /etc/kubernetes/manifests
    copy "mco-bootstrap/$platform/static-pod-resources" /etc/kubernetes/static-pod-resources
  done
  cp mco-bootstrap/bootstrap/machineconfigoperator-bootstrap-pod.yaml /etc/kubernetes/manifests/
  finished mco-bootstrap
fi

lookup_name resolve-api-url api-dns-resolved 'api.metal.example.org'
lookup_name resolve-api-int-url api-int-dns-resolved 'api-int.metal.example.org'

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

if todo cb-bootstrap; then
  begin cb-bootstrap
  if ! run --volume /etc/kubernetes:/etc/kubernetes:z "${images[cluster-bootstrap]}" start \
    --tear-down-early=false \
    --asset-dir=/assets \
    '--required-pods=openshift-kube-apiserver/kube-apiserver,openshift-kube-scheduler/openshift-kube-scheduler,openshift-kube-controller-manager/kube-controller-manager,openshift-cluster-version/cluster-version-operator'; then
    echo "the control plane did not come up" >&2
    /usr/local/bin/bootstrap-cluster-gather.sh </dev/null || true
    exit 1
  fi
  finished cb-bootstrap
fi

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

check_url check-api-url api-dns-check 'api.metal.example.org'
check_url check-api-int-url api-int-dns-check 'api-int.metal.example.org'

touch /opt/openshift/.bootkube.done
echo 'the control plane runs'
