#!/usr/bin/env bash
# Applies a configuration image: its archive is unpacked beside, compared with this image, and
# copied. The settings come last, because other units wait for them.
set -euo pipefail

# Tests work in a folder.
root=${ROOT:-}
device=/${1#/}
mount=$(mktemp -d)
content=$(mktemp -d)
issue=$root/etc/issue.d/95_load_config_image.issue
trap 'umount "$mount" 2>/dev/null || true; rm -rf "$mount" "$content"' EXIT

mount -o ro "$device" "$mount"
gunzip -c "$mount/config.gz" | (cd "$content" && cpio -idm --no-absolute-filenames --quiet)
umount "$mount"

# The namespace of the object may differ; the release may not.
release=etc/assisted/manifests/cluster-image-set.yaml
image_of() { sed -n 's/^ *releaseImage: *//p' "$1"; }
if [ "$(image_of "$content/$release")" != "$(image_of "$root/$release")" ]; then
	mkdir -p "${issue%/*}"
	echo "The configuration image on $device is for another release than this image." >"$issue"
	exit 1
fi

settings=etc/assisted/rendezvous-host.env
mv "$content/$settings" "$content.env"
cp -a "$content/." "$root/"
mkdir -p "$root/etc/assisted/extra-manifests"
restorecon -R /etc /opt/agent /root /usr/local/share 2>/dev/null || true
systemctl daemon-reexec || true
if [ -d "$root/etc/assisted/network" ]; then
	"$root/usr/local/bin/pre-network-manager-config.sh"
	systemctl restart NetworkManager
fi
hash=$root/opt/agent/tls/kubeadmin-password.hash
if [ -f "$hash" ] && [ ! -e "$root/etc/assisted/appliance-override-password-set" ]; then
	usermod -p "$(cat "$hash")" core
fi
install -m 600 "$content.env" "$root/$settings"
rm -f "$content.env" "$issue" "$root/etc/issue.d/60-check-config-image.issue"
systemctl restart node-zero.service
systemctl restart agent.service
