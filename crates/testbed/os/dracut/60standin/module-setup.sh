#!/bin/bash
# Makes an initramfs that starts the way CoreOS does: a live image or an installed disk, Ignition
# with a config found beside the kernel or on the boot partition, and a network only if needed.

# shellcheck disable=SC2154 # dracut sets moddir, initdir and systemdsystemunitdir

check() {
    return 0
}

depends() {
    echo systemd network-manager ignition
}

installkernel() {
    hostonly='' instmods \
        virtio_pci virtio_net virtio_blk virtio_scsi e1000 e1000e \
        sd_mod sr_mod ahci ata_piix nvme usb-storage uas xhci-pci ehci-pci \
        iso9660 squashfs overlay loop vfat nls_cp437 nls_ascii nls_utf8 ext4 xfs qemu_fw_cfg \
        virtio_rng af_packet ipv6 unix bonding 8021q
}

install() {
    inst_multiple curl sha256sum losetup mount umount mkdir cp ln rm cat head cut sed grep dd ip \
        stat blkid nm-online nmcli sleep tr chmod ls seq touch mountpoint basename dirname find mv \
        sort tail wc mktemp readlink tee date id env expr uniq install test awk
    inst_multiple -o /etc/ssl/certs/ca-certificates.crt
    inst_simple /usr/lib/systemd/journald.conf.d/10-standin.conf
    inst_simple "$moddir/patient.conf" /usr/lib/systemd/system.conf.d/10-patient.conf
    inst_simple "$moddir/10-core-user.ign" /usr/lib/ignition/base.d/10-core-user.ign
    inst_script "$moddir/setfiles" /usr/sbin/setfiles
    inst_script "$moddir/karg" /usr/bin/karg
    inst_script "$moddir/is-live-image" /usr/bin/is-live-image
    inst_script "$moddir/root-by-label-generator" /usr/lib/systemd/system-generators/root-by-label-generator
    local name
    for name in coreos-livepxe-rootfs live-sysroot ignition-setup-user \
        coreos-copy-firstboot-network coreos-enable-network coreos-teardown-initramfs; do
        inst_script "$moddir/$name" "/usr/sbin/$name"
        inst_simple "$moddir/$name.service" "$systemdsystemunitdir/$name.service"
    done
    for name in coreos-livepxe-rootfs live-sysroot; do
        $SYSTEMCTL -q --root "$initdir" add-requires initrd-root-fs.target "$name.service"
    done
    for name in coreos-copy-firstboot-network coreos-enable-network; do
        $SYSTEMCTL -q --root "$initdir" add-wants initrd.target "$name.service"
    done
    for name in ignition-setup-user coreos-teardown-initramfs; do
        $SYSTEMCTL -q --root "$initdir" add-requires ignition-complete.target "$name.service"
    done
}
