//! The kinds of objects the controller reads and writes, and where they are found.

use std::fmt;

/// A kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    group: &'static str,
    version: &'static str,
    plural: &'static str,
}

impl Kind {
    const fn of(group: &'static str, version: &'static str, plural: &'static str) -> Self {
        Self {
            group,
            version,
            plural,
        }
    }

    pub const NODE: Self = Self::of("", "v1", "nodes");
    pub const NAMESPACE: Self = Self::of("", "v1", "namespaces");
    pub const PERSISTENT_VOLUME: Self = Self::of("", "v1", "persistentvolumes");
    pub const CUSTOM_RESOURCE_DEFINITION: Self =
        Self::of("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    pub const POD: Self = Self::of("", "v1", "pods");
    pub const EVENT: Self = Self::of("", "v1", "events");
    pub const SERVICE: Self = Self::of("", "v1", "services");
    pub const CONFIG_MAP: Self = Self::of("", "v1", "configmaps");
    pub const SECRET: Self = Self::of("", "v1", "secrets");
    pub const JOB: Self = Self::of("batch", "v1", "jobs");
    pub const CSR: Self = Self::of("certificates.k8s.io", "v1", "certificatesigningrequests");
    pub const CLUSTER_OPERATOR: Self = Self::of("config.openshift.io", "v1", "clusteroperators");
    pub const CLUSTER_VERSION: Self = Self::of("config.openshift.io", "v1", "clusterversions");
    pub const ETCD: Self = Self::of("operator.openshift.io", "v1", "etcds");
    pub const ROUTE: Self = Self::of("route.openshift.io", "v1", "routes");
    pub const PROXY: Self = Self::of("config.openshift.io", "v1", "proxies");
    pub const NETWORK: Self = Self::of("config.openshift.io", "v1", "networks");
    pub const INFRASTRUCTURE: Self = Self::of("config.openshift.io", "v1", "infrastructures");
    pub const IMAGE_DIGEST_MIRROR_SET: Self =
        Self::of("config.openshift.io", "v1", "imagedigestmirrorsets");
    pub const IMAGE_CONTENT_SOURCE_POLICY: Self = Self::of(
        "operator.openshift.io",
        "v1alpha1",
        "imagecontentsourcepolicies",
    );
    pub const MACHINE_CONFIG: Self =
        Self::of("machineconfiguration.openshift.io", "v1", "machineconfigs");
    pub const MACHINE: Self = Self::of("machine.openshift.io", "v1beta1", "machines");
    pub const MACHINE_CONFIG_POOL: Self = Self::of(
        "machineconfiguration.openshift.io",
        "v1",
        "machineconfigpools",
    );
    pub const BARE_METAL_HOST: Self = Self::of("metal3.io", "v1alpha1", "baremetalhosts");
    pub const PROVISIONING: Self = Self::of("metal3.io", "v1alpha1", "provisionings");
    pub const SUBSCRIPTION: Self = Self::of("operators.coreos.com", "v1alpha1", "subscriptions");
    pub const CSV: Self = Self::of("operators.coreos.com", "v1alpha1", "clusterserviceversions");
    pub const INSTALL_PLAN: Self = Self::of("operators.coreos.com", "v1alpha1", "installplans");
    pub const LOCAL_VOLUME: Self = Self::of("local.storage.openshift.io", "v1", "localvolumes");
    pub const LVM_CLUSTER: Self = Self::of("lvm.topolvm.io", "v1alpha1", "lvmclusters");
    pub const DATA_PROTECTION: Self = Self::of(
        "oadp.openshift.io",
        "v1alpha1",
        "dataprotectionapplications",
    );

    /// An object of this kind without a namespace.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> At {
        At {
            kind: self,
            namespace: None,
            name: name.into(),
        }
    }

    /// An object of this kind in a namespace.
    #[must_use]
    pub fn within(self, namespace: impl Into<String>, name: impl Into<String>) -> At {
        At {
            kind: self,
            namespace: Some(namespace.into()),
            name: name.into(),
        }
    }

    /// The path of the whole list.
    pub(super) fn path(self, namespace: Option<&str>) -> String {
        let root = match self.group {
            "" => format!("api/{}", self.version),
            group => format!("apis/{group}/{}", self.version),
        };
        match namespace {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{}", self.plural),
            None => format!("{root}/{}", self.plural),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.plural)
    }
}

/// Where one object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    kind: Kind,
    namespace: Option<String>,
    name: String,
}

impl At {
    /// Its path below the root of the API.
    pub(super) fn path(&self) -> String {
        format!(
            "{}/{}",
            self.kind.path(self.namespace.as_deref()),
            self.name
        )
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}
