#!/usr/bin/env bash
# Unpacks the operating system of the release beside the one that was booted: boot images bring a
# plain CoreOS without kubelet, container runtime and clients.
set -euo pipefail

. /usr/local/bin/bootstrap-service-record.sh
. /usr/local/bin/release-image.sh

AUTH=/root/.docker/config.json

until podman image exists "$RELEASE_IMAGE" || podman pull --quiet "$RELEASE_IMAGE" >/dev/null; do
  echo "the release image cannot be pulled yet" >&2
  sleep 10
done
RELEASE_IMAGE_DIGEST=$(release_image_by_digest)

stage_start find-node-image
@FIND_NODE_IMAGE@
stage_success
echo "node image is $node_image"

stage_start pull-node-image
if [[ -e /run/ostree-live ]]; then
  # A live system has no room in its root; the tree goes to memory.
  repository=@DIRECTORY@/repo
  checkout=@DIRECTORY@/checkout
  mkdir -p "$repository"
  [[ -e $repository/config ]] || ostree init --mode=bare --repo="$repository"
  mapfile -t layers < <(ostree refs --repo=/ostree/repo --list ostree/container/blob)
  if ((${#layers[@]})); then
    # Layers that the booted system shares with the node image need no download.
    ostree pull-local --repo="$repository" /ostree/repo "${layers[@]}"
  fi
  hardlink=()
else
  mount -o remount,rw /sysroot
  repository=/ostree/repo
  checkout=/ostree/repo/tmp/node-image
  hardlink=(--require-hardlinks)
fi
until ostree container image pull --authfile "$AUTH" "$repository" \
  "ostree-unverified-image:docker://$node_image"; do
  echo "the node image cannot be pulled yet" >&2
  sleep 10
done
# An installed disk also has the image it was made from, which did not come from a registry.
mapfile -t refs < <(ostree refs --repo="$repository" --list ostree/container/image \
  | grep '^ostree/container/image/docker')
if ((${#refs[@]} != 1)); then
  echo "expected one image in $repository and found ${#refs[@]}" >&2
  exit 1
fi
ostree refs --repo="$repository" --create=coreos/node-image --force "${refs[0]}"
stage_success

stage_start check-out-node-image
rm -rf "$checkout"
# Files in /etc that differ from the booted image were changed by Ignition: they stay, and those that
# were deleted stay away. A new directory is no reason to leave out what the node image has in it.
if [[ -e /run/ostree-live ]]; then
  # A live system has /etc on a mount of its own; the deployment itself has the files of the image.
  deployment=$(ostree admin --print-current-dir)
  mount --bind --options ro /etc "$deployment/etc"
fi
skip=$(mktemp)
ostree admin config-diff | while read -r change path; do
  [[ $change != D && -d /etc/$path && ! -L /etc/$path ]] || echo "/usr/etc/$path"
done >"$skip"
[[ -z ${deployment:-} ]] || umount "$deployment/etc"
ostree checkout --repo="$repository" "${hardlink[@]}" --skip-list="$skip" coreos/node-image "$checkout"
rm -f "$skip"
if grep -q 'coreos.liveiso=' /proc/cmdline && [[ $repository == @DIRECTORY@/* ]]; then
  rm -rf "$repository"
fi
touch /run/node-image-pulled
stage_success
