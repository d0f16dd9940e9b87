#!/usr/bin/env bash
# Puts everything that may explain a failure into one archive.
# installer-gather.sh --id ID [CONTROL_PLANE_ADDRESS …]
# TAR_FILE names the archive; otherwise it is log-bundle-ID.tar.gz in the home directory.
set -uo pipefail

# People log in as core, and what explains a failure is root's.
if ((EUID != 0)); then
  exec sudo env "HOME=$HOME" "SSH_AUTH_SOCK=${SSH_AUTH_SOCK:-}" "TAR_FILE=${TAR_FILE:-}" bash "$0" "$@"
fi

id=$(date --utc +%Y%m%d%H%M%S)
if [[ ${1:-} == --id ]]; then
  id=$2
  shift 2
fi
archive=${TAR_FILE:-$HOME/log-bundle-$id.tar.gz}
# The archive of a node that bootstrapped itself, from before its first boot.
earlier=/var/log/log-bundle-bootstrap.tar.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bundle=$work/log-bundle-$id
mkdir -p "$bundle"/{bootstrap/{journals,containers,network,services},rendered-assets,resources,unit-status,control-plane}

cp --recursive /var/log/openshift/. "$bundle/bootstrap/services/" 2>/dev/null || true
systemctl list-units --failed --no-legend --plain >"$bundle/failed-units.txt" || true
while read -r unit _; do
  [[ -n $unit ]] || continue
  systemctl status "$unit" >"$bundle/unit-status/$unit.txt" 2>&1 || true
  journalctl --boot --unit "$unit" >"$bundle/unit-status/$unit.log" 2>&1 || true
done <"$bundle/failed-units.txt"

for unit in approve-csr bootkube bootstrap-in-place crio crio-configure install-to-disk kubelet \
  node-image-overlay node-image-pull progress release-image systemd-journal-gatewayd; do
  journalctl --boot --output short --unit "$unit" >"$bundle/bootstrap/journals/$unit.log" 2>&1 || true
done
ip address >"$bundle/bootstrap/network/ip-addr.txt" 2>&1 || true
ip route show table all >"$bundle/bootstrap/network/ip-route.txt" 2>&1 || true
hostname >"$bundle/bootstrap/network/hostname.txt" 2>&1 || true
cp /etc/resolv.conf "$bundle/bootstrap/network/resolv.conf" 2>/dev/null || true
rpm-ostree status >"$bundle/bootstrap/rpm-ostree-status.txt" 2>&1 || true

while read -r container name; do
  [[ -n $container ]] || continue
  crictl logs "$container" >"$bundle/bootstrap/containers/$name-$container.log" 2>&1 || true
  crictl inspect "$container" >"$bundle/bootstrap/containers/$name-$container.inspect" 2>&1 || true
done < <(crictl ps --all --output json 2>/dev/null \
  | jq --raw-output '.containers[]? | "\(.id) \(.metadata.name)"')
while read -r container name; do
  [[ -n $container ]] || continue
  podman logs "$container" >"$bundle/bootstrap/containers/$name-$container.log" 2>&1 || true
done < <(podman ps --all --format '{{.ID}} {{.Names}}' 2>/dev/null)

# What was rendered, without keys, kubeconfigs and secrets.
cp --recursive /opt/openshift/. "$bundle/rendered-assets/" 2>/dev/null || true
rm -rf "$bundle/rendered-assets/auth" "$bundle/rendered-assets/tls"
find "$bundle/rendered-assets" \( -name '*.key' -o -name '*.ign' -o -iname '*secret*' \
  -o -iname '*kubeconfig*' -o -name '*.tar.gz' \) -type f -delete
grep --recursive --files-with-matches --null --extended-regexp 'PRIVATE KEY|kind"?: *"?Secret([^A-Za-z]|$)' \
  "$bundle/rendered-assets" | xargs --null --no-run-if-empty rm -f

# What bootkube.sh saw when it failed; the API may be gone by now.
cp --recursive /root/cluster-resources/. "$bundle/" 2>/dev/null || true
/usr/local/bin/bootstrap-cluster-gather.sh "$bundle" || true

gather_here() {
  local own=/tmp/artifacts-master-$id
  mkdir -p "$bundle/control-plane/master"
  /usr/local/bin/installer-masters-gather.sh --id "master-$id" </dev/null || true
  cp --recursive "$own/." "$bundle/control-plane/master/" || true
  rm -rf "$own"
}

gather_from() { # gather_from ADDRESS
  local way=(-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=10)
  mkdir -p "$bundle/control-plane/$1"
  scp "${way[@]}" -q /usr/local/bin/installer-masters-gather.sh "core@[$1]:" || return 0
  # shellcheck disable=SC2029 # the id is known here, not there
  ssh "${way[@]}" "core@$1" "sudo ./installer-masters-gather.sh --id '$id'" </dev/null || true
  scp "${way[@]}" -q -r "core@[$1]:/tmp/artifacts-$id/*" "$bundle/control-plane/$1/" || true
}

if [[ -s $earlier ]]; then
  tar --extract --gzip --file "$earlier" --directory "$bundle" || true
  gather_here
else
  nodes=("$@")
  if ((${#nodes[@]} == 0)) && [[ -s $bundle/resources/nodes.json ]]; then
    mapfile -t nodes < <(jq --raw-output '.items[]? | select(.metadata.labels
      | has("node-role.kubernetes.io/master") or has("node-role.kubernetes.io/control-plane"))
      | [.status.addresses[]? | select(.type == "InternalIP") | .address][0] // empty' \
      "$bundle/resources/nodes.json")
  fi
  for node in "${nodes[@]}"; do
    gather_from "$node"
  done
fi

tar --create --gzip --file "$archive" --directory "$work" "$(basename "$bundle")"
[[ -z ${SUDO_UID:-} ]] || chown "$SUDO_UID:${SUDO_GID:-}" "$archive"
echo "log bundle written to $archive"
