//! The catalogue of the service on the rendezvous host: the one release of the image.

use muster_model::{Arch, MinorVersion};
use serde_json::json;

use super::AgentError;
use crate::profiles::Release;

/// `RELEASE_IMAGES`, for hosts of this architecture. Of a release for several architectures only
/// theirs is served: all hosts boot the same image.
///
/// # Errors
/// The version of the release is none.
pub fn release_images(release: &Release, hosts: &str) -> Result<String, AgentError> {
    let version = &*release.version;
    let stream = MinorVersion::parse(version)
        .ok_or_else(|| AgentError::ReleaseVersion(version.to_owned()))?;
    // An architecture that we do not know is refused elsewhere, by the name it has.
    let hosts = hosts
        .parse()
        .map_or_else(|_| hosts.to_owned(), |arch: Arch| arch.to_string());
    let architecture = match release.is_multi() {
        true => Arch::Multi.to_string(),
        false => hosts.clone(),
    };
    let entries = json!([{
        "openshift_version": stream.to_string(),
        "cpu_architecture": architecture,
        "cpu_architectures": [hosts],
        "url": release.image,
        "version": version,
    }]);
    Ok(entries.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn entry(version: &str, image: &str, hosts: &str) -> Value {
        let release = Release {
            version: version.to_owned(),
            image: image.to_owned(),
        };
        let text = release_images(&release, hosts).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()[0].take()
    }

    #[test]
    fn the_release_of_the_desk_is_the_whole_catalogue() {
        let image = "mirror.lab:5000/ocp@sha256:00";
        let entry = entry("4.20.3", image, "aarch64");
        assert_eq!(
            entry,
            json!({
                "openshift_version": "4.20", "version": "4.20.3", "url": image,
                "cpu_architecture": "arm64", "cpu_architectures": ["arm64"],
            })
        );
    }

    #[test]
    fn a_release_for_several_architectures_is_named_so_and_serves_the_hosts_only() {
        for (version, image) in [
            ("4.20.3-multi", "quay.test/ocp@sha256:00"),
            ("4.20.3", "quay.test:5000/ocp:4.20.3-multi"),
            ("4.20.3", "quay.test/ocp:4.20.3-multi@sha256:00"),
        ] {
            let entry = entry(version, image, "x86_64");
            assert_eq!(entry["cpu_architecture"], "multi", "{image}");
            assert_eq!(entry["cpu_architectures"], json!(["x86_64"]), "{image}");
        }
        let other = entry("4.20.3", "quay-multi.test/ocp-multi:4.20.3", "x86_64");
        assert_eq!(other["cpu_architecture"], "x86_64");
    }

    #[test]
    fn a_version_that_is_none_is_refused_at_the_desk() {
        let release = Release {
            version: "latest".to_owned(),
            image: "quay.test/ocp:latest".to_owned(),
        };
        let error = release_images(&release, "x86_64").unwrap_err();
        assert!(error.to_string().contains("--release-version"), "{error}");
    }
}
