#!/usr/bin/env bash
# Collects the logs of one control-plane node. installer-masters-gather.sh --id ID
set -uo pipefail

id=$(date --utc +%Y%m%d%H%M%S)
[[ ${1:-} != --id ]] || id=$2
target=/tmp/artifacts-$id
mkdir -p "$target"/{journals,containers,unit-status,network}

for unit in crio kubelet machine-config-daemon-firstboot machine-config-daemon-host \
  machine-config-daemon-pull NetworkManager node-valid-hostname nodeip-configuration ovs-configuration \
  corosync pacemaker pcsd; do
  journalctl --boot --output short --unit "$unit" >"$target/journals/$unit.log" 2>&1 || true
done
systemctl list-units --failed --no-legend --plain >"$target/failed-units.txt" 2>&1 || true
ip address >"$target/network/ip-addr.txt" 2>&1 || true
ip route show table all >"$target/network/ip-route.txt" 2>&1 || true
rpm-ostree status >"$target/rpm-ostree-status.txt" 2>&1 || true
while read -r container name; do
  [[ -n $container ]] || continue
  crictl logs "$container" >"$target/containers/$name-$container.log" 2>&1 || true
done < <(crictl ps --all --output json 2>/dev/null \
  | jq --raw-output '.containers[]? | "\(.id) \(.metadata.name)"')
while read -r container name; do
  [[ -n $container ]] || continue
  podman logs "$container" >"$target/containers/$name-$container.log" 2>&1 || true
  podman inspect "$container" >"$target/containers/$name-$container.inspect" 2>&1 || true
done < <(podman ps --all --format '{{.ID}} {{.Names}}' 2>/dev/null)

# Two nodes with fencing have etcd under the care of pacemaker.
for folder in /var/log/pacemaker /var/log/cluster /var/log/pcsd; do
  [[ ! -d $folder ]] || cp --recursive "$folder" "$target/" || true
done
if [[ -d $target/pacemaker ]]; then
  pcs status --full >"$target/pcs-status.txt" 2>&1 || true
fi
chmod --recursive a+rX "$target"
