#!/bin/bash
# A live system of OKD is plain CoreOS: what an OpenShift host has built in comes as packages in a
# container image. /usr is read-only here, so they are laid over it until the next boot.
set -euo pipefail
image=@IMAGE@
work=/var/tmp/okd-rpms

# Images are unpacked below /var, which is memory here and too small by default.
mount -o remount,size=6G /var

until podman image exists "$image"; do
    podman pull --authfile /root/.docker/config.json "$image" && break
    sleep 5
done
mkdir -p "$work"/{rpms,upper,scratch}
mount_point=$(podman image mount "$image")
cp "$mount_point"/rpms/*.rpm "$work/rpms/"
podman image unmount "$image" >/dev/null

mount -t overlay overlay -o "lowerdir=/usr,upperdir=$work/upper,workdir=$work/scratch" /usr
rpm --install --nodeps --force "$work"/rpms/*.rpm
restorecon -R /usr/bin /usr/libexec || true

# The kubelet looks for the pull secret there.
mkdir -p /var/lib/kubelet
ln -sf /root/.docker/config.json /var/lib/kubelet/config.json
systemctl daemon-reload
