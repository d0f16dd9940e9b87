#!/usr/bin/env bash
# Builds volumes, arrays and mapped devices over many disks, then has the installer write one of
# them, and says on the first serial port what it found. The story compares the disks from outside.
#   guest.sh SERVICE
set -euo pipefail

service=$1
say() { echo "$*" >/dev/ttyS0; }
trap 'say "the guest failed in line $LINENO: $BASH_COMMAND"' ERR

# install DISK: what the agent would start. Its outcome is said, whatever it is.
install() {
  local disk=$1 outcome='success' id=0d2f1c3a-5b6e-4f70-8a91-b2c3d4e5f607
  rm -f /run/muster-installer/failure
  PULL_SECRET_TOKEN=a.b.c muster-agent install --role worker --cluster-id $id --host-id $id --url "$service" \
    --boot-device "$disk" --installer-args "[\"--image-url\", \"$service/metal.img.zst\"]" || outcome=failure
  say "installation on $disk: $outcome $(cat /run/muster-installer/failure 2>/dev/null || true)"
}

udevadm settle
for disk in /sys/block/sd*; do
  name=${disk##*/}
  say "disk $name is $(lsblk --nodeps --noheadings --output SERIAL "/dev/$name")."
done

# The disk to install has a volume and an array that reach over to others, and a mapped device on that.
sgdisk --new=1:0:+1G --new=2:0:+1G /dev/sda >/dev/null
udevadm settle
pvcreate --quiet --yes /dev/sda1 /dev/sdaa
vgcreate --quiet shared /dev/sda1 /dev/sdaa
lvcreate --quiet --yes --type striped --stripes 2 --size 64M --name volume shared
mdadm --create /dev/md0 --quiet --run --level=1 --raid-devices=2 --bitmap=none --assume-clean /dev/sda2 /dev/sdb
echo "0 65536 linear /dev/md0 0" | dmsetup create on-array
dd if=/dev/urandom of=/dev/shared/volume bs=1M count=16 status=none
dd if=/dev/urandom of=/dev/mapper/on-array bs=1M count=16 status=none

# Others look alike: a volume on a disk whose name begins the same, and a mapped device of that name.
pvcreate --quiet --yes /dev/sdab
vgcreate --quiet other /dev/sdab
lvcreate --quiet --yes --size 64M --name kept other
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/other/kept
mkdir -p /var/precious
mount -o ro,noload /dev/other/kept /var/precious
dd if=/dev/urandom of=/dev/sdab bs=1M seek=2048 count=16 status=none
echo "0 65536 linear /dev/sdc 0" | dmsetup create sda1
dd if=/dev/urandom of=/dev/mapper/sda1 bs=1M count=16 status=none
# A disk that fails a hundred megabytes in.
sectors=$(blockdev --getsz /dev/sdd)
printf '%s\n' "0 204800 linear /dev/sdd 0" "204800 $((sectors - 204800)) error" | dmsetup create failing

# Until arrays are idle and everything is on its disk.
sync
udevadm settle
sleep 5
say prepared
until curl --silent --fail "$service/go" >/dev/null; do sleep 1; done

install /dev/sdab
install /dev/sda1
install /dev/mapper/failing
install /dev/sda

mountpoint --quiet /var/precious && say 'the volume on sdab is still mounted'
dmsetup info sda1 >/dev/null && say 'the mapped device called sda1 is still there'
dmsetup info shared-volume >/dev/null 2>&1 || say 'the volume over sda and sdaa is switched off'
[[ -e /sys/block/md0/md/array_state ]] || say 'the array over sda and sdb is switched off'
say "partitions of sda: $(lsblk --noheadings --list --output PARTLABEL /dev/sda | tr -s ' \n' ' ')"
sync
say 'the guest is done'
