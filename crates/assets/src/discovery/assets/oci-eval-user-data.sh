#!/bin/bash
# On Oracle's cloud, runs the script that the owner of the machine put into its user data. Every
# other machine, and one without user data, is left alone.
set -u
case $(uname -m) in
ppc64le | s390x) exit 0 ;; # no such machines, and no such file below
esac
read -r tag </sys/class/dmi/id/chassis_asset_tag || exit 0
[[ $tag == OracleCloud.com ]] || exit 0

answer=$(curl --silent --show-error --max-time 30 --retry 5 --retry-delay 30 \
    --header 'Authorization: Bearer Oracle' \
    http://169.254.169.254/opc/v2/instance/metadata/user_data) || exit 1
if [[ -z $answer || $answer == *'404 Not Found'* ]]; then
    echo "this machine has no user data"
    exit 0
fi
base64 --decode <<<"$answer" | bash
