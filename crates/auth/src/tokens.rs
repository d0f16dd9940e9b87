//! Signed tokens: JWTs with ES256 only.
//!
//! The format is small enough to be read here in full, and that is safer than a library with a
//! dozen algorithms of which eleven must be switched off: a header that names another one is
//! refused before anything is computed.

use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::cache::Cache;
use crate::signing_keys::SigningKeys;

/// The reference's tokens are below 1 KiB; anything much longer is not a token.
const LONGEST: usize = 8 * 1024;

/// The header of every token we make, byte for byte that of the reference.
const HEADER: &str = r#"{"alg":"ES256","typ":"JWT"}"#;

/// What a token says. Members that are absent are not written.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Claims {
    /// The infra-env the token was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infra_env_id: Option<String>,
    /// The one machine of the infra-env the token was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_id: Option<String>,
    /// The registration of that machine, by its time; another one has ended the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration: Option<i64>,
    /// Generation of the infra-env's agent tokens; not written for the first, whose tokens are
    /// those of the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// The cluster the token was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// The scheme it may be used with; may be any JSON in a token made by others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_scheme: Option<Value>,
    /// The user it was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// End of its life, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exp: Option<i64>,
    /// Begin of its life, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nbf: Option<i64>,
    /// Number of a login, by which it can be ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jti: Option<String>,
    /// Fingerprint of the user's password hash; a login with another one has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_key: Option<String>,
    /// Fingerprint of the infra-env's key for links; a link with another one was withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_key: Option<String>,
    /// The places a link opens, separated by spaces.
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub opens: Option<String>,
}

/// Why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not three parts of base64url with JSON in them.
    #[error("the token is malformed: it is not a signed JWT")]
    Malformed,
    /// Longer than any token.
    #[error("the token is malformed: it is longer than {LONGEST} bytes")]
    TooLong,
    /// Signed in another way, or not at all.
    #[error("the token is not signed with ES256")]
    WrongAlgorithm,
    /// Signed with another key, or modified.
    #[error("the token was not signed by this service")]
    BadSignature,
    /// Its time is over.
    #[error("the token has expired; get a new one")]
    Expired,
    /// Its time is still to come.
    #[error("the token is not valid yet; check the clocks")]
    NotYet,
}

/// Why no token can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// There is only the public half of the key.
    #[error("tokens cannot be signed: the service has no private key (EC_PRIVATE_KEY_PEM)")]
    NoPrivateKey,
}

/// Makes and checks tokens. The keys may be replaced while it is in use.
#[derive(Debug)]
pub struct Tokens {
    in_force: RwLock<Arc<InForce>>,
}

/// Keys, and the tokens that were verified with them.
#[derive(Debug)]
struct InForce {
    keys: SigningKeys,
    verified: Cache,
}

impl Tokens {
    /// Tokens of these keys.
    pub fn new(keys: impl Into<SigningKeys>) -> Self {
        Self {
            in_force: RwLock::new(Arc::new(InForce::with(keys.into()))),
        }
    }

    /// Uses other keys from now on; whether they are others.
    pub fn replace(&self, keys: SigningKeys) -> bool {
        let mut in_force = self
            .in_force
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let changed = in_force.keys != keys;
        if changed {
            *in_force = Arc::new(InForce::with(keys));
        }
        changed
    }

    fn in_force(&self) -> Arc<InForce> {
        let in_force = self.in_force.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&in_force)
    }

    /// Makes a token. The same claims give the same token.
    ///
    /// # Errors
    /// If the private key is missing.
    pub fn issue(&self, claims: &Claims) -> Result<String, SignError> {
        let claims = serde_json::to_vec(claims).expect("claims are plain JSON members");
        let message = format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(HEADER),
            URL_SAFE_NO_PAD.encode(claims)
        );
        let signature = self
            .in_force()
            .keys
            .sign(message.as_bytes())
            .ok_or(SignError::NoPrivateKey)?;
        Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// Checks a token at the time `now` (seconds since 1970) and says what is in it.
    ///
    /// # Errors
    /// If it is not a token of ours that is valid now.
    pub fn verify(&self, token: &str, now: i64) -> Result<Arc<Claims>, TokenError> {
        if token.len() > LONGEST {
            return Err(TokenError::TooLong);
        }
        let in_force = self.in_force();
        let claims = match in_force.verified.get(token) {
            Some(claims) => claims,
            None => {
                let claims = Arc::new(in_force.open(token)?);
                in_force.verified.put(token, Arc::clone(&claims));
                claims
            }
        };
        if claims.exp.is_some_and(|end| end <= now) {
            return Err(TokenError::Expired);
        }
        if claims.nbf.is_some_and(|begin| begin > now) {
            return Err(TokenError::NotYet);
        }
        Ok(claims)
    }
}

