//! Network boot files and configuration images, read back by other tools.

use muster_image::{
    Customization, View,
    config_iso::ConfigIso,
    pxe::{PxeSet, addrsize},
};

use crate::{
    samples::{Format, noise, sample},
    tools::{OnDisk, all, run},
};

#[test]
fn the_initrd_for_pxe_is_the_images_with_the_payload_behind_it() {
    let sample = sample(Format::Json2023);
    let customization = Customization {
        ignition: Some(noise(1, 900_000).into()),
        ..Customization::default()
    };
    let payload = customization.payload().unwrap();
    let set = PxeSet::of(&sample.iso(), &payload).unwrap();
    let initrd = all(&set.initrd);
    assert_eq!(initrd[..90_000], noise(2, 90_000));
    assert_eq!(initrd[90_000..], all(&payload));
    assert_eq!(all(&set.kernel), noise(1, 70_001));
    assert_eq!(set.rootfs.len(), 3_000_000);
}

#[test]
fn the_s390x_size_file_counts_the_payload() {
    let sample = sample(Format::S390x);
    let set = PxeSet::of(&sample.iso(), &View::bytes(vec![1; 4000])).unwrap();
    let file = addrsize(&sample.iso(), &set.initrd).unwrap();
    assert_eq!(file[..8], [0, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(file[8..], 94_000u64.to_be_bytes());
}

#[test]
fn others_read_a_configuration_image_in_all_name_spaces() {
    let name = "a directory/Ümläut and a rather long name.yaml";
    let image = ConfigIso::new("agentbasedinstaller")
        .unwrap()
        .file("meta-data", View::bytes(&b"id: 1\n"[..]))
        .unwrap()
        .file(name, View::bytes(noise(3, 5000)))
        .unwrap()
        .file("a directory/deeper/x", View::bytes(&b"y"[..]))
        .unwrap()
        .build()
        .unwrap();
    let on_disk = OnDisk::write(&image);
    let files = on_disk.files_by_xorriso();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a directory/deeper/x", name, "meta-data"]);
    assert_eq!(files[1].1, noise(3, 5000));
    assert_eq!(on_disk.file_by_isoinfo("/meta-data"), b"id: 1\n");
    let path = on_disk.path.to_str().unwrap();
    let listing = run("isoinfo", &["-d", "-i", path]);
    assert!(
        listing.contains("Volume id: agentbasedinstaller"),
        "{listing}"
    );
    assert!(
        listing.contains("Rock Ridge signatures version 1 found"),
        "{listing}"
    );
    assert!(
        listing.contains("Joliet with UCS level 3 found"),
        "{listing}"
    );
    let plain = run("isoinfo", &["-f", "-i", path]);
    assert!(plain.contains("/A_DIRECT/DEEPER/X.;1"), "{plain}");
    let tables = run("isoinfo", &["-p", "-i", path]);
    assert!(
        tables.contains("A_DIRECT") && tables.contains("DEEPER"),
        "{tables}"
    );
}
