#!/usr/bin/env bash
# Writes the node to its disk once its Ignition is ready, and starts it.
set -euo pipefail

. /usr/local/bin/bootstrap-service-record.sh

DISK='@DISK@'

stage_start wait-for-bootstrap
until [[ -e /opt/openshift/.bootkube.done ]]; do
  sleep 5
done
stage_success

if [[ ! -e coreos-installer.done ]]; then
  stage_start coreos-installer
  coreos-installer install --copy-network --ignition-file /opt/openshift/master.ign "$DISK"
  touch coreos-installer.done
  stage_success
fi

stage_start reboot
touch /opt/openshift/.install-to-disk.done
shutdown --reboot +1 "the node is on $DISK and starts from there now"
stage_success