impl InForce {
    fn with(keys: SigningKeys) -> Self {
        Self {
            keys,
            verified: Cache::default(),
        }
    }

    /// Checks form and signature.
    fn open(&self, token: &str) -> Result<Claims, TokenError> {
        let (message, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (header, payload) = message.split_once('.').ok_or(TokenError::Malformed)?;
        if payload.contains('.') {
            return Err(TokenError::Malformed);
        }
        let header = object(header)?;
        if header.get("alg").and_then(Value::as_str) != Some("ES256") {
            return Err(TokenError::WrongAlgorithm);
        }
        // An extension that must be understood cannot be ignored (RFC 7515, 4.1.11).
        if header.contains_key("crit") {
            return Err(TokenError::Malformed);
        }
        let signature = URL_SAFE_NO_PAD
            .decode(signature)
            .map_err(|_| TokenError::Malformed)?;
        if !self.keys.verify(message.as_bytes(), &signature) {
            return Err(TokenError::BadSignature);
        }
        read_claims(&object(payload)?)
    }
}

fn object(part: &str) -> Result<Map<String, Value>, TokenError> {
    let bytes = URL_SAFE_NO_PAD
        .decode(part)
        .map_err(|_| TokenError::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| TokenError::Malformed)
}

fn read_claims(members: &Map<String, Value>) -> Result<Claims, TokenError> {
    let text = |name: &str| match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(TokenError::Malformed),
    };
    // RFC 7519 allows fractions of seconds.
    let time = |name: &str| match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => {
            let whole = number
                .as_i64()
                .or_else(|| number.as_f64().map(|seconds| seconds as i64));
            whole.map(Some).ok_or(TokenError::Malformed)
        }
        Some(_) => Err(TokenError::Malformed),
    };
    Ok(Claims {
        infra_env_id: text("infra_env_id")?,
        host_id: text("host_id")?,
        registration: time("registration")?,
        generation: time("generation")?,
        cluster_id: text("cluster_id")?,
        auth_scheme: members.get("auth_scheme").cloned(),
        sub: text("sub")?,
        exp: time("exp")?,
        nbf: time("nbf")?,
        jti: text("jti")?,
        user_key: text("user_key")?,
        link_key: text("link_key")?,
        opens: text("for")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeyPair;

    fn tokens() -> Tokens {
        Tokens::new(KeyPair::generate())
    }

    fn forge(tokens: &Tokens, header: &str, payload: &str) -> String {
        let message = format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(header),
            URL_SAFE_NO_PAD.encode(payload)
        );
        let signature = tokens.in_force().keys.sign(message.as_bytes()).unwrap();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    #[test]
    fn an_infra_env_token_has_exactly_the_claims_of_the_reference() {
        let id = "0d2f1c3a-5b6e-4f70-8a91-b2c3d4e5f607";
        let claims = Claims {
            infra_env_id: Some(id.into()),
            ..Claims::default()
        };
        let token = tokens().issue(&claims).unwrap();
        let parts: Vec<_> = token.split('.').collect();
        let part = |n: usize| String::from_utf8(URL_SAFE_NO_PAD.decode(parts[n]).unwrap()).unwrap();
        assert_eq!(parts.len(), 3);
        assert_eq!(part(0), r#"{"alg":"ES256","typ":"JWT"}"#);
        assert_eq!(part(1), format!(r#"{{"infra_env_id":"{id}"}}"#));
        assert_eq!(URL_SAFE_NO_PAD.decode(parts[2]).unwrap().len(), 64);
    }

    #[test]
    fn what_is_issued_verifies_twice_with_the_same_claims() {
        let tokens = tokens();
        let claims = Claims {
            sub: Some("ann".into()),
            exp: Some(100),
            ..Claims::default()
        };
        let token = tokens.issue(&claims).unwrap();
        assert_eq!(*tokens.verify(&token, 99).unwrap(), claims);
        assert_eq!(*tokens.verify(&token, 99).unwrap(), claims);
    }

    #[test]
    fn expiry_counts_for_remembered_tokens_too() {
        let tokens = tokens();
        let token = tokens
            .issue(&Claims {
                exp: Some(100),
                ..Claims::default()
            })
            .unwrap();
        assert!(tokens.verify(&token, 99).is_ok());
        assert_eq!(tokens.verify(&token, 100), Err(TokenError::Expired));
    }

    #[test]
    fn times_of_other_issuers_may_have_fractions_and_a_beginning() {
        let tokens = tokens();
        let token = forge(&tokens, HEADER, r#"{"exp": 100.75, "nbf": 50}"#);
        assert_eq!(tokens.verify(&token, 10), Err(TokenError::NotYet));
        assert!(tokens.verify(&token, 60).is_ok());
        assert_eq!(tokens.verify(&token, 101), Err(TokenError::Expired));
    }

    #[test]
    fn hostile_tokens_are_refused_for_what_they_are() {
        let tokens = tokens();
        let good = tokens.issue(&Claims::default()).unwrap();
        let (message, signature) = good.rsplit_once('.').unwrap();
        let changed = format!(
            "{}.{}.{signature}",
            URL_SAFE_NO_PAD.encode(HEADER),
            URL_SAFE_NO_PAD.encode(r#"{"sub":"admin"}"#)
        );
        let with = |header: &str| forge(&tokens, header, "{}");
        for (what, token, expected) in [
            ("empty", String::new(), TokenError::Malformed),
            ("garbage", "garbage".into(), TokenError::Malformed),
            ("dots", "...".into(), TokenError::Malformed),
            (
                "no signature",
                format!("{message}."),
                TokenError::BadSignature,
            ),
            (
                "short signature",
                format!("{message}.AAAA"),
                TokenError::BadSignature,
            ),
            (
                "zero signature",
                format!("{message}.{}", "A".repeat(86)),
                TokenError::BadSignature,
            ),
            ("padded", format!("{good}="), TokenError::Malformed),
            (
                "five parts",
                format!("{good}.{good}"),
                TokenError::Malformed,
            ),
            ("changed claims", changed, TokenError::BadSignature),
            (
                "alg none",
                with(r#"{"alg":"none"}"#),
                TokenError::WrongAlgorithm,
            ),
            (
                "alg HS256",
                with(r#"{"alg":"HS256"}"#),
                TokenError::WrongAlgorithm,
            ),
            (
                "alg es256",
                with(r#"{"alg":"es256"}"#),
                TokenError::WrongAlgorithm,
            ),
            ("no alg", with("{}"), TokenError::WrongAlgorithm),
            (
                "alg list",
                with(r#"{"alg":["ES256"]}"#),
                TokenError::WrongAlgorithm,
            ),
            ("header is a list", with("[]"), TokenError::Malformed),
            (
                "critical extension",
                with(r#"{"alg":"ES256","crit":["x"]}"#),
                TokenError::Malformed,
            ),
            (
                "payload is text",
                forge(&tokens, HEADER, "\"x\""),
                TokenError::Malformed,
            ),
            (
                "exp is text",
                forge(&tokens, HEADER, r#"{"exp":"9"}"#),
                TokenError::Malformed,
            ),
            (
                "id is a number",
                forge(&tokens, HEADER, r#"{"cluster_id":9}"#),
                TokenError::Malformed,
            ),
            ("one megabyte", "a".repeat(1 << 20), TokenError::TooLong),
            ("not ASCII", "ä.ö.ü".into(), TokenError::Malformed),
        ] {
            assert_eq!(tokens.verify(&token, 0), Err(expected), "{what}");
        }
    }

    #[test]
    fn tokens_of_former_keys_stay_good_until_those_are_given_up() {
        let (first, second) = (KeyPair::generate(), KeyPair::generate());
        let tokens = Tokens::new(first.clone());
        let of_first = tokens.issue(&Claims::default()).unwrap();
        assert!(!tokens.replace(first.clone().into()));
        assert!(tokens.verify(&of_first, 0).is_ok());
        assert!(tokens.replace(SigningKeys::new(second.clone(), vec![first.clone()])));
        assert!(tokens.verify(&of_first, 0).is_ok());
        let of_second = tokens.issue(&Claims::default()).unwrap();
        assert!(Tokens::new(second.clone()).verify(&of_second, 0).is_ok());
        assert!(tokens.replace(second.into()));
        assert!(tokens.verify(&of_second, 0).is_ok());
        // Although it was verified before.
        assert_eq!(tokens.verify(&of_first, 0), Err(TokenError::BadSignature));
    }

    #[test]
    fn a_token_of_another_key_is_refused() {
        let foreign = tokens().issue(&Claims::default()).unwrap();
        assert_eq!(tokens().verify(&foreign, 0), Err(TokenError::BadSignature));
    }

    #[test]
    fn without_the_private_key_nothing_is_issued() {
        let public = KeyPair::from_public_pem(&KeyPair::generate().public_pem()).unwrap();
        assert_eq!(
            Tokens::new(public).issue(&Claims::default()),
            Err(SignError::NoPrivateKey)
        );
    }
}
