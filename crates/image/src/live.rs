//! What kind of live image this is.

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    iso9660::Iso,
};

/// Who publishes the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Red Hat Enterprise Linux CoreOS.
    Rhcos,
    /// CentOS Stream CoreOS.
    Scos,
    /// Fedora CoreOS.
    Fcos,
}

/// What the live system in the image can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Features {
    /// It reads installer settings from `/etc/coreos/installer.d`.
    pub installer_config: bool,
    /// Its initrd uses NetworkManager profiles that were embedded.
    pub live_initrd_network: bool,
}

/// The image in a few words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveImage {
    /// Who publishes it.
    pub family: Family,
    /// Version, as in the label (which may have cut it off).
    pub version: String,
    /// Its CPU architecture, if the boot files show it.
    pub architecture: Option<&'static str>,
    /// What it can do.
    pub features: Features,
}

impl LiveImage {
    /// Looks at an image; `None` when its label is not that of a CoreOS image.
    ///
    /// # Errors
    ///
    /// When the image is damaged.
    pub fn of(iso: &Iso) -> Result<Option<Self>> {
        let families = [
            ("rhcos-", Family::Rhcos),
            ("scos-", Family::Scos),
            ("fedora-coreos-", Family::Fcos),
        ];
        let known = families.into_iter().find_map(|(prefix, family)| {
            Some((family, iso.label().strip_prefix(prefix)?.to_owned()))
        });
        let Some((family, version)) = known else {
            return Ok(None);
        };
        let features = features(iso)?;
        Ok(Some(Self {
            family,
            version,
            architecture: architecture(iso)?,
            features,
        }))
    }
}

impl LiveImage {
    /// The major version of the Enterprise Linux that it is built of, as its version shows: 9 of
    /// `9.6.20250523-0` and of the older form `418.94.202501221327-0`, which begins with that of OpenShift.
    /// `None` for Fedora, and for versions of neither form.
    #[must_use]
    pub fn generation(&self) -> Option<u32> {
        let mut numbers = self.version.split('.').map_while(|part| part.parse().ok());
        match (self.family, numbers.next()?) {
            (Family::Fcos, _) => None,
            (Family::Rhcos | Family::Scos, first @ 8..100) => Some(first),
            (Family::Rhcos | Family::Scos, _) => {
                let both: u32 = numbers.next()?;
                (80..100).contains(&both).then_some(both / 10)
            }
        }
    }
}

/// Each architecture has one boot file the others lack. The order matters: images for aarch64
/// have the configuration of isolinux, too.
fn architecture(iso: &Iso) -> Result<Option<&'static str>> {
    for (file, architecture) in [
        ("isolinux/isolinux.bin", "x86_64"),
        ("images/cdboot.img", "s390x"),
        ("boot/grub/grub.cfg", "ppc64le"),
        ("images/efiboot.img", "aarch64"),
    ] {
        if iso.find_file(file)?.is_some() {
            return Ok(Some(architecture));
        }
    }
    Ok(None)
}

/// What `coreos/features.json` promises; older images have no such file.
fn features(iso: &Iso) -> Result<Features> {
    const FILE: &str = "coreos/features.json";
    let Some(bytes) = iso.small_file(FILE, 64 * 1024)? else {
        return Ok(Features::default());
    };
    serde_json::from_slice(bytes.trim_ascii_end())
        .map_err(|error| Error::form(0, format!("a JSON object in {FILE}"), error.to_string()))
}
