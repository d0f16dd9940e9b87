//! `inventory`: describes the machine.

use super::{
    Context, Outcome,
    args::{Unusable, Usable},
};
use uuid::Uuid;

/// What newer services add to the question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    /// Longest description.
    pub(super) max_bytes: Option<u64>,
    /// Disks below this size may be left out of one that is too long.
    pub(super) min_disk_bytes: Option<u64>,
}

pub(super) async fn run(_: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let _ = limits(&args)?;
    Ok(Outcome::refused("this build has no inventory"))
}

/// The id of the host, then limits in any order. Unknown ones are refused.
fn limits(args: &[String]) -> Usable<Limits> {
    let [host, rest @ ..] = args else {
        return Err(Unusable("the id of the host is missing".to_owned()));
    };
    if host.parse::<Uuid>().is_err() {
        return Err(Unusable("the first argument is no id of a host".to_owned()));
    }
    let mut limits = Limits::default();
    for arg in rest {
        let (name, value) = arg.split_once('=').unwrap_or((arg, ""));
        let bytes = value.parse::<u64>().ok().filter(|bytes| *bytes > 0);
        let slot = match name {
            "--output-max-size" => &mut limits.max_bytes,
            "--disk-min-size" => &mut limits.min_disk_bytes,
            _ => {
                let shown: String = name.escape_debug().take(40).collect();
                return Err(Unusable(format!("{shown:?} is not known here")));
            }
        };
        if bytes.is_none() {
            return Err(Unusable(format!("{name} wants a number of bytes")));
        }
        *slot = bytes;
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[&str]) -> Usable<Limits> {
        limits(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    const HOST: &str = "4d5b53bf-e799-b31f-f374-432d47187920";

    #[test]
    fn old_and_new_arguments_are_understood_and_nothing_else() {
        assert_eq!(read(&[HOST]).unwrap(), Limits::default());
        let both = read(&[HOST, "--disk-min-size=10", "--output-max-size=20"]).unwrap();
        assert_eq!((both.max_bytes, both.min_disk_bytes), (Some(20), Some(10)));
        for bad in [
            &[][..],
            &["x"],
            &[HOST, "--output-max-size"],
            &[HOST, "--output-max-size=-1"],
            &[HOST, "; reboot"],
            &[HOST, "--exec=sh"],
        ] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
