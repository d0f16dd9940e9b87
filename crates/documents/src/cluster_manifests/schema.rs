//! Every field of the cluster manifests. What only a hub cluster reads is accepted and carried along.

use super::rules;
use crate::{
    install_config::schema::{METADATA, PROXY},
    schema::{Document, Field, INT32, IPS, Kind, TEXTS},
};

const ABOUT_STATUS: &str = "Ignored.";

macro_rules! document {
    ($name:ident, $file:literal, $about:literal, $begins:literal, $fields:ident, $rules:path) => {
        pub static $name: Document = Document {
            name: $file,
            about: $about,
            begins: $begins,
            fix: concat!("begin with `", $begins, "`; `muster agent create cluster-manifests` writes one from an install-config"),
            fields: $fields,
            rule_summaries: || $rules.iter().map(|rule| rule.summary).collect(),
        };
    };
}

document!(AGENT_CLUSTER_INSTALL, "agent-cluster-install", "the cluster: networks, number of hosts, platform", "apiVersion: extensions.hive.openshift.io/v1beta1", ACI, rules::AGENT_CLUSTER_INSTALL);
document!(CLUSTER_DEPLOYMENT, "cluster-deployment", "name and domain of the cluster", "apiVersion: hive.openshift.io/v1", CD, rules::CLUSTER_DEPLOYMENT);
document!(CLUSTER_IMAGE_SET, "cluster-image-set", "the release", "apiVersion: hive.openshift.io/v1", CIS, rules::CLUSTER_IMAGE_SET);
document!(INFRA_ENV, "infraenv", "what hosts boot", "apiVersion: agent-install.openshift.io/v1beta1", IE, rules::INFRA_ENV);
document!(NM_STATE_CONFIG, "nmstateconfig", "networks of hosts, one document each", "apiVersion: agent-install.openshift.io/v1beta1", NSC, rules::NM_STATE_CONFIG);
document!(PULL_SECRET, "pull-secret", "credentials of image registries", "apiVersion: v1", PS, rules::PULL_SECRET);

const fn carried(name: &'static str) -> Field {
    Field::new(name, Kind::Anything, "Ignored; read by hub clusters.")
}

const API: Field = Field::new("apiVersion", Kind::Text, "Group and version of the kind.");
const KIND: Field = Field::new("kind", Kind::Text, "The kind.");
const META: Field = Field::new("metadata", Kind::Object(METADATA), "Name, namespace, labels and annotations.");
const STATUS: Field = Field::new("status", Kind::Anything, ABOUT_STATUS);
const SOME: Kind = Kind::Number(0, 10_000);

static ACI: &[Field] = &[API, KIND, META, Field::new("spec", Kind::Object(ACI_SPEC), "The cluster."), STATUS];

static ACI_SPEC: &[Field] = &[
    Field::new("imageSetRef", Kind::Object(REFERENCE), "The ClusterImageSet."),
    Field::new("clusterDeploymentRef", Kind::Object(REFERENCE), "The ClusterDeployment."),
    Field::new("networking", Kind::Object(NETWORKING), "Networks of machines, pods and services."),
    Field::new("sshPublicKey", Kind::Text, "Public keys, one per line, for the installed nodes."),
    Field::new("ntpSources", TEXTS, "Time servers."),
    Field::new("provisionRequirements", Kind::Object(REQUIREMENTS), "How many hosts of each role there are."),
    Field::new("controlPlane", Kind::Object(POOL), "Settings of control-plane machines."),
    Field::new("arbiter", Kind::Object(POOL), "Settings of the arbiter."),
    Field::new("compute", Kind::List(&Kind::Object(POOL)), "Settings of workers."),
    Field::new("apiVIP", Kind::Ip, "Address of the API, old spelling of `apiVIPs`."),
    Field::new("apiVIPs", IPS, "Addresses of the API: one, or one per IP family."),
    Field::new("ingressVIP", Kind::Ip, "Address of the router, old spelling of `ingressVIPs`."),
    Field::new("ingressVIPs", IPS, "Addresses of the router: one, or one per IP family."),
    Field::new("holdInstallation", Kind::Flag, "Do not start by itself."),
    Field::new("diskEncryption", Kind::Object(ENCRYPTION), "Encryption of the installation disks."),
    Field::new("proxy", Kind::Object(PROXY), "Proxies of the cluster."),
    Field::new("platformType", Kind::Text, "BareMetal, None, VSphere, Nutanix or External."),
    Field::new("external", Kind::Object(EXTERNAL), "The external platform."),
    Field::new("mastersSchedulable", Kind::Flag, "Run workloads on the control plane."),
    Field::new("loadBalancer", Kind::Object(LOAD_BALANCER), "Who balances the load: ClusterManaged or UserManaged."),
    carried("clusterMetadata"),
    carried("manifestsConfigMapRef"),
    carried("manifestsConfigMapRefs"),
    carried("ignitionEndpoint"),
    carried("mirrorRegistryRef"),
];

