#!/bin/bash
# Gives this machine the static network that is meant for it.
#
# Every folder /etc/assisted/network/host* belongs to one machine: mac_interface.ini lists its
# network cards, the .yml files say how to set them up. Runs in the initrd and in the live
# system, so it uses nothing but bash and the most basic tools.
set -u

folder=/etc/assisted/network
[[ -d $folder ]] || exit 0

sleep "${DISCOVERY_DELAY_SECONDS:-0}"

cards() {
    local path
    for path in /sys/class/net/*; do
        [[ ${path##*/} == lo ]] || echo "${path##*/}"
    done
}

# Drivers load one after the other: wait until no card has appeared for 3 seconds.
before=
calm=0
for ((second = 0; second < 30 && calm < 3; second++)); do
    now=$(cards)
    if [[ -n $now && $now == "$before" ]]; then
        calm=$((calm + 1))
    else
        calm=0
    fi
    before=$now
    sleep 1
done

own=()
for card in $(cards); do
    read -r mac <"/sys/class/net/$card/address" || continue
    own+=("${mac^^}")
done

is_ours() {
    local line mac
    while IFS= read -r line || [[ -n $line ]]; do
        for mac in "${own[@]}"; do
            if [[ ${line^^} == "$mac="* ]]; then
                return 0
            fi
        done
    done <"$1/mac_interface.ini"
    return 1
}

for host in "$folder"/host*; do
    [[ -f $host/mac_interface.ini ]] || continue
    is_ours "$host" || continue
    echo "the static network of this machine is in $host"
    if [[ ! -x /usr/bin/nmstatectl ]]; then
        echo "this image has no nmstatectl, so the static network cannot be applied" >&2
        exit 1
    fi
    mkdir -p /etc/nmstate
    cp "$host"/*.yml /etc/nmstate/
    /usr/bin/nmstatectl service || exit 1
    if [[ -e /etc/initrd-release ]]; then
        mkdir -p /etc/coreos-firstboot-network
        cp /etc/NetworkManager/system-connections/* /etc/coreos-firstboot-network/
        /usr/sbin/coreos-copy-firstboot-network
    fi
    exit 0
done

echo "no static network is meant for this machine; its cards are: ${own[*]-none}"
