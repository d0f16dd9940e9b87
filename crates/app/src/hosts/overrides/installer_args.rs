//! Arguments for the program that writes the disk.
//!
//! They end up on a command line on the host, which agents of others may pass through a shell. So
//! only known flags pass, and only characters that make no shell run, expand or redirect anything.
//! The reference also accepts `! # $ * ( ) ; < " ' { }`; no kernel argument, label or address
//! needs one. Brackets stay: IPv6 addresses in `ip=` have them.

use std::sync::LazyLock;

use regex::Regex;

use crate::Invalid;

/// Flags that may be given; values follow as words of their own.
const FLAGS: &[&str] = &[
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

static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[A-Za-z0-9@%_+,\-./:=\[\]]+$").expect("the pattern is fixed and valid")
});

/// Checks the whole list.
///
/// # Errors
/// All words that may not be there.
pub fn check(args: &[String]) -> Result<(), Invalid> {
    let faults: Vec<String> = args.iter().filter_map(|word| fault(word)).collect();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults.join("; ").into())
    }
}

fn fault(word: &str) -> Option<String> {
    if word.starts_with('-') {
        return (!FLAGS.contains(&word)).then(|| {
            format!(
                "args: {word:?} is not one of {}; write values as separate words",
                FLAGS.join(", ")
            )
        });
    }
    (!VALUE.is_match(word)).then(|| {
        format!(
            "args: {word:?} is empty or has characters other than letters, digits and \
             @ % _ + , - . / : = [ ]"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &[&str]) -> Vec<String> {
        text.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn known_flags_and_harmless_values_pass() {
        let args = words(&[
            "--append-karg",
            "ip=192.0.2.2::192.0.2.254:255.255.255.0:core0:enp1s0:none",
            "-n",
        ]);
        assert_eq!(check(&args), Ok(()));
        assert_eq!(check(&words(&["--save-partindex", "5-"])), Ok(()));
        assert_eq!(check(&words(&["--append-karg"])), Ok(()));
        let ipv6 = "ip=[2001:db8::2]::[2001:db8::1]:64:core0:52-54-00-00-00-0a:none";
        assert_eq!(check(&words(&["--append-karg", ipv6])), Ok(()));
        assert_eq!(check(&[]), Ok(()));
    }

    #[test]
    fn nothing_passes_that_means_something_to_a_shell() {
        for letter in "!#$*();<>\"'{}&|`\\~?^ \t\n".chars() {
            let word = format!("a{letter}b");
            assert!(check(&[word]).is_err(), "{letter:?}");
        }
    }

    #[test]
    fn everything_else_is_refused_at_once() {
        let refusal = check(&words(&[
            "--append-karg=a",
            "--firstboot-args",
            "a?",
            "`id`",
            "a b",
            "",
        ]))
        .unwrap_err();
        assert_eq!(refusal.matches("args: ").count(), 6, "{refusal}");
    }
}
