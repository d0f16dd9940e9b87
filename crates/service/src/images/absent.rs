//! Responses about an OS image that is not there: to a request for an image made from it, and in the
//! list of all.

use http::StatusCode;
use muster_app::{App, images::demand};
use muster_boot_images::base::State;
use muster_catalog::OsImage;
use muster_config::sections::FetchOsImages;
use serde_json::json;

use crate::http::{Failure, Reply};

/// The refusal while an image is in this state. Always "unavailable": the address is right, and
/// the same request will do once the image has come, however it comes.
pub fn refusal(image: &OsImage, state: State) -> Failure {
    let reason = match state {
        State::Fetching {
            active: true,
            done,
            total,
        } => {
            let progress = match total {
                Some(total) if total > 0 => format!("{} %", done.saturating_mul(100) / total),
                Some(_) | None => format!("{} MiB so far", done >> 20),
            };
            format!("it is being fetched ({progress}); retry in a moment")
        }
        State::Ready(_) => "it has just arrived; retry".to_owned(),
        State::Broken { reason } => reason,
        State::Missing | State::Fetching { active: false, .. } => {
            "it is not there and is not being fetched (images.fetch)".to_owned()
        }
    };
    Failure::api(
        StatusCode::SERVICE_UNAVAILABLE,
        format!(
            "the OS image {} for OpenShift {} on {arch} cannot be used yet: {reason}; it can be \
             added by hand: `muster os-images add FILE --release {} --arch {arch}`",
            image.version,
            image.openshift_version,
            image.openshift_version,
            arch = image.cpu_architecture,
        ),
    )
}

/// What becomes of an image that cannot be used, and what can be done about it.
fn advice(image: &OsImage, state: &State, fetch: FetchOsImages) -> Option<String> {
    let (version, arch) = (&image.openshift_version, image.cpu_architecture);
    let by_hand =
        format!("add it with `muster os-images add FILE --release {version} --arch {arch}`");
    Some(match state {
        State::Ready(_) => return None,
        State::Fetching { active: true, .. } => {
            "It is being fetched; hosts that request it now are asked to retry.".to_owned()
        }
        State::Fetching { active: false, .. } => match fetch {
            FetchOsImages::Never => format!(
                "A fetch was interrupted; resume it with `muster os-images fetch --release {version} \
                 --arch {arch}`, or {by_hand}."
            ),
            FetchOsImages::WhenAsked | FetchOsImages::WhenNeeded => {
                "A fetch was interrupted; it resumes with the next request for the image."
                    .to_owned()
            }
        },
        State::Missing => match fetch {
            FetchOsImages::Never => {
                format!("This service does not fetch images (images.fetch is never); {by_hand}.")
            }
            FetchOsImages::WhenAsked => {
                format!("It is fetched on the first request; or {by_hand}.")
            }
            FetchOsImages::WhenNeeded => {
                format!("It is fetched once an infra-env boots it; or {by_hand}.")
            }
        },
        State::Broken { .. } => match fetch {
            FetchOsImages::Never => format!("To fix it, {by_hand}."),
            FetchOsImages::WhenAsked | FetchOsImages::WhenNeeded => {
                format!("The fetch is retried on request, at most once a minute; or {by_hand}.")
            }
        },
    })
}

/// All images and their states.
pub fn states(app: &App) -> Result<Reply, Failure> {
    let images = app.catalog.os_images.iter().map(|image| {
        let mut entry = json!({
            "openshift_version": image.openshift_version,
            "cpu_architecture": image.cpu_architecture,
            "version": image.version,
        });
        let state = demand::state(app, image);
        let advice = advice(image, &state, app.config.images.fetch);
        let state = serde_json::to_value(state).unwrap_or_default();
        if let (Some(entry), Some(state)) = (entry.as_object_mut(), state.as_object()) {
            entry.extend(state.clone());
            entry.extend(advice.map(|advice| ("advice".to_owned(), advice.into())));
        }
        entry
    });
    Reply::json(StatusCode::OK, &images.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use muster_boot_images::base::{Origin, Record};
    use muster_catalog::OsImages;

    use super::*;

    fn an_image() -> OsImage {
        let list = r#"[{"openshift_version": "4.20", "cpu_architecture": "x86_64",
            "url": "https://images.test/a.iso", "version": "420.1"}]"#;
        let images = OsImages::from_json(list).unwrap();
        images.iter().next().unwrap().clone()
    }

    #[test]
    fn every_state_is_reported_with_a_way_out() {
        let image = an_image();
        let fetching = |done, total, active| State::Fetching {
            done,
            total,
            active,
        };
        for (state, words) in [
            (State::Missing, "not being fetched"),
            (fetching(5, None, false), "not being fetched"),
            (fetching(5 << 20, None, true), "5 MiB so far"),
            (fetching(50, Some(200), true), "25 %"),
            (
                State::Broken {
                    reason: "the disk is full".into(),
                },
                "the disk is full",
            ),
        ] {
            let refusal = refusal(&image, state);
            assert_eq!(refusal.status, StatusCode::SERVICE_UNAVAILABLE);
            assert!(refusal.reason.contains(words), "{}", refusal.reason);
            let command = "muster os-images add FILE --release 4.20 --arch x86_64";
            assert!(refusal.reason.contains(command), "{}", refusal.reason);
        }
    }

    #[test]
    fn advice_fits_the_state_and_the_setting() {
        use FetchOsImages::{Never, WhenAsked, WhenNeeded};
        let image = an_image();
        let cut = State::Fetching {
            done: 5,
            total: None,
            active: false,
        };
        let broken = State::Broken {
            reason: "the disk is full".into(),
        };
        for (state, fetch, words) in [
            (
                &State::Missing,
                Never,
                "os-images add FILE --release 4.20 --arch x86_64",
            ),
            (&State::Missing, WhenAsked, "on the first request"),
            (&State::Missing, WhenNeeded, "once an infra-env"),
            (&cut, Never, "os-images fetch --release 4.20"),
            (&cut, WhenAsked, "resumes with the next"),
            (&broken, Never, "os-images add"),
            (&broken, WhenAsked, "is retried"),
        ] {
            let text = advice(&image, state, fetch).unwrap();
            assert!(text.contains(words), "{text}");
        }
        let ready = State::Ready(Record {
            sha256: String::new(),
            size: 1,
            origin: Origin::Added,
        });
        assert_eq!(advice(&image, &ready, WhenAsked), None);
    }
}
