//! Every mode, every carrier, and tokens in the wrong places.

use muster_model::Secret;
use uuid::Uuid;

use super::*;
use crate::link_terms::{LinkTerms, check_place, check_signing_key};
use crate::links::ImageForm;
use crate::principal::check_scope;
use crate::users::{User, hash_password};

const NOW: i64 = 1_800_000_000;
const HOME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
const OPENS: &str = "files/a initrd";
const ALL: &[Scheme] = &[
    Scheme::User,
    Scheme::Agent,
    Scheme::Url,
    Scheme::Image,
    Scheme::ImageUrl,
    Scheme::Watcher,
];

fn infra_env(n: u128) -> InfraEnvId {
    Uuid::from_u128(n).into()
}

fn cluster(n: u128) -> ClusterId {
    Uuid::from_u128(n).into()
}

/// The same token in the carrier of one scheme.
fn carried(scheme: Scheme, token: &str) -> Credentials<'_> {
    let mut credentials = Credentials::default();
    match scheme {
        Scheme::User => credentials.authorization = Some(token),
        Scheme::Agent => credentials.secret_key = Some(token),
        Scheme::Url => credentials.api_key = Some(token),
        Scheme::Image => credentials.image_token_header = Some(token),
        Scheme::ImageUrl => credentials.image_token_query = Some(token),
        Scheme::Watcher => credentials.watcher = Some(token),
    }
    credentials
}

fn signing_key() -> Secret {
    Secret::new("abc")
}

/// A link to OPENS of an infra-env with that key.
fn terms(key: &Secret, id: InfraEnvId) -> LinkTerms<'_> {
    LinkTerms {
        scope: Scope::InfraEnv(id),
        signing_key: Some(key),
        opens: OPENS,
    }
}

fn local() -> Authenticator {
    Authenticator::new(Mode::Local(KeyPair::generate().into()), Rules::default())
}

fn with_users() -> Authenticator {
    let user = |name: &str, role| User {
        name: name.into(),
        password_hash: Secret::new(hash_password("secret").unwrap()),
        role,
    };
    let users = [
        user("ann", Role::Admin),
        user("bob", Role::User),
        user("eve", Role::ReadOnly),
    ];
    let mode = Mode::Users(KeyPair::generate().into(), Users::new(users).unwrap());
    Authenticator::new(mode, Rules::default())
}

/// An authenticator of the agent-based installer, and the installer's way of making tokens.
fn installer_made() -> (Authenticator, Tokens) {
    let keys = KeyPair::generate();
    let public = KeyPair::from_public_pem(&keys.public_pem()).unwrap();
    let service = Authenticator::new(Mode::AgentInstallerLocal(public), Rules::default());
    (service, Tokens::new(keys))
}

fn status(answer: Result<Principal, Denied>) -> u16 {
    answer.map_or_else(|denied| denied.status, |_| 200)
}

#[test]
fn without_authentication_everyone_is_administrator() {
    let open = Authenticator::new(Mode::None, Rules::default());
    let caller = open
        .authenticate(&[Scheme::Agent], &Credentials::default(), NOW)
        .unwrap();
    assert_eq!((caller.name.as_ref(), caller.role), ("admin", Role::Admin));
    assert!(caller.is_admin());
    assert_eq!(open.agent_token(Scope::InfraEnv(infra_env(1))), Ok(None));
    assert_eq!(
        open.login("ann", "secret", HOME, NOW),
        Err(LoginError::NotOffered)
    );
}

#[test]
fn missing_credentials_are_401_and_the_message_names_the_carriers() {
    let denied = local().authenticate(&[Scheme::User, Scheme::Agent], &Credentials::default(), NOW);
    let denied = denied.unwrap_err();
    assert_eq!(denied.status, 401);
    assert!(
        denied
            .message
            .contains("header Authorization or header X-Secret-Key"),
        "{denied}"
    );
}

