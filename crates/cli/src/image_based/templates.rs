//! Samples to be edited. A file that is there already is validated and kept.

use std::path::Path;

use anyhow::anyhow;
use muster_documents::{
    findings::Report, image_based_config as site, image_based_installation_config as factory,
};

use super::{Failure, directory, messages::Messages};
use crate::diagnostics;

/// Writes the file of the factory.
pub fn factory(dir: &Path, messages: &Messages) -> Result<String, Failure> {
    write(
        (dir, messages),
        "Image-Config-Template",
        factory::FILE,
        factory::TEMPLATE,
        |bytes| {
            factory::load(factory::FILE, bytes, super::image::LOOKUPS).map(|loaded| loaded.report)
        },
    )
}

/// Writes the file of a site.
pub fn site(dir: &Path, messages: &Messages) -> Result<String, Failure> {
    write(
        (dir, messages),
        "Config-Template",
        site::FILE,
        site::TEMPLATE,
        |bytes| {
            let network = super::image::LOOKUPS.network;
            site::load(site::FILE, bytes, None, network).map(|loaded| loaded.report)
        },
    )
}

fn write(
    (dir, messages): (&Path, &Messages),
    title: &str,
    name: &str,
    template: &str,
    load: impl FnOnce(&[u8]) -> Result<Report, Report>,
) -> Result<String, Failure> {
    if let Some(bytes) = directory::read(dir, name)? {
        return match load(&bytes) {
            Ok(report) => {
                messages.report(&report);
                Ok(format!(
                    "{} exists already and was kept",
                    dir.join(name).display()
                ))
            }
            Err(report) => {
                messages.report(&report);
                Err(anyhow!("{}", diagnostics::summary(&report)).into())
            }
        };
    }
    directory::write(&dir.join(name), template.as_bytes(), 0o600)?;
    Ok(format!("{title} created in: {}", dir.display()))
}
