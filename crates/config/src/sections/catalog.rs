//! Which OpenShift versions there are, and what they are made of.

use super::section;
use crate::documents::{JsonList, JsonMap};

section! {
    /// Which OpenShift versions there are.
    pub struct Catalog at catalog {
        /// List of live images: openshift_version, cpu_architecture, url, version, and sha256 if known.
        os_images: Option<JsonList> = None, env ["OS_IMAGES"];
        /// List of releases: openshift_version, cpu_architectures, url, version, default, support_level.
        release_images: Option<JsonList> = None, env ["RELEASE_IMAGES"];
        /// List of versions (x.y or x.y.z) that are hidden and refused.
        ignored_openshift_versions: Option<JsonList> = None, env ["IGNORED_OPENSHIFT_VERSIONS"];
        /// Map from version to the must-gather image of each component.
        must_gather_images: Option<JsonMap> = None, env ["MUST_GATHER_IMAGES"];
        /// Hardware that each role needs, per version.
        hardware_requirements: Option<JsonList> = None, env ["HW_VALIDATOR_REQUIREMENTS"];
        /// Mirror from which release images are read.
        release_image_mirror: String = String::new(), env ["OPENSHIFT_INSTALL_RELEASE_IMAGE_MIRROR"];
        /// Offer OKD in addition to OpenShift.
        okd_support: bool = true, env ["ENABLE_OKD_SUPPORT"];
        /// Image with the packages that an OKD discovery host needs.
        okd_rpms_image: String = String::new(), env ["OKD_RPMS_IMAGE"];
        /// From this version on, the download of a static network contains nmstate documents in addition to the profiles.
        min_version_for_nmstate_service: String = "4.18".into(), env ["MIN_VERSION_FOR_NMSTATE_SERVICE"];
    }
}