#[test]
fn local_mode_takes_its_tokens_from_agents_and_links_only() {
    let service = local();
    for scope in [Scope::InfraEnv(infra_env(1)), Scope::Cluster(cluster(1))] {
        let token = service.agent_token(scope).unwrap().unwrap();
        for &scheme in ALL {
            let answer = service.authenticate(&[scheme], &carried(scheme, &token), NOW);
            match scheme {
                Scheme::Agent | Scheme::Url => {
                    let caller = answer.unwrap();
                    assert_eq!((caller.scope(), caller.scheme), (Some(scope), scheme));
                    assert!(!caller.is_admin());
                }
                Scheme::User | Scheme::Image | Scheme::ImageUrl | Scheme::Watcher => {
                    assert_eq!(status(answer), 401, "{scheme}");
                }
            }
        }
    }
}

#[test]
fn a_token_of_one_infra_env_does_not_open_another() {
    let never = |_, _| false;
    for service in [local(), with_users()] {
        let token = service
            .agent_token(Scope::InfraEnv(infra_env(1)))
            .unwrap()
            .unwrap();
        let credentials = carried(Scheme::Agent, &token);
        let caller = service
            .authenticate(&[Scheme::Agent], &credentials, NOW)
            .unwrap();
        assert_eq!(
            check_scope(&caller, Some(infra_env(1)), None, None, never),
            Ok(())
        );
        let denied = check_scope(&caller, Some(infra_env(2)), None, None, never).unwrap_err();
        assert_eq!(denied.status, 404);
    }
}

#[test]
fn scopes_can_be_switched_off_as_in_the_reference() {
    let rules = Rules {
        enforce_scope: false,
        ..Rules::default()
    };
    let service = Authenticator::new(Mode::Local(KeyPair::generate().into()), rules);
    let token = service
        .agent_token(Scope::InfraEnv(infra_env(1)))
        .unwrap()
        .unwrap();
    let credentials = carried(Scheme::Url, &token);
    let caller = service
        .authenticate(&[Scheme::Url], &credentials, NOW)
        .unwrap();
    assert_eq!(
        check_scope(&caller, Some(infra_env(2)), None, None, |_, _| false),
        Ok(())
    );
    assert!(caller.is_admin());
}

#[test]
fn schemes_are_tried_in_order_and_the_last_failure_is_the_answer() {
    let service = local();
    let token = service
        .agent_token(Scope::InfraEnv(infra_env(1)))
        .unwrap()
        .unwrap();
    let accepted = [Scheme::User, Scheme::Agent, Scheme::Url];
    let mixed = Credentials {
        authorization: Some("Bearer nonsense"),
        api_key: Some(&token),
        ..Credentials::default()
    };
    let caller = service.authenticate(&accepted, &mixed, NOW).unwrap();
    assert_eq!(caller.scheme, Scheme::Url);

    let bad = Credentials {
        api_key: Some("nonsense"),
        ..mixed
    };
    let denied = service.authenticate(&accepted, &bad, NOW).unwrap_err();
    assert_eq!(
        (denied.status, denied.message.contains("JWT")),
        (401, true),
        "{denied}"
    );

    let not_accepted = service.authenticate(&[Scheme::Agent], &mixed, NOW);
    assert_eq!(
        status(not_accepted),
        401,
        "a token in a carrier the operation does not take"
    );
}

#[test]
fn a_login_is_good_until_it_ends_or_its_user_is_gone() {
    let service = with_users();
    let session = service.login("bob", "secret", HOME, NOW).unwrap();
    assert_eq!(
        (session.role, session.expires_at),
        (Role::User, NOW + 12 * 3600)
    );
    let bearer = format!("Bearer {}", session.token);
    for text in [
        bearer.as_str(),
        session.token.as_str(),
        &bearer.to_lowercase()[..6],
    ] {
        let answer = service.authenticate(&[Scheme::User], &carried(Scheme::User, text), NOW);
        assert_eq!(answer.is_ok(), text.len() > 10, "{}", text.len());
    }
    let credentials = carried(Scheme::User, &bearer);
    let at = |now| service.authenticate(&[Scheme::User], &credentials, now);
    let caller = at(session.expires_at - 1).unwrap();
    assert_eq!(
        (caller.name.as_ref(), caller.role, caller.scope()),
        ("bob", Role::User, None)
    );
    assert_eq!(status(at(session.expires_at)), 401);
    assert_eq!(
        service.login("bob", "wrong", HOME, NOW),
        Err(LoginError::Refused)
    );

    let Way::Users(tokens, _) = &service.way else {
        panic!("mode users")
    };
    let claims = Claims {
        sub: Some("mallory".into()),
        auth_scheme: Some(scheme_claim(Scheme::User)),
        exp: Some(NOW + 1),
        ..Claims::default()
    };
    let gone = tokens.issue(&claims).unwrap();
    assert_eq!(
        status(service.authenticate(&[Scheme::User], &carried(Scheme::User, &gone), NOW)),
        401
    );
}

