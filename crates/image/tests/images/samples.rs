//! Small images laid out like real ones.
//!
//! | sample | Ignition area | kernel arguments | boots as |
//! |---|---|---|---|
//! | `Named` | `images/ignition.img`, unannounced | in the boot loader files, no room | isohybrid |
//! | `Header2020` | header `coreiso+` | in the boot loader files, no room | isohybrid |
//! | `Header2021` | header `coreiso+` | header `coreKarg` | isohybrid |
//! | `Json2021` | `images/ignition.img` | `kargs.json`, recipe `miniso.dat` | isohybrid |
//! | `Json2023` | `igninfo.json` | `kargs.json`, recipe `miniso.dat` | isohybrid |
//! | `Xorriso` | as `Json2023`, no recipe | as `Json2023` | written by xorriso |
//! | `Aarch64` | `igninfo.json` | `kargs.json` | UEFI only |
//! | `Ppc64le` | `igninfo.json` | `kargs.json` | `boot/grub` |
//! | `S390x` | slice of `images/cdboot.img` | slice of `images/cdboot.img` | boot blob |

use std::{fs, path::Path, sync::OnceLock};

use bytes::Bytes;
use muster_image::{Iso, Source, View};
use muster_testbed::os::recipe;
use tempfile::TempDir;

use crate::tools::{all, open, run};

pub const LABEL: &str = "rhcos-419.96.202506";
pub const AREA: usize = 262_144;
const ROOM: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Named,
    Header2020,
    Header2021,
    Json2021,
    Json2023,
    Xorriso,
    Aarch64,
    Ppc64le,
    S390x,
}

use Format::{Aarch64, Header2020, Header2021, Json2021, Json2023, Named, Ppc64le, S390x, Xorriso};

pub const ALL: [Format; 9] = [
    Named, Header2020, Header2021, Json2021, Json2023, Xorriso, Aarch64, Ppc64le, S390x,
];

impl Format {
    fn has_isolinux(self) -> bool {
        !matches!(self, Aarch64 | Ppc64le | S390x)
    }

    pub fn has_room_for_kargs(self) -> bool {
        !matches!(self, Named | Header2020)
    }

    pub fn has_recipe(self) -> bool {
        matches!(self, Json2021 | Json2023)
    }

    fn has_json(self) -> bool {
        !matches!(self, Named | Header2020 | Header2021)
    }

    fn grub_config(self) -> &'static str {
        if self == Ppc64le {
            "boot/grub/grub.cfg"
        } else {
            "EFI/redhat/grub.cfg"
        }
    }
}

/// An image in memory; made once for all tests.
pub struct Sample {
    image: Bytes,
    /// The minimal image made with the same tools, where there is a recipe.
    pub minimal: Option<Vec<u8>>,
}

impl Sample {
    pub fn iso(&self) -> Iso {
        Iso::open(View::of(Source::memory(self.image.clone()))).unwrap()
    }
}

pub fn default_kargs() -> String {
    format!(
        "mitigations=auto,nosmt coreos.liveiso={LABEL} ignition.firstboot ignition.platform.id=metal"
    )
}

/// Bytes that compress badly and are the same in every run.
pub fn noise(seed: u32, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 11) as u8
    })
    .take(len)
    .collect()
}

pub fn sample(format: Format) -> &'static Sample {
    static SAMPLES: [OnceLock<Sample>; ALL.len()] = [const { OnceLock::new() }; ALL.len()];
    SAMPLES[format as usize].get_or_init(|| build(format))
}

fn build(format: Format) -> Sample {
    let folder = TempDir::new().unwrap();
    let tree = folder.path().join("tree");
    lay_out(format, &tree);
    finish(format, &folder, &tree)
}

/// An image that starts this kernel with this initrd.
pub fn bootable(format: Format, kernel: &[u8], initrd: &[u8]) -> Sample {
    let folder = TempDir::new().unwrap();
    let tree = folder.path().join("tree");
    lay_out(format, &tree);
    put(&tree, "images/pxeboot/vmlinuz", kernel);
    put(&tree, "images/pxeboot/initrd.img", initrd);
    finish(format, &folder, &tree)
}

fn finish(format: Format, folder: &TempDir, tree: &Path) -> Sample {
    let path = folder.path().join("live.iso");
    make(format, tree, &path);
    let mut minimal = None;
    if format.has_recipe() {
        fs::remove_file(tree.join("images/pxeboot/rootfs.img")).unwrap();
        fs::remove_file(tree.join("coreos/miniso.dat")).unwrap();
        let small = folder.path().join("minimal.iso");
        make(format, tree, &small);
        recipe::add(&path, &small).unwrap();
        minimal = Some(fs::read(small).unwrap());
    }
    add_headers(format, &path);
    Sample {
        image: fs::read(path).unwrap().into(),
        minimal,
    }
}

