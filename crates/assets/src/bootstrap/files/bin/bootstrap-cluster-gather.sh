#!/usr/bin/env bash
# Collects what the API knows, for the log bundle. bootstrap-cluster-gather.sh [DIRECTORY]
set -uo pipefail

target=${1:-/root/cluster-resources}
kubeconfig=/opt/openshift/auth/kubeconfig-loopback
# A node that bootstrapped itself has another place for it after its first boot.
own=/etc/kubernetes/bootstrap-secrets/kubeconfig
[[ ! -e $own ]] || kubeconfig=$own
mkdir -p "$target/resources"

# Resources of every namespace, a file each, many at a time: the API may answer slowly.
kinds=(
  apiservices.apiregistration.k8s.io baremetalhosts.metal3.io certificatesigningrequests
  clusteroperators clusterversions configmaps/kube-system controlplanemachinesets
  controllerrevisions daemonsets deployments endpoints events infrastructures
  kubeapiservers.operator.openshift.io kubecontrollermanagers.operator.openshift.io
  kubeschedulers.operator.openshift.io etcds.operator.openshift.io machineconfigpools
  machineconfigs machines.machine.openshift.io machinesets.machine.openshift.io namespaces
  networks.config.openshift.io nodes openshiftapiservers pods proxies.config.openshift.io
  replicasets rolebindings roles services statefulsets
)

gather() {
  local kind=${1%%/*} scope=(--all-namespaces) file
  [[ $1 != */* ]] || scope=(--namespace "${1#*/}")
  file=$target/resources/${1//\//-}.json
  # What an earlier run found stays where the API no longer answers.
  if oc --kubeconfig "$kubeconfig" --request-timeout=5s get "$kind" "${scope[@]}" --output json \
    >"$file.part" 2>"$file.err"; then
    mv "$file.part" "$file"
  fi
  rm -f "$file.part"
  [[ -s $file.err ]] || rm -f "$file.err"
}

for kind in "${kinds[@]}"; do
  gather "$kind" &
  while (($(jobs -rp | wc -l) >= 45)); do wait -n; done
done
wait

# Machine configs carry pull secrets and keys.
if [[ -s $target/resources/machineconfigs.json ]]; then
  jq '(.. | objects | select(has("contents")) | .contents.source?) |=
      if . == null then . elif test("PRIVATE|auths|data:.*base64") then "REDACTED" else . end' \
    "$target/resources/machineconfigs.json" >"$target/redacted" \
    && mv "$target/redacted" "$target/resources/machineconfigs.json"
fi
