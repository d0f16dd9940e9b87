//! The actions of a topology: requests of the user, machines switched on, things to wait for.

use std::{ops::Range, sync::Arc};

use muster_api::client::ClientOptions;
use uuid::Uuid;

use super::{DESCRIBED, Flow, Made, Making, Scenario};
use crate::{
    cluster_request::ClusterRequest,
    controller::Controller,
    host::{Host, HostOptions},
    nodes::Nodes,
    observer::Snapshot,
    plan::Stuck,
    topology::{Act, Topology},
    user::Trouble,
};

impl Scenario {
    /// Does one act.
    pub(super) async fn perform(&mut self, act: Act) -> Result<Flow, Stuck> {
        match act {
            Act::CreateCluster => self.create_cluster().await?,
            Act::CreateInfraEnv => {
                let cluster = self.cluster()?;
                self.create_infra_env(Some(cluster)).await?;
            }
            Act::CreatePool => self.create_infra_env(None).await?,
            Act::SwitchOn => self.switch_on(0..self.first),
            Act::SwitchOnMore => self.switch_on(self.later()),
            Act::Bind => self.bind().await?,
            Act::Unbind => self.unbind().await?,
            Act::SetNetwork => self.set_network().await?,
            Act::SetRoles => self.set_roles().await?,
            Act::SetFencing => self.set_fencing().await?,
            Act::Install => self.install().await?,
            Act::Cancel => self.cancel().await?,
            Act::Reset => {
                self.ordered = false;
                self.say("resets the installation");
                self.user.reset(self.cluster()?).await?;
            }
            Act::AllowMoreHosts => {
                self.say("opens the installed cluster for more hosts");
                self.user.allow_more_hosts(self.cluster()?).await?;
            }
            Act::InstallMore => self.install_more().await?,
            Act::AwaitDiscovery => {
                let what = "all hosts to describe themselves";
                return self.await_hosts(what, 0..self.first, DESCRIBED).await;
            }
            Act::AwaitReady => return self.await_ready().await,
            Act::AwaitWriting => {
                let writes = |snapshot: &Snapshot| {
                    let mut hosts = snapshot.hosts.values();
                    hosts.any(|host| host.stage == "Writing image to disk")
                };
                return self.wait_for("a disk to be written", writes).await;
            }
            Act::AwaitCancelled => {
                let what = "the hosts to be cancelled";
                return self.await_hosts(what, 0..self.first, &["cancelled"]).await;
            }
            Act::AwaitInstalled => {
                let done = |snapshot: &Snapshot| snapshot.cluster.status == "installed";
                return self.wait_for("the cluster to be installed", done).await;
            }
            Act::AwaitMoreReady => {
                let what = "the additional hosts to be fit";
                return self.await_hosts(what, self.later(), &["known"]).await;
            }
            Act::AwaitAdded => {
                let (what, added) = (
                    "the additional hosts to be added",
                    "added-to-existing-cluster",
                );
                return self.await_hosts(what, self.later(), &[added]).await;
            }
        }
        Ok(Flow::GoOn)
    }

    async fn create_cluster(&mut self) -> Result<(), Stuck> {
        self.say("creates the cluster");
        let name = match self.clusters.len() {
            0 => self.plan.name.clone(),
            count => format!("{}-{}", self.plan.name, count + 1),
        };
        let request = ClusterRequest {
            name,
            version: self.plan.version.clone(),
            topology: self.plan.topology,
            features: self.plan.features.clone(),
            operators: self.plan.operators.clone(),
            hosts: self.network.machines().len(),
        };
        let user = self.user.clone();
        let call = async move { user.create_cluster(&request).await };
        let id = self.make(Made::Cluster, call).await?;
        self.places.send_modify(|places| places.cluster = Some(id));
        Ok(())
    }

    async fn create_infra_env(&mut self, cluster: Option<Uuid>) -> Result<(), Stuck> {
        self.say(match cluster {
            Some(_) => "creates an infra-env of the cluster",
            None => "creates an infra-env without a cluster",
        });
        let name = match self.infra_envs.len() {
            0 => format!("{}-env", self.plan.name),
            count => format!("{}-env-{count}", self.plan.name),
        };
        let user = self.user.clone();
        let call = async move { user.create_infra_env(&name, cluster).await };
        let id = self.make(Made::InfraEnv, call).await?;
        self.image = Some(self.user.boot_image(id).await?);
        self.places.send_modify(|places| places.infra_envs.push(id));
        Ok(())
    }

    async fn make(
        &mut self,
        what: Made,
        call: impl Future<Output = Result<Uuid, Trouble>> + Send + 'static,
    ) -> Result<Uuid, Trouble> {
        let answer = tokio::spawn(call);
        self.making = Some(Making { what, answer });
        self.made().await
    }

    /// Waits for what is being made and remembers it.
    pub(super) async fn made(&mut self) -> Result<Uuid, Trouble> {
        let nothing = || Trouble::Answer("nothing is being made".to_owned());
        let making = self.making.as_mut().ok_or_else(nothing)?;
        let (what, answer) = (making.what, (&mut making.answer).await);
        self.making = None;
        let id = answer.map_err(|broken| Trouble::Answer(broken.to_string()))??;
        match what {
            Made::Cluster => self.clusters.push(id),
            Made::InfraEnv => self.infra_envs.push(id),
        }
        Ok(id)
    }

