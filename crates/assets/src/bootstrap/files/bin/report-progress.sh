#!/usr/bin/env bash
# Reports to watchers that the bootstrap host is no longer needed.
# report-progress.sh KUBECONFIG
set -euo pipefail

. /usr/local/bin/bootstrap-service-record.sh
. /usr/local/bin/wait-for-ha-api.sh

export KUBECONFIG=$1

stage_start wait-for-bootstrap-complete
until [[ -e /opt/openshift/.bootkube.done ]]; do
  sleep 5
done
@WAIT_FOR_HA_API@
stage_success

stage_start report-bootstrap-complete
until oc get configmap bootstrap --namespace kube-system >/dev/null 2>&1 \
  || oc create configmap bootstrap --namespace kube-system --from-literal=status=complete; do
  sleep 5
done
stage_success
