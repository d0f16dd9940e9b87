//! Parses the path of a request for a boot image.
//!
//! | path | what |
//! |---|---|
//! | `/byid/<id>/<version>/<arch>/<file>`, `/byapikey/<token>/…`, `/bytoken/<token>/…` | an ISO |
//! | `/images/<id>?version=&type=&arch=` | the same in the older form |
//! | `/images/<id>/pxe-initrd`, `/images/<id>/s390x-initrd-addrsize` | for a network boot |
//! | `/boot-artifacts/{kernel,rootfs,ins-file}?version=&arch=`, `/boot-artifacts/<what>/<arch>/<version>` | parts of the OS image |
//! | `/boot-artifacts` | which OS images are there |
//! | `/boot-artifacts/os-image?version=&arch=` | one of them, to be brought in or removed |

use muster_auth::ImageForm;

use muster_boot_images::compose::Product;

/// What a path asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// An ISO by the form, key, version, architecture and file of its address.
    Short(ImageForm, [&'a str; 4]),
    /// Something made for an infra-env, the rest in the query.
    OfInfraEnv(&'a str, Option<Product>),
    /// A part of an OS image; with architecture and version, or those in the query.
    Artifact(&'a str, Option<(&'a str, &'a str)>),
    /// The OS images and their states.
    States,
    /// An OS image that is to be fetched, uploaded or removed.
    OsImage,
}

/// The route of a path, if it is one of ours.
pub fn find(path: &str) -> Option<Route<'_>> {
    let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    Some(match segments[..] {
        [form, key, version, arch, file] if ImageForm::from_segment(form).is_some() => {
            Route::Short(ImageForm::from_segment(form)?, [key, version, arch, file])
        }
        ["images", id] => Route::OfInfraEnv(id, None),
        ["images", id, "pxe-initrd"] => Route::OfInfraEnv(id, Some(Product::Initrd)),
        ["images", id, "s390x-initrd-addrsize"] => {
            Route::OfInfraEnv(id, Some(Product::InitrdAddrsize))
        }
        ["boot-artifacts"] => Route::States,
        ["boot-artifacts", "os-image"] => Route::OsImage,
        ["boot-artifacts", what] => Route::Artifact(what, None),
        ["boot-artifacts", what, arch, version] => Route::Artifact(what, Some((arch, version))),
        _ => return None,
    })
}

/// The path without what opens an image, for logs.
pub fn without_key(path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty());
    match parts.collect::<Vec<_>>()[..] {
        [form @ ("byapikey" | "bytoken"), _, ref rest @ ..] => {
            format!("/{form}/…/{}", rest.join("/"))
        }
        _ => path.to_owned(),
    }
}

impl Route<'_> {
    /// Whether boot firmware may ask for it without TLS.
    pub fn is_for_firmware(&self) -> bool {
        match self {
            Self::Short(..) | Self::OfInfraEnv(_, None) | Self::States | Self::OsImage => false,
            Self::OfInfraEnv(_, Some(_)) | Self::Artifact(..) => true,
        }
    }

    /// Its name in the metrics.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Short(ImageForm::ById, _) => "/byid/:token",
            Self::Short(ImageForm::ByApiKey, _) => "/byapikey/:token",
            Self::Short(ImageForm::ByToken, _) => "/bytoken/:token",
            Self::OfInfraEnv(_, Some(Product::Initrd)) => "/images/:imageID/pxe-initrd",
            Self::OfInfraEnv(_, Some(Product::InitrdAddrsize)) => {
                "/images/:imageID/s390x-initrd-addrsize"
            }
            Self::OfInfraEnv(..) => "/images/:imageID",
            Self::Artifact("kernel", _) => "/boot-artifacts/kernel",
            Self::Artifact("rootfs", _) => "/boot-artifacts/rootfs",
            Self::Artifact("ins-file", _) => "/boot-artifacts/ins-file",
            Self::Artifact(..) => "/boot-artifacts/other",
            Self::States => "/boot-artifacts",
            Self::OsImage => "/boot-artifacts/os-image",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_reference_are_found() {
        let short = |form| Route::Short(form, ["k", "4.20", "x86_64", "full.iso"]);
        for (path, route) in [
            ("/byid/k/4.20/x86_64/full.iso", short(ImageForm::ById)),
            (
                "/byapikey/k/4.20/x86_64/full.iso",
                short(ImageForm::ByApiKey),
            ),
            ("/bytoken/k/4.20/x86_64/full.iso", short(ImageForm::ByToken)),
            ("/images/k", Route::OfInfraEnv("k", None)),
            (
                "/images/k/pxe-initrd",
                Route::OfInfraEnv("k", Some(Product::Initrd)),
            ),
            ("/boot-artifacts/kernel", Route::Artifact("kernel", None)),
            (
                "/boot-artifacts/rootfs/x86_64/9.6.1-0",
                Route::Artifact("rootfs", Some(("x86_64", "9.6.1-0"))),
            ),
            ("/boot-artifacts", Route::States),
            ("/boot-artifacts/os-image", Route::OsImage),
        ] {
            assert_eq!(find(path), Some(route), "{path}");
        }
        for path in [
            "/",
            "/byid/k/4.20/x86_64",
            "/images",
            "/bykey/a/b/c/d",
            "/images/a/b",
        ] {
            assert_eq!(find(path), None, "{path}");
        }
    }

    #[test]
    fn keys_do_not_reach_the_log() {
        let path = "/bytoken/eyJhbGciOi.x.y/4.20/x86_64/full.iso";
        assert_eq!(without_key(path), "/bytoken/…/4.20/x86_64/full.iso");
        assert_eq!(without_key("//byapikey/eyJ"), "/byapikey/…/");
        assert_eq!(without_key("/byid/1/2"), "/byid/1/2");
    }

    #[test]
    fn firmware_gets_what_a_network_boot_needs_and_no_iso() {
        for (path, may) in [
            ("/boot-artifacts/kernel", true),
            ("/images/k/pxe-initrd", true),
            ("/images/k/s390x-initrd-addrsize", true),
            ("/images/k", false),
            ("/byid/k/4.20/x86_64/full.iso", false),
            ("/boot-artifacts", false),
            ("/boot-artifacts/os-image", false),
        ] {
            assert_eq!(
                find(path).map(|route| route.is_for_firmware()),
                Some(may),
                "{path}"
            );
        }
    }
}
