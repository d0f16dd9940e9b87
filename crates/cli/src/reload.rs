//! Notices that files with users, certificates or keys have changed.
//!
//! Their content is compared now and then: secrets mounted into a container are exchanged by
//! renaming folders, which a watch on the file itself does not see.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use muster_config::{Config, Overrides};

/// Between two looks.
pub const INTERVAL: Duration = Duration::from_secs(5);
/// Our own certificate is renewed well before its end if this is done now and then.
const AT_LEAST: Duration = Duration::from_secs(24 * 3600);

/// Files, and what was in them at the last look.
#[derive(Debug)]
pub struct Watched {
    paths: Vec<PathBuf>,
    seen: Vec<Option<Vec<u8>>>,
    since: Instant,
}

impl Watched {
    /// The files from which this configuration takes users, certificates and keys.
    pub fn of(config: &Config, flags: &Overrides) -> Self {
        let settings = match &flags.config_file {
            Some(file) => vec![file.clone()],
            None => vec!["muster.toml".into(), "/etc/muster/muster.toml".into()],
        };
        let server = &config.server;
        let paths: Vec<PathBuf> = settings
            .into_iter()
            .chain(server.tls_cert.clone())
            .chain(server.tls_key.clone())
            .chain(
                [
                    "first-user.hash",
                    "keys/token.key",
                    "keys/token.former.pub",
                    "tls/server.crt",
                ]
                .map(|name| config.data_dir.join(name)),
            )
            .collect();
        let seen = look(&paths);
        Self {
            paths,
            seen,
            since: Instant::now(),
        }
    }

    /// Whether something has changed since the last look, or that is long ago.
    pub fn changed(&mut self) -> bool {
        let now = look(&self.paths);
        let changed = now != self.seen || self.since.elapsed() > AT_LEAST;
        if changed {
            self.seen = now;
            self.since = Instant::now();
        }
        changed
    }
}

fn look(paths: &[PathBuf]) -> Vec<Option<Vec<u8>>> {
    paths.iter().map(|path| std::fs::read(path).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_appears_changes_or_goes_is_noticed_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        let mut watched = Watched {
            paths: vec![file.clone()],
            seen: look(std::slice::from_ref(&file)),
            since: Instant::now(),
        };
        assert!(!watched.changed());
        for content in ["one", "two"] {
            std::fs::write(&file, content).unwrap();
            assert!(watched.changed(), "{content}");
            assert!(!watched.changed(), "{content}");
        }
        std::fs::remove_file(&file).unwrap();
        assert!(watched.changed());
    }
}
