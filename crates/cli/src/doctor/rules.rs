//! What a figure means.

use super::Finding;

/// A live image is about 1.3 GB; one of each of two versions with room to spare.
const ROOM_FOR_IMAGES: u64 = 10 << 30;
/// Below this the service refuses uploads.
const ROOM_TO_WORK: u64 = 1 << 30;
/// Before a certificate ends there must be time to replace it.
const DAYS_TO_REPLACE: i64 = 30;

/// Free room on the disk of the data directory.
pub(super) fn free_room(bytes: u64) -> Finding {
    let text = format!("{:.1} GiB free", bytes as f64 / f64::from(1 << 30));
    if bytes < ROOM_TO_WORK {
        Finding::problem(
            text,
            "free some space, or move the data directory (data_dir)",
        )
    } else if bytes < ROOM_FOR_IMAGES {
        Finding::warning(
            text,
            "10 GiB leave room for the OS images of two versions; a smaller images.cache_gib keeps fewer",
        )
    } else {
        Finding::ok(text)
    }
}

/// How long a certificate that is not ours is still valid, and whether it names the service.
pub(super) fn certificate(days_left: i64, names_host: bool, host: &str) -> Finding {
    let replace =
        "replace the files of server.tls_cert and server.tls_key; they are reloaded automatically";
    if days_left < 0 {
        Finding::problem(format!("it ended {} days ago", -days_left), replace)
    } else if !names_host {
        Finding::problem(
            format!("it does not name {host}, the host of server.base_url"),
            format!("get a certificate for {host}, or set server.base_url to a name it has"),
        )
    } else if days_left < DAYS_TO_REPLACE {
        Finding::warning(format!("it ends in {days_left} days"), replace)
    } else {
        Finding::ok(format!("valid for {days_left} more days, names {host}"))
    }
}

/// Who else may look into the data directory.
pub(super) fn data_mode(mode: u32) -> Finding {
    if mode & 0o077 == 0 {
        Finding::ok("private and writable")
    } else {
        Finding::warning(
            format!("other users may open it (mode {:o})", mode & 0o777),
            "chmod 700, so that keys and kubeconfigs stay private",
        )
    }
}

/// Whether the clock is right: by what systemd says (`yes` or `no`), else by the marks of a time service.
pub(super) fn clock(synchronized: Option<&str>, has_service: bool) -> Finding {
    let fix = "hosts refuse certificates of a wrong clock: let chrony or systemd-timesyncd reach a time \
               server (`timedatectl status`)";
    match (synchronized, has_service) {
        (Some("yes"), _) => Finding::ok("synchronized with a time server"),
        (Some("no"), true) => Finding::warning(
            "a time service runs, but has not reached a time server",
            fix,
        ),
        (_, true) => Finding::ok("kept by a time service"),
        (_, false) => Finding::warning("no time service is known to keep it", fix),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Level;

    #[test]
    fn figures_get_the_level_they_deserve() {
        let levels = [
            (free_room(20 << 30).level, Level::Ok),
            (free_room(5 << 30).level, Level::Warning),
            (free_room(100 << 20).level, Level::Problem),
            (certificate(300, true, "m").level, Level::Ok),
            (certificate(29, true, "m").level, Level::Warning),
            (certificate(300, false, "m").level, Level::Problem),
            (certificate(-1, true, "m").level, Level::Problem),
            (clock(Some("yes"), false).level, Level::Ok),
            (clock(Some("no"), true).level, Level::Warning),
            (clock(None, true).level, Level::Ok),
            (clock(None, false).level, Level::Warning),
            (data_mode(0o40700).level, Level::Ok),
            (data_mode(0o40755).level, Level::Warning),
        ];
        for (row, (found, expected)) in levels.into_iter().enumerate() {
            assert_eq!(found, expected, "row {row}");
        }
    }

    #[test]
    fn whatever_is_wrong_has_a_fix() {
        for finding in [
            free_room(0),
            certificate(-3, true, "m"),
            certificate(9, false, "m"),
            clock(Some("no"), false),
        ] {
            assert!(finding.fix.is_some(), "{finding:?}");
        }
    }
}
