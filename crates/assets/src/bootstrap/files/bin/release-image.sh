#!/usr/bin/env bash
# Knows the release that is being installed. Sourced by other scripts.

RELEASE_IMAGE='@RELEASE_IMAGE@'

# Prints the release as a reference by digest, once it is on this machine. An image of several
# architectures has two digests in its repositories; ours is the one podman calls its own.
release_image_by_digest() {
  local found
  found=$(podman image inspect "$RELEASE_IMAGE" | jq --raw-output \
    '.[0].Digest as $own | [.[0].RepoDigests[] | select(endswith($own))][0] // empty')
  if [[ -z $found ]]; then
    echo "no digest is known for $RELEASE_IMAGE, going on with the name as given" >&2
    found=$RELEASE_IMAGE
  fi
  echo "$found"
}

RELEASE_IMAGE_DIGEST=$RELEASE_IMAGE
if podman image exists "$RELEASE_IMAGE"; then
  RELEASE_IMAGE_DIGEST=$(release_image_by_digest)
fi

# image_for COMPONENT: where the release has the image of a component.
image_for() {
  podman run --quiet --rm --net=none "$RELEASE_IMAGE_DIGEST" image "$1"
}
