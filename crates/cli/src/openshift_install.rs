//! The command lines of `openshift-install` and `node-joiner`, for pipelines that call Muster by
//! those names.
//!
//! A link of such a name to `muster` takes the spelling of that program for every command Muster has:
//! flags before the command, `version`, `explain installconfig.field`, `monitor-add-nodes`. What it
//! does not understand ends with code 1, as there.

use std::{ffi::OsString, path::Path, process::ExitCode};

use anyhow::bail;
use clap::error::ErrorKind;

/// The program that Muster was called as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Called {
    Installer,
    NodeJoiner,
}

impl Called {
    fn of(program: &OsString) -> Option<Self> {
        match Path::new(program).file_name()?.to_str()? {
            "openshift-install" => Some(Self::Installer),
            "node-joiner" => Some(Self::NodeJoiner),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Installer => "openshift-install",
            Self::NodeJoiner => "node-joiner",
        }
    }

    /// Flags that may stand anywhere.
    const fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Installer => &[DIR, LEVEL],
            Self::NodeJoiner => &[DIR, LEVEL, "--kubeconfig"],
        }
    }
}

const DIR: &str = "--dir";
const LEVEL: &str = "--log-level";

/// Commands of the installer that Muster has, too.
const KNOWN: &[&str] = &[
    "agent",
    "completion",
    "coreos",
    "create",
    "explain",
    "graph",
    "help",
    "image-based",
    "version",
    "wait-for",
];

/// Commands that work in a directory, and those of them that take the flag for what is shown of their
/// log: the rest shows all it has.
const IN_DIRECTORY: &[(&[&str], &[&str])] = &[
    (&["agent", "create"], &[DIR, LEVEL]),
    (&["agent", "wait-for"], &[DIR, LEVEL]),
    (&["image-based", "create"], &[DIR, LEVEL]),
    (&["image-based", "wait-for"], &[DIR, LEVEL]),
    (&["wait-for"], &[DIR, LEVEL]),
    (&["create"], &[DIR]),
];

/// Commands that only hold others.
const GROUPS: &[&[&str]] = &[
    &["agent"],
    &["agent", "create"],
    &["agent", "wait-for"],
    &["coreos"],
    &["create"],
    &["image-based"],
    &["image-based", "create"],
    &["wait-for"],
];

/// The command line as Muster spells it; unchanged under any other name.
pub fn respelled(words: Vec<OsString>) -> anyhow::Result<Vec<OsString>> {
    let Some((program, called)) = words
        .first()
        .and_then(|program| Some((program.clone(), Called::of(program)?)))
    else {
        return Ok(words);
    };
    let texts: Vec<String> = words[1..]
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let (flags, rest) = separated(texts, called.flags());
    let spelled = match called {
        Called::Installer => of_installer(&flags, rest)?,
        Called::NodeJoiner => of_node_joiner(&flags, rest)?,
    };
    let spelled = spelled.into_iter().map(OsString::from);
    Ok(std::iter::once(program).chain(spelled).collect())
}

/// The code that ends a command line which is not understood, or which lacks its subcommand.
pub fn usage_error(program: Option<&OsString>, kind: ErrorKind) -> ExitCode {
    match (program.and_then(Called::of), kind) {
        (Some(_), ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand) => ExitCode::SUCCESS,
        (Some(_), _) => ExitCode::FAILURE,
        (None, _) => ExitCode::from(2),
    }
}

fn of_installer(flags: &[String], mut rest: Vec<String>) -> anyhow::Result<Vec<String>> {
    let Some(command) = rest.first().cloned() else {
        return Ok(rest);
    };
    match command.as_str() {
        "version" => rest.push("--as-installer".to_owned()),
        "explain" => {
            let named = explained(&rest[1..]);
            rest.truncate(1);
            rest.extend(named);
        }
        known if KNOWN.contains(&known) || known.starts_with('-') => {}
        other => bail!(
            "{} {other} is not offered; Muster has: {}",
            Called::Installer.name(),
            KNOWN.join(", ")
        ),
    }
    // A group without a command is asked for help, which is no failure.
    if GROUPS.iter().any(|group| rest == *group) {
        rest.push("--help".to_owned());
        return Ok(rest);
    }
    let begins =
        |with: &[&str]| with.iter().zip(&rest).filter(|(a, b)| a == b).count() == with.len();
    let taken = IN_DIRECTORY.iter().find(|(command, _)| begins(command));
    let taken = taken.map_or(&[][..], |(_, flags)| *flags);
    rest.extend(
        flags
            .iter()
            .filter(|flag| taken.iter().any(|name| is_flag(flag, name)))
            .cloned(),
    );
    Ok(rest)
}

