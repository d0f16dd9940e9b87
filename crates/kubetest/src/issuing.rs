//! Certificates that others make from signers, with `openssl`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A signer: `<name>.crt` and `<name>.key` in a folder; what it issues goes there too.
#[derive(Debug)]
pub struct Issuer {
    folder: PathBuf,
    name: String,
}

impl Issuer {
    /// A new one that no client trusts yet.
    #[must_use]
    pub fn new(folder: &Path, name: &str) -> Self {
        openssl(
            folder,
            &format!(
                "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 \
                 -subj /CN={name} -keyout {name}.key -out {name}.crt"
            ),
        );
        Self::existing(folder, name)
    }

    /// One that is there.
    #[must_use]
    pub fn existing(folder: &Path, name: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            name: name.to_owned(),
        }
    }

    /// A key and a certificate for it.
    pub fn issue(&self, name: &str, subject: &str, usage: &str, names: &str) {
        request(&self.folder, name, subject);
        self.sign(name, usage, names);
    }

    /// A certificate for a request that is there.
    pub fn sign(&self, name: &str, usage: &str, names: &str) {
        let extensions = format!(
            "basicConstraints=critical,CA:FALSE\nextendedKeyUsage={usage}\nsubjectAltName={names}\n"
        );
        fs::write(self.folder.join(format!("{name}.ext")), extensions).unwrap();
        let signer = &self.name;
        openssl(
            &self.folder,
            &format!(
                "x509 -req -days 1 -in {name}.csr -extfile {name}.ext -CA {signer}.crt \
                 -CAkey {signer}.key -out {name}.crt"
            ),
        );
    }
}

/// A key and a request for a certificate.
pub fn request(folder: &Path, name: &str, subject: &str) {
    openssl(
        folder,
        &format!(
            "req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj {subject} \
             -keyout {name}.key -out {name}.csr"
        ),
    );
}

fn openssl(folder: &Path, arguments: &str) {
    let output = Command::new("openssl")
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {arguments}: {said}");
}
