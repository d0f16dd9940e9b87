#!/usr/bin/env bash
# Lets nodes in: approves what waits for approval until the bootstrap host has done its part.
# approve-csr.sh KUBECONFIG
set -euo pipefail

. /usr/local/bin/bootstrap-service-record.sh

export KUBECONFIG=$1
# Names of the nodes of this cluster, one per line, written by an installer that knows them. Then
# requests in other names are left to a person; without the file every request is approved.
KNOWN=/opt/openshift/known-nodes

is_known() { # is_known REQUEST: in base64
  local name
  [[ -e $KNOWN ]] || return 0
  name=$(base64 --decode <<<"$1" | openssl req -noout -subject -nameopt RFC2253 \
    | sed --quiet 's/^subject=.*CN=system:node:\([^,+]*\).*$/\1/p') || return 1
  [[ -n $name ]] && grep --quiet --line-regexp --fixed-strings -- "$name" "$KNOWN"
}

pending() {
  oc get csr --output json \
    | jq --raw-output '.items[] | select((.status.conditions // []) == []) | "\(.metadata.name) \(.spec.request)"'
}

while [[ ! -e /opt/openshift/.bootkube.done ]]; do
  if waiting=$(pending) && [[ -n $waiting ]]; then
    while read -r name request; do
      if is_known "$request"; then
        oc adm certificate approve "$name" </dev/null || true
      else
        echo "$name is not approved: it is not from a known node of this cluster"
      fi
    done <<<"$waiting"
  fi
  sleep 20
done
