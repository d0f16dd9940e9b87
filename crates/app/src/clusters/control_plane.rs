//! How many control plane hosts a cluster has, and whether it survives the loss of one.

use muster_catalog::{HighAvailability, control_plane_counts};
use muster_model::OpenshiftVersion;

use crate::Invalid;

/// What a request without one of the two (or both) means.
pub fn choose(mode: Option<&str>, count: Option<i64>) -> Result<(HighAvailability, i64), Invalid> {
    let mode: Option<HighAvailability> = mode
        .filter(|mode| !mode.is_empty())
        .map(str::parse)
        .transpose()
        .map_err(|unknown| format!("high_availability_mode: {unknown}"))?;
    Ok(match (mode, count) {
        (None | Some(HighAvailability::Full), None) => (HighAvailability::Full, 3),
        (Some(HighAvailability::None), None) => (HighAvailability::None, 1),
        (None, Some(1)) => (HighAvailability::None, 1),
        (None, Some(count)) => (HighAvailability::Full, count),
        (Some(mode), Some(count)) => (mode, count),
    })
}

/// Checks a count; `two_nodes` says that control planes of two are switched on here.
pub fn check(
    mode: HighAvailability,
    count: i64,
    version: &OpenshiftVersion,
    two_nodes: bool,
) -> Result<(), Invalid> {
    let allowed = control_plane_counts(mode, version, two_nodes);
    if u32::try_from(count).is_ok_and(|count| allowed.contains(&count)) {
        return Ok(());
    }
    let wanted = if allowed.start() == allowed.end() {
        format!("must be {}", allowed.start())
    } else {
        format!("must be {} to {}", allowed.start(), allowed.end())
    };
    Err(format!(
        "control_plane_count is {count}, but with high_availability_mode {mode} on OpenShift {version} it {wanted}"
    ).into())
}

#[cfg(test)]
mod tests {
    use HighAvailability::{Full, None as Single};

    use super::*;

    #[test]
    fn what_is_left_out_follows_from_what_is_given() {
        for (mode, count, expected) in [
            (None, None, (Full, 3)),
            (Some("Full"), None, (Full, 3)),
            (Some("None"), None, (Single, 1)),
            (None, Some(1), (Single, 1)),
            (None, Some(4), (Full, 4)),
            (None, Some(0), (Full, 0)),
            (Some("None"), Some(3), (Single, 3)),
        ] {
            assert_eq!(choose(mode, count), Ok(expected), "{mode:?} {count:?}");
        }
    }

    #[test]
    fn counts_outside_of_what_the_version_can_do_are_refused() {
        let check = |mode, count, version: &str| {
            check(mode, count, &version.parse().unwrap(), true).is_ok()
        };
        assert!(
            check(Full, 3, "4.16.68")
                && check(Full, 5, "4.18.1")
                && check(Full, 2, "4.19.0")
                && check(Single, 1, "4.16")
        );
        for (mode, count, version) in [
            (Full, 1, "4.16"),
            (Full, 0, "4.18"),
            (Full, 4, "4.17"),
            (Full, 6, "4.20"),
            (Single, 3, "4.16"),
            (Full, -1, "4.19"),
        ] {
            assert!(!check(mode, count, version), "{mode} {count} {version}");
        }
    }
}
