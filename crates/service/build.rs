//! Finds the built web page (`web/dist`, made by `make web`) and writes the table that embeds it.
//!
//! Without one the table is empty and the service says at `/` how to build it, so that Rust alone is
//! enough to work on the service. `web/dist` itself is in the repository: Cargo would rebuild the
//! crate each time if a path it watches were missing.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../../web/dist");
    println!("cargo:rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    if root.join("index.html").is_file() {
        list(&root, &mut files)?;
        files.sort();
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut table = String::from("pub(super) const FILES: &[File] = &[\n");
    for (number, file) in files.iter().enumerate() {
        let name = file
            .strip_prefix(&root)?
            .to_str()
            .ok_or("a name is not UTF-8")?;
        // Copied, so that the page can be built again while the compiler reads it.
        let copied = |suffix: &str| -> Result<String, Box<dyn Error>> {
            let to = format!("web_{number}{suffix}");
            fs::copy(format!("{}{suffix}", file.display()), out.join(&to))?;
            Ok(format!(
                "include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{to}\"))"
            ))
        };
        writeln!(
            table,
            "    File {{ path: {:?}, plain: {}, brotli: {}, gzip: {} }},",
            format!("/{name}"),
            copied("")?,
            copied(".br")?,
            copied(".gz")?
        )?;
    }
    table.push_str("];\n");
    fs::write(out.join("web_files.rs"), table)?;
    Ok(())
}

/// Every file below `folder` but the compressed forms, which belong to the file without the suffix.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
            continue;
        }
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let is_packed = path
            .extension()
            .is_some_and(|end| end == "br" || end == "gz" || end == "json");
        if !is_hidden && !is_packed {
            files.push(path);
        }
    }
    Ok(())
}
