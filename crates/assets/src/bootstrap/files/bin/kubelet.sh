#!/usr/bin/env bash
# Runs the kubelet alone: it starts the pods in its manifest directory and knows no cluster.
set -euo pipefail

. /usr/local/bin/bootstrap-service-record.sh

arguments=(
  --anonymous-auth=false
  --container-runtime-endpoint=/var/run/crio/crio.sock
  "--runtime-request-timeout=$KUBELET_RUNTIME_REQUEST_TIMEOUT"
  --pod-manifest-path=/etc/kubernetes/manifests
  --minimum-container-ttl-duration=6m0s
  --cluster-domain=cluster.local
  --cgroup-driver=systemd
  --serialize-image-pulls=false
  --volume-plugin-dir=/etc/kubernetes/kubelet-plugins/volume/exec
  --v=2
@PAUSE_IMAGE@
)
arguments+=(@NODE_ADDRESS@)

/usr/bin/kubelet "${arguments[@]}"
