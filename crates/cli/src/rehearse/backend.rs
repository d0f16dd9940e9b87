//! The service that the machines register with, and the image that leads them there.

use std::{
    fs,
    net::SocketAddr,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use muster_api::{client::Client, requests as calls, wire};
use muster_vm::Evidence;
use uuid::Uuid;

use super::{image::Image, plan::Plan, progress::Starter, requests::Requests};
use crate::{os_images::Stock, own_service::OwnService};

const PORT: u16 = 8090;
/// For the boot image: more than any disk needs.
const DOWNLOAD: Duration = Duration::from_secs(1800);

/// Where the machines come from.
pub enum Origin<'a> {
    /// A service of ours, which is sent these requests and makes the image.
    Service {
        /// The OS images and agents that it makes the image of.
        stock: &'a Stock,
        /// What creates cluster and infra-env.
        requests: &'a Requests,
    },
    /// The image of an agent-based installation: one of its machines runs the service.
    Image(&'a Image),
}

/// The service, as far as a rehearsal deals with it.
pub struct Backend {
    pub client: Client,
    pub cluster: Uuid,
    pub infra_env: Uuid,
    /// What the machines boot.
    pub image: PathBuf,
    /// The service, if it is ours.
    own: Option<OwnService>,
}

impl Backend {
    /// Starts a service of ours and registers the cluster with it, unless the image does all that.
    pub async fn of(plan: &Plan, origin: &Origin<'_>, evidence: &Evidence) -> Result<Self> {
        match origin {
            Origin::Service { stock, requests } => {
                Self::start(plan, stock, requests, evidence).await
            }
            Origin::Image(image) => {
                let ids = image.planned.state.ids();
                Ok(Self {
                    client: image.client()?,
                    cluster: ids.cluster,
                    infra_env: ids.infra_env,
                    image: image.path.clone(),
                    own: None,
                })
            }
        }
    }

    async fn start(
        plan: &Plan,
        stock: &Stock,
        requests: &Requests,
        evidence: &Evidence,
    ) -> Result<Self> {
        let service = start_service(plan, stock, &evidence.part("service")?).await?;
        let client = service.client().await?;
        let cluster = client
            .fetch(&calls::register_cluster(&requests.cluster))
            .await
            .context("the service refuses this cluster")?;
        let cluster = id_of(cluster.id.as_deref())?;
        let body = wire::InfraEnvCreateParams {
            cluster_id: Some(cluster.to_string()),
            ..requests.infra_env.clone()
        };
        let infra_env = client
            .fetch(&calls::register_infra_env(&body))
            .await
            .context("the service refuses these hosts")?;
        let image = evidence.file("discovery.iso");
        download(&client, &infra_env, &image).await?;
        Ok(Self {
            client,
            cluster,
            infra_env: id_of(infra_env.id.as_deref())?,
            image,
            own: Some(service),
        })
    }

    /// Who starts the installation. An image also knows name and role of each machine.
    pub fn starter(&self) -> Starter {
        match self.own {
            Some(_) => Starter::User,
            None => Starter::Image,
        }
    }

    /// Stops a service of ours.
    pub async fn stop(self) {
        if let Some(service) = self.own {
            service.stop().await;
        }
    }
}

async fn start_service(plan: &Plan, stock: &Stock, folder: &Evidence) -> Result<OwnService> {
    // The same images, without copying them.
    let images = stock.folder().canonicalize().context("the OS images")?;
    let name = images
        .file_name()
        .context("the folder of OS images has a name")?;
    symlink(&images, folder.file(&name.to_string_lossy())).context("lending the OS images")?;
    let listen = SocketAddr::new(plan.service, PORT).to_string();
    let agents = stock.agents().map(|folder| folder.display().to_string());
    let mut settings = vec![
        ("server.listen", listen.as_str()),
        ("images.fetch", "never"),
        // A few machines may poll often.
        ("timeouts.poll_interval", "10s"),
    ];
    if let Some(agents) = &agents {
        settings.push(("images.agent_dir", agents));
    }
    OwnService::start("muster rehearse", folder.folder(), &settings).await
}

async fn download(client: &Client, infra_env: &wire::InfraEnv, to: &Path) -> Result<()> {
    let address = infra_env
        .download_url
        .as_deref()
        .context("the infra-env has no image")?;
    let mut file = fs::File::create(to).with_context(|| to.display().to_string())?;
    let written = client
        .download(address, DOWNLOAD, &mut file)
        .await
        .context("downloading the discovery image")?;
    written.with_context(|| format!("writing {}", to.display()))
}

fn id_of(answered: Option<&str>) -> Result<Uuid> {
    let id = answered.context("the service created something without an id")?;
    id.parse().context("an id of the service")
}
