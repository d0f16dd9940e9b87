//! Programs inside an image, brought onto its live system without a registry.
//!
//! What lies in an initrd is gone after the switch to the real root, except in `/run`, where files have no
//! SELinux label that lets systemd start them. So the initrd moves the programs into the real root before
//! Ignition writes its files there (a drop-in of `ignition-files.service`), and an Ignition config of the
//! system's own (`/usr/lib/ignition/base.d`) names them without content: Ignition leaves the content of a
//! file that is there alone, and sets its mode and label. Carrying the content in that config would work
//! too, but each of Ignition's seven stages reads the whole config: seconds on slow machines, and several
//! copies of every program in memory.
//!
//! The archive is the same for all images with these programs: it is made once, and images refer to it.

use muster_ignition::{Builder, Faults, Version, file};
use muster_image::initrd::Archive;

/// Where the initrd has the programs, each at the path it will have on the live system.
pub const FOLDER: &str = "usr/lib/muster-programs";
/// Where Ignition finds the config that names them.
pub const CONFIG_PATH: &str = "usr/lib/ignition/base.d/40-muster-programs.ign";
/// Moves them before Ignition looks for them. If that fails the unit fails, and with it the boot.
pub const DROPIN_PATH: &str = "etc/systemd/system/ignition-files.service.d/10-muster-programs.conf";

/// Why programs cannot travel in an image.
#[derive(Debug, thiserror::Error)]
pub enum ProgramsError {
    /// The config that names them would be refused, such as for a path that is not absolute.
    #[error("{0}")]
    Config(#[from] Faults),
    /// The archive cannot be made, such as of a program that is too large for it.
    #[error(transparent)]
    Archive(#[from] muster_image::Error),
}

/// The initrd archive that brings `programs` (path and content) onto a live system, and `links` (path and
/// target) to them.
///
/// # Errors
/// A path is not absolute, or a program is larger than an archive can carry.
pub fn archive(
    programs: &[(&str, &[u8])],
    links: &[(&str, &str)],
) -> Result<Vec<u8>, ProgramsError> {
    let mut archive = Archive::default();
    add(&mut archive, programs, links)?;
    Ok(archive.gzip()?)
}

/// Adds the same to an archive that has other members.
///
/// # Errors
/// A path is not absolute.
pub fn add(
    archive: &mut Archive,
    programs: &[(&str, &[u8])],
    links: &[(&str, &str)],
) -> Result<(), ProgramsError> {
    // All that is needed of it; every release can read it.
    let mut config = Builder::new(Version::V3_1);
    let mut dropin = String::from("[Service]\n");
    for (path, program) in programs {
        let folder = path.rsplit_once('/').map_or("/", |(folder, _)| folder);
        config.file(file::existing(path, 0o755));
        dropin += &format!(
            "ExecStartPre=/bin/mkdir -p /sysroot{folder}\n\
             ExecStartPre=/bin/mv /{FOLDER}{path} /sysroot{path}\n"
        );
        let member = format!("{FOLDER}{path}");
        archive.put(&member, 0o100_755, program.to_vec());
    }
    for (path, target) in links {
        config.link(path, target);
    }
    let config = config.finish()?;
    archive.put(CONFIG_PATH, 0o100_644, config.to_text());
    archive.put(DROPIN_PATH, 0o100_644, dropin);
    Ok(())
}

#[cfg(test)]
mod tests {
    use muster_ignition::Config;

    use super::*;

    fn made() -> Archive {
        let programs: [(&str, &[u8]); 2] = [
            ("/usr/local/bin/one", b"first"),
            ("/usr/local/lib/muster/two", b"second"),
        ];
        let links = [("/usr/local/bin/other", "/usr/local/bin/one")];
        Archive::read(&archive(&programs, &links).unwrap()).unwrap()
    }

    #[test]
    fn programs_lie_in_the_initrd_and_the_config_names_them_without_content() {
        let archive = made();
        let member = format!("{FOLDER}/usr/local/lib/muster/two");
        assert_eq!(archive.get(&member).unwrap(), "second");
        let config = archive.get(CONFIG_PATH).unwrap();
        let config = Config::read(std::str::from_utf8(config).unwrap()).unwrap();
        let file = &config.json()["storage"]["files"][0];
        assert_eq!(file["path"], "/usr/local/bin/one");
        assert_eq!(file["mode"], 0o755);
        // Either of them would make Ignition replace the program.
        assert!(
            file.get("contents").is_none() && file.get("overwrite").is_none(),
            "{file}"
        );
        assert_eq!(
            config.json()["storage"]["links"][0]["target"],
            "/usr/local/bin/one"
        );
    }

    #[test]
    fn each_program_is_moved_to_the_place_that_the_config_names() {
        let archive = made();
        let dropin = archive.get(DROPIN_PATH).unwrap();
        let dropin = std::str::from_utf8(dropin).unwrap();
        assert!(
            dropin.contains(
                "ExecStartPre=/bin/mkdir -p /sysroot/usr/local/lib/muster\n\
                 ExecStartPre=/bin/mv /usr/lib/muster-programs/usr/local/lib/muster/two \
                 /sysroot/usr/local/lib/muster/two\n"
            ),
            "{dropin}"
        );
    }
}
