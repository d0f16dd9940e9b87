//! Making a config from typed parts.
//!
//! The functions in [`file`], [`unit`] and [`user`] make the parts that are written most; what
//! they do not offer is a member of the type they give.

use serde_json::Value;

use crate::{Config, Faults, spec, version::Version};

/// A config under construction.
#[derive(Clone)]
pub struct Builder {
    version: Version,
    config: spec::Config,
}

impl Builder {
    /// An empty config. Take the oldest version that has what you write: the machine's Ignition
    /// must know it.
    #[must_use]
    pub fn new(version: Version) -> Self {
        Self {
            version,
            config: spec::Config::default(),
        }
    }

    /// Adds a file.
    pub fn file(&mut self, file: spec::File) -> &mut Self {
        self.storage().files.get_or_insert_default().push(file);
        self
    }

    /// Adds a directory.
    pub fn directory(&mut self, path: &str, mode: u32) -> &mut Self {
        let mut directory = spec::Directory::new(path.to_owned());
        directory.mode = Some(mode.into());
        let directories = &mut self.storage().directories;
        directories.get_or_insert_default().push(directory);
        self
    }

    /// Adds a symbolic link that replaces whatever is there.
    pub fn link(&mut self, path: &str, target: &str) -> &mut Self {
        let mut link = spec::Link::new(path.to_owned());
        link.target = Some(target.to_owned());
        link.overwrite = Some(true);
        self.storage().links.get_or_insert_default().push(link);
        self
    }

    /// Adds a unit.
    pub fn unit(&mut self, unit: spec::Unit) -> &mut Self {
        let systemd = self.config.systemd.get_or_insert_default();
        systemd.units.get_or_insert_default().push(unit);
        self
    }

    /// Adds a user, or changes one of the image.
    pub fn user(&mut self, user: spec::User) -> &mut Self {
        let passwd = self.config.passwd.get_or_insert_default();
        passwd.users.get_or_insert_default().push(user);
        self
    }

    /// Has Ignition fetch through a proxy.
    pub fn proxy(&mut self, proxy: spec::Proxy) -> &mut Self {
        self.config.ignition.proxy = Some(proxy);
        self
    }

    /// Has Ignition fetch another config and lay it over this one.
    pub fn merge(&mut self, resource: spec::Resource) -> &mut Self {
        let references = self.config.ignition.config.get_or_insert_default();
        references.merge.get_or_insert_default().push(resource);
        self
    }

    /// Has Ignition trust these certificates (PEM) when it fetches.
    pub fn authority(&mut self, pem: &str) -> &mut Self {
        let security = self.config.ignition.security.get_or_insert_default();
        let tls = security.tls.get_or_insert_default();
        let authorities = tls.certificate_authorities.get_or_insert_default();
        authorities.push(file::resource(pem.as_bytes()));
        self
    }

    /// What has no method here.
    pub fn edit(&mut self, change: impl FnOnce(&mut spec::Config)) -> &mut Self {
        change(&mut self.config);
        self
    }

    /// The finished config.
    ///
    /// # Errors
    /// Everything that Ignition would choke on, and members that the version does not have.
    pub fn finish(mut self) -> Result<Config, Faults> {
        self.version
            .as_str()
            .clone_into(&mut self.config.ignition.version);
        let mut json: Value = serde_json::to_value(&self.config)
            .map_err(|cause| Faults::one(format!("it cannot be written: {cause}")))?;
        drop_nulls(&mut json);
        let config = Config::from_json(&json)?;
        match config.unknown_members().as_slice() {
            [] => Ok(config),
            unknown => Err(Faults::one(format!(
                "version {} does not know {}; use a later one",
                self.version,
                unknown.join(", ")
            ))),
        }
    }

    fn storage(&mut self) -> &mut spec::Storage {
        self.config.storage.get_or_insert_default()
    }
}

/// Takes out members that say nothing, some of which older versions do not know.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        Value::Array(entries) => entries.iter_mut().for_each(drop_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Leaves out the content: configs carry pull secrets and tokens.
impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ignition::Builder({}, ***)", self.version)
    }
}

/// Files of root's that replace whatever the image has there.
pub mod file {
    use crate::{data_url, spec};

    /// A text; the way that takes the least room in a boot image.
    #[must_use]
    pub fn text(path: &str, mode: u32, text: &str) -> spec::File {
        holding(path, mode, data_url::text(text), None)
    }

    /// Any bytes, as base64.
    #[must_use]
    pub fn bytes(path: &str, mode: u32, bytes: &[u8]) -> spec::File {
        holding(path, mode, data_url::bytes(bytes), None)
    }

    /// Something large: gzip'd inside the config, unpacked by Ignition.
    #[must_use]
    pub fn packed(path: &str, mode: u32, bytes: &[u8]) -> spec::File {
        holding(path, mode, data_url::packed(bytes), Some("gzip"))
    }

