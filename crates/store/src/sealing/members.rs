//! Which members of the documents are secrets, and how they are encrypted and decrypted.
//!
//! Writing exchanges the secrets for sealed texts, serialises, and puts them back: the document
//! itself, which may be large, is never copied. An empty secret stays empty.

use std::mem;

use muster_model::{Cluster, Host, InfraEnv, Secret};

use crate::{
    document::Document,
    error::StoreError,
    sealing::{Place, SealingKey},
    unknown::{self, Unknown},
};

/// Gets the name of a member and the secret in it.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(&str, &mut Secret) -> Result<(), StoreError>;

/// A document that knows its secrets.
pub(crate) trait HoldsSecrets {
    /// Shows every secret that is there, always in the same order; ends at the first error.
    fn each_secret(&mut self, visit: Visit<'_>) -> Result<(), StoreError>;
}

impl HoldsSecrets for Cluster {
    fn each_secret(&mut self, visit: Visit<'_>) -> Result<(), StoreError> {
        visit("pull_secret", &mut self.pull_secret)?;
        visit("recipe.seed", &mut self.recipe.seed)
    }
}

impl HoldsSecrets for InfraEnv {
    fn each_secret(&mut self, visit: Visit<'_>) -> Result<(), StoreError> {
        visit("pull_secret", &mut self.pull_secret)?;
        visit("image_token_key", &mut self.image_token_key)?;
        // Anyone with a signed link can download the image, which holds the pull secret.
        match &mut self.download_url {
            Some(url) => as_secret("download_url", url, visit),
            None => Ok(()),
        }
    }
}

impl HoldsSecrets for Host {
    fn each_secret(&mut self, visit: Visit<'_>) -> Result<(), StoreError> {
        if let Some(token) = &mut self.ignition_endpoint_token {
            visit("ignition_endpoint_token", token)?;
        }
        if let Some(credentials) = &mut self.fencing_credentials {
            visit("fencing_credentials", credentials)?;
        }
        // Not of the type, but credentials are what such headers are for.
        let headers = self.ignition_endpoint_http_headers.iter_mut().flatten();
        for (name, value) in headers {
            let member = format!("ignition_endpoint_http_headers.{name}");
            as_secret(&member, value, visit)?;
        }
        Ok(())
    }
}

/// Shows a text that is a secret by its use, not by its type.
fn as_secret(member: &str, text: &mut String, visit: Visit<'_>) -> Result<(), StoreError> {
    let mut secret = Secret::new(mem::take(text));
    visit(member, &mut secret)?;
    *text = secret.reveal().to_owned();
    Ok(())
}

/// The text the database keeps. After an error the document is not to be used.
pub(crate) fn to_text<T: Document>(value: &mut T, key: &SealingKey) -> Result<String, StoreError> {
    let subject = T::subject(value.key());
    let row = T::key_args(value.key());
    let mut plain = Vec::new();
    value.each_secret(&mut |member, secret| {
        let sealed = if secret.is_empty() {
            Secret::default()
        } else {
            let place = place::<T>(&row, member);
            key.seal(&place, secret.reveal())
                .map_err(|_| StoreError::unavailable("no random numbers to seal a secret with"))?
        };
        plain.push(mem::replace(secret, sealed));
        Ok(())
    })?;
    let text = serde_json::to_string(value).map_err(|error| StoreError::Invalid {
        what: subject.to_string(),
        reason: error.to_string(),
    })?;
    let mut plain = plain.into_iter();
    value.each_secret(&mut |_, secret| {
        *secret = plain.next().unwrap_or_default();
        Ok(())
    })?;
    Ok(text)
}

/// The document a text of the database holds, and what its type has no place for.
pub(crate) fn from_text<T: Document>(
    text: &str,
    at: T::Key,
    key: &SealingKey,
) -> Result<(T, Unknown), StoreError> {
    let damaged = || T::subject(at).to_string();
    let (mut value, unknown): (T, _) =
        unknown::read(text).map_err(|error| StoreError::corrupt(damaged(), error))?;
    let mut row = None;
    value.each_secret(&mut |member, secret| {
        if secret.is_empty() {
            return Ok(());
        }
        let row = row.get_or_insert_with(|| T::key_args(at));
        *secret = key
            .open(&place::<T>(row, member), secret.reveal())
            .map_err(|why| StoreError::corrupt(damaged(), format!("{member}: {why}")))?;
        Ok(())
    })?;
    Ok((value, unknown))
}

fn place<'a, T: Document>(row: &'a [String], member: &'a str) -> Place<'a> {
    Place {
        table: T::TABLE,
        row,
        member,
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fmt::Debug, fs, path::Path};

    use muster_model::{
        ClusterId, ClusterKind, ClusterStatus, HostId, HostKey, ImageType, InfraEnvId, Ntp, Proxy,
        Timestamp,
    };
    use uuid::Uuid;

    use super::*;

    const MARK: &str = "hushhush";

    fn key() -> SealingKey {
        SealingKey::parse(&SealingKey::generate().unwrap(), "a test").unwrap()
    }

    fn cluster() -> Cluster {
        let id = ClusterId(Uuid::new_v4());
        let status = ClusterStatus::Ready;
        let mut cluster = Cluster::blank(id, ClusterKind::Cluster, "c", status, "me", Timestamp(1));
        cluster.pull_secret = Secret::new(MARK);
        cluster.recipe.seed = Secret::new(MARK);
        cluster
    }

    fn infra_env() -> InfraEnv {
        InfraEnv {
            id: InfraEnvId(Uuid::new_v4()),
            name: "e".to_owned(),
            cluster: None,
            cpu_architecture: "x86_64".into(),
            openshift_version: "4.20".to_owned(),
            image_type: ImageType::FullIso,
            download_url: Some(format!("https://muster.example.com/{MARK}")),
            expires_at: None,
            pull_secret: Secret::new(MARK),
            ssh_authorized_key: None,
            proxy: Proxy::default(),
            ntp: Ntp::default(),
            ignition_config_override: None,
            static_network: Vec::new(),
            kernel_arguments: None,
            additional_trust_bundle: None,
            rendezvous_ip: None,
            network_discovery_delay_seconds: None,
            image_token_key: Secret::new(MARK),
            agent_token_generation: 0,
            user_name: "me".to_owned(),
            created_at: Timestamp(1),
            updated_at: Timestamp(1),
        }
    }

    fn host() -> Host {
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::new_v4()),
            host: HostId(Uuid::new_v4()),
        };
        let mut host = Host::registered(key, None, "me", Timestamp(1));
        host.ignition_endpoint_token = Some(Secret::new(MARK));
        host.fencing_credentials = Some(Secret::new(MARK));
        let headers = ["Authorization", "X-Other"].map(|name| (name.to_owned(), MARK.to_owned()));
        host.ignition_endpoint_http_headers = Some(headers.into());
        host
    }

    fn round_trip<T: Document + Clone + PartialEq + Debug>(document: T, secrets: usize) {
        let key = key();
        let mut written = document.clone();
        let text = to_text(&mut written, &key).unwrap();
        assert_eq!(written, document, "writing leaves the document as it was");
        assert!(!text.contains(MARK), "{text}");
        assert_eq!(text.matches("sealed:v1:").count(), secrets, "{text}");
        let (read, _): (T, _) = from_text(&text, document.key(), &key).unwrap();
        assert_eq!(read, document);
    }

    #[test]
    fn no_secret_is_readable_in_what_is_stored_and_all_come_back() {
        round_trip(cluster(), 2);
        round_trip(infra_env(), 3);
        round_trip(host(), 4);
    }

    #[test]
    fn what_is_empty_stays_empty_and_what_looks_sealed_is_sealed_anyway() {
        let mut empty = cluster();
        empty.pull_secret = Secret::default();
        empty.recipe.seed = Secret::default();
        round_trip(empty, 0);
        let mut tricky = cluster();
        tricky.pull_secret = Secret::new("sealed:v1:AAAA");
        round_trip(tricky, 2);
    }

    #[test]
    fn a_plain_or_foreign_secret_is_refused_with_row_and_member() {
        let key = key();
        let mut one = cluster();
        let plain = serde_json::to_string(&one).unwrap();
        let sealed = to_text(&mut one, &key).unwrap();
        let moved = ClusterId(Uuid::new_v4());
        for (text, at, why) in [
            (&plain, one.id, "pull_secret: the secret is not sealed"),
            (&sealed, moved, "pull_secret: the sealed secret was altered"),
        ] {
            let StoreError::Corrupt { what, source } =
                from_text::<Cluster>(text, at, &key).unwrap_err()
            else {
                panic!("not called damaged")
            };
            assert_eq!(what, format!("cluster {at}"));
            assert!(source.to_string().starts_with(why), "{source}");
            assert!(!source.to_string().contains(MARK));
        }
    }

    /// Members of type `Secret` in the sources of the model, by name of the struct.
    fn declared() -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/src");
        let mut found = BTreeSet::new();
        for file in files_below(&folder) {
            let mut noun = String::new();
            for line in fs::read_to_string(&file).unwrap().lines() {
                let words: Vec<&str> = line.split_whitespace().collect();
                if let ["pub", "struct", name, ..] = words[..] {
                    noun = name.to_owned();
                } else if let ["pub", member, kind @ ..] = &words[..]
                    && member.ends_with(':')
                    && kind.concat().contains("Secret")
                {
                    found.insert(format!("{noun}.{}", member.trim_end_matches(':')));
                }
            }
        }
        found
    }

    fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        entries
            .flat_map(|entry| match entry.file_type().unwrap().is_dir() {
                true => files_below(&entry.path()),
                false => vec![entry.path()],
            })
            .collect()
    }

    #[test]
    fn every_secret_the_model_declares_is_sealed() {
        let mut sealed = BTreeSet::new();
        let mut note = |noun: &str, holder: &mut dyn HoldsSecrets| {
            holder
                .each_secret(&mut |member, _| {
                    let (noun, member) = match member.strip_prefix("recipe.") {
                        Some(member) => ("Recipe", member),
                        None => (noun, member),
                    };
                    sealed.insert(format!("{noun}.{member}"));
                    Ok(())
                })
                .unwrap();
        };
        note("Cluster", &mut cluster());
        note("InfraEnv", &mut infra_env());
        note("Host", &mut host());
        // Secrets by use, which the sources do not show.
        assert!(sealed.remove("InfraEnv.download_url"));
        sealed.retain(|member| !member.starts_with("Host.ignition_endpoint_http_headers."));
        assert_eq!(declared(), sealed, "each_secret must show all of them");
    }
}
