//! What a signed link gives access to, and how it is revoked.
//!
//! A link of an infra-env carries a fingerprint of the key that the infra-env had when the link
//! was made; a new key ends all links of the old one. In mode users a link also says which
//! downloads it opens, so that the address of a harmless file is not the key to a secret one.
//! Tokens that say nothing of the kind (those of agents, and those that others made with the
//! reference's `local` key) are not held to it.

use std::fmt::Write as _;

use muster_model::Secret;
use sha2::{Digest as _, Sha256};

use crate::credentials::Denied;
use crate::principal::{Principal, Scope};

/// What a link is made for.
#[derive(Clone, Copy, Debug)]
pub struct LinkTerms<'a> {
    /// The infra-env or cluster.
    pub scope: Scope,
    /// The infra-env's key for links; clusters have none.
    pub signing_key: Option<&'a Secret>,
    /// The places it opens, separated by spaces; what a place is called is the service's choice.
    pub opens: &'a str,
}

impl LinkTerms<'_> {
    pub(crate) fn fingerprint(&self) -> Option<String> {
        self.signing_key.map(fingerprint)
    }
}

/// The limits that a caller's token names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkLimits {
    pub(crate) fingerprint: Option<String>,
    pub(crate) opens: Option<String>,
}

/// Refuses a link that was made for other places than the one asked for.
///
/// # Errors
/// 403.
pub fn check_place(caller: &Principal, place: impl FnOnce() -> String) -> Result<(), Denied> {
    let Some(opens) = &caller.link.opens else {
        return Ok(());
    };
    let place = place();
    if opens.split(' ').any(|opened| opened == place) {
        return Ok(());
    }
    Err(Denied::new(
        403,
        "this link is for another file; request a link to this one",
    ))
}

/// Refuses a link that was made before its infra-env got this key.
///
/// # Errors
/// 401.
pub fn check_signing_key(caller: &Principal, signing_key: &Secret) -> Result<(), Denied> {
    match &caller.link.fingerprint {
        Some(made_with) if *made_with != fingerprint(signing_key) => Err(Denied::refused(
            "this link was revoked when the infra-env got a new signing key; request a new link",
        )),
        Some(_) | None => Ok(()),
    }
}

/// Eight bytes of the key's hash: enough to distinguish keys, useless to recover one.
pub(crate) fn fingerprint(signing_key: &Secret) -> String {
    let hash = Sha256::digest(signing_key.reveal().as_bytes());
    hash.iter().take(8).fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use muster_model::Scheme;

    use super::*;
    use crate::principal::Role;

    fn caller(fingerprint: Option<&str>, opens: Option<&str>) -> Principal {
        Principal {
            link: LinkLimits {
                fingerprint: fingerprint.map(str::to_owned),
                opens: opens.map(str::to_owned),
            },
            ..Principal::unbound("link", Role::Agent, Scheme::Url)
        }
    }

    #[test]
    fn a_link_opens_the_places_it_names_and_nothing_near_them() {
        let link = caller(None, Some("files/ipxe-script initrd"));
        for (place, opens) in [
            ("files/ipxe-script", true),
            ("initrd", true),
            ("files/discovery.ign", false),
            ("files", false),
            ("files/ipxe-script initrd", false),
            ("", false),
        ] {
            let answer = check_place(&link, || place.to_owned());
            assert_eq!(answer.is_ok(), opens, "{place}");
        }
        let empty = caller(None, Some(""));
        assert_eq!(
            check_place(&empty, || "x".to_owned()).unwrap_err().status,
            403
        );
        let free = caller(None, None);
        assert_eq!(check_place(&free, || "x".to_owned()), Ok(()));
    }

    #[test]
    fn a_new_key_ends_links_and_leaves_tokens_without_a_fingerprint_alone() {
        let (old, new) = (Secret::new("old"), Secret::new("new"));
        let link = caller(Some(&fingerprint(&old)), None);
        assert_eq!(check_signing_key(&link, &old), Ok(()));
        assert_eq!(check_signing_key(&link, &new).unwrap_err().status, 401);
        assert_eq!(check_signing_key(&caller(None, None), &new), Ok(()));
    }

    #[test]
    fn a_fingerprint_is_sixteen_hex_digits() {
        assert_eq!(fingerprint(&Secret::new("abc")), "ba7816bf8f01cfea");
    }
}