fn put(tree: &Path, path: &str, content: &[u8]) {
    let path = tree.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn lay_out(format: Format, tree: &Path) {
    put(tree, "images/pxeboot/vmlinuz", &noise(1, 70_001));
    put(tree, "images/pxeboot/initrd.img", &noise(2, 90_000));
    put(tree, "images/pxeboot/rootfs.img", &noise(3, 3_000_000));
    let (areas, size) = if format == S390x {
        boot_blob(tree)
    } else {
        boot_configs(format, tree)
    };
    if format != S390x {
        put(tree, "images/ignition.img", &[0; AREA]);
    }
    if format.has_json() {
        put(
            tree,
            "coreos/features.json",
            b"{\"installer-config\":true,\"live-initrd-network\":true}",
        );
        let kargs = format!(
            "{{\"default\":\"{}\",\"files\":[{areas}],\"size\":{size}}}\n",
            default_kargs()
        );
        // Publishers indent it, which leaves coreos-installer the room it needs; one sample does.
        let kargs = match format {
            Json2023 => {
                let value: serde_json::Value = serde_json::from_str(&kargs).unwrap();
                format!("{value:#}\n")
            }
            _ => kargs,
        };
        put(tree, "coreos/kargs.json", kargs.as_bytes());
    }
    if matches!(format, Json2023 | Xorriso | Aarch64 | Ppc64le) {
        put(
            tree,
            "coreos/igninfo.json",
            b"{\n  \"file\": \"images/ignition.img\"\n}\n",
        );
    }
    if format.has_recipe() {
        put(tree, "coreos/miniso.dat", &[0; recipe::ROOM]);
    }
    if format == Header2021 {
        let mut text = format!("{}\n", default_kargs()).into_bytes();
        text.resize(default_kargs().len() + ROOM, b'#');
        put(tree, "zipl.prm", &text);
    }
    if !matches!(format, Ppc64le | S390x) {
        put(tree, "images/efiboot.img", efi_boot_image());
    }
}

/// Boot loader files; returns the places of the arguments in JSON and the size of each.
fn boot_configs(format: Format, tree: &Path) -> (String, usize) {
    let mut room = String::new();
    if format.has_room_for_kargs() {
        room = format!("{}# COREOS_KARG_EMBED_AREA\n", "#".repeat(ROOM - 1));
    }
    let kargs = default_kargs();
    let before =
        "set timeout=1\nmenuentry 'RHEL CoreOS (Live)' {\n\tlinux /images/pxeboot/vmlinuz ";
    let after = "\tinitrd /images/pxeboot/initrd.img /images/ignition.img\n}\n";
    put(
        tree,
        format.grub_config(),
        format!("{before}{kargs}\n{room}{after}").as_bytes(),
    );
    let mut areas = format!(
        "{{\"path\":\"{}\",\"offset\":{},\"pad\":\"#\",\"end\":\"\\n\"}}",
        format.grub_config(),
        before.len()
    );
    if format.has_isolinux() {
        let before = "serial 0\ndefault linux\nlabel linux\n  kernel /images/pxeboot/vmlinuz\n  append \
                      initrd=/images/pxeboot/initrd.img,/images/ignition.img ";
        put(
            tree,
            "isolinux/isolinux.cfg",
            format!("{before}{kargs}\n{room}").as_bytes(),
        );
        areas += &format!(
            ",{{\"path\":\"isolinux/isolinux.cfg\",\"offset\":{}}}",
            before.len()
        );
        put(
            tree,
            "isolinux/isolinux.bin",
            &fs::read("/usr/lib/ISOLINUX/isolinux.bin").unwrap(),
        );
        let module = "/usr/lib/syslinux/modules/bios/ldlinux.c32";
        put(tree, "isolinux/ldlinux.c32", &fs::read(module).unwrap());
    }
    (areas, kargs.len() + ROOM)
}

/// The s390x blob: kernel, arguments at 0x10480, initrd, Ignition area.
fn boot_blob(tree: &Path) -> (String, usize) {
    const START: usize = 0x20000;
    const SIZE: usize = 896;
    let initrd = noise(2, 90_000);
    let mut blob = noise(4, START);
    blob[0x10408..0x10410].copy_from_slice(&(START as u64).to_be_bytes());
    blob[0x10410..0x10418].copy_from_slice(&((initrd.len() + AREA) as u64).to_be_bytes());
    blob[66688..66688 + SIZE].fill(0);
    blob[66688..66688 + default_kargs().len()].copy_from_slice(default_kargs().as_bytes());
    blob.extend(&initrd);
    let offset = blob.len();
    blob.extend([0; AREA]);
    put(tree, "images/cdboot.img", &blob);
    let info = format!("{{\"file\":\"images/cdboot.img\",\"length\":{AREA},\"offset\":{offset}}}");
    put(tree, "coreos/igninfo.json", info.as_bytes());
    let mut addrsize = vec![0, 0, 0, 0, 2, 0, 0, 0];
    addrsize.extend((initrd.len() as u64).to_be_bytes());
    put(tree, "images/initrd.addrsize", &addrsize);
    put(tree, "generic.ins", b"images/pxeboot/vmlinuz 0x00000000\n");
    let area =
        "{\"path\":\"images/cdboot.img\",\"offset\":66688,\"pad\":\"\\u0000\",\"end\":\"\\u0000\"}";
    (area.into(), SIZE)
}

/// A FAT image with a real GRUB that chains to the configuration on the image.
fn efi_boot_image() -> &'static [u8] {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let stub = format!("search --no-floppy --set=root --label {LABEL}\nset prefix=($root)/EFI/redhat\nconfigfile ($root)/EFI/redhat/grub.cfg\n");
        fs::write(file("grub.cfg"), stub).unwrap();
        let modules = "fat iso9660 part_gpt part_msdos normal configfile search search_label linux serial terminal echo test";
        let mut arguments =
            vec!["-O", "x86_64-efi", "-p", "/EFI/BOOT", "-o"].into_iter().map(str::to_owned).collect::<Vec<_>>();
        arguments.extend([file("grub.efi"), "-c".into(), file("grub.cfg")]);
        arguments.extend(modules.split(' ').map(str::to_owned));
        run("grub-mkimage", &arguments);
        let image = file("efiboot.img");
        fs::write(&image, vec![0; 4 << 20]).unwrap();
        run("mformat", &["-i", &image, "-v", "ESP", "-N", "12345678", "::"]);
        run("mmd", &["-i", &image, "::EFI", "::EFI/BOOT"]);
        run("mcopy", &["-i", &image, &file("grub.efi"), "::EFI/BOOT/BOOTX64.EFI"]);
        fs::read(&image).unwrap()
    })
}

