#!/usr/bin/env bash
# Puts everything that may explain a failure into one archive.
# installer-gather.sh --id ID [CONTROL_PLANE_ADDRESS …]
set -uo pipefail

id=$(date --utc +%Y%m%d%H%M%S)
if [[ ${1:-} == --id ]]; then
  id=$2
  shift 2
fi
bundle=$HOME/log-bundle-$id
archive=$bundle.tar.gz
rm -rf "$bundle"
mkdir -p "$bundle"/{bootstrap/{journals,containers,network,services},failed-units,rendered-assets,resources,unit-status,control-plane}

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
grep --recursive --files-with-matches --null --extended-regexp 'PRIVATE KEY|^kind: Secret' \
  "$bundle/rendered-assets" | xargs --null --no-run-if-empty rm -f

/usr/local/bin/bootstrap-cluster-gather.sh "$bundle" || true

for address in "$@"; do
  mkdir -p "$bundle/control-plane/$address"
  way=(-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=10)
  scp "${way[@]}" -q /usr/local/bin/installer-masters-gather.sh "core@[$address]:" || continue
  # shellcheck disable=SC2029 # the id is known here, not there
  ssh "${way[@]}" "core@$address" "sudo ./installer-masters-gather.sh --id '$id'" </dev/null || true
  scp "${way[@]}" -q -r "core@[$address]:/tmp/artifacts-$id/*" "$bundle/control-plane/$address/" || true
done

tar --create --gzip --file "$archive" --directory "$(dirname "$bundle")" "$(basename "$bundle")"
rm -rf "$bundle"
echo "log bundle written to $archive"
