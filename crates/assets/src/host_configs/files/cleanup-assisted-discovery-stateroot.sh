#!/bin/bash
# The machine was discovered from the disk it is now installed on. Once, on its first boot as a
# node, the system that discovery ran is taken off the disk.
set -euo pipefail

old=/sysroot/ostree/deploy/rhcos
[ -d "$old" ] || exit 0

# In a mount namespace of its own, so that the system root stays read-only for every other process.
if [ -z "${CLEANUP_UNSHARED:-}" ]; then
    CLEANUP_UNSHARED=1 exec unshare --mount -- "$0"
fi
mount -o remount,rw /sysroot

for name in rhcos install; do
    rpm-ostree cleanup --os="$name" -r || echo "no $name deployment to clean up"
done
systemctl stop rpm-ostreed
rm -rf "$old"
systemctl start rpm-ostreed
