//! Booting over the network: kernel, initrd and root file system from an image, and the scripts
//! that firmware, iPXE, GRUB and s390x machines want to see.

use crate::{
    error::{Error, Result},
    iso9660::Iso,
    view::View,
};

const DIRECTORY: &str = "images/pxeboot";

/// The files for a network boot, as views over the image.
#[derive(Clone, Debug)]
pub struct PxeSet {
    /// Kernel.
    pub kernel: View,
    /// Initrd with the payload behind it.
    pub initrd: View,
    /// Root file system.
    pub rootfs: View,
}

impl PxeSet {
    /// Takes the files out of a full image and puts a payload behind the initrd.
    ///
    /// # Errors
    ///
    /// When the image lacks one of them.
    pub fn of(iso: &Iso, payload: &View) -> Result<Self> {
        // s390x images of some years call their kernel otherwise.
        let kernel = match iso.file(&format!("{DIRECTORY}/vmlinuz")) {
            Err(Error::NotFound { path }) => iso
                .file(&format!("{DIRECTORY}/kernel.img"))
                .map_err(|_| Error::NotFound { path })?,
            found => found?,
        };
        let mut initrd = iso.file(&format!("{DIRECTORY}/initrd.img"))?;
        initrd.pad_to(4);
        initrd.append(payload);
        let rootfs = iso.file(&format!("{DIRECTORY}/rootfs.img"))?;
        Ok(Self {
            kernel,
            initrd,
            rootfs,
        })
    }
}

/// Addresses and arguments for a boot script.
#[derive(Clone, Debug)]
pub struct Addresses<'a> {
    /// Of the kernel.
    pub kernel: &'a str,
    /// Of the initrd with its payload.
    pub initrd: &'a str,
    /// Of the root file system.
    pub rootfs: &'a str,
    /// Kernel arguments beyond those that live systems always need.
    pub kargs: &'a str,
}

impl Addresses<'_> {
    /// All kernel arguments.
    pub fn arguments(&self) -> String {
        let always = "ignition.firstboot ignition.platform.id=metal";
        let text = format!(
            "coreos.live.rootfs_url={} {always} {}",
            self.rootfs, self.kargs
        );
        text.trim_end().to_owned()
    }

    /// A script for iPXE.
    pub fn ipxe(&self) -> String {
        let Self { kernel, initrd, .. } = self;
        format!(
            "#!ipxe\ninitrd --name initrd {initrd}\nkernel {kernel} initrd=initrd {}\nboot\n",
            self.arguments()
        )
    }

    /// A configuration for GRUB; addresses may be paths on the server GRUB came from.
    pub fn grub(&self, title: &str) -> String {
        let Self { kernel, initrd, .. } = self;
        format!(
            "set timeout=1\nmenuentry '{}' {{\n  linux {kernel} {}\n  initrd {initrd}\n}}\n",
            title.replace('\'', ""),
            self.arguments()
        )
    }
}

/// The 16 bytes from which an s390x kernel reads where its initrd is: the address in the image,
/// and the length of the initrd as served.
///
/// # Errors
///
/// When the image has no such file.
pub fn addrsize(iso: &Iso, initrd: &View) -> Result<Vec<u8>> {
    let mut bytes = iso
        .file("images/initrd.addrsize")?
        .read_exact("initrd.addrsize", 0, 8)?;
    bytes.extend(initrd.len().to_be_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Addresses<'_> = Addresses {
        kernel: "http://a/k",
        initrd: "http://a/i",
        rootfs: "http://a/r",
        kargs: "x=1",
    };

    #[test]
    fn the_ipxe_script_names_the_initrd_so_that_uefi_finds_it() {
        let script = SAMPLE.ipxe();
        let lines: Vec<&str> = script.lines().collect();
        assert_eq!(lines[0], "#!ipxe");
        assert_eq!(lines[1], "initrd --name initrd http://a/i");
        assert!(
            lines[2]
                .starts_with("kernel http://a/k initrd=initrd coreos.live.rootfs_url=http://a/r ")
        );
        assert!(lines[2].ends_with(" x=1"));
        assert_eq!(lines[3], "boot");
    }
}
