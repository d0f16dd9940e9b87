//! The tools in a payload, and how the release is written into an installer.
//!
//! An installer's executable has a marker followed by padding, which is overwritten when the
//! installer is extracted from the payload.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
};

/// A tool and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// What it is called.
    pub name: &'static str,
    /// Component that has it.
    pub component: &'static str,
    /// Where in that image.
    pub path: &'static str,
    /// Whether its release must be written into it.
    pub is_installer: bool,
}

/// All of them.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "openshift-install",
        component: "installer",
        path: "/usr/bin/openshift-install",
        is_installer: true,
    },
    Tool {
        name: "openshift-baremetal-install",
        component: "baremetal-installer",
        path: "/usr/bin/openshift-install",
        is_installer: true,
    },
    Tool {
        name: "openshift-install-fips",
        component: "baremetal-installer",
        path: "/usr/bin/openshift-install",
        is_installer: true,
    },
    Tool {
        name: "oc",
        component: "cli",
        path: "/usr/bin/oc",
        is_installer: false,
    },
    Tool {
        name: "ccoctl",
        component: "cloud-credential-operator",
        path: "/usr/bin/ccoctl",
        is_installer: false,
    },
];

/// What is written into an installer.
#[derive(Debug)]
pub(crate) struct Values {
    pub image: String,
    pub version: String,
    pub arch: String,
}

const WINDOW: usize = 1 << 20;
/// Marker, name and room together; real ones have about 300 bytes.
const LONGEST: usize = 4096;

/// Writes the values over their markers. Markers that are not there are left out, as old installers
/// have fewer of them, but the first one must be.
pub(crate) fn stamp(file: &mut File, values: &Values) -> Result<(), String> {
    let markers = [
        ("_RELEASE_IMAGE_LOCATION_", &values.image),
        ("_RELEASE_VERSION_LOCATION_", &values.version),
        ("_RELEASE_ARCHITECTURE_LOCATION_", &values.arch),
    ];
    let failed = |cause: std::io::Error| format!("writing the release into the installer: {cause}");
    for (number, (name, value)) in markers.into_iter().enumerate() {
        match find(file, name).map_err(failed)? {
            Some((at, room)) if value.len() < room => {
                let mut text = value.clone().into_bytes();
                text.push(0);
                file.seek(SeekFrom::Start(at))
                    .and_then(|_| file.write_all(&text))
                    .map_err(failed)?;
            }
            Some((_, room)) => {
                return Err(format!(
                    "the installer has room for {room} bytes behind {name}, and `{value}` is longer"
                ));
            }
            None if number == 0 => {
                return Err(format!(
                    "this is not an installer into which a release can be written (no {name} in it); take \
                     it out as a plain file with --file and set \
                     OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE when running it"
                ));
            }
            None => tracing::debug!(name, "the installer has no such marker"),
        }
    }
    Ok(())
}

/// Place and room of a marker: NUL, name, NUL, a row of `X`, NUL.
fn find(file: &mut File, name: &str) -> std::io::Result<Option<(u64, usize)>> {
    let mut needle = vec![0];
    needle.extend_from_slice(name.as_bytes());
    needle.extend_from_slice(b"\0XXXX");
    file.seek(SeekFrom::Start(0))?;
    let mut window = Vec::with_capacity(WINDOW + LONGEST);
    let mut base = 0u64;
    loop {
        let before = window.len();
        (&mut *file).take(WINDOW as u64).read_to_end(&mut window)?;
        let ended = window.len() == before;
        let mut from = 0;
        while let Some(at) = position(&window[from..], &needle).map(|at| at + from) {
            let row = at + needle.len();
            let after = window[row..].iter().position(|byte| *byte != b'X');
            match after {
                Some(more) if window[row + more] == 0 => {
                    return Ok(Some((base + at as u64, row + more - at)));
                }
                // The row may go on in the next window.
                None if !ended => break,
                Some(_) | None => from = at + 1,
            }
        }
        if ended {
            return Ok(None);
        }
        let keep = window.len().min(LONGEST);
        base += (window.len() - keep) as u64;
        window.drain(..window.len() - keep);
    }
}

fn position(hay: &[u8], needle: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        // All markers begin with NUL and `_`: the second is rarer.
        let at = hay.get(from + 1..)?.iter().position(|byte| *byte == b'_')? + from;
        if hay[at..].starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installer(padding: usize, room: usize) -> File {
        let mut bytes = vec![b'_'; padding];
        for name in [
            "_RELEASE_IMAGE_LOCATION_",
            "_RELEASE_VERSION_LOCATION_",
            "_RELEASE_ARCHITECTURE_LOCATION_",
        ] {
            // Its own code names the markers, too, without room behind them.
            bytes.extend_from_slice(format!("\0{name}\0code\0{name}\0").as_bytes());
            bytes.extend_from_slice(&vec![b'X'; room]);
            bytes.extend_from_slice(b"\0end");
        }
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&bytes).expect("writes");
        file
    }

    fn values() -> Values {
        Values {
            image: "registry.example.com/a@sha256:00".to_owned(),
            version: "4.20.1".to_owned(),
            arch: "amd64".to_owned(),
        }
    }

    #[test]
    fn the_release_is_written_into_an_installer_wherever_the_markers_are() {
        for padding in [0, 1, WINDOW - 40, WINDOW - 10, WINDOW, WINDOW + LONGEST] {
            let mut file = installer(padding, 200);
            stamp(&mut file, &values()).expect("has markers");
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(0)).expect("seeks");
            file.read_to_end(&mut bytes).expect("reads");
            for value in ["registry.example.com/a@sha256:00\0", "4.20.1\0", "amd64\0"] {
                let shown = bytes
                    .windows(value.len())
                    .any(|part| part == value.as_bytes());
                assert!(shown, "{value} with {padding}");
            }
            assert_eq!(bytes.len(), padding + installer_length());
        }
    }

    fn installer_length() -> usize {
        let file = installer(0, 200);
        usize::try_from(file.metadata().expect("is there").len()).expect("small")
    }

    #[test]
    fn what_does_not_fit_or_is_no_installer_is_refused() {
        let error = stamp(&mut installer(10, 4), &values()).expect_err("too long");
        assert!(error.contains("room for"), "{error}");
        let mut other = tempfile::tempfile().expect("a file");
        other.write_all(b"\x7fELF").expect("writes");
        let error = stamp(&mut other, &values()).expect_err("no markers");
        assert!(error.contains("not an installer"), "{error}");
    }
}
