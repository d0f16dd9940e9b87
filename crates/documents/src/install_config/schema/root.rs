//! The fields at the top.

use super::{
    Field, INT32, Kind, TEXTS, baremetal::BAREMETAL, networking::NETWORKING, nutanix::NUTANIX,
    pools::POOL, vsphere::VSPHERE,
};
use crate::install_config::types::{
    CloudControllerManager, CpuPartitioning, CredentialsMode, EcdsaCurve, FeatureSet, KeyAlgorithm,
    OsImageStream, Publish, SourcePolicy, TrustBundlePolicy,
};

/// The whole file.
pub static ROOT: &[Field] = &[
    Field::new("apiVersion", Kind::Text, "Version of this format; `v1beta3` and `v1beta4` are read too.").default("none, it must be `v1`"),
    Field::new("kind", Kind::Text, "Ignored; files made by other tools carry it."),
    Field::new("metadata", Kind::Object(METADATA), "Name of the cluster, labels and annotations."),
    Field::new("additionalTrustBundle", Kind::Text, "Certificates (PEM) that nodes trust besides the usual ones: of a mirror registry or a proxy."),
    Field::new("additionalTrustBundlePolicy", Kind::Word(TrustBundlePolicy::WORDS), "When nodes get the trust bundle: only with a proxy, or always.").default("Proxyonly"),
    Field::new("sshKey", Kind::Text, "Public keys, one per line, that may log in to nodes as user core."),
    Field::new("baseDomain", Kind::Text, "Domain below which the cluster is made; with its name in front it becomes the cluster domain."),
    Field::new("networking", Kind::Object(NETWORKING), "Networks of machines, pods and services."),
    Field::new("controlPlane", Kind::Object(POOL), "Machines of the control plane.").default("three machines"),
    Field::new("arbiter", Kind::Object(POOL), "A small machine that votes for two control-plane machines.").since(4, 19),
    Field::new("compute", Kind::List(&Kind::Object(POOL)), "Pools of machines for workloads; for a compact or single-node cluster write one `worker` pool with `replicas: 0`.").default("a `worker` pool of three"),
    Field::new("platform", Kind::Object(PLATFORM), "Where the cluster lives: exactly one of the keys below it."),
    Field::new("pullSecret", Kind::Secret, "Credentials of image registries, as the JSON text that `podman login` writes."),
    Field::new("proxy", Kind::Object(PROXY), "Proxies all of the cluster goes through."),
    Field::new("imageContentSources", Kind::List(&Kind::Object(CONTENT_SOURCE)), "Mirrors of image repositories, old form.").instead("imageDigestSources"),
    Field::new("imageDigestSources", Kind::List(&Kind::Object(DIGEST_SOURCE)), "Mirrors of image repositories, tried in order before the source.").since(4, 14),
    Field::new("publish", Kind::Word(Publish::WORDS), "Who can reach API and ingress; only `External` makes sense on the platforms known here.").default("External"),
    Field::new("operatorPublishingStrategy", Kind::Object(PUBLISHING), "Publishing per endpoint, for `publish: Mixed` on a cloud."),
    Field::new("fips", Kind::Flag, "Nodes use only cryptography validated by FIPS.").default("false"),
    Field::new("cpuPartitioningMode", Kind::Word(CpuPartitioning::WORDS), "Set nodes up to keep platform workloads on their own CPUs.").default("None").since(4, 13),
    Field::new("credentialsMode", Kind::Word(CredentialsMode::WORDS), "How operators get cloud credentials; `Manual` on nutanix, left out on the other platforms known here."),
    Field::new("bootstrapInPlace", Kind::Object(IN_PLACE), "A single node that bootstraps itself, without another machine."),
    Field::new("capabilities", Kind::Object(CAPABILITIES), "Which optional components are installed.").default("all of them"),
    Field::new("featureSet", Kind::Word(FeatureSet::WORDS), "Features beyond the default ones; most of them end the way of upgrades."),
    Field::new("featureGates", TEXTS, "Single features as `Name=true` or `Name=false`, with `featureSet: CustomNoUpgrade`.").since(4, 14),
    Field::new("osImageStream", Kind::Word(OsImageStream::WORDS), "Which CoreOS stream nodes run.").default("rhel-9 before release 5.0, rhel-10 from there").since(4, 22),
    Field::new("pki", Kind::Object(PKI), "Keys of the certificate signers.").since(5, 0),
];

