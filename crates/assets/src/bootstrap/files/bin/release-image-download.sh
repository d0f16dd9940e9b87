#!/usr/bin/env bash
# Brings the release image onto this machine, however long the registry takes.
set -euo pipefail

. /usr/local/bin/bootstrap-service-record.sh
. /usr/local/bin/release-image.sh

NOTICE=/etc/issue.d/50_release-image.issue

# Shows a line on the console: no user is logged in on this machine.
notice() {
  mkdir -p "$(dirname "$NOTICE")"
  printf '\\e{red}%s\\e{reset}\n' "$1" >"$NOTICE"
  agetty --reload || true
}

stage_start pull-release-image
if ! podman image exists "$RELEASE_IMAGE"; then
  echo "pulling $RELEASE_IMAGE"
  until said=$(podman pull --quiet "$RELEASE_IMAGE" 2>&1); do
    echo "$said" >&2
    notice "The release image cannot be pulled: ${said##*$'\n'}"
    sleep 1
  done
  rm -f "$NOTICE"
  agetty --reload || true
fi
stage_success

stage_start image-metadata-arches-match
image=$(podman image inspect "$RELEASE_IMAGE" | jq --raw-output '.[0].Architecture')
case $(uname -m) in
  x86_64) machine=amd64 ;;
  aarch64) machine=arm64 ;;
  *) machine=$(uname -m) ;;
esac
if [[ $image != "$machine" ]]; then
  notice "The release image is for $image, this machine is $machine."
  echo "the release image is for $image, this machine is $machine" >&2
  exit 1
fi
stage_success
