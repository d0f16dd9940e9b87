#!/usr/bin/env bash
# First boot of a node that bootstrapped itself: hands over from the bootstrap control plane it
# carried along to its own.
set -euo pipefail

export KUBECONFIG=/etc/kubernetes/bootstrap-secrets/kubeconfig
STATE=/opt/openshift

todo() { [[ ! -e $STATE/$1.done ]]; }
finished() { touch "$STATE/$1.done"; }

mkdir -p "$STATE"

echo "waiting for the API"
until oc get csr >/dev/null 2>&1; do
  sleep 5
done

if todo bootstrap-complete; then
  until oc get configmap bootstrap --namespace kube-system >/dev/null 2>&1 \
    || oc create configmap bootstrap --namespace kube-system --from-literal=status=complete; do
    sleep 5
  done
  finished bootstrap-complete
fi

# Leases that the bootstrap control plane still holds would delay the new one for minutes.
release_lock() { # release_lock NAMESPACE NAME
  todo "lock-$2" || return 0
  until oc delete --ignore-not-found --namespace "$1" lease "$2" \
    && oc delete --ignore-not-found --namespace "$1" configmap "$2"; do
    sleep 5
  done
  finished "lock-$2"
}
release_lock openshift-cluster-version version
release_lock kube-system cluster-policy-controller-lock

if todo cvo-overrides; then
  until oc patch clusterversion version --type=merge --patch-file "$STATE/original_cvo_overrides.patch"; do
    sleep 10
  done
  finished cvo-overrides
fi

# Names and addresses of the node, one per line, left by an installer that knows them. Then requests for
# anything else are left to a person; without the file every request is approved.
KNOWN=/etc/kubernetes/bootstrap-secrets/known-nodes

is_known() { # is_known SIGNER REQUEST: the request in base64
  local name others
  [[ -e $KNOWN ]] || return 0
  case $1 in
    kubernetes.io/kube-apiserver-client-kubelet | kubernetes.io/kubelet-serving) ;;
    *) return 1 ;;
  esac
  name=$(base64 --decode <<<"$2" | openssl req -noout -subject -nameopt RFC2253 \
    | sed --quiet 's/^subject=CN=system:node:\([^,+]*\),O=system:nodes$/\1/p') || return 1
  [[ -n $name ]] && grep --quiet --line-regexp --fixed-strings -- "$name" "$KNOWN" || return 1
  # One per line, addresses as the installer has written them.
  others=$(base64 --decode <<<"$2" | openssl req -noout -text \
    | sed --quiet '/Subject Alternative Name:/{n;s/^ *//;s/, /\n/g;p}' \
    | sed 's/^\(DNS\|IP Address\)://') || return 1
  [[ -z $others ]] || ! grep --quiet --invert-match --line-regexp --fixed-strings --file "$KNOWN" <<<"$others"
}

pending() {
  oc get csr --output json \
    | jq --raw-output '.items[] | select((.status.conditions // []) == [])
      | "\(.metadata.name) \(.spec.signerName) \(.spec.request)"'
}

approve() {
  local waiting name signer request
  if ! waiting=$(pending) || [[ -z $waiting ]]; then
    return 0
  fi
  while read -r name signer request; do
    if is_known "$signer" "$request"; then
      oc adm certificate approve "$name" </dev/null || true
    else
      echo "$name is not approved: it is not from the node of this cluster"
    fi
  done <<<"$waiting"
}

node_ready() {
  oc get nodes --selector node-role.kubernetes.io/master --output json 2>/dev/null \
    | jq --exit-status '[.items[].status.conditions[]? | select(.type == "Ready" and .status == "True")] | length > 0' \
      >/dev/null
}

echo "waiting for the node to be ready"
until node_ready; do
  approve
  sleep 10
done

# One ready pod is enough: pods that failed earlier stay in the list and never become ready.
operator_ready() {
  oc get pods --namespace openshift-kube-apiserver-operator --selector app=kube-apiserver-operator \
    --output json 2>/dev/null \
    | jq --exit-status '[.items[].status.conditions[]? | select(.type == "Ready" and .status == "True")] | length > 0' \
      >/dev/null
}

if todo restart-kubelet; then
  echo "waiting for the operator of the API server"
  until operator_ready; do
    approve
    sleep 10
  done
  systemctl daemon-reload
  systemctl restart kubelet.service
  # The static pod of the cluster replaces the one that came along.
  while grep --quiet bootstrap-kube-apiserver /etc/kubernetes/manifests/kube-apiserver-pod.yaml; do
    echo "waiting for the API server of the cluster"
    approve
    sleep 10
  done
  systemctl restart kubelet.service
  finished restart-kubelet
fi

echo "waiting for the cluster to be available"
until oc wait clusterversion version --for condition=Available=True --timeout=20s; do
  approve
  sleep 20
done

rm -rf /etc/kubernetes/bootstrap-configs /etc/kubernetes/bootstrap-secrets /etc/kubernetes/bootstrap-manifests
rm -f /usr/local/bin/installer-gather.sh /usr/local/bin/installer-masters-gather.sh \
  /usr/local/bin/bootstrap-cluster-gather.sh /var/log/log-bundle-bootstrap.tar.gz
systemctl disable bootkube.service
rm -rf "$STATE"
