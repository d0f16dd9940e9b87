#!/usr/bin/env bash
# Lets nodes in: approves what waits for approval until the bootstrap host has done its part.
# approve-csr.sh KUBECONFIG
set -euo pipefail

. /usr/local/bin/bootstrap-service-record.sh

export KUBECONFIG=$1

pending() {
  oc get csr --output json \
    | jq --raw-output '.items[] | select((.status.conditions // []) == []) | .metadata.name'
}

while [[ ! -e /opt/openshift/.bootkube.done ]]; do
  if waiting=$(pending) && [[ -n $waiting ]]; then
    xargs --no-run-if-empty oc adm certificate approve <<<"$waiting" || true
  fi
  sleep 20
done
