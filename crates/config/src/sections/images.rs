//! Boot images and the containers that run on discovered hosts.

use std::{path::PathBuf, time::Duration};

use muster_model::Secret;

use super::{minutes, section};
use crate::choice::choice;

choice! {
    /// How much of the operating system the discovery image carries.
    pub enum IsoType {
        /// All of it.
        Full = "full-iso",
        /// The root file system is fetched while booting.
        Minimal = "minimal-iso",
    }
}

choice! {
    /// When OS images are fetched from where the catalogue says they lie.
    pub enum FetchOsImages {
        /// When something made from one is requested.
        WhenAsked = "when-asked",
        /// As soon as there is an infra-env that boots one.
        WhenNeeded = "when-needed",
        /// Never: all of them are added by hand.
        Never = "never",
    }
}

section! {
    /// Boot images and container images.
    pub struct Images at images {
        /// Serve boot images; without it OS images are not needed.
        enabled: bool = true, env ["ENABLE_IMAGE_SERVICE"];
        /// Type of discovery images for which the user sets none.
        iso_type: IsoType = IsoType::Full, env ["ISO_IMAGE_TYPE"];
        /// When missing OS images are fetched; use `never` at sites without internet.
        fetch: FetchOsImages = FetchOsImages::WhenAsked, env [];
        /// Space for fetched OS images in GiB, 0 for no limit; the least recently used are removed.
        cache_gib: u32 = 40, env [];
        /// PEM file of additional CAs to trust when fetching OS images.
        fetch_ca_file: Option<PathBuf> = None, env ["OS_IMAGE_DOWNLOAD_TRUSTED_CA_FILE"];
        /// Pull secret for OS images that come out of release payloads (url `release://…`).
        registry_pull_secret_file: Option<PathBuf> = None, env [];
        /// Mirrors of those payloads: mirror sets as YAML, or a registries.conf.
        registry_mirrors_file: Option<PathBuf> = None, env [];
        /// Headers to send when fetching OS images, as a JSON object.
        fetch_headers: Secret = Secret::default(), env ["OS_IMAGES_REQUEST_HEADERS"];
        /// Query parameters to send when fetching OS images, as a JSON object.
        fetch_query: Secret = Secret::default(), env ["OS_IMAGES_REQUEST_QUERY_PARAMS"];
        /// Image of the discovery agent, for hosts whose boot image contains none; empty: nothing is pulled. Running agents are upgraded to it only if it is referenced by digest (features.upgrade_agent).
        agent: String = String::new(), env ["AGENT_DOCKER_IMAGE"];
        /// Folder of agents for boot images (agents/<architecture>/muster-agent); by default that of the program, the folder above it, and lib/muster there.
        agent_dir: Option<PathBuf> = None, env [];
        /// File registries.conf with mirrors, passed to hosts.
        mirrors_file: Option<PathBuf> = None, env [];
        /// PEM file of the CAs of these mirrors, passed to hosts.
        mirrors_ca_file: Option<PathBuf> = None, env [];
        /// Hand hosts /etc/containers/registries.conf and /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem if both are there and no other mirrors are given; on in the container image.
        system_mirrors: bool = false, env [];
        /// Image of the node installer, for agents of the reference; it is part of Muster's agent.
        installer: String = String::new(), env ["INSTALLER_IMAGE"];
        /// Image of the controller that runs in the new cluster; by default it is part of the agent on the nodes.
        controller: String = String::new(), env ["CONTROLLER_IMAGE"];
        /// Version of the service as component-versions shows it.
        self_version: String = "Unknown".into(), env ["SELF_VERSION"];
        /// Release tag as component-versions shows it.
        release_tag: String = String::new(), env ["RELEASE_TAG"];
        /// Registries for which a pull secret needs no entry.
        public_registries: Vec<String> = vec![], env ["PUBLIC_CONTAINER_REGISTRIES"];
        /// Credentials (user:password) added to every pull secret for the staging registry.
        registry_credentials: Secret = Secret::default(), env ["REGISTRY_CREDS"];
        /// Let hosts pull images without checking signatures.
        insecure_policy: bool = false, env ["FORCE_INSECURE_POLICY_JSON"];
        /// Let hosts trust Red Hat's internal root certificate.
        install_redhat_ca: bool = false, env ["INSTALL_RH_CA"];
        /// Time within which the agent's container must start.
        agent_start_timeout: Duration = minutes(3), env ["AGENT_TIMEOUT_START"];
        /// Seconds that a host waits for its network before discovery.
        network_discovery_delay_seconds: u32 = 0, env ["NETWORK_DISCOVERY_DELAY_SECONDS"];
    }
}
