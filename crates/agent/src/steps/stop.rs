//! `stop-installation`: ends the installer of an installation that is over.

use std::time::Duration;

use muster_machine::Task;

use super::{
    Context, Outcome,
    args::{Unusable, exactly},
    installer_unit,
};

pub(super) async fn run(context: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let [] = exactly(args)?;
    // Our own installer is a unit; that of the reference is a container.
    let stop = Task::new("systemctl", "stop the installer")
        .args(["stop", installer_unit::UNIT])
        .deadline(Duration::from_secs(30));
    if let Err(cause) = context.task(stop).await
        && !cause.is_missing()
    {
        return Ok(Outcome::refused(cause.to_string()));
    }
    let stop = Task::new("podman", "stop the installer")
        .args(["stop", "-i", "-t", "5", "assisted-installer"])
        .deadline(Duration::from_secs(30));
    Ok(match context.task(stop).await {
        Ok(finished) if finished.succeeded() => Outcome::default(),
        Ok(finished) => Outcome::failed(finished.code.unwrap_or(-1).into(), finished.err()),
        // Nothing that could run containers, so no container runs.
        Err(cause) if cause.is_missing() => Outcome::default(),
        Err(cause) => Outcome::refused(cause.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use muster_machine::{Finished, Simulated};

    use super::*;
    use crate::steps::tests::on;

    #[tokio::test]
    async fn the_installer_is_stopped_by_its_name_and_arguments_are_not_taken() {
        let machine = Simulated::default();
        machine.on(["systemctl", "stop"], Finished::with_output(""));
        machine.on(
            ["podman", "stop"],
            Finished::with_output("assisted-installer\n"),
        );
        let (context, machine) = on(machine);
        assert_eq!(run(&context, vec![]).await.unwrap(), Outcome::default());
        let ran = machine.ran();
        assert_eq!(
            ran[0].join(" "),
            "systemctl stop assisted-installer.service"
        );
        assert_eq!(ran.len(), 2);
        assert!(run(&context, vec!["other".into()]).await.is_err());
        assert_eq!(machine.ran().len(), 2);
    }

    #[tokio::test]
    async fn where_nothing_can_run_nothing_has_to_be_stopped() {
        let (context, _) = on(Simulated::default());
        assert_eq!(run(&context, vec![]).await.unwrap(), Outcome::default());
    }
}
