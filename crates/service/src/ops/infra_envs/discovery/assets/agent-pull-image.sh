#!/bin/bash
# Fetches the image of the discovery agent and does not give up: the network or the registry
# may come up later than this machine.
image=$1
delay=5
until podman image exists "$image"; do
    podman pull --authfile /root/.docker/config.json "$image" && break
    echo "the agent image could not be pulled; next attempt in $delay seconds"
    sleep "$delay"
    delay=$((delay * 2 > 300 ? 300 : delay * 2))
done
