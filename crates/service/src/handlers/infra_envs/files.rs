//! Files of an infra-env: discovery config, iPXE script, static network, minimal initrd.

use http::StatusCode;
use muster_app::infra_envs::{files, ipxe};
use muster_assets::static_network;

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
};

/// `GET /v2/infra-envs/{infra_env_id}/downloads/files`.
pub async fn download(app: Shared, call: Call) -> Result<Reply, Failure> {
    let infra_env = app.infra_env(call.infra_env_id()).await?;
    let file = call.args.text("file_name").unwrap_or_default();
    let script_type = call.args.text("ipxe_script_type");
    if script_type.is_some() && file != ipxe::FILE {
        return Err(Failure::bad_request(
            "ipxe_script_type goes with file_name=ipxe-script only; leave it out",
        ));
    }
    let reply = match file {
        "discovery.ign" => {
            let image = match call.args.text("discovery_iso_type") {
                Some(kind) => kind.parse().map_err(|cause| {
                    Failure::bad_request(format!("discovery_iso_type: {cause}"))
                })?,
                None => infra_env.image_type,
            };
            Reply::file(
                file,
                files::discovery_config(&app, &infra_env, image)?.to_text(),
            )
        }
        ipxe::FILE => {
            let mac = call.args.text("mac");
            let script = ipxe::script(&app, &infra_env, mac, script_type, call.now).await?;
            Reply::file(&format!("{}-{file}", infra_env.id), script)
        }
        // Clients recognise "no static network" by the empty name and body.
        "static-network-config" if infra_env.static_network.is_empty() => Reply::file("", ""),
        "static-network-config" => {
            let (hosts, changed) = (&infra_env.static_network, infra_env.updated_at);
            let archive =
                static_network::tar(hosts, changed, files::has_policies(&app, &infra_env));
            let name = format!("{}-{file}.tar", infra_env.id);
            Reply::file(
                &name,
                archive.map_err(|fault| Failure::internal(fault.to_string()))?,
            )
        }
        other => return Err(Failure::bad_request(format!("there is no file {other:?}"))),
    };
    Ok(reply.last_modified(infra_env.updated_at))
}

/// `GET /v2/infra-envs/{infra_env_id}/downloads/minimal-initrd`.
pub async fn minimal_initrd(app: Shared, call: Call) -> Result<Reply, Failure> {
    let infra_env = app.infra_env(call.infra_env_id()).await?;
    Ok(match files::ramdisk(&app, &infra_env)? {
        Some(archive) => Reply::octets(archive),
        None => Reply::empty(StatusCode::NO_CONTENT),
    })
}