fn of_node_joiner(flags: &[String], mut rest: Vec<String>) -> anyhow::Result<Vec<String>> {
    let Some(command) = rest.first().cloned() else {
        return Ok(vec!["agent".to_owned(), "--help".to_owned()]);
    };
    let own: &[&str] = match command.as_str() {
        "add-nodes" => &["agent", "add-nodes", "--as-node-joiner"],
        "monitor-add-nodes" => &["agent", "monitor"],
        known if known.starts_with('-') => return Ok(rest),
        other => bail!(
            "{} {other} is not offered; Muster has: add-nodes, monitor-add-nodes",
            Called::NodeJoiner.name()
        ),
    };
    rest.splice(..1, own.iter().map(|word| (*word).to_owned()));
    rest.extend(flags.iter().cloned());
    Ok(rest)
}

fn is_flag(word: &str, name: &str) -> bool {
    word.strip_prefix(name)
        .is_some_and(|rest| rest.starts_with('='))
}

/// Flags that may stand anywhere, each as one word, and the other words.
fn separated(words: Vec<String>, names: &[&str]) -> (Vec<String>, Vec<String>) {
    let (mut flags, mut rest) = (Vec::new(), Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "--" {
            rest.push(word);
            rest.extend(words);
            break;
        }
        if names.contains(&word.as_str()) {
            match words.next() {
                Some(value) => flags.push(format!("{word}={value}")),
                // The command itself reports what is missing.
                None => rest.push(word),
            }
        } else if names.iter().any(|name| is_flag(&word, name)) {
            flags.push(word);
        } else {
            rest.push(word);
        }
    }
    (flags, rest)
}

/// `installconfig.a.b` becomes `install-config a.b`.
fn explained(words: &[String]) -> Vec<String> {
    let Some(first) = words.first() else {
        return Vec::new();
    };
    let (document, field) = first.split_once('.').unwrap_or((first, ""));
    let mut out = vec![match document {
        "installconfig" => "install-config".to_owned(),
        other => other.to_owned(),
    }];
    if !field.is_empty() {
        out.push(field.to_owned());
    }
    out.extend(words[1..].iter().cloned());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(line: &str) -> String {
        let words = line.split(' ').map(OsString::from).collect();
        match respelled(words) {
            Ok(words) => {
                let words: Vec<String> = words
                    .into_iter()
                    .map(|word| word.into_string().unwrap())
                    .collect();
                words.join(" ")
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_references_spelling_becomes_ours() {
        for (theirs, ours) in [
            (
                "/x/openshift-install --log-level debug --dir d agent create image",
                "/x/openshift-install agent create image --log-level=debug --dir=d",
            ),
            (
                "openshift-install --dir=d create ignition-configs --log-level=debug",
                "openshift-install create ignition-configs --dir=d",
            ),
            (
                "openshift-install --dir d --log-level=error image-based create config-image",
                "openshift-install image-based create config-image --dir=d --log-level=error",
            ),
            (
                "openshift-install --dir d image-based",
                "openshift-install image-based --help",
            ),
            (
                "openshift-install image-based create",
                "openshift-install image-based create --help",
            ),
            (
                "openshift-install agent wait-for install-complete --log-level debug --dir d",
                "openshift-install agent wait-for install-complete --log-level=debug --dir=d",
            ),
            (
                "openshift-install --dir d wait-for bootstrap-complete",
                "openshift-install wait-for bootstrap-complete --dir=d",
            ),
            (
                "openshift-install version --log-level debug",
                "openshift-install version --as-installer",
            ),
            (
                "openshift-install --dir d explain installconfig.platform.none",
                "openshift-install explain install-config platform.none",
            ),
            (
                "openshift-install --dir d graph --output-file f",
                "openshift-install graph --output-file f",
            ),
            (
                "openshift-install agent graph --dir d",
                "openshift-install agent graph",
            ),
            (
                "openshift-install coreos print-stream-json --log-level=error",
                "openshift-install coreos print-stream-json",
            ),
            ("openshift-install --help", "openshift-install --help"),
            (
                "node-joiner --kubeconfig k add-nodes --pxe --dir=/assets --log-level=debug",
                "node-joiner agent add-nodes --as-node-joiner --pxe --kubeconfig=k --dir=/assets \
                 --log-level=debug",
            ),
            (
                "node-joiner monitor-add-nodes --dir=/assets 192.0.2.1 192.0.2.2",
                "node-joiner agent monitor 192.0.2.1 192.0.2.2 --dir=/assets",
            ),
            ("muster --dir d agent", "muster --dir d agent"),
        ] {
            assert_eq!(spelled(theirs), ours);
        }
        assert!(spelled("openshift-install destroy cluster").contains("not offered"));
        assert!(spelled("node-joiner remove-nodes").contains("not offered"));
    }
}
