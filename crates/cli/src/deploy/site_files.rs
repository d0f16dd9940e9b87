//! Files of this machine in the container: certificates, keys, mirrors.
//!
//! Their folder is mounted as a whole: a file that was mounted alone would stay the old one when a
//! renewal puts a new one in its place. Podman labels one folder of a pod for SELinux, so it is one.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use super::yaml::quoted;

/// Where the folder is in the container.
const INSIDE: &str = "/etc/muster/site";

/// The folder with all files that were named; none if none was.
#[derive(Debug)]
pub(super) struct SiteFiles {
    folder: Option<PathBuf>,
}

impl SiteFiles {
    /// Checks that the container will be able to read the files, as far as they are on this machine.
    pub(super) fn of<'a>(files: impl Iterator<Item = &'a PathBuf>) -> anyhow::Result<Self> {
        let mut folder: Option<PathBuf> = None;
        for file in files {
            let shown = file.display();
            if !file.is_absolute() {
                bail!("{shown} is mounted into the container: give its absolute path");
            }
            let own = file.parent().unwrap_or(Path::new("/"));
            match &folder {
                Some(first) if first != own => bail!(
                    "{shown} is not in {}: put all files that you name into one folder, which is \
                     mounted into the container",
                    first.display()
                ),
                Some(_) | None => folder = Some(own.to_owned()),
            }
            check(file, own)?;
        }
        // Podman would change the SELinux labels of a whole system directory, and refuses to.
        if let Some(found) = &folder
            && found.components().count() <= 2
        {
            bail!(
                "{} is mounted into the container: put the files into a folder of their own, such as \
                 /etc/muster/site",
                found.display()
            );
        }
        Ok(Self { folder })
    }

    /// A file as the container sees it.
    pub(super) fn inside(&self, file: &Path) -> String {
        let name = file.file_name().unwrap_or_default();
        Path::new(INSIDE).join(name).display().to_string()
    }

    /// For the metadata of the pod: the label that lets containers read the folder.
    pub(super) fn annotation(&self) -> String {
        self.folder.as_ref().map_or_else(String::new, |folder| {
            let label = quoted(&format!("{}:z", folder.display()));
            format!("  annotations:\n    bind-mount-options: {label}\n")
        })
    }

    /// For the container.
    pub(super) fn mount(&self) -> String {
        self.folder.as_ref().map_or_else(String::new, |_| {
            format!(
                "        - name: site\n          mountPath: {INSIDE}\n          readOnly: true\n"
            )
        })
    }

    /// For the pod.
    pub(super) fn volume(&self) -> String {
        self.folder.as_ref().map_or_else(String::new, |folder| {
            let path = quoted(&folder.display().to_string());
            format!(
                "    - name: site\n      hostPath:\n        path: {path}\n        type: Directory\n"
            )
        })
    }
}

/// The service runs in the group of the user who runs podman, but not as that user. A file that is
/// not here is that of another machine.
fn check(file: &Path, folder: &Path) -> anyhow::Result<()> {
    let shown = file.display();
    let (Ok(found), Ok(its_folder)) = (fs::metadata(file), fs::metadata(folder)) else {
        return Ok(());
    };
    let real = fs::canonicalize(file).with_context(|| shown.to_string())?;
    if real.parent() != fs::canonicalize(folder).ok().as_deref() {
        bail!(
            "{shown} is a link to {}, which is not in the folder that is mounted: copy the file there, \
             also after each renewal",
            real.display()
        );
    }
    if found.permissions().mode() & 0o044 == 0 {
        bail!(
            "{shown} is closed to the container, which has the group of your user: chmod g+r {shown}"
        );
    }
    if its_folder.permissions().mode() & 0o011 == 0 {
        let folder = folder.display();
        bail!(
            "{folder} is closed to the container, which has the group of your user: chmod g+x {folder}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(files: &[&Path]) -> String {
        let files: Vec<PathBuf> = files.iter().map(|file| file.to_path_buf()).collect();
        SiteFiles::of(files.iter()).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_mounted_is_refused_with_the_fix() {
        for (files, expected) in [
            (["a.crt", "/srv/b/a.key"], "absolute path"),
            (["/srv/a/a.crt", "/srv/b/a.key"], "one folder"),
            (["/etc/a.crt", "/etc/a.key"], "a folder of their own"),
        ] {
            let error = refused(&files.map(Path::new));
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_key_that_the_container_cannot_read_is_refused_with_the_fix() {
        let folder = tempfile::tempdir().unwrap();
        let (key, away) = (folder.path().join("tls.key"), tempfile::tempdir().unwrap());
        fs::write(&key, "").unwrap();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(folder.path(), 0o750);
        mode(&key, 0o600);
        assert!(refused(&[&key]).contains("chmod g+r"));
        mode(&key, 0o640);
        SiteFiles::of([&key].into_iter()).unwrap();
        mode(folder.path(), 0o700);
        assert!(refused(&[&key]).contains("chmod g+x"));
        mode(folder.path(), 0o750);

        // As certbot keeps them: the file itself is elsewhere.
        let real = away.path().join("tls.crt");
        fs::write(&real, "").unwrap();
        let link = folder.path().join("tls.crt");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(refused(&[&link]).contains("is a link to"));
    }
}
