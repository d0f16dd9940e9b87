#!/bin/busybox sh
# shellcheck shell=dash
# The first and only program of the virtual machine of guest.rs: creates the devices, runs the
# inventory, prints it, and powers off.
export PATH=/bin
/bin/busybox mkdir -p /bin
for tool in mount mkdir cat insmod mke2fs sleep poweroff hostname echo; do
  /bin/busybox ln -sf busybox /bin/$tool
done
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
while read -r module; do insmod "/modules/$module"; done < /modules/order
mount -t efivarfs efivarfs /sys/firmware/efi/efivars
hostname localhost.localdomain
# Disks are found in their own time.
for _ in 1 2 3 4 5 6 7 8 9 10; do
  [ -e /dev/sda ] && [ -e /dev/sr0 ] && [ -e /dev/vdb1 ] && [ -e /dev/nvme0n1 ] && break
  sleep 1
done

mkdir -p /run/media/iso /mnt/whole "/mnt/part one"
mount -t iso9660 -o ro /dev/sr0 /run/media/iso
mke2fs /dev/vda > /dev/null
mount -t ext4 /dev/vda /mnt/whole
mke2fs /dev/vdb1 > /dev/null
mount -t ext4 /dev/vdb1 "/mnt/part one"
dmsetup create mpatha --noudevsync -u mpath-35000c50000000009 --table '0 2048 linear /dev/sda 0'
dmsetup create vg-data --noudevsync -u LVM-abcdef --table '0 2048 linear /dev/nvme0n1 0'

# By its path: the shell has an `ip` of its own, which knows less.
/bin/ip link set lo up
/bin/ip link add bond0 type bond mode active-backup
/bin/ip link set eth0 master bond0
/bin/ip link set eth1 master bond0
/bin/ip link set bond0 up
/bin/ip link add link bond0 name bond0.7 type vlan id 7
/bin/ip link set bond0.7 up
/bin/ip addr add 192.0.2.7/24 dev bond0.7
/bin/ip addr add 2001:db8::7/64 dev bond0.7 nodad
/bin/ip link add bridge0 type bridge
/bin/ip link add dummy0 type dummy
/bin/ip link set dummy0 master bridge0
/bin/ip link add macvlan0 link bond0 type macvlan
/bin/ip route add default via 192.0.2.1 metric 100
sleep 3

echo "=== inventory"; muster-agent inventory
echo "=== addr"; /bin/ip -j -d addr; echo
echo "=== route4"; /bin/ip -j -4 route show table main; echo
echo "=== route6"; /bin/ip -j -6 route show table main; echo
muster-agent capture /tmp/seen 2> /dev/null
echo "=== replay"; muster-agent inventory --from /tmp/seen
echo "=== end"
poweroff -f