    /// Switches machines on; one that was on is switched off first.
    pub(super) fn switch_on(&mut self, machines: Range<usize>) {
        let Some(image) = self.image.clone() else {
            return;
        };
        self.say(&format!("switches on {} machines", machines.len()));
        // What an earlier installation had come to is not on these boots' minds.
        if machines.start == 0 {
            self.nodes = Arc::new(Nodes::of(self.plan.topology.votes()));
        }
        for machine in &self.network.machines()[machines] {
            let host = Host::new(
                Arc::clone(machine),
                Arc::clone(&self.network),
                Arc::clone(&self.nodes),
                image.clone(),
                self.user.line(),
                HostOptions {
                    pace: self.plan.pace,
                    faithful: self.plan.faithful,
                },
            );
            let running = self.tasks.spawn(host.run());
            self.plugs.plug_in(machine.id, running);
        }
    }

    async fn bind(&mut self) -> Result<(), Stuck> {
        self.say("binds the discovered hosts to the cluster");
        let (cluster, infra_env) = (self.cluster()?, self.infra_env()?);
        for host in self.ids(0..self.first) {
            self.user.bind(infra_env, host, cluster).await?;
        }
        Ok(())
    }

    async fn unbind(&mut self) -> Result<(), Stuck> {
        self.say("takes the hosts out of the cluster again");
        let infra_env = self.infra_env()?;
        for host in self.ids(0..self.first) {
            self.user.unbind(infra_env, host).await?;
        }
        Ok(())
    }

    async fn set_network(&mut self) -> Result<(), Stuck> {
        self.say("sets the network of the cluster");
        let (cluster, topology) = (self.cluster()?, self.plan.topology);
        self.user
            .set_network(cluster, topology, &self.plan.features, &self.network)
            .await?;
        Ok(())
    }

    async fn set_roles(&mut self) -> Result<(), Stuck> {
        self.say("gives every host its role");
        let infra_env = self.infra_env()?;
        for machine in &self.network.machines()[..self.first] {
            self.user.set_role(infra_env, machine).await?;
        }
        Ok(())
    }

    async fn set_fencing(&mut self) -> Result<(), Stuck> {
        self.say("says how each host can be switched off by the other");
        let infra_env = self.infra_env()?;
        for machine in &self.network.machines()[..self.first] {
            let bmc = self.network.bmc(machine.index);
            self.user.set_fencing(infra_env, machine, bmc).await?;
        }
        Ok(())
    }

    async fn install(&mut self) -> Result<(), Stuck> {
        self.say("starts the installation");
        let cluster = self.cluster()?;
        self.user.install(cluster).await?;
        self.ordered = true;
        self.start_controller(cluster);
        Ok(())
    }

    /// The controller of the new cluster begins to look after it.
    pub(super) fn start_controller(&mut self, cluster: Uuid) {
        let Some(image) = &self.image else {
            return;
        };
        let options = ClientOptions {
            token: image.token.clone(),
            ..ClientOptions::default()
        };
        let controller = Controller {
            cluster,
            hosts: self.first,
            single_node: self.plan.topology == Topology::SingleNode,
            line: self.user.line().on_behalf_of(options),
            nodes: Arc::clone(&self.nodes),
            pace: self.plan.pace,
            attention: self.plan.attention,
        };
        let complaints = self.complaints.clone();
        let running = self.tasks.spawn(async move {
            if let Err(error) = controller.run().await {
                complaints.send_replace(Some(error.to_string()));
            }
        });
        self.controller = Some(running);
    }

    /// There will be no cluster for it to run in.
    pub(super) fn stop_controller(&mut self) {
        if let Some(controller) = self.controller.take() {
            controller.abort();
        }
    }

    async fn cancel(&mut self) -> Result<(), Stuck> {
        self.ordered = false;
        self.say("cancels the installation");
        self.user.cancel(self.cluster()?).await?;
        self.stop_controller();
        Ok(())
    }

    async fn install_more(&mut self) -> Result<(), Stuck> {
        self.say("installs the additional hosts");
        let infra_env = self.infra_env()?;
        for host in self.ids(self.later()) {
            self.user.install_host(infra_env, host).await?;
        }
        Ok(())
    }

    async fn await_hosts(
        &mut self,
        what: &str,
        machines: Range<usize>,
        statuses: &[&str],
    ) -> Result<Flow, Stuck> {
        let hosts = self.ids(machines);
        self.wait_for(what, |snapshot| snapshot.all_in(&hosts, statuses))
            .await
    }

    async fn await_ready(&mut self) -> Result<Flow, Stuck> {
        let ready = |snapshot: &Snapshot| snapshot.cluster.status == "ready";
        let flow = self.wait_for("the cluster to be ready", ready).await?;
        if let Flow::GoOn = flow {
            // A cluster with something wrong may look ready until the bad news has come in.
            while self
                .traps
                .iter()
                .any(|trap| trap.must_show_before_install())
            {
                let never = |_: &Snapshot| false;
                match self
                    .wait_for("the service to notice the faults", never)
                    .await?
                {
                    Flow::GoOn => {}
                    enough @ Flow::Enough(_) => return Ok(enough),
                }
            }
        }
        Ok(flow)
    }
}
