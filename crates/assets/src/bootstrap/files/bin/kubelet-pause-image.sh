#!/usr/bin/env bash
# Configures the kubelet with the pause image of the release.
set -euo pipefail

PRE_COMMAND=kubelet-pause-image
. /usr/local/bin/bootstrap-service-record.sh
. /usr/local/bin/release-image.sh

echo "MACHINE_CONFIG_INFRA_IMAGE=$(image_for pod)" >/etc/kubernetes/kubelet-pause-image-override
