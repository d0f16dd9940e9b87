//! Arguments as data: how many there are, that they are JSON, and that every word in them is
//! what it claims to be. A service may be hostile, so nothing else is let through.

use std::{fmt, net::IpAddr, ops::Deref};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};

/// Longest argument that is read: the peers of a thousand machines take a megabyte.
const LONGEST: usize = 16 << 20;

/// Arguments that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bad arguments: {0}")]
pub struct Unusable(pub String);

/// Shorthand for the steps.
pub type Usable<T> = Result<T, Unusable>;

/// Exactly `N` arguments.
pub fn exactly<const N: usize>(args: Vec<String>) -> Usable<[String; N]> {
    let given = args.len();
    args.try_into()
        .map_err(|_| Unusable(format!("{N} expected, {given} given")))
}

/// Exactly one argument, a JSON document.
pub fn one<T: DeserializeOwned>(args: Vec<String>) -> Usable<T> {
    let [text] = exactly(args)?;
    json(&text)
}

/// A JSON document.
pub fn json<T: DeserializeOwned>(text: &str) -> Usable<T> {
    if text.len() > LONGEST {
        return Err(Unusable(format!("longer than {LONGEST} bytes")));
    }
    serde_json::from_str(text).map_err(|cause| Unusable(cause.to_string()))
}

