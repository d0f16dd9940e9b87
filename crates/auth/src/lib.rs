//! Authentication, authorization, and the keys behind them.
//!
//! Everything here works on plain text and on a clock that is handed in; the HTTP server, the
//! database and the settings are in other crates. A request goes through these questions:
//!
//! 1. [`Authenticator::authenticate`]: whose credentials are these? → [`Principal`]
//! 2. [`check_role`]: may that role use this method here?
//! 3. [`check_scope`]: does its token belong to the infra-env or cluster in the path?
//! 4. [`check_place`] and [`check_signing_key`]: if it is a link, is it one to this file, and not
//!    withdrawn?
//!
//! Each "no" is a [`Denied`] that carries the status and a message. Tokens and signed links are
//! made by the [`Authenticator`] too ([`Authenticator::agent_token`], [`Authenticator::login`],
//! [`Authenticator::sign_file_url`]); the server's certificate comes from [`Authority`].

mod authenticator;
mod authority;
mod cache;
mod credentials;
pub mod files;
mod keys;
mod link_terms;
mod links;
mod login_limit;
mod principal;
mod signing_keys;
mod tokens;
mod users;

pub use authenticator::{Authenticator, Mode, Rules, Session};
pub use authority::{Authority, AuthorityError, OldestTls, TlsFiles};
pub use credentials::{Credentials, Denied};
pub use keys::{KeyError, KeyPair};
pub use link_terms::{LinkTerms, check_place, check_signing_key};
pub use links::{ImageForm, ImageLink, SignedUrl};
pub use principal::{
    Login, Principal, ReadOnly, Role, Scope, check_generation, check_role, check_scope,
};
pub use signing_keys::{Former, SigningKeys};
pub use tokens::{Claims, SignError, TokenError, Tokens};
pub use users::{LoginError, User, UserError, Users, hash_password};
