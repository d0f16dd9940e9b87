//! Keys of the certificate signers.

use serde::{Deserialize, Serialize};

use super::{EcdsaCurve, KeyAlgorithm, is_zero};

/// Keys of the certificate signers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Pki {
    pub signer_certificates: SignerCertificates,
}

/// What the signers' certificates look like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SignerCertificates {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<SignerKey>,
}

/// A key to be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SignerKey {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<KeyAlgorithm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rsa: Option<RsaKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecdsa: Option<EcdsaKey>,
}

/// Size of an RSA key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RsaKey {
    #[serde(skip_serializing_if = "is_zero")]
    pub key_size: i64,
}

/// Curve of an ECDSA key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct EcdsaKey {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curve: Option<EcdsaCurve>,
}
