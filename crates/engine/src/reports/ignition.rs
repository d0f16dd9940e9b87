//! Ignition of a running cluster, as far as a day-2 host that fetched it tells us something.

use base64::{Engine as _, prelude::BASE64_STANDARD};

use crate::wire::{self, List, reported};

/// The machine config from which the Ignition was made, kept inside it by the config server.
const MACHINE_CONFIG: &str = "/etc/ignition-machine-config-encapsulated.json";

reported! {
    /// The whole document; anything else in it is of no interest.
    Ignition {
        storage: Option<Storage>,
    }

    /// What goes to disk.
    Storage {
        files: List<File>,
        luks: List<Luks>,
    }

    /// A file.
    File {
        contents: Option<Contents>,
        path: String,
    }

    /// What is in a file.
    Contents {
        compression: String,
        source: String,
    }

    /// An encrypted volume.
    Luks {
        clevis: Option<Clevis>,
    }

    /// How it is unlocked.
    Clevis {
        tang: List<TangServer>,
    }

    /// A server that helps to unlock it.
    TangServer {
        thumbprint: String,
        url: String,
    }

    /// The machine config.
    MachineConfig {
        spec: Option<MachineConfigSpec>,
    }

    /// Its wishes.
    MachineConfigSpec {
        #[serde(rename = "osImageURL")]
        os_image_url: String,
    }
}

impl Ignition {
    /// The servers that unlock its disks.
    pub(crate) fn tang_servers(&self) -> Vec<&TangServer> {
        let luks = self.storage.iter().flat_map(|storage| storage.luks.items());
        luks.filter_map(|volume| volume.clevis.as_ref())
            .flat_map(|clevis| clevis.tang.items())
            .collect()
    }

    /// The operating system image the cluster runs.
    pub(crate) fn os_image(&self) -> Option<String> {
        let mut files = self
            .storage
            .iter()
            .flat_map(|storage| storage.files.items());
        let file = files.find(|file| file.path == MACHINE_CONFIG)?;
        let contents = file.contents.as_ref()?;
        if !contents.compression.is_empty() {
            return None;
        }
        let text = String::from_utf8(data_of(&contents.source)?).ok()?;
        let config: MachineConfig = wire::stored(Some(&text)).ok()?;
        Some(config.spec?.os_image_url).filter(|image| !image.is_empty())
    }
}

/// The content of a `data:` URL.
fn data_of(url: &str) -> Option<Vec<u8>> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(',')?;
    if kind.ends_with(";base64") {
        return BASE64_STANDARD.decode(data).ok();
    }
    let mut bytes = Vec::with_capacity(data.len());
    let mut rest = data.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        bytes.push(if byte == b'%' {
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            u8::try_from(high * 16 + low).ok()?
        } else {
            byte
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_file(source: &str) -> Ignition {
        let file = format!(r#"{{"path":"{MACHINE_CONFIG}","contents":{{"source":"{source}"}}}}"#);
        serde_json::from_str(&format!(r#"{{"storage":{{"files":[{file}]}}}}"#)).unwrap()
    }

    #[test]
    fn the_os_image_is_found_in_both_spellings_of_the_file_and_nowhere_else() {
        let config = r#"{"spec":{"osImageURL":"quay.io/os@sha256:1"}}"#;
        let percent = config.replace('"', "%22").replace('{', "%7B");
        let plain = with_file(&format!("data:,{percent}"));
        assert_eq!(plain.os_image().as_deref(), Some("quay.io/os@sha256:1"));
        let encoded = BASE64_STANDARD.encode(config);
        let encoded = with_file(&format!("data:text/plain;charset=utf-8;base64,{encoded}"));
        assert_eq!(encoded.os_image(), plain.os_image());
        for bad in [
            "",
            "data:",
            "data:,%7",
            "data:,%zz",
            "data:;base64,!",
            "http://x/",
        ] {
            assert_eq!(with_file(bad).os_image(), None, "{bad}");
        }
        assert_eq!(Ignition::default().os_image(), None);
    }
}
