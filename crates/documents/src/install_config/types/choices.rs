//! The closed sets of words an install-config may use.
//!
//! Each is an enum with the words of the file; the schema takes its list of allowed words from
//! here, so that what is explained, checked and typed cannot drift apart.

use std::fmt;

use muster_model::Arch;
use serde::{Deserialize, Serialize};

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// The words of the file, in the order of the documentation.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word of the file.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    )+};
}

choices! {
    /// When the additional trust bundle reaches the nodes.
    TrustBundlePolicy {
        /// Only together with a proxy.
        ProxyOnly = "Proxyonly",
        /// In any case.
        Always = "Always",
    }
    /// Who can reach the endpoints of the cluster.
    Publish {
        /// Published to every client with a route to it; the only way on the platforms known here.
        External = "External",
        /// The private network of a cloud.
        Internal = "Internal",
        /// Chosen per endpoint, on one cloud.
        Mixed = "Mixed",
    }
    /// Whether nodes are set up for CPU partitioning.
    CpuPartitioning {
        /// They are not.
        None = "None",
        /// All of them are.
        AllNodes = "AllNodes",
    }
    /// How operators get cloud credentials; clouds only.
    CredentialsMode {
        /// New ones for each.
        Mint = "Mint",
        /// A copy of the installer's.
        Passthrough = "Passthrough",
        /// Made by a person.
        Manual = "Manual",
    }
    /// Feature sets beyond the default one.
    FeatureSet {
        /// Previews that end the way of upgrades.
        TechPreviewNoUpgrade = "TechPreviewNoUpgrade",
        /// Features under development.
        DevPreviewNoUpgrade = "DevPreviewNoUpgrade",
        /// The gates named in `featureGates`.
        CustomNoUpgrade = "CustomNoUpgrade",
        /// The set of OKD builds.
        Okd = "OKD",
    }
    /// Which CoreOS stream the nodes run.
    OsImageStream {
        /// Enterprise Linux 9.
        Rhel9 = "rhel-9",
        /// Enterprise Linux 10.
        Rhel10 = "rhel-10",
        /// CentOS Stream 10, for OKD builds.
        Centos10 = "centos-10",
    }
    /// Algorithm of a signer's key.
    KeyAlgorithm {
        /// RSA.
        Rsa = "RSA",
        /// Elliptic curves.
        Ecdsa = "ECDSA",
    }
    /// Curve of an ECDSA key.
    EcdsaCurve {
        /// NIST P-256.
        P256 = "P256",
        /// NIST P-384.
        P384 = "P384",
        /// NIST P-521.
        P521 = "P521",
    }
    /// Whether simultaneous multithreading is left on.
    Hyperthreading {
        /// It is.
        Enabled = "Enabled",
        /// Nodes start with it off.
        Disabled = "Disabled",
    }
    /// Processor architectures.
    Architecture {
        /// x86, 64 bits.
        Amd64 = "amd64",
        /// ARM, 64 bits.
        Arm64 = "arm64",
        /// IBM Z.
        S390x = "s390x",
        /// IBM Power, little endian.
        Ppc64le = "ppc64le",
    }
    /// Whether a certificate is verified.
    Verification {
        /// It is.
        Enabled = "Enabled",
        /// Any certificate will do.
        Disabled = "Disabled",
    }
    /// Which API manages the machines of a pool.
    Management {
        /// Cluster API.
        ClusterApi = "ClusterAPI",
        /// Machine API.
        MachineApi = "MachineAPI",
    }
    /// What an extra disk is for.
    DiskPurpose {
        /// The database of the control plane.
        Etcd = "etcd",
        /// Swap space.
        Swap = "swap",
        /// A mount point of the user's choice.
        UserDefined = "user-defined",
    }
    /// Whether sources may still be asked when mirrors are named.
    SourcePolicy {
        /// Mirrors only.
        NeverContactSource = "NeverContactSource",
        /// Mirrors first, then the source.
        AllowContactingSource = "AllowContactingSource",
    }
    /// What becomes of network observability.
    ObservabilityPolicy {
        /// It is installed and switched on.
        InstallAndEnable = "InstallAndEnable",
        /// Nothing happens.
        NoAction = "NoAction",
    }
    /// Who runs the provisioning network of bare metal hosts.
    ProvisioningNetwork {
        /// The cluster, with its own DHCP.
        Managed = "Managed",
        /// The cluster, next to a foreign DHCP server.
        Unmanaged = "Unmanaged",
        /// There is none.
        Disabled = "Disabled",
    }
    /// How the firmware of a bare metal host starts it.
    BootMode {
        /// UEFI.
        Uefi = "UEFI",
        /// UEFI with secure boot.
        UefiSecureBoot = "UEFISecureBoot",
        /// BIOS.
        Legacy = "legacy",
    }
    /// What a bare metal host becomes.
    HostRole {
        /// Control plane.
        Master = "master",
        /// Votes, but runs no control plane beyond that.
        Arbiter = "arbiter",
        /// Compute.
        Worker = "worker",
    }
    /// Who balances load in front of API and ingress.
    LoadBalancerType {
        /// The cluster, by its virtual addresses.
        OpenShiftManagedDefault = "OpenShiftManagedDefault",
        /// The user.
        UserManaged = "UserManaged",
    }
    /// Who answers for the names of the cluster.
    DnsRecordsType {
        /// The cluster.
        Internal = "Internal",
        /// The user.
        External = "External",
    }
    /// Text switches of BGP peers.
    TextBool {
        /// On.
        True = "true",
        /// Off.
        False = "false",
    }
    /// How virtual disks take their space.
    VsphereDiskType {
        /// When it is used.
        Thin = "thin",
        /// At once.
        Thick = "thick",
        /// At once and zeroed.
        EagerZeroedThick = "eagerZeroedThick",
    }
    /// What stands for a region or a zone in vSphere.
    FailureDomainType {
        /// A datacenter.
        Datacenter = "Datacenter",
        /// A compute cluster.
        ComputeCluster = "ComputeCluster",
        /// A group of hosts.
        HostGroup = "HostGroup",
    }
    /// How a data disk in vSphere takes its space.
    ProvisioningMode {
        /// When it is used.
        Thin = "Thin",
        /// At once.
        Thick = "Thick",
        /// At once and zeroed.
        EagerlyZeroed = "EagerlyZeroed",
    }
    /// What a vSphere host with a static address becomes.
    VsphereHostRole {
        /// The bootstrap machine.
        Bootstrap = "bootstrap",
        /// Control plane.
        ControlPlane = "control-plane",
        /// Compute.
        Compute = "compute",
    }
    /// How machines on Nutanix boot.
    NutanixBootType {
        /// BIOS.
        Legacy = "Legacy",
        /// UEFI.
        Uefi = "UEFI",
        /// UEFI with secure boot.
        SecureBoot = "SecureBoot",
    }
    /// What names a resource of Prism.
    NutanixIdentifierType {
        /// Its UUID.
        Uuid = "uuid",
        /// Its name.
        Name = "name",
    }
    /// What names a GPU.
    NutanixGpuType {
        /// Its name.
        Name = "Name",
        /// Its device id.
        DeviceId = "DeviceID",
    }
    /// Kinds of storage of a Nutanix disk.
    NutanixDiskMode {
        /// The usual one.
        Standard = "Standard",
        /// Flash.
        Flash = "Flash",
    }
    /// What a Nutanix disk looks like to the machine.
    NutanixDeviceType {
        /// A disk.
        Disk = "Disk",
        /// A CD drive.
        CdRom = "CDRom",
    }
    /// Buses of Nutanix disks.
    NutanixAdapterType {
        /// SCSI.
        Scsi = "SCSI",
        /// IDE.
        Ide = "IDE",
        /// PCI.
        Pci = "PCI",
        /// SATA.
        Sata = "SATA",
        /// The bus of IBM Power.
        Spapr = "SPAPR",
    }
    /// Whether a cloud controller manager is brought by the user.
    CloudControllerManager {
        /// It is.
        External = "External",
    }
}

impl Architecture {
    /// The same, as everything but this file names it.
    #[must_use]
    pub const fn arch(self) -> Arch {
        match self {
            Self::Amd64 => Arch::X86_64,
            Self::Arm64 => Arch::Arm64,
            Self::S390x => Arch::S390x,
            Self::Ppc64le => Arch::Ppc64le,
        }
    }
}
