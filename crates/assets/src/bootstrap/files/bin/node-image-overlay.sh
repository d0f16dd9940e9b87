#!/usr/bin/env bash
# Lays the unpacked node image over the booted system.
set -euo pipefail

. /usr/local/bin/bootstrap-service-record.sh

if [[ -e /run/ostree-live ]]; then
  checkout=@DIRECTORY@/checkout
else
  checkout=/ostree/repo/tmp/node-image
fi

# Modules must fit the running kernel, so those of the booted system stay.
mount --bind --options ro /usr/lib/modules "$checkout/usr/lib/modules"
mount --rbind --options ro "$checkout/usr" /usr
# The crypto policy in force must not change under running programs.
rsync --archive --exclude=/crypto-policies "$checkout/usr/etc/" /etc/
if selinuxenabled; then
  semodule --reload
fi
# The running sshd starts each session with programs that were replaced under it. Waiting for it would
# be waiting for ourselves: it is ordered after this service.
systemctl --no-block try-restart sshd.service
