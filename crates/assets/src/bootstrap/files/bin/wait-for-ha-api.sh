#!/usr/bin/env bash
# Waits until the API survives the loss of this machine. Sourced; needs KUBECONFIG.

wait_for_ha_api() {
  local topology ready
  until topology=$(oc get infrastructure cluster \
    --output 'jsonpath={.status.controlPlaneTopology}') && [[ -n $topology ]]; do
    sleep 5
  done
  if [[ $topology != HighlyAvailable ]]; then
    echo "control plane topology is $topology, nothing to wait for"
    return
  fi
  while true; do
    ready=$(oc get kubeapiserver cluster --output json \
      | jq '[.status.nodeStatuses[]? | select((.currentRevision // 0) > 0)] | length') || ready=0
    if ((ready >= 2)); then
      echo "$ready API servers run on nodes of the cluster"
      return
    fi
    sleep 5
  done
}