#[test]
fn in_users_mode_each_token_fits_only_its_own_carriers() {
    let service = with_users();
    let scope = Scope::InfraEnv(infra_env(1));
    let login = service.login("ann", "secret", HOME, NOW).unwrap().token;
    let agent = service.agent_token(scope).unwrap().unwrap();
    let image = service
        .image_link(infra_env(1), &signing_key(), OPENS, NOW)
        .unwrap()
        .key;
    let file = service
        .sign_file_url(
            "https://x/f?file_name=y",
            &terms(&signing_key(), infra_env(1)),
            NOW,
        )
        .unwrap()
        .url;
    let file = file.split_once("&api_key=").unwrap().1.to_string();
    let links = [Scheme::Url, Scheme::Image, Scheme::ImageUrl];
    for (what, token, fits) in [
        ("login", &login, &[Scheme::User, Scheme::Watcher][..]),
        ("agent", &agent, &[Scheme::Agent]),
        ("image link", &image, &links),
        ("file link", &file, &links),
    ] {
        for &scheme in ALL {
            let answer = service.authenticate(&[scheme], &carried(scheme, token), NOW);
            let expected = if fits.contains(&scheme) { 200 } else { 401 };
            assert_eq!(status(answer), expected, "{what} by {scheme}");
        }
    }
}

#[test]
fn links_of_users_mode_expire_and_name_their_end() {
    let service = with_users();
    let link = service
        .image_link(infra_env(1), &signing_key(), OPENS, NOW)
        .unwrap();
    assert_eq!(link.form, ImageForm::ByToken);
    assert_eq!(link.expires_at, Some(NOW + 4 * 3600));
    assert!(link.path().starts_with("bytoken/ey"));
    let (named, caller) = service.image_path(link.form, &link.key, NOW).unwrap();
    assert_eq!(
        (named, caller.scope()),
        (infra_env(1), Some(Scope::InfraEnv(infra_env(1))))
    );
    let late = service
        .image_path(link.form, &link.key, NOW + 4 * 3600)
        .unwrap_err();
    assert_eq!(late.status, 401);

    let signed = service
        .sign_file_url(
            "https://x/f",
            &LinkTerms {
                scope: Scope::Cluster(cluster(1)),
                signing_key: None,
                opens: OPENS,
            },
            NOW,
        )
        .unwrap();
    assert!(signed.url.starts_with("https://x/f?api_key=ey"));
    assert_eq!(signed.expires_at, Some(NOW + 4 * 3600));
}