static REFERENCE: &[Field] = &[
    Field::new("name", Kind::Text, "Its name."),
    Field::new("namespace", Kind::Text, "Its namespace."),
];

static NETWORKING: &[Field] = &[
    Field::new("machineNetwork", Kind::List(&Kind::Object(MACHINE_NETWORK)), "Networks of the machines."),
    Field::new("clusterNetwork", Kind::List(&Kind::Object(CLUSTER_NETWORK)), "Networks of pods."),
    Field::new("serviceNetwork", Kind::List(&Kind::Cidr), "Networks of services."),
    Field::new("networkType", Kind::Text, "The network plugin.").default("OVNKubernetes"),
    Field::new("userManagedNetworking", Kind::Flag, "The user brings load balancers and DNS.").default("true on None and External"),
];

static MACHINE_NETWORK: &[Field] = &[Field::new("cidr", Kind::Cidr, "The network.").indispensable()];

static CLUSTER_NETWORK: &[Field] = &[
    Field::new("cidr", Kind::Cidr, "The network.").indispensable(),
    Field::new("hostPrefix", INT32, "Size of each node's share."),
];

static REQUIREMENTS: &[Field] = &[
    Field::new("controlPlaneAgents", SOME, "Hosts of the control plane."),
    Field::new("arbiterAgents", SOME, "Arbiters."),
    Field::new("workerAgents", SOME, "Workers."),
];

static POOL: &[Field] = &[
    Field::new("name", Kind::Text, "`master`, `arbiter` or `worker`."),
    Field::new("hyperthreading", Kind::Text, "Enabled or Disabled.").default("Enabled"),
];

static ENCRYPTION: &[Field] = &[
    Field::new("enableOn", Kind::Text, "none, all, masters or workers.").default("none"),
    Field::new("mode", Kind::Text, "tpmv2 or tang."),
    Field::new("tangServers", Kind::Text, "A JSON list of url and thumbprint."),
];

static EXTERNAL: &[Field] = &[
    Field::new("platformName", Kind::Text, "Name of the platform, for example `oci`."),
    Field::new("cloudControllerManager", Kind::Text, "`External` if the platform brings one."),
];

static LOAD_BALANCER: &[Field] = &[Field::new("type", Kind::Text, "ClusterManaged or UserManaged.")];

static CD: &[Field] = &[API, KIND, META, Field::new("spec", Kind::Object(CD_SPEC), "The cluster."), STATUS];

static CD_SPEC: &[Field] = &[
    Field::new("clusterName", Kind::Text, "Name of the cluster."),
    Field::new("baseDomain", Kind::Text, "Domain below which the cluster is made."),
    Field::new("pullSecretRef", Kind::Object(REFERENCE), "The pull secret."),
    Field::new("clusterInstallRef", Kind::Object(INSTALL_REFERENCE), "The AgentClusterInstall."),
    carried("platform"),
    carried("preserveOnDelete"),
    carried("controlPlaneConfig"),
    carried("ingress"),
    carried("certificateBundles"),
    carried("manageDNS"),
    carried("clusterMetadata"),
    carried("installed"),
    carried("provisioning"),
    carried("clusterPoolRef"),
    carried("powerState"),
    carried("hibernateAfter"),
    carried("installAttemptsLimit"),
    carried("boundServiceAccountSigningKeySecretRef"),
    carried("discardLocalSshKey"),
];