fn make(format: Format, tree: &Path, to: &Path) {
    let (tree, to) = (tree.to_str().unwrap(), to.to_str().unwrap());
    let bios = "-b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot -boot-load-size 4 -boot-info-table";
    let (program, first, efi) = if format == Xorriso {
        let mbr = "-as mkisofs -isohybrid-mbr /usr/lib/ISOLINUX/isohdpfx.bin";
        (
            "xorriso",
            mbr,
            "-e images/efiboot.img -no-emul-boot -isohybrid-gpt-basdat",
        )
    } else {
        (
            "genisoimage",
            "-quiet",
            "-efi-boot images/efiboot.img -no-emul-boot",
        )
    };
    let boot = match format {
        Ppc64le => String::new(),
        S390x => "-b images/cdboot.img -c boot.catalog -no-emul-boot -boot-load-size 944".into(),
        Aarch64 => format!("-c boot.catalog {efi}"),
        Named | Header2020 | Header2021 | Json2021 | Json2023 | Xorriso => {
            format!("{bios} -eltorito-alt-boot {efi}")
        }
    };
    let words = format!("{first} -r -J -joliet-long -V {LABEL} {boot} -o {to} {tree}");
    let arguments: Vec<&str> = words.split_whitespace().collect();
    run(program, &arguments);
    if format.has_isolinux() && format != Xorriso {
        run("isohybrid", &["--uefi", to]);
    }
}

fn add_headers(format: Format, path: &Path) {
    if !matches!(format, Header2020 | Header2021) {
        return;
    }
    let iso = open(path);
    let start = |file: &str| iso.find(file).unwrap().extents[0].start();
    let mut image = fs::read(path).unwrap();
    let numbers = |numbers: &[u64]| {
        numbers
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    image[32744..32752].copy_from_slice(b"coreiso+");
    image[32752..32768].copy_from_slice(&numbers(&[start("images/ignition.img"), AREA as u64]));
    if format == Header2021 {
        let place = |file: &str| {
            let content = fs_text(&iso, file);
            start(file) + content.find("mitigations").unwrap() as u64
        };
        let size = (default_kargs().len() + ROOM) as u64;
        let places = [
            size,
            start("zipl.prm"),
            place("EFI/redhat/grub.cfg"),
            place("isolinux/isolinux.cfg"),
        ];
        image[32672..32680].copy_from_slice(b"coreKarg");
        image[32680..32712].copy_from_slice(&numbers(&places));
    }
    fs::write(path, image).unwrap();
}

pub fn fs_text(iso: &Iso, file: &str) -> String {
    String::from_utf8(all(&iso.file(file).unwrap())).unwrap()
}