pub(crate) static METADATA: &[Field] = &[
    Field::new("name", Kind::Text, "Name of the cluster: lower case, digits and dashes, at most 54 characters."),
    Field::new("namespace", Kind::Text, "Used where the cluster becomes an object in another one."),
    Field::new("labels", Kind::Labels, "Free labels."),
    Field::new("annotations", Kind::Labels, "Free annotations."),
    Field::new("creationTimestamp", Kind::Anything, "Ignored; written by older tools."),
    Field::new("generateName", Kind::Anything, "Carried along."),
    Field::new("uid", Kind::Anything, "Carried along."),
    Field::new("resourceVersion", Kind::Anything, "Carried along."),
    Field::new("generation", Kind::Anything, "Carried along."),
    Field::new("finalizers", Kind::Anything, "Carried along."),
    Field::new("ownerReferences", Kind::Anything, "Carried along."),
    Field::new("managedFields", Kind::Anything, "Carried along."),
];

static PLATFORM: &[Field] = &[
    Field::new("none", Kind::Object(&[]), "No integration: load balancers and DNS are yours. Write `none: {}`."),
    Field::new("external", Kind::Object(EXTERNAL), "Integration provided by a third party.").since(4, 14),
    Field::new("baremetal", Kind::Object(BAREMETAL), "Bare metal hosts; the cluster holds its own virtual addresses."),
    Field::new("vsphere", Kind::Object(VSPHERE), "VMware vSphere."),
    Field::new("nutanix", Kind::Object(NUTANIX), "Nutanix AHV."),
    Field::new("aws", Kind::Foreign, "A cloud."),
    Field::new("azure", Kind::Foreign, "A cloud."),
    Field::new("gcp", Kind::Foreign, "A cloud."),
    Field::new("ibmcloud", Kind::Foreign, "A cloud."),
    Field::new("powervs", Kind::Foreign, "A cloud."),
    Field::new("powervc", Kind::Foreign, "A private cloud."),
    Field::new("openstack", Kind::Foreign, "A private cloud."),
    Field::new("ovirt", Kind::Foreign, "A private cloud."),
    Field::new("libvirt", Kind::Foreign, "Virtual machines of older releases."),
    Field::new("alibabacloud", Kind::Foreign, "A cloud of older releases."),
];

static EXTERNAL: &[Field] = &[
    Field::new("platformName", Kind::Text, "Name of the platform, for people and partner operators."),
    Field::new("cloudControllerManager", Kind::Word(CloudControllerManager::WORDS), "`External` if a cloud controller manager will be brought along."),
];

pub(crate) static PROXY: &[Field] = &[
    Field::new("httpProxy", Kind::Text, "URL of the proxy for HTTP; its scheme is `http`."),
    Field::new("httpsProxy", Kind::Text, "URL of the proxy for HTTPS; its scheme is `http` or `https`."),
    Field::new("noProxy", Kind::Text, "Domains, addresses and networks reached directly, with commas; `*` for all."),
];

static CONTENT_SOURCE: &[Field] = &[
    Field::new("source", Kind::Text, "Repository as image references name it."),
    Field::new("mirrors", TEXTS, "Repositories with the same content."),
];

pub(crate) static DIGEST_SOURCE: &[Field] = &[
    Field::new("source", Kind::Text, "Repository as image references name it."),
    Field::new("mirrors", TEXTS, "Repositories with the same content."),
    Field::new("sourcePolicy", Kind::Word(SourcePolicy::WORDS), "Whether the source may be asked when no mirror has the image.").since(4, 21),
];

static PUBLISHING: &[Field] = &[
    Field::new("ingress", Kind::Text, "Publishing of ingress."),
    Field::new("apiserver", Kind::Text, "Publishing of the API."),
];

static IN_PLACE: &[Field] = &[
    Field::new("installationDisk", Kind::Text, "Disk the single node is installed on, for example `/dev/disk/by-id/…`."),
];

static CAPABILITIES: &[Field] = &[
    Field::new("baselineCapabilitySet", Kind::Text, "The set to start from: `None`, `v4.11` … `v4.18` or `vCurrent`; needed as soon as `capabilities` is there."),
    Field::new("additionalEnabledCapabilities", TEXTS, "Components on top of the set."),
];

static PKI: &[Field] = &[
    Field::new("signerCertificates", Kind::Object(SIGNERS), "Certificates of the signers."),
];

static SIGNERS: &[Field] = &[
    Field::new("key", Kind::Object(SIGNER_KEY), "Their keys."),
];

static SIGNER_KEY: &[Field] = &[
    Field::new("algorithm", Kind::Word(KeyAlgorithm::WORDS), "Algorithm of the keys."),
    Field::new("rsa", Kind::Object(RSA), "For RSA."),
    Field::new("ecdsa", Kind::Object(ECDSA), "For ECDSA."),
];

static RSA: &[Field] = &[
    Field::new("keySize", INT32, "Bits: a multiple of 1024 from 2048 to 8192."),
];

static ECDSA: &[Field] = &[
    Field::new("curve", Kind::Word(EcdsaCurve::WORDS), "The curve."),
];