static INSTALL_REFERENCE: &[Field] = &[
    Field::new("group", Kind::Text, "extensions.hive.openshift.io."),
    Field::new("version", Kind::Text, "v1beta1."),
    Field::new("kind", Kind::Text, "AgentClusterInstall."),
    Field::new("name", Kind::Text, "Its name."),
];

static CIS: &[Field] = &[API, KIND, META, Field::new("spec", Kind::Object(CIS_SPEC), "The release."), STATUS];

static CIS_SPEC: &[Field] = &[Field::new("releaseImage", Kind::Text, "Pull spec of the release image.")];

static IE: &[Field] = &[API, KIND, META, Field::new("spec", Kind::Object(IE_SPEC), "What hosts boot."), STATUS];

static IE_SPEC: &[Field] = &[
    Field::new("proxy", Kind::Object(PROXY), "Proxies of hosts before the installation."),
    Field::new("additionalNTPSources", TEXTS, "Time servers besides others."),
    Field::new("ntpSources", TEXTS, "Time servers instead of others."),
    Field::new("sshAuthorizedKey", Kind::Text, "Public keys, one per line, for hosts before the installation."),
    Field::new("pullSecretRef", Kind::Object(REFERENCE), "The pull secret."),
    Field::new("nmStateConfigLabelSelector", Kind::Object(SELECTOR), "Labels of the NMStateConfigs."),
    Field::new("clusterRef", Kind::Object(REFERENCE), "The ClusterDeployment."),
    Field::new("ignitionConfigOverride", Kind::Text, "A JSON Ignition config that is merged into that of hosts."),
    Field::new("cpuArchitecture", Kind::Text, "Architecture of hosts.").default("x86_64"),
    Field::new("kernelArguments", Kind::List(&Kind::Object(KERNEL_ARGUMENT)), "Kernel arguments of the image."),
    Field::new("additionalTrustBundle", Kind::Text, "Certificates (PEM) that hosts trust besides the usual ones."),
    carried("agentLabels"),
    carried("ipxeScriptType"),
    carried("osImageVersion"),
    carried("mirrorRegistryRef"),
    carried("imageType"),
    carried("agentApproval"),
    carried("networkDiscoveryDelaySeconds"),
];

static SELECTOR: &[Field] = &[
    Field::new("matchLabels", Kind::Labels, "Labels and their values."),
    carried("matchExpressions"),
];

static KERNEL_ARGUMENT: &[Field] = &[
    Field::new("operation", Kind::Word(&["append", "replace", "delete"]), "What to do with it."),
    Field::new("value", Kind::Text, "The argument."),
];

static NSC: &[Field] = &[API, KIND, META, Field::new("spec", Kind::Object(NSC_SPEC), "The network of a host."), STATUS];

static NSC_SPEC: &[Field] = &[
    Field::new("interfaces", Kind::List(&Kind::Object(CARD)), "Network cards by which the host is recognised."),
    Field::new("config", Kind::Anything, "State of the network as nmstate has it."),
];

static CARD: &[Field] = &[
    Field::new("name", Kind::Text, "What `config` calls the card."),
    Field::new("macAddress", Kind::Text, "Its hardware address."),
];

static PS: &[Field] = &[
    API,
    KIND,
    META,
    Field::new("type", Kind::Text, "Type of the Secret."),
    Field::new("immutable", Kind::Flag, "Ignored."),
    Field::new("stringData", Kind::Object(DOCKER_CONFIG), "The credentials."),
    Field::new("data", Kind::Object(DOCKER_CONFIG), "Not read; use `stringData`."),
];

static DOCKER_CONFIG: &[Field] = &[Field::new(".dockerconfigjson", Kind::Secret, "JSON as `podman login` writes it.")];