#[test]
fn links_of_the_other_modes_look_as_in_the_reference() {
    let url = "https://x/f?file_name=y";
    let key = signing_key();
    let terms = terms(&key, infra_env(1));
    let (installer, _) = installer_made();
    for open in [Authenticator::new(Mode::None, Rules::default()), installer] {
        let link = open
            .image_link(infra_env(1), &signing_key(), OPENS, NOW)
            .unwrap();
        assert_eq!(link.path(), format!("byid/{}", infra_env(1)));
        let (named, _) = open.image_path(link.form, &link.key, NOW).unwrap();
        assert_eq!(named, infra_env(1));
        assert_eq!(
            open.image_path(link.form, "x", NOW).unwrap_err().status,
            404
        );
        let signed = open.sign_file_url(url, &terms, NOW).unwrap();
        assert_eq!((signed.url.as_str(), signed.expires_at), (url, None));
    }
    let service = local();
    let link = service
        .image_link(infra_env(1), &signing_key(), OPENS, NOW)
        .unwrap();
    assert_eq!((link.form, link.expires_at), (ImageForm::ByApiKey, None));
    let (named, caller) = service.image_path(link.form, &link.key, NOW).unwrap();
    assert_eq!(
        (named, caller.scope()),
        (infra_env(1), Some(Scope::InfraEnv(infra_env(1))))
    );
    let by_id = service
        .image_path(ImageForm::ById, &infra_env(1).to_string(), NOW)
        .unwrap_err();
    assert_eq!(by_id.status, 401);
    let of_cluster = service
        .agent_token(Scope::Cluster(cluster(1)))
        .unwrap()
        .unwrap();
    let denied = service
        .image_path(ImageForm::ByApiKey, &of_cluster, NOW)
        .unwrap_err();
    assert_eq!(denied.status, 401);
    let signed = service.sign_file_url(url, &terms, NOW).unwrap();
    assert_eq!(signed.url, format!("{url}&api_key={}", link.key));
}

