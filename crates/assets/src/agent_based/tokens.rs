//! Tokens of an agent-based installation: an EC key per cluster, three tokens signed with it, and
//! afterwards only the public half is used.

use std::fmt;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use p256::{
    PublicKey,
    ecdsa::{Signature, SigningKey, signature::Signer},
    pkcs8::{EncodePublicKey, LineEnding},
};
use serde_json::{Map, Value, json};

use crate::entropy::Entropy;

/// The header of every token, byte for byte that of the reference.
const HEADER: &str = r#"{"alg":"ES256","typ":"JWT"}"#;

/// What hosts, users and watchers show to the service on the rendezvous host.
#[derive(Clone, PartialEq, Eq)]
pub struct Tokens {
    /// Public key: base64 of a PEM block `EC PUBLIC KEY`.
    pub public_key: String,
    /// For hosts.
    pub agent: String,
    /// For the one who installs.
    pub user: String,
    /// For those who only look.
    pub watcher: String,
}

impl Tokens {
    /// The tokens that belong to this seed; `expires` in seconds since 1970.
    ///
    /// # Panics
    /// Never: a P-256 public key can be written.
    #[must_use]
    pub fn of(entropy: &Entropy, expires: Option<i64>) -> Self {
        let key = signing_key(entropy);
        let public = PublicKey::from(key.verifying_key());
        let pem = public.to_public_key_pem(LineEnding::LF);
        let pem = pem.expect("a P-256 public key can be written");
        let pem = pem.replace("PUBLIC KEY", "EC PUBLIC KEY");
        let token = |scheme: &str| {
            let mut claims = Map::new();
            claims.insert("auth_scheme".to_owned(), json!(scheme));
            if let Some(end) = expires {
                claims.insert("exp".to_owned(), json!(end));
            }
            sign(&key, &Value::Object(claims))
        };
        Self {
            public_key: STANDARD.encode(pem),
            agent: token("agentAuth"),
            user: token("userAuth"),
            watcher: token("watcherAuth"),
        }
    }
}

/// Nearly every number of 32 bytes is a key; the first that is one is taken.
fn signing_key(entropy: &Entropy) -> SigningKey {
    let mut fill = entropy.filler("agent-token-key");
    loop {
        let mut bytes = [0; 32];
        fill(&mut bytes);
        if let Ok(key) = SigningKey::from_slice(&bytes) {
            return key;
        }
    }
}

fn sign(key: &SigningKey, claims: &Value) -> String {
    let message = format!(
        "{}.{}",
        URL_SAFE_NO_PAD.encode(HEADER),
        URL_SAFE_NO_PAD.encode(claims.to_string())
    );
    let signature: Signature = key.sign(message.as_bytes());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()))
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens(***)")
    }
}

#[cfg(test)]
mod tests {
    use p256::ecdsa::{VerifyingKey, signature::Verifier};
    use p256::pkcs8::DecodePublicKey;

    use super::*;

    #[test]
    fn tokens_follow_from_the_seed_and_verify() {
        let tokens = Tokens::of(&Entropy::new([3; 32]), None);
        assert_eq!(tokens, Tokens::of(&Entropy::new([3; 32]), None));
        assert_ne!(tokens, Tokens::of(&Entropy::new([4; 32]), None));
        let pem = String::from_utf8(STANDARD.decode(&tokens.public_key).unwrap()).unwrap();
        assert!(pem.starts_with("-----BEGIN EC PUBLIC KEY-----\n"), "{pem}");
        let pem = pem.replace("EC PUBLIC KEY", "PUBLIC KEY");
        let key = VerifyingKey::from(PublicKey::from_public_key_pem(&pem).unwrap());
        for (token, scheme) in [
            (&tokens.agent, "agentAuth"),
            (&tokens.user, "userAuth"),
            (&tokens.watcher, "watcherAuth"),
        ] {
            let (message, signature) = token.rsplit_once('.').unwrap();
            let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
            let signature = Signature::from_slice(&signature).unwrap();
            key.verify(message.as_bytes(), &signature).unwrap();
            let claims = URL_SAFE_NO_PAD.decode(message.split_once('.').unwrap().1);
            let claims: Value = serde_json::from_slice(&claims.unwrap()).unwrap();
            assert_eq!(claims, json!({"auth_scheme": scheme}));
        }
        let short = Tokens::of(&Entropy::new([3; 32]), Some(7));
        assert_ne!(short.agent, tokens.agent);
    }
}
