#!/usr/bin/env bash
# Has the container runtime use the pause image of the release.
set -euo pipefail

. /usr/local/bin/bootstrap-service-record.sh
. /usr/local/bin/release-image.sh

pause=$(image_for pod)
mkdir -p /etc/crio/crio.conf.d
cat >/etc/crio/crio.conf.d/50-bootstrap-override.conf <<EOF
[crio.runtime]
hooks_dir = [
  "/usr/share/containers/oci/hooks.d",
  "/etc/containers/oci/hooks.d",
]

[crio.image]
pause_image = "$pause"
pause_command = "/usr/bin/pod"
EOF
