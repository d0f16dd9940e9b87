#!/bin/bash
# Takes the installer out of the seed image and runs it.
set -e -o pipefail

seed_image="${1:-$SEED_IMAGE}"
authfile="${PULL_SECRET_FILE:-/var/tmp/pull-secret.json}"
configuration="${IBI_CONFIGURATION_FILE:-/var/tmp/ibi-configuration.json}"

until podman create --replace --authfile "$authfile" --name lca-cli "$seed_image" lca-cli; do
    echo "The seed image $seed_image cannot be pulled; next attempt in 10 seconds" >&2
    sleep 10
done
podman cp lca-cli:lca-cli /usr/local/bin/lca-cli
podman rm lca-cli

exec /usr/local/bin/lca-cli ibi -f "$configuration"
