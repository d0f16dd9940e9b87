//! Signers and a password hash that were made before the installation: an agent-based image brings
//! those that the kubeconfig and the password at the desk belong to. They come as files, named as
//! `muster agent create certificates` names them.

use std::{collections::BTreeMap, fs, io, path::Path};

use muster_assets::{
    entropy::Entropy,
    kubeadmin::Kubeadmin,
    pki::{ACCEPTED, Supplied},
};

use crate::Error;

const HASH: &str = "kubeadmin-password.hash";
const PASSWORD: &str = "kubeadmin-password";

/// What takes the place of generated keys and of the generated password.
#[derive(Clone, Debug, Default)]
pub struct HandedIn {
    /// Certificates with their keys, by name.
    pub signers: BTreeMap<String, Supplied>,
    kubeadmin: Option<Kubeadmin>,
}

impl HandedIn {
    /// Reads the files of a folder; what is not there is generated.
    ///
    /// # Errors
    /// A file cannot be read, or half of a pair is missing.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let text = |name: &str| match fs::read_to_string(folder.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(cause.to_string()),
        };
        Self::of(text).map_err(|(name, problem)| {
            Error::conflict(format!(
                "{} of cluster.cluster_tls_override_dir cannot be used: {problem}",
                folder.join(name).display()
            ))
        })
    }

    /// From the texts of files by name; the error names the file.
    fn of(text: impl Fn(&str) -> Result<Option<String>, String>) -> Result<Self, (String, String)> {
        let text = |name: String| text(&name).map_err(|problem| (name, problem));
        let mut signers = BTreeMap::new();
        for name in ACCEPTED {
            let (certificate, key) = (format!("{name}.crt"), format!("{name}.key"));
            match (text(certificate.clone())?, text(key.clone())?) {
                (None, None) => {}
                (Some(certificate_pem), Some(key_pem)) => {
                    let supplied = Supplied {
                        certificate_pem,
                        key_pem,
                    };
                    signers.insert((*name).to_owned(), supplied);
                }
                (Some(_), None) => {
                    let problem = format!("{key} is missing; put both there, or neither");
                    return Err((certificate, problem));
                }
                (None, Some(_)) => {
                    let problem = format!("{certificate} is missing; put both there, or neither");
                    return Err((key, problem));
                }
            }
        }
        let password = text(PASSWORD.to_owned())?;
        let kubeadmin = text(HASH.to_owned())?
            .filter(|hash| !hash.trim().is_empty())
            .map(|hash| Kubeadmin::supplied(hash.trim(), password.as_deref().map(str::trim)));
        Ok(Self { signers, kubeadmin })
    }

    /// The administrator's password, if its hash was handed in. A hash that belongs to the seed is
    /// known in clear as well.
    pub fn kubeadmin(&self, entropy: &Entropy) -> Option<Kubeadmin> {
        let handed_in = self.kubeadmin.as_ref()?;
        let generated = Kubeadmin::generate(entropy);
        Some(match generated.hash == handed_in.hash {
            true => generated,
            false => handed_in.clone(),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use muster_assets::file::File;

    use super::*;

    /// From files below `tls/`, as the desk writes them.
    pub(crate) fn of_files(files: &[File]) -> Result<HandedIn, (String, String)> {
        HandedIn::of(|name| {
            let path = format!("tls/{name}");
            let file = files.iter().find(|file| file.path == path);
            Ok(file.map(|file| file.text()))
        })
    }

    fn file(name: &str, text: &str) -> File {
        File::secret(format!("tls/{name}"), text)
    }

    #[test]
    fn half_of_a_pair_is_refused_with_the_name_of_the_other_half() {
        let lonely = [file("admin-kubeconfig-signer.crt", "PEM")];
        let (name, problem) = of_files(&lonely).unwrap_err();
        assert_eq!(name, "admin-kubeconfig-signer.crt");
        assert!(problem.contains("admin-kubeconfig-signer.key is missing"));
        let lonely = [file("kube-apiserver-lb-signer.key", "PEM")];
        assert_eq!(
            of_files(&lonely).unwrap_err().0,
            "kube-apiserver-lb-signer.key"
        );
        // What is not ours to replace is left alone.
        let other = [file("root-ca.crt", "PEM")];
        assert!(of_files(&other).unwrap().signers.is_empty());
    }

    #[test]
    fn a_password_is_known_in_clear_if_its_hash_belongs_to_the_seed_or_it_was_handed_in() {
        let entropy = Entropy::new([1; 32]);
        let generated = Kubeadmin::generate(&entropy);
        let of = |files: &[File]| of_files(files).unwrap().kubeadmin(&entropy);
        assert_eq!(of(&[]), None);
        let hash = file(HASH, &format!("{}\n", generated.hash));
        assert_eq!(of(&[hash]), Some(generated));
        let hash = file(HASH, "$2a$10$other");
        let other = of(std::slice::from_ref(&hash)).unwrap();
        assert_eq!((&*other.password, &*other.hash), ("", "$2a$10$other"));
        let known = of(&[hash, file(PASSWORD, "secret\n")]).unwrap();
        assert_eq!(known.password, "secret");
    }

    #[test]
    fn an_absent_folder_hands_nothing_in() {
        let none = HandedIn::read(Path::new("/nowhere/at/all")).unwrap();
        assert!(none.signers.is_empty() && none.kubeadmin.is_none());
    }
}
