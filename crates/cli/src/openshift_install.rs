//! The command line of `openshift-install`, for pipelines that call Muster by that name.
//!
//! A link of that name to `muster` takes the reference's spelling of every command Muster has:
//! flags before the command, `version`, `explain installconfig.field`.

use std::{ffi::OsString, path::Path};

use anyhow::bail;

const NAME: &str = "openshift-install";
/// Commands of the reference that Muster has, too.
const KNOWN: &[&str] = &[
    "agent",
    "create",
    "explain",
    "graph",
    "image-based",
    "version",
    "wait-for",
    "help",
];

/// Those that keep a log file, and take the flag for what is shown of it.
const LOGGING: &[&str] = &["agent", "image-based"];

/// The command line as Muster spells it; unchanged under any other name.
pub fn respelled(words: Vec<OsString>) -> anyhow::Result<Vec<OsString>> {
    let is_called = |program: &OsString| Path::new(program).file_name().is_some_and(|n| n == NAME);
    if !words.first().is_some_and(is_called) {
        return Ok(words);
    }
    let texts: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let (flags, rest) = leading_flags(&texts[1..]);
    let mut out = vec![texts[0].clone()];
    match rest.split_first() {
        None => {}
        Some((command, rest)) => match command.as_str() {
            "version" => out.push("--version".to_owned()),
            "explain" => {
                out.push("explain".to_owned());
                out.extend(explained(rest));
            }
            known if KNOWN.contains(&known) || known.starts_with('-') => {
                out.push(known.to_owned());
                out.extend(rest.iter().cloned());
                // A group without a command is asked for help, which is no failure.
                if LOGGING.contains(&known)
                    && matches!(rest, [] | [_])
                    && rest.iter().all(|word| word == "create")
                {
                    out.push("--help".to_owned());
                    return Ok(out.into_iter().map(OsString::from).collect());
                }
                // Commands without a log file show all they have to say.
                let takes_level =
                    LOGGING.contains(&known) && rest.first().is_some_and(|word| word == "create");
                let kept = flags
                    .iter()
                    .filter(|flag| takes_level || !flag.starts_with("--log-level"));
                out.extend(kept.cloned());
            }
            other => bail!(
                "{NAME} {other} is not offered; Muster has: {}",
                KNOWN.join(", ")
            ),
        },
    }
    if !out.iter().any(|word| LOGGING.contains(&word.as_str())) {
        out = without_level(out);
    }
    Ok(out.into_iter().map(OsString::from).collect())
}

/// Flags that stand before the command, each as one word, and what follows them.
fn leading_flags(words: &[String]) -> (Vec<String>, &[String]) {
    let mut flags = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let is_own = |flag: &str| matches!(flag, "--dir" | "--log-level");
        match (word.split_once('='), words.get(at + 1)) {
            (Some((flag, _)), _) if is_own(flag) => {
                flags.push(word.clone());
                at += 1;
            }
            (None, Some(value)) if is_own(word) => {
                flags.push(format!("{word}={value}"));
                at += 2;
            }
            _ => break,
        }
    }
    (flags, &words[at..])
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

fn without_level(words: Vec<String>) -> Vec<String> {
    let mut out = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "--log-level" {
            words.next();
        } else if !word.starts_with("--log-level=") {
            out.push(word);
        }
    }
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
            ("openshift-install version", "openshift-install --version"),
            (
                "openshift-install explain installconfig.platform.none",
                "openshift-install explain install-config platform.none",
            ),
            ("muster --dir d agent", "muster --dir d agent"),
        ] {
            assert_eq!(spelled(theirs), ours);
        }
        assert!(spelled("openshift-install destroy cluster").contains("not offered"));
    }
}
