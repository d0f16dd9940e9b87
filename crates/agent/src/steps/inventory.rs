//! `inventory`: describes the machine.

use std::sync::Arc;

use uuid::Uuid;

use super::{
    Context, Outcome,
    args::{Unusable, Usable},
};
use crate::inventory::{Limits, collect, to_json};

pub(super) async fn run(context: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let limits = limits(&args)?;
    let machine = Arc::clone(&context.machine);
    // Reading many small files and asking a BMC takes a while; others need not wait for it.
    let written = tokio::task::spawn_blocking(move || to_json(collect(&*machine), limits)).await;
    Ok(match written {
        Ok(Ok(output)) => Outcome {
            output,
            ..Outcome::default()
        },
        Ok(Err(cause)) => Outcome::refused(format!("the inventory cannot be written: {cause}")),
        Err(cause) => Outcome::refused(format!("the inventory was not finished: {cause}")),
    })
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
        let Some(bytes) = value.parse::<i64>().ok().filter(|bytes| *bytes > 0) else {
            let shown: String = name.escape_debug().take(40).collect();
            return Err(Unusable(format!(
                "{shown} wants a number of bytes, if it is known at all"
            )));
        };
        match name {
            "--output-max-size" => limits.output_max_size = usize::try_from(bytes).ok(),
            "--disk-min-size" => limits.disk_min_size = Some(bytes),
            _ => {
                let shown: String = name.escape_debug().take(40).collect();
                return Err(Unusable(format!("{shown} is not known here")));
            }
        }
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
        assert!(read(&[HOST]).unwrap().output_max_size.is_none());
        let both = read(&[HOST, "--disk-min-size=10", "--output-max-size=20"]).unwrap();
        assert_eq!(
            (both.output_max_size, both.disk_min_size),
            (Some(20), Some(10))
        );
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
