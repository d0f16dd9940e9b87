//! What `muster agent monitor` needs to ask the services on hosts that boot our images: a file beside the
//! images, with an entry for each that can still be booted.

use std::path::Path;

use anyhow::Context;
use jiff::Timestamp;
use muster_assets::{
    agent_based::{Planned, Secrets},
    file::File,
};
use muster_tracking::monitor::ServiceAccess;

use crate::create::directory;

const FILE: &str = ".muster_add_nodes.json";
/// More are of hosts that were added long ago.
const MOST: usize = 64;

/// Access to the hosts of an image.
pub fn of(planned: &Planned, secrets: &Secrets) -> ServiceAccess {
    ServiceAccess {
        authority: secrets.service.authority.clone(),
        token: planned.state.tokens().watcher,
        expires: planned.state.tokens_expire.unwrap_or(i64::MAX),
    }
}

/// Adds an entry to the file in `dir`.
pub fn keep(dir: &Path, own: ServiceAccess) -> anyhow::Result<()> {
    let mut all = vec![own];
    all.extend(read(dir)?);
    all.dedup();
    all.truncate(MOST);
    let file = File::secret(FILE, serde_json::to_vec(&all)?);
    directory::write(dir, &file, 0o600)
}

/// The entries of the file in `dir` that have not expired, the newest first; none without a file.
pub fn read(dir: &Path) -> anyhow::Result<Vec<ServiceAccess>> {
    let path = dir.join(FILE);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    let mut all: Vec<ServiceAccess> = serde_json::from_slice(&text).with_context(|| {
        let path = path.display();
        format!("{path} is damaged; `muster agent add-nodes` makes a new one when it is removed")
    })?;
    let now = Timestamp::now().as_second();
    all.retain(|one| one.expires > now);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(token: &str, expires: i64) -> ServiceAccess {
        ServiceAccess {
            authority: "PEM".to_owned(),
            token: token.to_owned(),
            expires,
        }
    }

    #[test]
    fn every_image_that_can_be_booted_has_an_entry_and_nobody_else_can_read_them() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).unwrap().is_empty());
        for one in [
            access("old", 1),
            access("one", i64::MAX),
            access("two", i64::MAX),
        ] {
            keep(folder.path(), one).unwrap();
        }
        let tokens: Vec<String> = read(folder.path())
            .unwrap()
            .into_iter()
            .map(|one| one.token)
            .collect();
        assert_eq!(tokens, ["two", "one"]);
        let mode = folder
            .path()
            .join(FILE)
            .metadata()
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), "{").unwrap();
        let error = read(folder.path()).unwrap_err();
        assert!(error.to_string().contains(FILE), "{error:#}");
    }
}
