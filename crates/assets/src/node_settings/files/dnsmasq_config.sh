#!/bin/bash
# Configures dnsmasq with the names of the cluster. They all resolve to this node.
set -euo pipefail

NAME=@CLUSTER_NAME@
DOMAIN=@BASE_DOMAIN@
ADDRESS=@NODE_IP@
EXTRA="@EXTRA_NAMES@"

# A node that was cloned or moved carries what is different about it in this file.
overrides=/etc/default/sno_dnsmasq_configuration_overrides
if [ -f "$overrides" ]; then
    # shellcheck disable=SC1090
    . "$overrides"
    NAME=${SNO_CLUSTER_NAME_OVERRIDE:-$NAME}
    DOMAIN=${SNO_BASE_DOMAIN_OVERRIDE:-$DOMAIN}
    ADDRESS=${SNO_DNSMASQ_IP_OVERRIDE:-$ADDRESS}
fi

if [ -z "$ADDRESS" ]; then
    # The address from which the world beyond the router is reached.
    ADDRESS=$(ip -o route get 192.0.2.1 2>/dev/null | sed -n 's/.* src \([^ ]*\).*/\1/p')
fi
if [ -z "$ADDRESS" ]; then
    ADDRESS=$(ip -6 -o route get 2001:db8::1 2>/dev/null | sed -n 's/.* src \([^ ]*\).*/\1/p')
fi
if [ -z "$ADDRESS" ]; then
    echo "this node has no address for dnsmasq to return" >&2
    exit 1
fi

out=/etc/dnsmasq.d/single-node.conf
mkdir -p "${out%/*}"
{
    for name in "apps.$NAME.$DOMAIN" "api-int.$NAME.$DOMAIN" "api.$NAME.$DOMAIN"; do
        echo "address=/$name/$ADDRESS"
    done
    for name in $EXTRA; do
        echo "address=/$name.apps.$NAME.$DOMAIN/$ADDRESS"
    done
} > "$out.new"
mv "$out.new" "$out"
