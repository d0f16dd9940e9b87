#!/bin/bash
# Gives this machine the static network that is meant for it.
#
# Every folder /etc/assisted/network/host* belongs to one machine: mac_interface.ini lists its
# network cards as ADDRESS=NAME, the .nmconnection files are profiles that speak of the cards by
# these names. Here the names become those that the kernel gave the cards. Runs in the initrd and
# in the live system, before NetworkManager, so it uses nothing but bash and the most basic tools.
set -u

folder=/etc/assisted/network
[[ -d $folder ]] || exit 0

if [[ -e /etc/initrd-release ]]; then
    target=/etc/coreos-firstboot-network
else
    target=/etc/NetworkManager/system-connections
fi

sleep "${DISCOVERY_DELAY_SECONDS:-0}"

cards() {
    local path
    for path in /sys/class/net/*; do
        [[ -e $path/address && ${path##*/} != lo ]] && echo "${path##*/}"
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

# Kernel name of each card by its address, in capitals.
declare -A kernel_name=()
for card in $(cards); do
    read -r address <"/sys/class/net/$card/address" || continue
    # A port of a bond shows the bond's address; its own is the one the driver found.
    if [[ -r /sys/class/net/$card/bonding_slave/perm_hwaddr ]]; then
        read -r address <"/sys/class/net/$card/bonding_slave/perm_hwaddr" || continue
    fi
    kernel_name[${address^^}]=$card
done

# Fills `real` with what the names in a host's list are called here; fails if it has none of our
# cards.
declare -A real=()
know() {
    local address name found=1
    real=()
    while IFS='=' read -r address name || [[ -n $address ]]; do
        if [[ -n $name && -n ${kernel_name[${address^^}]-} ]]; then
            real[$name]=${kernel_name[${address^^}]}
            found=0
        fi
    done <"$1/mac_interface.ini"
    return "$found"
}

# What a name in a profile is called here: a card's, a VLAN's on a card (NAME.ID; names of
# interfaces have at most 15 characters, so the card's part may have to be cut), or unchanged.
called() {
    local name=$1 base=${1%%.*} rest
    if [[ -n ${real[$name]-} ]]; then
        echo "${real[$name]}"
    elif [[ $name == *.* && -n ${real[$base]-} ]]; then
        rest=.${name#*.}
        echo "${real[$base]:0:15-${#rest}}$rest"
    else
        echo "$name"
    fi
}

# One profile, with all names replaced at once: cards may have swapped theirs.
rewrite() {
    local line key value
    while IFS= read -r line || [[ -n $line ]]; do
        key=${line%%=*}
        value=${line#*=}
        case $key in
        id | interface-name | parent | master | controller | primary | active_slave | peer | port[12])
            line=$key=$(called "$value")
            ;;
        esac
        echo "$line"
    done <"$1"
}

for host in "$folder"/host*; do
    [[ -f $host/mac_interface.ini ]] || continue
    know "$host" || continue
    echo "the static network of this machine is in $host"
    umask 077
    mkdir -p "$target"
    rm -f "$target"/*
    for profile in "$host"/*.nmconnection; do
        [[ -f $profile ]] || continue
        name=${profile##*/}
        name=$(called "${name%.nmconnection}").nmconnection
        if [[ -e $target/$name ]]; then
            echo "two profiles are both called $name; the one from $profile is left out" >&2
            continue
        fi
        rewrite "$profile" >"$target/$name" || exit 1
    done
    if [[ -s $host/hostname ]]; then
        # The kernel keeps it from the initrd to the live system.
        cat "$host/hostname" >/proc/sys/kernel/hostname || true
        [[ -e /etc/initrd-release ]] || cat "$host/hostname" >/etc/hostname
    fi
    exit 0
done

echo "no static network is meant for this machine; its cards are: ${!kernel_name[*]}"
