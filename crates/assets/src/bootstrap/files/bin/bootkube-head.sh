#!/usr/bin/env bash
# Makes a control plane: the operators of the release render its parts, the kubelet of this machine
# starts them, and the cluster takes over from there.
#
# Every stage leaves a marker <stage>.done in /opt/openshift. After a failure systemd starts the
# script again, and it goes on with the first stage that has none.
set -euo pipefail

. /usr/local/bin/bootstrap-service-record.sh
. /usr/local/bin/release-image.sh
. /usr/local/bin/bootstrap-verify-api-server-urls.sh

cd /opt/openshift
mkdir -p /etc/kubernetes/{manifests,bootstrap-configs,bootstrap-manifests} bootstrap-manifests manifests

todo() { [[ ! -e $1.done ]]; }

# begin STAGE [DIRECTORY]: what an interrupted run left behind goes first.
begin() {
  echo "== $1"
  stage_start "$1"
  rm -rf "${2:-$1}"
}

finished() {
  touch "$1.done"
  stage_success
}

# A program of the release, with this directory as /assets.
run() {
  podman run --quiet --rm --net=host @LOG_DRIVER@ --volume "$PWD:/assets:z" "$@"
}

# copy SOURCE TARGET: everything in a directory, if it is there.
copy() {
  [[ -d $1 ]] || return 0
  mkdir -p "$2"
  cp --recursive "$1/." "$2/"
}

# What the release calls itself and its parts is written in it; no registry is asked.
if [[ ! -s image-references ]]; then
  podman run --quiet --rm --net=none --entrypoint cat "$RELEASE_IMAGE_DIGEST" \
    /release-manifests/image-references >image-references.part
  mv image-references.part image-references
fi
VERSION=$(jq --raw-output .metadata.name image-references)
KUBERNETES_VERSION=$(jq --raw-output '[.spec.tags[].annotations["io.openshift.build.versions"] // empty
  | split(",")[] | select(startswith("kubernetes=")) | ltrimstr("kubernetes=")][0] // empty' image-references)

# Where the release has the images of its parts.
declare -A images
for component in @COMPONENTS@; do
  if ! images[$component]=$(jq --raw-output --exit-status --arg name "$component" \
    '.spec.tags[] | select(.name == $name) | .from.name' image-references); then
    echo "release $VERSION has no image $component" >&2
    exit 1
  fi
done
