#!/usr/bin/env bash
# Applies a configuration image: its archive is unpacked beside, compared with this image, and
# copied. The settings come last, because other units wait for them.
set -euo pipefail

device=/${1#/}
mount=$(mktemp -d)
content=$(mktemp -d)
issue=/etc/issue.d/95_load_config_image.issue
trap 'umount "$mount" 2>/dev/null || true; rm -rf "$mount" "$content"' EXIT

mount -o ro "$device" "$mount"
gunzip -c "$mount/config.gz" | (cd "$content" && cpio -idm --no-absolute-filenames --quiet)
umount "$mount"

release=etc/assisted/manifests/cluster-image-set.yaml
if ! cmp -s "$content/$release" "/$release"; then
	echo "The configuration image on $device is for another release than this image." >"$issue"
	exit 1
fi

settings=etc/assisted/rendezvous-host.env
mv "$content/$settings" "$content.env"
cp -a "$content/." /
restorecon -R /etc /opt/agent /root /usr/local/share 2>/dev/null || true
systemctl daemon-reexec || true
if [ -d /etc/assisted/network ]; then
	/usr/local/bin/pre-network-manager-config.sh
	systemctl restart NetworkManager
fi
hash=/opt/agent/tls/kubeadmin-password.hash
if [ -f "$hash" ] && [ ! -e /etc/assisted/appliance-override-password-set ]; then
	usermod -p "$(cat "$hash")" core
fi
install -m 600 "$content.env" "/$settings"
rm -f "$content.env" "$issue"
systemctl restart node-zero.service
systemctl restart agent.service