    /// A file that something else puts there before Ignition runs: its content stays, its mode and its
    /// SELinux label are set.
    #[must_use]
    pub fn existing(path: &str, mode: u32) -> spec::File {
        let mut file = spec::File::new(path.to_owned());
        file.mode = Some(mode.into());
        file
    }

    /// Bytes as a resource, for what else a config can hold.
    #[must_use]
    pub fn resource(bytes: &[u8]) -> spec::Resource {
        spec::Resource {
            source: Some(data_url::bytes(bytes)),
            ..spec::Resource::default()
        }
    }

    fn holding(path: &str, mode: u32, source: String, compression: Option<&str>) -> spec::File {
        let mut file = spec::File::new(path.to_owned());
        file.mode = Some(mode.into());
        file.overwrite = Some(true);
        file.user = Some(spec::NodeUser {
            id: None,
            name: Some("root".to_owned()),
        });
        file.contents = Some(spec::Resource {
            source: Some(source),
            compression: compression.map(str::to_owned),
            ..spec::Resource::default()
        });
        file
    }
}

/// Units of systemd.
pub mod unit {
    use crate::spec;

    /// A unit that starts with the system.
    #[must_use]
    pub fn enabled(name: &str, text: &str) -> spec::Unit {
        spec::Unit {
            contents: Some(text.to_owned()),
            ..known(name)
        }
    }

    /// A unit of the image's own that starts with the system.
    #[must_use]
    pub fn known(name: &str) -> spec::Unit {
        let mut unit = spec::Unit::new(name.to_owned());
        unit.enabled = Some(true);
        unit
    }

    /// A unit that others start.
    #[must_use]
    pub fn passive(name: &str, text: &str) -> spec::Unit {
        let mut unit = spec::Unit::new(name.to_owned());
        unit.contents = Some(text.to_owned());
        unit
    }

    /// An addition to a unit, whose name ends in `.conf`.
    #[must_use]
    pub fn with_dropin(mut unit: spec::Unit, name: &str, text: &str) -> spec::Unit {
        let mut dropin = spec::Dropin::new(name.to_owned());
        dropin.contents = Some(text.to_owned());
        unit.dropins.get_or_insert_default().push(dropin);
        unit
    }
}

/// Users of the machine.
pub mod user {
    use crate::spec;

    /// A user who logs in with these SSH keys; each once, blank ones not at all.
    #[must_use]
    pub fn with_keys<'a>(name: &str, keys: impl IntoIterator<Item = &'a str>) -> spec::User {
        let mut own: Vec<String> = Vec::new();
        for key in keys.into_iter().map(str::trim) {
            if !key.is_empty() && own.iter().all(|known| known != key) {
                own.push(key.to_owned());
            }
        }
        let mut user = spec::User::new(name.to_owned());
        user.ssh_authorized_keys = Some(own);
        user
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_built_is_read_back() {
        let mut builder = Builder::new(Version::V3_1);
        let noise: Vec<u8> = (0..=255).collect();
        builder
            .file(file::text("/a", 0o644, "ü\n"))
            .file(file::bytes("/b", 0o600, &noise))
            .file(file::packed("/c", 0o755, &noise))
            .unit(unit::with_dropin(
                unit::known("x.service"),
                "y.conf",
                "[Unit]\n",
            ))
            .user(user::with_keys("core", ["k ", "", "k", "l"]))
            .link("/l", "/a")
            .directory("/d", 0o700)
            .authority("PEM");
        let config = builder.finish().unwrap();
        assert_eq!(Config::read(&config.to_text()).unwrap(), config);
        assert_eq!(config.file("/a").unwrap().unwrap(), "ü\n".as_bytes());
        assert_eq!(config.file("/b").unwrap().unwrap(), noise);
        assert_eq!(config.file("/c").unwrap().unwrap(), noise);
        assert_eq!(config.file("/x"), Ok(None));
        assert_eq!(
            config.json()["passwd"]["users"][0]["sshAuthorizedKeys"],
            json!(["k", "l"])
        );
        assert_eq!(
            config
                .typed()
                .unwrap()
                .storage
                .unwrap()
                .files
                .unwrap()
                .len(),
            3
        );
    }

    #[test]
    fn a_member_that_came_later_is_refused_with_its_place() {
        let mut builder = Builder::new(Version::V3_1);
        builder.edit(|config| {
            config.kernel_arguments.get_or_insert_default().should_exist = Some(vec!["a".into()]);
        });
        let refusal = builder.clone().finish().unwrap_err().to_string();
        assert!(
            refusal.contains("3.1.0") && refusal.contains("$.kernelArguments"),
            "{refusal}"
        );
        builder.version = Version::V3_3;
        assert!(builder.finish().is_ok());
    }

    #[test]
    fn debug_output_never_shows_contents() {
        let mut builder = Builder::new(Version::V3_1);
        builder.file(file::text("/a", 0o600, "hush"));
        assert!(!format!("{builder:?}{:?}", builder.clone().finish()).contains("hush"));
    }
}