/// A text that was checked when it was read.
macro_rules! checked_text {
    ($(#[doc = $doc:literal])+ $name:ident, $what:literal, $check:expr) => {
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(String);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                let check: fn(&str) -> bool = $check;
                if check(&text) {
                    return Ok(Self(text));
                }
                let shown: String = text.chars().take(80).collect();
                Err(serde::de::Error::custom(format!(concat!("{:?} is no ", $what), shown)))
            }
        }

        impl Deref for $name {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

checked_text!(
    /// A reference to a container image.
    Image, "reference to an image", is_image
);
checked_text!(
    /// The name of a network interface as the kernel allows it.
    Nic, "name of a network interface", is_nic
);
checked_text!(
    /// A path of a device file.
    Device, "path of a device", is_device
);
checked_text!(
    /// A domain name, with or without the last dot.
    Domain, "domain name", is_domain
);
checked_text!(
    /// The name or address of a time source.
    TimeSource, "name or address of a time source", is_time_source
);
checked_text!(
    /// A point in time as people give it to journals: a date, a time, "yesterday".
    Moment, "point in time", is_moment
);
checked_text!(
    /// A URL of the web.
    WebUrl, "URL of http or https", is_web_url
);

/// Letters, digits and the few signs of references; never an option, never a way up.
fn is_image(text: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || "-._/:@+[]".contains(c);
    let edges = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
        && text.ends_with(|c: char| c.is_ascii_alphanumeric());
    text.len() <= 512 && edges && text.chars().all(letters) && !text.contains("..")
}

fn is_moment(text: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || " :.+-".contains(c);
    (1..=64).contains(&text.len()) && text.chars().all(letters)
}

fn is_nic(text: &str) -> bool {
    let letters = |c: char| c.is_ascii_graphic() && !matches!(c, '/' | ':');
    (1..=15).contains(&text.len())
        && text.chars().all(letters)
        && !text.starts_with('-')
        && text != "."
        && text != ".."
}

fn is_device(text: &str) -> bool {
    let parts = text.strip_prefix("/dev/");
    text.len() <= 1024
        && !text.chars().any(char::is_control)
        && parts.is_some_and(|rest| rest.split('/').all(|part| !matches!(part, "" | "." | "..")))
}

fn is_domain(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
            && !label.starts_with('-')
    };
    (1..=253).contains(&name.len()) && name.split('.').all(label)
}

/// The reference's rule for host names, or an address.
fn is_time_source(text: &str) -> bool {
    let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.parse::<IpAddr>().is_ok()
        || ((2..=253).contains(&text.len())
            && text.starts_with(lower)
            && text.ends_with(lower)
            && text.chars().all(|c| lower(c) || c == '-' || c == '.'))
}

fn is_web_url(text: &str) -> bool {
    text.len() <= 4096
        && !text.chars().any(|c| c.is_control() || c.is_whitespace())
        && reqwest::Url::parse(text)
            .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// A hardware address: 6 bytes, or 8 or 20 for kinds of networks we do not probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mac(pub String);

impl Mac {
    /// Six bytes, if it is one of Ethernet.
    pub fn ethernet(&self) -> Option<[u8; 6]> {
        mac_bytes(&self.0)?.try_into().ok()
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        match mac_bytes(&text).map(|bytes| bytes.len()) {
            Some(6 | 8 | 20) => Ok(Self(text.to_lowercase())),
            _ => {
                let shown: String = text.chars().take(80).collect();
                let problem = format!("{shown:?} is no hardware address");
                Err(serde::de::Error::custom(problem))
            }
        }
    }
}

fn mac_bytes(text: &str) -> Option<Vec<u8>> {
    let byte = |part: &str| {
        let digits = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
        digits.then(|| u8::from_str_radix(part, 16).ok()).flatten()
    };
    text.split([':', '-']).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads<T: DeserializeOwned>(text: &str) -> bool {
        let quoted = serde_json::to_string(text).unwrap();
        json::<T>(&quoted).is_ok()
    }

    #[test]
    fn the_number_of_arguments_counts() {
        assert!(exactly::<0>(vec![]).is_ok());
        let problem = exactly::<0>(vec!["x".into()]).unwrap_err().to_string();
        assert_eq!(problem, "bad arguments: 0 expected, 1 given");
        assert!(one::<Vec<u8>>(vec![]).is_err());
        assert!(one::<Vec<u8>>(vec!["[1".into()]).is_err());
    }

    /// What a hostile service would like to slip in somewhere.
    const TRICKS: &[&str] = &[
        "",
        "-",
        "--privileged",
        "-v/:/host",
        "a b",
        "a;reboot",
        "$(reboot)",
        "`reboot`",
        "a|b",
        "a\nb",
        "a\0b",
        "../../etc/shadow",
        "a'b",
        "a\"b",
        "a&b",
        "a>b",
        "{{.Env}}",
        "\u{202e}a",
    ];

    #[test]
    fn words_that_could_mean_something_else_are_refused_everywhere() {
        for trick in TRICKS {
            assert!(!reads::<Image>(trick), "image {trick:?}");
            assert!(!reads::<Device>(trick), "device {trick:?}");
            assert!(!reads::<Domain>(trick), "domain {trick:?}");
            assert!(!reads::<TimeSource>(trick), "time source {trick:?}");
            assert!(!reads::<WebUrl>(trick), "url {trick:?}");
            assert!(!reads::<Mac>(trick), "mac {trick:?}");
        }
        for trick in ["", "-a", "a b", "a/b", ".", "..", "a\n", "sixteen-letters-"] {
            assert!(!reads::<Nic>(trick), "interface {trick:?}");
        }
    }

    #[test]
    fn words_that_are_meant_are_taken() {
        for image in [
            "quay.io/openshift-release-dev/ocp-release:4.18.1-x86_64",
            "registry.local:5000/a/b@sha256:0123456789abcdef",
            "quay.io/edge-infrastructure/assisted-installer-agent:latest",
            "[fd00::1]:5000/a:1",
            "alpine",
        ] {
            assert!(reads::<Image>(image), "{image}");
        }
        assert!(reads::<Moment>("2026-01-02 03:04:05") && !reads::<Moment>("$(date)"));
        assert!(reads::<Nic>("enp0s31f6") && reads::<Nic>("bond0.100"));
        assert!(reads::<Device>("/dev/disk/by-path/pci-0000:00:1f.2-ata-1"));
        assert!(!reads::<Device>("/etc/passwd") && !reads::<Device>("/dev/../etc/passwd"));
        assert!(reads::<Domain>("validateNoWildcardDNS.c.example.com."));
        assert!(reads::<TimeSource>("fd00::1") && reads::<TimeSource>("0.pool.ntp.org"));
        assert!(reads::<WebUrl>(
            "https://api-int.c.example.com:22623/config/worker"
        ));
        assert!(!reads::<WebUrl>("file:///etc/shadow"));
        assert!(reads::<Mac>("52:54:00:AA:bb:01"));
    }
}
