//! Arguments that a user adds to the command line of `coreos-installer`.

/// Flags that may be added; all take their value as a word of its own.
const ALLOWED: &[&str] = &[
    "--append-karg",
    "--delete-karg",
    "-n",
    "--copy-network",
    "--network-dir",
    "--save-partlabel",
    "--save-partindex",
    "--image-url",
    "--image-file",
];
/// Signs that values may have beside letters and digits.
const SIGNS: &str = "@!#$%*()_+,-./:;<='\"{}[]";

/// Why an argument is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadArgument {
    /// A flag that is not in the list.
    #[error("installer argument {0:?} is not allowed; these are: {list}", list = ALLOWED.join(" "))]
    Flag(String),
    /// A value with characters that no kernel argument, path or URL needs.
    #[error("installer argument {0:?} is empty or has characters that are not allowed")]
    Value(String),
}

/// Checks the arguments one by one, as the service did when they were stored.
///
/// # Errors
/// The first that is not allowed.
pub fn check(arguments: &[String]) -> Result<(), BadArgument> {
    for argument in arguments {
        let shown = || argument.chars().take(80).collect();
        let plain = |c: char| c.is_ascii_alphanumeric() || SIGNS.contains(c);
        if argument.starts_with('-') {
            if !ALLOWED.contains(&argument.as_str()) {
                return Err(BadArgument::Flag(shown()));
            }
        } else if argument.is_empty() || !argument.chars().all(plain) {
            return Err(BadArgument::Value(shown()));
        }
    }
    Ok(())
}