#[test]
fn tokens_of_users_mode_have_these_claims() {
    let service = with_users();
    let claims = |token: &str| {
        let payload = token.split('.').nth(1).unwrap().to_string();
        String::from_utf8(URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
    };
    let id = infra_env(7);
    let agent = service.agent_token(Scope::InfraEnv(id)).unwrap().unwrap();
    assert_eq!(
        claims(&agent),
        format!(r#"{{"infra_env_id":"{id}","auth_scheme":"agentAuth"}}"#)
    );
    let login = service.login("ann", "secret", HOME, NOW).unwrap().token;
    assert!(
        claims(&login)
            .starts_with(r#"{"auth_scheme":"userAuth","sub":"ann","exp":1800043200,"jti":""#),
        "{}",
        claims(&login)
    );
    let image = service
        .image_link(id, &signing_key(), OPENS, NOW)
        .unwrap()
        .key;
    assert_eq!(
        claims(&image),
        format!(
            r#"{{"infra_env_id":"{id}","auth_scheme":"imageAuth","exp":1800014400,"link_key":"ba7816bf8f01cfea","for":"{OPENS}"}}"#
        )
    );
}

#[test]
fn the_installers_tokens_must_say_the_scheme_by_which_they_come() {
    let (service, installer) = installer_made();
    let token = |auth_scheme: Option<Value>, exp| {
        installer
            .issue(&Claims {
                auth_scheme,
                exp,
                ..Claims::default()
            })
            .unwrap()
    };
    let text = |name: &str| Some(Value::String(name.into()));
    for (row, scheme, token, expected) in [
        (1, Scheme::Agent, token(text("agentAuth"), None), 200),
        (2, Scheme::User, token(text("userAuth"), None), 200),
        (3, Scheme::Watcher, token(text("watcherAuth"), None), 200),
        (4, Scheme::User, token(text("agentAuth"), None), 403),
        (5, Scheme::Agent, token(text("watcherAuth"), None), 403),
        (6, Scheme::User, token(None, None), 401),
        (7, Scheme::User, token(Some(Value::Bool(true)), None), 401),
        (8, Scheme::User, token(text(""), None), 400),
        (9, Scheme::User, token(text("userAuth"), Some(NOW)), 401),
        (
            10,
            Scheme::User,
            token(text("userAuth"), Some(NOW + 1)),
            200,
        ),
        (11, Scheme::Url, token(text("urlAuth"), None), 401),
        (12, Scheme::Image, token(text("imageAuth"), None), 401),
        (13, Scheme::ImageUrl, token(text("imageURLAuth"), None), 401),
        (14, Scheme::Agent, "nonsense".into(), 401),
    ] {
        let answer = service.authenticate(&[scheme], &carried(scheme, &token), NOW);
        assert_eq!(status(answer), expected, "row {row}");
    }
    assert_eq!(service.agent_token(Scope::Cluster(cluster(1))), Ok(None));
}

#[test]
fn under_the_installer_a_good_token_of_the_wrong_kind_ends_the_search() {
    let (service, installer) = installer_made();
    let watcher = Claims {
        auth_scheme: Some("watcherAuth".into()),
        ..Claims::default()
    };
    let watcher = installer.issue(&watcher).unwrap();
    let both = Credentials {
        authorization: Some(&watcher),
        watcher: Some(&watcher),
        ..Credentials::default()
    };
    let accepted = [Scheme::User, Scheme::Watcher];
    assert_eq!(status(service.authenticate(&accepted, &both, NOW)), 403);
    let only_watcher = carried(Scheme::Watcher, &watcher);
    let caller = service.authenticate(&accepted, &only_watcher, NOW).unwrap();
    assert_eq!(
        (caller.role, caller.scheme),
        (Role::ReadOnly, Scheme::Watcher)
    );
}

#[test]
fn ids_in_tokens_must_be_ids() {
    let keys = KeyPair::generate();
    let tokens = Tokens::new(keys.clone());
    let service = Authenticator::new(Mode::Local(keys.into()), Rules::default());
    for (infra_env_id, cluster_id) in [
        (None, None),
        (Some("x".into()), None),
        (None, Some("".into())),
    ] {
        let token = tokens
            .issue(&Claims {
                infra_env_id,
                cluster_id,
                ..Claims::default()
            })
            .unwrap();
        let answer = service.authenticate(&[Scheme::Agent], &carried(Scheme::Agent, &token), NOW);
        assert_eq!(status(answer), 401);
    }
}

#[test]
fn links_end_with_their_key_and_agents_do_not() {
    let (old, new) = (signing_key(), Secret::new("another"));
    for service in [local(), with_users()] {
        let signed = service.sign_file_url("https://x/f", &terms(&old, infra_env(1)), NOW);
        let signed = signed.unwrap().url;
        let image = service.image_link(infra_env(1), &old, OPENS, NOW).unwrap();
        let file = signed.split_once("api_key=").unwrap().1;
        for token in [file, image.key.as_str()] {
            let link = service.authenticate(&[Scheme::Url], &carried(Scheme::Url, token), NOW);
            let link = link.unwrap();
            assert_eq!(check_signing_key(&link, &old), Ok(()));
            assert_eq!(check_signing_key(&link, &new).unwrap_err().status, 401);
        }
        let scope = Scope::InfraEnv(infra_env(1));
        let token = service.agent_token(scope).unwrap().unwrap();
        let agent = service.authenticate(&[Scheme::Agent], &carried(Scheme::Agent, &token), NOW);
        assert_eq!(check_signing_key(&agent.unwrap(), &new), Ok(()));
    }
}

#[test]
fn only_links_of_users_mode_are_bound_to_their_places() {
    for (service, bound) in [(local(), false), (with_users(), true)] {
        let key = signing_key();
        let signed = service.sign_file_url("https://x/f", &terms(&key, infra_env(1)), NOW);
        let signed = signed.unwrap().url;
        let file = signed.split_once("api_key=").unwrap().1;
        let link = service.authenticate(&[Scheme::Url], &carried(Scheme::Url, file), NOW);
        let link = link.unwrap();
        assert_eq!(check_place(&link, || "files/a".to_owned()), Ok(()));
        let other = check_place(&link, || "files/b".to_owned());
        assert_eq!(other.is_err(), bound);
    }
}

#[test]
fn a_new_password_ends_the_logins_with_the_old_one() {
    let service = with_users();
    let token = service.login("ann", "secret", HOME, NOW).unwrap().token;
    let others = service.login("bob", "secret", HOME, NOW).unwrap().token;
    let call = |token: &str| {
        status(service.authenticate(&[Scheme::User], &carried(Scheme::User, token), NOW))
    };
    assert_eq!((call(&token), call(&others)), (200, 200));
    let hash = Secret::new(hash_password("secret").unwrap());
    let renewed = User {
        name: "ann".into(),
        password_hash: hash,
        role: Role::Admin,
    };
    service.users().unwrap().put(renewed).unwrap();
    assert_eq!((call(&token), call(&others)), (401, 200));
    let again = service.login("ann", "secret", HOME, NOW).unwrap().token;
    assert_eq!(call(&again), 200);
}
