// Generated from crates/api/contract by `cargo run -p muster-api --example typescript`.

export interface ApiVip {
  cluster_id?: string;
  ip?: Ip;
  verification?: VipVerification;
}

export interface ApiVipConnectivityAdditionalRequestHeader {
  key?: string;
  value?: string;
}

export interface ApiVipConnectivityRequest {
  ca_certificate?: string | null;
  ignition_endpoint_token?: string | null;
  request_headers?: Array<ApiVipConnectivityAdditionalRequestHeader> | null;
  url: string;
  verify_cidr?: boolean;
}

export interface ApiVipConnectivityResponse {
  download_error?: string;
  ignition?: string;
  is_success?: boolean;
  url?: string;
}

export type ArchitectureSupportLevelId = "X86_64_ARCHITECTURE" | "ARM64_ARCHITECTURE" | "PPC64LE_ARCHITECTURE" | "S390X_ARCHITECTURE" | "MULTIARCH_RELEASE_IMAGE";

export interface BindHostParams {
  cluster_id: string;
}

export interface Boot {
  command_line?: string;
  current_boot_mode?: string;
  device_type?: "persistent" | "ephemeral";
  pxe_interface?: string;
  secure_boot_state?: SecureBootState;
}

export interface Bundle {
  description?: string;
  id?: string;
  operators: Array<string> | null;
  optional_operators: Array<string> | null;
  title?: string;
}

export interface BundleCreateParams {
  id: string;
  optional_operators?: Array<string>;
}

export interface Cluster {
  additional_ntp_source?: string;
  ams_subscription_id?: string;
  api_vip_dns_name?: string | null;
  api_vips: Array<ApiVip> | null;
  base_dns_domain?: string;
  cluster_network_cidr?: string;
  cluster_network_host_prefix?: number;
  cluster_networks: Array<ClusterNetwork> | null;
  connectivity_majority_groups?: string;
  control_plane_count?: number;
  controller_logs_collected_at?: string;
  controller_logs_started_at?: string;
  cpu_architecture?: "x86_64" | "aarch64" | "arm64" | "ppc64le" | "s390x" | "multi";
  created_at?: string;
  deleted_at: string | null;
  disk_encryption?: DiskEncryption;
  email_domain?: string;
  enabled_host_count?: number;
  feature_usage?: string;
  high_availability_mode?: "Full" | "None";
  host_networks: Array<HostNetwork> | null;
  hosts: Array<Host> | null;
  href: string;
  http_proxy?: string;
  https_proxy?: string;
  hyperthreading?: "none" | "masters" | "arbiters" | "workers" | "masters,arbiters" | "masters,workers" | "arbiters,workers" | "masters,arbiters,workers" | "all";
  id: string;
  ignition_endpoint?: IgnitionEndpoint;
  ignored_cluster_validations?: string;
  ignored_host_validations?: string;
  image_info: ImageInfo;
  imported?: boolean;
  ingress_vips: Array<IngressVip> | null;
  install_completed_at?: string;
  install_config_overrides?: string;
  install_started_at?: string;
  ip_collisions?: string;
  kind: "Cluster" | "AddHostsCluster" | "DisconnectedCluster";
  "last-installation-preparation"?: LastInstallationPreparation;
  load_balancer?: LoadBalancer;
  logs_info?: LogsState;
  machine_network_cidr?: string;
  machine_networks: Array<MachineNetwork> | null;
  monitored_operators: Array<MonitoredOperator> | null;
  name?: string;
  network_type?: "OpenShiftSDN" | "OVNKubernetes" | "CiscoACI" | "Cilium" | "Calico" | "None" | null;
  no_proxy?: string;
  ntp_sources?: string;
  ocp_release_image?: string;
  openshift_cluster_id?: string;
  openshift_version?: string;
  operator_bundles: Array<BundleCreateParams> | null;
  org_id?: string;
  org_soft_timeouts_enabled?: boolean;
  platform?: Platform;
  progress?: ClusterProgressInfo;
  pull_secret_set?: boolean;
  ready_host_count?: number;
  schedulable_masters?: boolean;
  schedulable_masters_forced_true?: boolean;
  service_network_cidr?: string;
  service_networks: Array<ServiceNetwork> | null;
  ssh_public_key?: string;
  status: "insufficient" | "ready" | "error" | "preparing-for-installation" | "pending-for-input" | "installing" | "finalizing" | "installed" | "adding-hosts" | "cancelled" | "installing-pending-user-action" | "unmonitored";
  status_info: string;
  status_updated_at?: string;
  tags?: string;
  total_host_count?: number;
  updated_at?: string;
  user_managed_networking?: boolean | null;
  user_name?: string;
  validations_info?: string;
  vip_dhcp_allocation?: boolean | null;
}

export interface ClusterCreateParams {
  additional_ntp_source?: string | null;
  api_vips?: Array<ApiVip>;
  base_dns_domain?: string;
  cluster_network_cidr?: string;
  cluster_network_host_prefix?: number;
  cluster_networks?: Array<ClusterNetwork> | null;
  control_plane_count?: number | null;
  cpu_architecture?: "x86_64" | "aarch64" | "arm64" | "ppc64le" | "s390x" | "multi";
  disk_encryption?: DiskEncryption;
  high_availability_mode?: "Full" | "None";
  http_proxy?: string | null;
  https_proxy?: string | null;
  hyperthreading?: "none" | "masters" | "arbiters" | "workers" | "masters,arbiters" | "masters,workers" | "arbiters,workers" | "masters,arbiters,workers" | "all";
  ignition_endpoint?: IgnitionEndpoint;
  ingress_vips?: Array<IngressVip>;
  load_balancer?: LoadBalancer;
  machine_networks?: Array<MachineNetwork> | null;
  name: string;
  network_type?: "OpenShiftSDN" | "OVNKubernetes" | "CiscoACI" | "Cilium" | "Calico" | "None" | null;
  no_proxy?: string | null;
  ntp_sources?: string | null;
  ocp_release_image?: string;
  olm_operators?: Array<OperatorCreateParams>;
  openshift_version: string;
  operator_bundles?: Array<BundleCreateParams>;
  platform?: Platform | null;
  pull_secret: string;
  schedulable_masters?: boolean;
  service_network_cidr?: string;
  service_networks?: Array<ServiceNetwork> | null;
  ssh_public_key?: string;
  tags?: string | null;
  user_managed_networking?: boolean | null;
  vip_dhcp_allocation?: boolean | null;
}

export interface ClusterFinalizingProgress {
  finalizing_stage?: FinalizingStage;
}

export interface ClusterHostRequirements {
  host_id?: string;
  ocp?: ClusterHostRequirementsDetails;
  operators: Array<OperatorHostRequirements> | null;
  total?: ClusterHostRequirementsDetails;
}

export interface ClusterHostRequirementsDetails {
  cpu_cores?: number;
  disk_size_gb?: number;
  installation_disk_speed_threshold_ms?: number;
  network_latency_threshold_ms?: number | null;
  packet_loss_percentage?: number | null;
  ram_mib?: number;
  tpm_enabled_in_bios?: boolean;
}

export type ClusterHostRequirementsList = Array<ClusterHostRequirements>;

export type ClusterList = Array<Cluster>;

export interface ClusterProgressInfo {
  finalizing_stage?: FinalizingStage;
  finalizing_stage_percentage?: number;
  finalizing_stage_started_at?: string;
  finalizing_stage_timed_out?: boolean;
  installing_stage_percentage?: number;
  preparing_for_installation_stage_percentage?: number;
  total_percentage?: number;
}

export type ClusterValidationId = "machine-cidr-defined" | "cluster-cidr-defined" | "service-cidr-defined" | "no-cidrs-overlapping" | "networks-same-address-families" | "network-prefix-valid" | "machine-cidr-equals-to-calculated-cidr" | "api-vips-defined" | "api-vips-valid" | "ingress-vips-defined" | "ingress-vips-valid" | "all-hosts-are-ready-to-install" | "sufficient-masters-count" | "dns-domain-defined" | "pull-secret-set" | "ntp-server-configured" | "lso-requirements-satisfied" | "ocs-requirements-satisfied" | "odf-requirements-satisfied" | "cnv-requirements-satisfied" | "lvm-requirements-satisfied" | "mce-requirements-satisfied" | "mtv-requirements-satisfied" | "osc-requirements-satisfied" | "network-type-valid" | "custom-manifests-requirements-satisfied" | "platform-requirements-satisfied" | "node-feature-discovery-requirements-satisfied" | "nvidia-gpu-requirements-satisfied" | "pipelines-requirements-satisfied" | "servicemesh-requirements-satisfied" | "serverless-requirements-satisfied" | "openshift-ai-requirements-satisfied" | "openshift-ai-gpu-requirements-satisfied" | "authorino-requirements-satisfied" | "nmstate-requirements-satisfied" | "amd-gpu-requirements-satisfied" | "kmm-requirements-satisfied" | "node-healthcheck-requirements-satisfied" | "self-node-remediation-requirements-satisfied" | "fence-agents-remediation-requirements-satisfied" | "node-maintenance-requirements-satisfied" | "kube-descheduler-requirements-satisfied" | "cluster-observability-requirements-satisfied" | "numa-resources-requirements-satisfied" | "oadp-requirements-satisfied" | "metallb-requirements-satisfied" | "loki-requirements-satisfied" | "openshift-logging-requirements-satisfied";

export interface ClusterDefaultConfig {
  cluster_network_cidr?: string;
  cluster_network_host_prefix?: number;
  cluster_networks_dualstack: Array<ClusterNetwork> | null;
  cluster_networks_ipv4: Array<ClusterNetwork> | null;
  forbidden_hostnames: Array<string> | null;
  inactive_deletion_hours?: number;
  ntp_source?: string;
  service_network_cidr?: string;
  service_networks_dualstack: Array<ServiceNetwork> | null;
  service_networks_ipv4: Array<ServiceNetwork> | null;
}

export interface ClusterNetwork {
  cidr?: Subnet;
  cluster_id?: string;
  host_prefix?: number;
}

export interface CompletionParams {
  data?: Record<string, Record<string, unknown>>;
  error_info?: string;
  is_success: boolean;
}

export interface ConnectivityCheckHost {
  host_id?: string;
  nics: Array<ConnectivityCheckNic> | null;
}

export interface ConnectivityCheckNic {
  ip_addresses: Array<string> | null;
  mac?: string;
  name?: string;
}

export type ConnectivityCheckParams = Array<ConnectivityCheckHost>;

export interface ConnectivityRemoteHost {
  host_id?: string;
  l2_connectivity: Array<L2Connectivity> | null;
  l3_connectivity: Array<L3Connectivity> | null;
  mtu_report: Array<MtuReport> | null;
}

export interface ConnectivityReport {
  remote_hosts: Array<ConnectivityRemoteHost> | null;
}

export interface ContainerImageAvailability {
  download_rate?: number;
  name?: string;
  result?: ContainerImageAvailabilityResult;
  size_bytes?: number;
  time?: number;
}

export interface ContainerImageAvailabilityRequest {
  images: Array<string> | null;
  timeout?: number;
}

export interface ContainerImageAvailabilityResponse {
  images: Array<ContainerImageAvailability> | null;
}

export type ContainerImageAvailabilityResult = "success" | "failure";

export interface Cpu {
  architecture?: string;
  count?: number;
  flags: Array<string> | null;
  frequency?: number;
  model_name?: string;
}

export interface CreateManifestParams {
  content: string;
  file_name: string;
  folder?: "manifests" | "openshift";
}

export interface Credentials {
  console_url?: string;
  password?: string;
  username?: string;
}

export interface DhcpAllocationRequest {
  api_vip_lease?: string;
  api_vip_mac: string;
  ingress_vip_lease?: string;
  ingress_vip_mac: string;
  interface: string;
}

export interface DhcpAllocationResponse {
  api_vip_address: string;
  api_vip_lease?: string;
  ingress_vip_address: string;
  ingress_vip_lease?: string;
}

export interface DisconnectedClusterCreateParams {
  name: string;
  openshift_version: string;
}

export interface Disk {
  bootable?: boolean;
  by_id?: string;
  by_path?: string;
  drive_type?: DriveType;
  has_uuid?: boolean;
  hctl?: string;
  holders?: string;
  id?: string;
  installation_eligibility?: {
    eligible?: boolean;
    not_eligible_reasons: Array<string> | null;
  };
  io_perf?: IoPerf;
  is_installation_media?: boolean;
  iscsi?: Iscsi;
  model?: string;
  name?: string;
  partitionTypes?: string;
  path?: string;
  removable?: boolean;
  serial?: string;
  size_bytes?: number;
  smart?: string;
  vendor?: string;
  wwn?: string;
}

export interface DiskConfigParams {
  id: string;
  role?: DiskRole;
}

export interface DiskEncryption {
  enable_on?: "none" | "masters" | "arbiters" | "workers" | "masters,arbiters" | "masters,workers" | "arbiters,workers" | "masters,arbiters,workers" | "all";
  mode?: "tpmv2" | "tang";
  tang_servers?: string;
}

export type DiskRole = "none" | "install";

export interface DiskSkipFormattingParams {
  disk_id: string;
  skip_formatting: boolean;
}

export interface DiskInfo {
  disk_speed?: DiskSpeed;
  id?: string;
  path?: string;
}

export interface DiskSpeed {
  exit_code?: number;
  speed_ms?: number;
  tested?: boolean;
}

export interface DiskSpeedCheckRequest {
  path: string;
}

export interface DiskSpeedCheckResponse {
  io_sync_duration?: number;
  path?: string;
}

export interface DnsConfiguration {
  search_domains?: Array<string>;
  servers?: Array<string>;
}

export interface DomainResolutionRequest {
  domains: Array<{
    domain_name: string;
  }> | null;
}

export interface DomainResolutionResponse {
  resolutions: Array<{
    cnames: Array<string> | null;
    domain_name: string;
    ipv4_addresses: Array<string> | null;
    ipv6_addresses: Array<string> | null;
  }> | null;
}

export interface DownloadBootArtifactsRequest {
  host_fs_mount_dir: string;
  initrd_url: string;
  kernel_url: string;
  rootfs_url: string;
}

export type DriveType = "Unknown" | "HDD" | "FDD" | "ODD" | "SSD" | "virtual" | "Multipath" | "iSCSI" | "FC" | "LVM" | "RAID" | "ECKD" | "ECKD (ESE)" | "FBA";

export interface Error {
  code: string;
  href: string;
  id: number;
  kind: "Error";
  reason: string;
}

export interface Event {
  category?: "user" | "metrics";
  cluster_id?: string | null;
  event_time: string;
  host_id?: string | null;
  infra_env_id?: string | null;
  message: string;
  name?: string;
  props?: string;
  request_id?: string;
  severity: "info" | "warning" | "error" | "critical";
}

export type EventList = Array<Event>;

export interface Feature {
  "feature-support-level-id": FeatureSupportLevelId;
  incompatibilities: Array<FeatureSupportLevelId> | null;
  reason?: IncompatibilityReason;
  support_level: SupportLevel;
}

export type FeatureSupportLevelId = "SNO" | "TNA" | "TNF" | "VIP_AUTO_ALLOC" | "CUSTOM_MANIFEST" | "SINGLE_NODE_EXPANSION" | "LVM" | "ODF" | "LSO" | "CNV" | "MCE" | "MTV" | "OSC" | "NUTANIX_INTEGRATION" | "BAREMETAL_PLATFORM" | "NONE_PLATFORM" | "VSPHERE_INTEGRATION" | "DUAL_STACK_VIPS" | "CLUSTER_MANAGED_NETWORKING" | "USER_MANAGED_NETWORKING" | "MINIMAL_ISO" | "FULL_ISO" | "EXTERNAL_PLATFORM_OCI" | "DUAL_STACK" | "PLATFORM_MANAGED_NETWORKING" | "EXTERNAL_PLATFORM" | "OVN_NETWORK_TYPE" | "SDN_NETWORK_TYPE" | "CILIUM_NETWORK_TYPE" | "CALICO_NETWORK_TYPE" | "CISCO_ACI_NETWORK_TYPE" | "NONE_NETWORK_TYPE" | "NODE_FEATURE_DISCOVERY" | "NVIDIA_GPU" | "PIPELINES" | "SERVICEMESH" | "SERVERLESS" | "OPENSHIFT_AI" | "NON_STANDARD_HA_CONTROL_PLANE" | "AUTHORINO" | "USER_MANAGED_LOAD_BALANCER" | "NMSTATE" | "AMD_GPU" | "KMM" | "NODE_HEALTHCHECK" | "SELF_NODE_REMEDIATION" | "FENCE_AGENTS_REMEDIATION" | "NODE_MAINTENANCE" | "KUBE_DESCHEDULER" | "CLUSTER_OBSERVABILITY" | "NUMA_RESOURCES" | "OADP" | "METALLB" | "DUAL_STACK_PRIMARY_IPV6" | "LOKI" | "OPENSHIFT_LOGGING";

export interface FencingCredentialsParams {
  address: string;
  certificate_verification?: "Enabled" | "Disabled";
  mac_address?: string | null;
  password: string;
  username: string;
}

export type FinalizingStage = "Waiting for cluster operators" | "Adding router ca" | "Applying olm manifests" | "Waiting for olm operators csv initialization" | "Waiting for olm operators csv" | "Waiting for OLM operator setup jobs" | "Done";

export type FreeAddressesList = Array<string>;

export type FreeAddressesRequest = Array<string>;

export interface FreeNetworkAddresses {
  free_addresses: Array<string> | null;
  network?: string;
}

export type FreeNetworksAddresses = Array<FreeNetworkAddresses>;

export interface Gpu {
  address?: string;
  device_id?: string;
  name?: string;
  vendor?: string;
  vendor_id?: string;
}

export interface Host {
  api_vip_connectivity?: string;
  bootstrap?: boolean;
  checked_in_at?: string;
  cluster_id?: string | null;
  connection_timed_out?: boolean;
  connectivity?: string;
  created_at?: string;
  deleted_at: string | null;
  discovery_agent_version?: string;
  disks_info?: string;
  disks_to_be_formatted?: string;
  domain_name_resolutions?: string;
  fencing_credentials?: string;
  free_addresses?: string;
  href: string;
  id: string;
  ignition_config_overrides?: string;
  ignition_endpoint_token_set?: boolean;
  images_status?: string;
  infra_env_id?: string;
  installation_disk_id?: string;
  installation_disk_path?: string;
  installer_args?: string;
  installer_version?: string;
  inventory?: string;
  kind: "Host" | "AddToExistingClusterHost";
  logs_collected_at?: string;
  logs_info?: LogsState;
  logs_started_at?: string;
  machine_config_pool_name?: string;
  media_status?: "connected" | "disconnected" | null;
  node_labels?: string;
  ntp_sources?: string;
  progress?: HostProgressInfo;
  progress_stages: Array<HostStage> | null;
  registered_at?: string;
  requested_hostname?: string;
  role?: HostRole;
  skip_formatting_disks?: string;
  stage_started_at?: string;
  stage_updated_at?: string;
  status: "discovering" | "known" | "disconnected" | "insufficient" | "disabled" | "preparing-for-installation" | "preparing-failed" | "preparing-successful" | "pending-for-input" | "installing" | "installing-in-progress" | "installing-pending-user-action" | "resetting-pending-user-action" | "installed" | "error" | "resetting" | "added-to-existing-cluster" | "cancelled" | "binding" | "unbinding" | "unbinding-pending-user-action" | "known-unbound" | "disconnected-unbound" | "insufficient-unbound" | "disabled-unbound" | "discovering-unbound" | "reclaiming" | "reclaiming-rebooting" | null;
  status_info: string | null;
  status_updated_at?: string;
  suggested_role?: HostRole;
  tang_connectivity?: string;
  timestamp?: number;
  updated_at?: string;
  user_name?: string;
  validations_info?: string;
}

export interface HostCreateParams {
  discovery_agent_version?: string;
  host_id: string;
}

export interface HostIgnitionParams {
  config?: string;
}

export type HostList = Array<Host>;

export interface HostProgress {
  current_stage?: HostStage;
  progress_info?: string;
}

export interface HostProgressInfo {
  current_stage?: HostStage;
  installation_percentage?: number;
  progress_info?: string;
  stage_started_at?: string;
  stage_timed_out?: boolean;
  stage_updated_at?: string;
}

export type HostRole = "auto-assign" | "master" | "arbiter" | "worker" | "bootstrap";

export type HostRoleUpdateParams = "auto-assign" | "master" | "arbiter" | "worker";

export type HostStage = "Starting installation" | "Waiting for control plane" | "Waiting for bootkube" | "Waiting for controller" | "Installing" | "Writing image to disk" | "Copying registry data to disk" | "Rebooting" | "Waiting for ignition" | "Configuring" | "Joined" | "Done" | "Failed";

export interface HostTypeHardwareRequirements {
  qualitative: Array<string> | null;
  quantitative?: ClusterHostRequirementsDetails;
}

export interface HostTypeHardwareRequirementsWrapper {
  master?: HostTypeHardwareRequirements;
  worker?: HostTypeHardwareRequirements;
}

export interface HostUpdateParams {
  disks_selected_config?: Array<DiskConfigParams> | null;
  disks_skip_formatting?: Array<DiskSkipFormattingParams> | null;
  fencing_credentials?: FencingCredentialsParams | null;
  host_name?: string | null;
  host_role?: "auto-assign" | "master" | "arbiter" | "worker" | null;
  ignition_endpoint_http_headers?: Array<IgnitionEndpointHttpHeadersParams> | null;
  ignition_endpoint_token?: string | null;
  machine_config_pool_name?: string | null;
  node_labels?: Array<NodeLabelParams> | null;
}

export type HostValidationId = "connected" | "media-connected" | "has-inventory" | "inventory-not-partially-truncated" | "inventory-not-fully-truncated" | "has-min-cpu-cores" | "has-min-valid-disks" | "has-min-memory" | "machine-cidr-defined" | "has-cpu-cores-for-role" | "has-memory-for-role" | "hostname-unique" | "hostname-valid" | "belongs-to-machine-cidr" | "ignition-downloadable" | "belongs-to-majority-group" | "valid-platform-network-settings" | "ntp-synced" | "time-synced-between-host-and-service" | "container-images-available" | "lso-requirements-satisfied" | "ocs-requirements-satisfied" | "odf-requirements-satisfied" | "lvm-requirements-satisfied" | "mce-requirements-satisfied" | "mtv-requirements-satisfied" | "osc-requirements-satisfied" | "sufficient-installation-disk-speed" | "cnv-requirements-satisfied" | "sufficient-network-latency-requirement-for-role" | "sufficient-packet-loss-requirement-for-role" | "has-default-route" | "api-domain-name-resolved-correctly" | "api-int-domain-name-resolved-correctly" | "apps-domain-name-resolved-correctly" | "release-domain-name-resolved-correctly" | "compatible-with-cluster-platform" | "dns-wildcard-not-configured" | "disk-encryption-requirements-satisfied" | "non-overlapping-subnets" | "vsphere-disk-uuid-enabled" | "compatible-agent" | "no-skip-installation-disk" | "no-skip-missing-disk" | "no-ip-collisions-in-network" | "no-iscsi-nic-belongs-to-machine-cidr" | "node-feature-discovery-requirements-satisfied" | "nvidia-gpu-requirements-satisfied" | "pipelines-requirements-satisfied" | "servicemesh-requirements-satisfied" | "serverless-requirements-satisfied" | "openshift-ai-requirements-satisfied" | "authorino-requirements-satisfied" | "mtu-valid" | "nmstate-requirements-satisfied" | "amd-gpu-requirements-satisfied" | "kmm-requirements-satisfied" | "node-healthcheck-requirements-satisfied" | "self-node-remediation-requirements-satisfied" | "fence-agents-remediation-requirements-satisfied" | "node-maintenance-requirements-satisfied" | "kube-descheduler-requirements-satisfied" | "cluster-observability-requirements-satisfied" | "numa-resources-requirements-satisfied" | "oadp-requirements-satisfied" | "metallb-requirements-satisfied" | "loki-requirements-satisfied" | "openshift-logging-requirements-satisfied";

export interface HostNetwork {
  cidr?: string;
  host_ids: Array<string> | null;
}

export interface HostRegistrationResponse {
  api_vip_connectivity?: string;
  bootstrap?: boolean;
  checked_in_at?: string;
  cluster_id?: string | null;
  connection_timed_out?: boolean;
  connectivity?: string;
  created_at?: string;
  deleted_at: string | null;
  discovery_agent_version?: string;
  disks_info?: string;
  disks_to_be_formatted?: string;
  domain_name_resolutions?: string;
  fencing_credentials?: string;
  free_addresses?: string;
  href: string;
  id: string;
  ignition_config_overrides?: string;
  ignition_endpoint_token_set?: boolean;
  images_status?: string;
  infra_env_id?: string;
  installation_disk_id?: string;
  installation_disk_path?: string;
  installer_args?: string;
  installer_version?: string;
  inventory?: string;
  kind: "Host" | "AddToExistingClusterHost";
  logs_collected_at?: string;
  logs_info?: LogsState;
  logs_started_at?: string;
  machine_config_pool_name?: string;
  media_status?: "connected" | "disconnected" | null;
  node_labels?: string;
  ntp_sources?: string;
  progress?: HostProgressInfo;
  progress_stages: Array<HostStage> | null;
  registered_at?: string;
  requested_hostname?: string;
  role?: HostRole;
  skip_formatting_disks?: string;
  stage_started_at?: string;
  stage_updated_at?: string;
  status: "discovering" | "known" | "disconnected" | "insufficient" | "disabled" | "preparing-for-installation" | "preparing-failed" | "preparing-successful" | "pending-for-input" | "installing" | "installing-in-progress" | "installing-pending-user-action" | "resetting-pending-user-action" | "installed" | "error" | "resetting" | "added-to-existing-cluster" | "cancelled" | "binding" | "unbinding" | "unbinding-pending-user-action" | "known-unbound" | "disconnected-unbound" | "insufficient-unbound" | "disabled-unbound" | "discovering-unbound" | "reclaiming" | "reclaiming-rebooting" | null;
  status_info: string | null;
  status_updated_at?: string;
  suggested_role?: HostRole;
  tang_connectivity?: string;
  timestamp?: number;
  updated_at?: string;
  user_name?: string;
  validations_info?: string;
  next_step_runner_command?: {
    args: Array<string> | null;
    command?: string;
    retry_seconds?: number;
  };
}

export interface HostStaticNetworkConfig {
  mac_interface_map?: MacInterfaceMap;
  network_yaml?: string;
}

export interface IgnitionEndpoint {
  ca_certificate?: string | null;
  url?: string | null;
}

export interface IgnitionEndpointHttpHeadersParams {
  key: string;
  value: string;
}

export interface IgnoredValidations {
  "cluster-validation-ids"?: string;
  "host-validation-ids"?: string;
}

export interface ImageCreateParams {
  image_type?: ImageType;
  ssh_public_key?: string;
  static_network_config: Array<HostStaticNetworkConfig> | null;
}

export interface ImageInfo {
  created_at?: string;
  download_url?: string;
  expires_at?: string;
  generator_version?: string;
  size_bytes?: number;
  ssh_public_key?: string;
  static_network_config?: string;
  type?: ImageType;
}

export type ImageType = "full-iso" | "minimal-iso" | "disconnected-iso";

export interface ImportClusterParams {
  api_vip_dnsname: string;
  name: string;
  openshift_cluster_id: string;
  openshift_version?: string;
}

export type IncompatibilityReason = "cpuArchitecture" | "platform" | "openshiftVersion" | "ociExternalIntegrationDisabled";

export interface InfraEnv {
  additional_ntp_sources?: string;
  additional_trust_bundle?: string;
  cluster_id?: string;
  cpu_architecture?: "x86_64" | "aarch64" | "arm64" | "ppc64le" | "s390x";
  created_at: string;
  download_url?: string;
  email_domain?: string;
  expires_at?: string;
  generator_version?: string;
  href: string;
  id: string;
  ignition_config_override?: string;
  kernel_arguments?: string | null;
  kind: "InfraEnv";
  name: string;
  network_discovery_delay_seconds?: number | null;
  ntp_sources?: string;
  openshift_version?: string;
  org_id?: string;
  proxy?: Proxy;
  pull_secret_set?: boolean;
  rendezvous_ip?: string | null;
  size_bytes?: number;
  ssh_authorized_key?: string;
  static_network_config?: string;
  type: ImageType;
  updated_at: string;
  user_name?: string;
}

export interface InfraEnvCreateParams {
  additional_ntp_sources?: string | null;
  additional_trust_bundle?: string;
  cluster_id?: string | null;
  cpu_architecture?: "x86_64" | "aarch64" | "arm64" | "ppc64le" | "s390x";
  ignition_config_override?: string;
  image_type?: ImageType;
  kernel_arguments?: KernelArguments;
  name: string;
  network_discovery_delay_seconds?: number | null;
  ntp_sources?: string | null;
  openshift_version?: string;
  proxy?: Proxy;
  pull_secret: string;
  rendezvous_ip?: string | null;
  ssh_authorized_key?: string | null;
  static_network_config?: Array<HostStaticNetworkConfig>;
}

export type InfraEnvList = Array<InfraEnv>;

export interface InfraEnvUpdateParams {
  additional_ntp_sources?: string | null;
  additional_trust_bundle?: string | null;
  ignition_config_override?: string;
  image_type?: ImageType;
  kernel_arguments?: KernelArguments;
  network_discovery_delay_seconds?: number | null;
  ntp_sources?: string | null;
  openshift_version?: string | null;
  proxy?: Proxy;
  pull_secret?: string;
  rendezvous_ip?: string | null;
  ssh_authorized_key?: string | null;
  static_network_config?: Array<HostStaticNetworkConfig>;
}

export interface InfraError {
  code: number;
  message: string;
}

export type IngressCertParams = string;

export interface IngressVip {
  cluster_id?: string;
  ip?: Ip;
  verification?: VipVerification;
}

export interface InstallCmdRequest {
  boot_device: string;
  check_cvo?: boolean;
  cluster_id: string;
  control_plane_count?: number;
  controller_image: string;
  coreos_image?: string;
  disks_to_format: Array<string> | null;
  enable_skip_mco_reboot?: boolean;
  host_id: string;
  infra_env_id: string;
  installer_args?: string;
  installer_image: string;
  mco_image?: string;
  must_gather_image?: string;
  notify_num_reboots?: boolean;
  openshift_version?: string;
  proxy?: Proxy;
  role: HostRole;
  service_ips: Array<string> | null;
  skip_installation_disk_cleanup?: boolean;
}

export interface InstallerArgsParams {
  args?: Array<string>;
}

export interface Interface {
  biosdevname?: string;
  client_id?: string;
  flags: Array<string> | null;
  has_carrier?: boolean;
  ipv4_addresses: Array<string> | null;
  ipv6_addresses: Array<string> | null;
  mac_address?: string;
  mtu?: number;
  name?: string;
  product?: string;
  speed_mbps?: number;
  type?: string;
  vendor?: string;
}

export interface Inventory {
  bmc_address?: string;
  bmc_v6address?: string;
  boot?: Boot;
  cpu?: Cpu;
  disks: Array<Disk> | null;
  dns?: DnsConfiguration;
  gpus: Array<Gpu> | null;
  hostname?: string;
  interfaces: Array<Interface> | null;
  memory?: Memory;
  routes: Array<Route> | null;
  system_vendor?: SystemVendor;
  tpm_version?: "none" | "1.2" | "2.0";
  truncation?: {
    reasons: Array<string> | null;
    type: "partial" | "full";
  };
}

export interface IoPerf {
  sync_duration?: number;
}

export type Ip = string;

export interface Iscsi {
  host_ip_address?: string;
}

export interface KernelArgument {
  operation?: "append" | "replace" | "delete";
  value?: string;
}

export type KernelArguments = Array<KernelArgument>;

export interface L2Connectivity {
  outgoing_ip_address?: string;
  outgoing_nic?: string;
  remote_ip_address?: string;
  remote_mac?: string;
  successful?: boolean;
}

export interface L3Connectivity {
  average_rtt_ms?: number;
  outgoing_nic?: string;
  packet_loss_percentage?: number;
  remote_ip_address?: string;
  successful?: boolean;
}

export interface LastInstallationPreparation {
  reason?: string;
  status?: "not_started" | "failed" | "success";
}

export type ListManagedDomains = Array<ManagedDomain>;

export type ListManifests = Array<Manifest>;

export interface ListVersions {
  release_tag?: string;
  versions?: Versions;
}

export interface LoadBalancer {
  type?: "cluster-managed" | "user-managed";
}

export interface LogsProgressParams {
  logs_state: LogsState;
}

export interface LogsGatherCmdRequest {
  bootstrap: boolean;
  cluster_id: string;
  host_id: string;
  infra_env_id: string;
  installer_gather: boolean;
  master_ips: Array<string> | null;
}

export type LogsState = "requested" | "collecting" | "completed" | "timeout" | "";

export type LogsType = "host" | "controller" | "all" | "";

export type MacInterfaceMap = Array<{
  logical_nic_name?: string;
  mac_address: string;
}>;

export interface MachineNetwork {
  cidr?: Subnet;
  cluster_id?: string;
}

export interface ManagedDomain {
  domain?: string;
  provider?: "route53";
}

export interface Manifest {
  file_name?: string;
  folder?: "manifests" | "openshift";
  manifest_source?: "user" | "system";
}

export interface Memory {
  physical_bytes?: number;
  physical_bytes_method?: MemoryMethod;
  usable_bytes?: number;
}

export type MemoryMethod = "dmidecode" | "ghw" | "meminfo";

export interface MonitoredOperator {
  bundles: Array<string> | null;
  cluster_id?: string;
  dependency_only?: boolean;
  name?: string;
  namespace?: string;
  operator_type?: OperatorType;
  properties?: string;
  source_bundles: Array<string> | null;
  status?: OperatorStatus;
  status_info?: string;
  status_updated_at?: string;
  subscription_name?: string;
  timeout_seconds?: number;
  version?: string;
}

export type MonitoredOperatorsList = Array<MonitoredOperator>;

export interface MtuReport {
  mtu_successful?: boolean;
  outgoing_nic?: string;
  remote_ip_address?: string;
}

export interface NextStepCmdRequest {
  agent_version: string;
  host_id: string;
  infra_env_id: string;
}

export interface NodeLabelParams {
  key: string;
  value: string;
}

export interface NtpSource {
  source_name?: string;
  source_state?: SourceState;
}

export interface NtpSynchronizationRequest {
  ntp_source: string;
}

export interface NtpSynchronizationResponse {
  ntp_sources: Array<NtpSource> | null;
}

export interface OpenshiftVersion {
  cpu_architectures: Array<string> | null;
  default?: boolean;
  display_name: string;
  support_level: "beta" | "production" | "maintenance" | "end-of-life";
}

export type OpenshiftVersions = Record<string, OpenshiftVersion>;

export interface Operator {
  dependencies: Array<FeatureSupportLevelId> | null;
  "feature-support-level-id": FeatureSupportLevelId;
  incompatibilities: Array<FeatureSupportLevelId> | null;
  name: string;
  reason?: IncompatibilityReason;
  support_level: SupportLevel;
}

export interface OperatorCreateParams {
  name?: string;
  properties?: string;
}

export interface OperatorHardwareRequirements {
  dependencies: Array<string> | null;
  operator_name?: string;
  requirements?: HostTypeHardwareRequirementsWrapper;
}

export interface OperatorHostRequirements {
  operator_name?: string;
  requirements?: ClusterHostRequirementsDetails;
}

export interface OperatorMonitorReport {
  name?: string;
  status?: OperatorStatus;
  status_info?: string;
  version?: string;
}

export type OperatorProperties = Array<OperatorProperty>;

export interface OperatorProperty {
  data_type?: "boolean" | "string" | "integer" | "float";
  default_value?: string;
  description?: string;
  mandatory?: boolean;
  name?: string;
  options: Array<string> | null;
}

export type OperatorStatus = "failed" | "progressing" | "available";

export type OperatorType = "builtin" | "olm";

export interface OsImage {
  cpu_architecture: "x86_64" | "aarch64" | "arm64" | "ppc64le" | "s390x";
  openshift_version: string;
  url: string;
  version: string;
}

export type OsImages = Array<OsImage>;

export interface Platform {
  external?: PlatformExternal | null;
  type: PlatformType;
}

export interface PlatformExternal {
  cloud_controller_manager?: "" | "External" | null;
  platform_name?: string | null;
}

export type PlatformType = "baremetal" | "nutanix" | "vsphere" | "none" | "external";

export interface PreflightHardwareRequirements {
  ocp?: HostTypeHardwareRequirementsWrapper;
  operators: Array<OperatorHardwareRequirements> | null;
}

export interface PresignedUrl {
  expires_at?: string;
  url: string;
}

export interface Proxy {
  http_proxy?: string | null;
  https_proxy?: string | null;
  no_proxy?: string | null;
}

export interface RebootForReclaimRequest {
  host_fs_mount_dir: string;
}

export type ReleaseChannel = "candidate" | "fast" | "stable" | "eus";

export interface ReleaseImage {
  cpu_architecture: "x86_64" | "aarch64" | "arm64" | "ppc64le" | "s390x" | "multi";
  cpu_architectures: Array<string> | null;
  default?: boolean;
  openshift_version: string;
  support_level?: "beta" | "production" | "maintenance" | "end-of-life";
  url: string;
  version: string;
}

export type ReleaseImages = Array<ReleaseImage>;

export interface ReleaseSource {
  multi_cpu_architectures: Array<"x86_64" | "aarch64" | "arm64" | "ppc64le" | "s390x"> | null;
  openshift_version: string;
  upgrade_channels: Array<UpgradeChannel> | null;
}

export type ReleaseSources = Array<ReleaseSource>;

export interface Route {
  destination?: string;
  family?: number;
  gateway?: string;
  interface?: string;
  metric?: number;
}

export type SecureBootState = "Unknown" | "NotSupported" | "Enabled" | "Disabled";

export interface ServiceNetwork {
  cidr?: Subnet;
  cluster_id?: string;
}

export type SourceState = "synced" | "combined" | "not_combined" | "error" | "variable" | "unreachable";

export interface Step {
  args: Array<string> | null;
  step_id?: string;
  step_type?: StepType;
}

export interface StepReply {
  error?: string;
  exit_code?: number;
  output?: string;
  step_id?: string;
  step_type?: StepType;
}

export type StepType = "connectivity-check" | "execute" | "inventory" | "install" | "free-network-addresses" | "dhcp-lease-allocate" | "api-vip-connectivity-check" | "tang-connectivity-check" | "ntp-synchronizer" | "installation-disk-speed-check" | "container-image-availability" | "domain-resolution" | "stop-installation" | "logs-gather" | "next-step-runner" | "upgrade-agent" | "download-boot-artifacts" | "reboot-for-reclaim" | "verify-vips";

export interface Steps {
  instructions: Array<Step> | null;
  next_instruction_seconds?: number;
  post_step_action?: "exit" | "continue";
}

export type StepsReply = Array<StepReply>;

export type Subnet = string;

export type SupportLevel = "supported" | "unsupported" | "tech-preview" | "dev-preview" | "unavailable";

export type SupportLevels = Record<string, SupportLevel>;

export interface SystemVendor {
  manufacturer?: string;
  product_name?: string;
  serial_number?: string;
  virtual?: boolean;
}

export interface TangConnectivityRequest {
  tang_servers: string;
}

export interface TangConnectivityResponse {
  is_success?: boolean;
  tang_server_response: Array<{
    payload?: string;
    signatures: Array<{
      protected?: string;
      signature?: string;
    }> | null;
    tang_url?: string;
  }> | null;
}

export interface UpdateManifestParams {
  file_name: string;
  folder: "manifests" | "openshift";
  updated_content?: string | null;
  updated_file_name?: string | null;
  updated_folder?: "manifests" | "openshift" | null;
}

export interface UpgradeChannel {
  channels: Array<ReleaseChannel> | null;
  cpu_architecture: "x86_64" | "aarch64" | "arm64" | "ppc64le" | "s390x" | "multi";
}

export interface UpgradeAgentRequest {
  agent_image?: string;
}

export interface UpgradeAgentResponse {
  agent_image?: string;
  result?: UpgradeAgentResult;
}

export type UpgradeAgentResult = "success" | "failure";

export interface Usage {
  data?: Record<string, Record<string, unknown>>;
  id?: string;
  name?: string;
}

export interface V2ClusterUpdateParams {
  additional_ntp_source?: string | null;
  api_vip_dns_name?: string | null;
  api_vips?: Array<ApiVip> | null;
  base_dns_domain?: string | null;
  cluster_network_cidr?: string | null;
  cluster_network_host_prefix?: number | null;
  cluster_networks?: Array<ClusterNetwork> | null;
  control_plane_count?: number | null;
  disk_encryption?: DiskEncryption;
  http_proxy?: string | null;
  https_proxy?: string | null;
  hyperthreading?: "none" | "masters" | "arbiters" | "workers" | "masters,arbiters" | "masters,workers" | "arbiters,workers" | "masters,arbiters,workers" | "all" | null;
  ignition_endpoint?: IgnitionEndpoint;
  ingress_vips?: Array<IngressVip> | null;
  load_balancer?: LoadBalancer;
  machine_network_cidr?: string | null;
  machine_networks?: Array<MachineNetwork> | null;
  name?: string | null;
  network_type?: "OpenShiftSDN" | "OVNKubernetes" | "CiscoACI" | "Cilium" | "Calico" | "None" | null;
  no_proxy?: string | null;
  ntp_sources?: string | null;
  olm_operators?: Array<OperatorCreateParams>;
  operator_bundles?: Array<BundleCreateParams>;
  platform?: Platform;
  pull_secret?: string | null;
  schedulable_masters?: boolean;
  service_network_cidr?: string | null;
  service_networks?: Array<ServiceNetwork> | null;
  ssh_public_key?: string | null;
  tags?: string | null;
  user_managed_networking?: boolean | null;
  vip_dhcp_allocation?: boolean | null;
}

export interface VerifiedVip {
  verification?: VipVerification;
  vip?: Ip;
  vip_type?: VipType;
}

export interface VerifyVip {
  vip?: Ip;
  vip_type?: VipType;
}

export type VerifyVipsRequest = Array<VerifyVip>;

export type VerifyVipsResponse = Array<VerifiedVip>;

export interface VersionedClusterHostRequirementsDetails {
  cpu_cores?: number | null;
  disk_size_gb?: number | null;
  installation_disk_speed_threshold_ms?: number | null;
  network_latency_threshold_ms?: number | null;
  packet_loss_percentage?: number | null;
  ram_mib?: number | null;
}

export interface VersionedHostRequirements {
  arbiter?: VersionedClusterHostRequirementsDetails;
  "edge-worker"?: VersionedClusterHostRequirementsDetails;
  master?: VersionedClusterHostRequirementsDetails;
  match_type?: "exact" | "min_version";
  sno?: VersionedClusterHostRequirementsDetails;
  version?: string;
  worker?: VersionedClusterHostRequirementsDetails;
}

export type Versions = Record<string, string>;

export type VipType = "api" | "ingress";

export type VipVerification = "unverified" | "failed" | "succeeded";

/** What each operation takes and gives. */
export interface Operations {
  /** Register a discovered host, or report that it booted again. */
  v2RegisterHost: {
    path: { infra_env_id: string };
    header: { discovery_agent_version?: string };
    body: HostCreateParams;
    answer: HostRegistrationResponse;
  };
  /** Check in and fetch the next steps to run. */
  v2GetNextSteps: {
    path: { host_id: string; infra_env_id: string };
    query: { timestamp?: number };
    header: { discovery_agent_version?: string };
    answer: Steps;
  };
  /** Post the result of a step. */
  v2PostStepReply: {
    path: { host_id: string; infra_env_id: string };
    header: { discovery_agent_version?: string };
    body: StepReply;
    answer: null;
  };
  /** Report the installation stage a host has reached. */
  v2UpdateHostInstallProgress: {
    path: { host_id: string; infra_env_id: string };
    header: { discovery_agent_version?: string };
    body: HostProgress;
    answer: null;
  };
  /** Report the progress of log collection of a host. */
  v2UpdateHostLogsProgress: {
    path: { host_id: string; infra_env_id: string };
    body: LogsProgressParams;
    answer: null;
  };
  /** Download a file made for a cluster. */
  V2DownloadClusterFiles: {
    path: { cluster_id: string };
    query: { file_name: "bootstrap.ign" | "master.ign" | "metadata.json" | "worker.ign" | "install-config.yaml" | "custom_manifests.json" | "custom_manifests.yaml" | "arbiter.ign" };
    header: { discovery_agent_version?: string };
    answer: Blob;
  };
  /** Get a link to a file made for a cluster. */
  V2GetPresignedForClusterFiles: {
    path: { cluster_id: string };
    query: { additional_name?: string; file_name: "bootstrap.ign" | "master.ign" | "metadata.json" | "worker.ign" | "install-config.yaml" | "logs" | "manifests"; host_id?: string; logs_type?: "host" | "controller" | "all" };
    answer: PresignedUrl;
  };
  /** Download a kubeconfig or the administrator password. */
  V2DownloadClusterCredentials: {
    path: { cluster_id: string };
    query: { file_name: "kubeadmin-password" | "kubeconfig" | "kubeconfig-noingress" };
    answer: Blob;
  };
  /** Get a link to a kubeconfig or the administrator password. */
  V2GetPresignedForClusterCredentials: {
    path: { cluster_id: string };
    query: { file_name: "kubeadmin-password" | "kubeconfig" | "kubeconfig-noingress" };
    answer: PresignedUrl;
  };
  /** Read the administrator login of a cluster. */
  V2GetCredentials: {
    path: { cluster_id: string };
    answer: Credentials;
  };
  /** Download collected logs of a cluster. */
  V2DownloadClusterLogs: {
    path: { cluster_id: string };
    query: { host_id?: string; logs_type?: "host" | "controller" | "all" };
    answer: Blob;
  };
  /** Upload logs of a host or of the in-cluster controller. */
  V2UploadLogs: {
    path: { cluster_id: string };
    query: { host_id?: string; infra_env_id?: string; logs_type: "host" | "controller" };
    upload: { upfile: Blob };
    answer: null;
  };
  /** Register a new cluster. */
  v2RegisterCluster: {
    body: ClusterCreateParams;
    answer: Cluster;
  };
  /** List clusters, optionally with their hosts. */
  v2ListClusters: {
    query: { ams_subscription_ids?: string; openshift_cluster_id?: string; owner?: string; with_hosts?: boolean };
    header: { get_unregistered_clusters?: boolean };
    answer: ClusterList;
  };
  /** Read one cluster. */
  v2GetCluster: {
    path: { cluster_id: string };
    query: { "exclude-hosts"?: boolean };
    header: { discovery_agent_version?: string; get_unregistered_clusters?: boolean };
    answer: Cluster;
  };
  /** Delete a cluster and unbind its hosts. */
  v2DeregisterCluster: {
    path: { cluster_id: string };
    answer: null;
  };
  /** Change settings of a cluster. */
  V2UpdateCluster: {
    path: { cluster_id: string };
    body: V2ClusterUpdateParams;
    answer: Cluster;
  };
  /** Import a running cluster so that hosts can be added to it. */
  v2ImportCluster: {
    body: ImportClusterParams;
    answer: Cluster;
  };
  /** Record a cluster that is installed without this service. */
  v2RegisterDisconnectedCluster: {
    body: DisconnectedClusterCreateParams;
    answer: Cluster;
  };
  /** Read the defaults used for new clusters. */
  V2GetClusterDefaultConfig: {
    answer: ClusterDefaultConfig;
  };
  /** List the hosts bound to a cluster. */
  ListClusterHosts: {
    path: { cluster_id: string };
    query: { role?: "master" | "arbiter" | "worker" | "auto-assign"; status?: string; "with-connectivity"?: boolean; "with-inventory"?: boolean };
    answer: HostList;
  };
  /** List the platforms all hosts of a cluster can run on. */
  GetClusterSupportedPlatforms: {
    path: { cluster_id: string };
    answer: Array<PlatformType>;
  };
  /** Read the hardware a cluster and its operators require. */
  v2GetPreflightRequirements: {
    path: { cluster_id: string };
    answer: PreflightHardwareRequirements;
  };
  /** Read which validations a cluster ignores. */
  v2GetIgnoredValidations: {
    path: { cluster_id: string };
    answer: IgnoredValidations;
  };
  /** Replace the validations a cluster ignores. */
  v2SetIgnoredValidations: {
    path: { cluster_id: string };
    body: IgnoredValidations;
    answer: IgnoredValidations;
  };
  /** Read the text a user interface keeps with a cluster. */
  V2GetClusterUISettings: {
    path: { cluster_id: string };
    answer: string;
  };
  /** Replace the text a user interface keeps with a cluster. */
  V2UpdateClusterUISettings: {
    path: { cluster_id: string };
    body: string;
    answer: string;
  };
  /** List base DNS domains this service can manage. */
  V2ListManagedDomains: {
    answer: ListManagedDomains;
  };
  /** List events with filters and paging. */
  v2ListEvents: {
    query: { categories?: string; cluster_id?: string; cluster_level?: boolean; deleted_hosts?: boolean; host_id?: string; host_ids?: string; infra_env_id?: string; limit?: number; message?: string; offset?: number; order?: "ascending" | "descending"; severities?: string };
    answer: EventList;
  };
  /** Record an event. */
  v2TriggerEvent: {
    body: Event;
    answer: null;
  };
  /** List the hosts of an infra-env. */
  v2ListHosts: {
    path: { infra_env_id: string };
    answer: HostList;
  };
  /** Read one host. */
  v2GetHost: {
    path: { host_id: string; infra_env_id: string };
    answer: Host;
  };
  /** Change settings of a host. */
  v2UpdateHost: {
    path: { host_id: string; infra_env_id: string };
    body: HostUpdateParams;
    answer: Host;
  };
  /** Delete a host. */
  v2DeregisterHost: {
    path: { host_id: string; infra_env_id: string };
    answer: null;
  };
  /** Bind a host to a cluster. */
  BindHost: {
    path: { host_id: string; infra_env_id: string };
    body: BindHostParams;
    answer: Host;
  };
  /** Unbind a host from its cluster. */
  UnbindHost: {
    path: { host_id: string; infra_env_id: string };
    answer: Host;
  };
  /** Reset a day-2 host to the state before its installation. */
  v2ResetHost: {
    path: { host_id: string; infra_env_id: string };
    answer: Host;
  };
  /** Install a day-2 host. */
  v2InstallHost: {
    path: { host_id: string; infra_env_id: string };
    answer: Host;
  };
  /** Reset the result of a validation so that it runs again. */
  v2ResetHostValidation: {
    path: { host_id: string; infra_env_id: string; validation_id: string };
    answer: null;
  };
  /** Replace the extra arguments for writing the disk. */
  v2UpdateHostInstallerArgs: {
    path: { host_id: string; infra_env_id: string };
    body: InstallerArgsParams;
    answer: Host;
  };
  /** Read the Ignition a host is installed with. */
  v2GetHostIgnition: {
    path: { host_id: string; infra_env_id: string };
    answer: HostIgnitionParams;
  };
  /** Replace the Ignition override of a host. */
  v2UpdateHostIgnition: {
    path: { host_id: string; infra_env_id: string };
    body: HostIgnitionParams;
    answer: null;
  };
  /** Download the Ignition file of a host. */
  v2DownloadHostIgnition: {
    path: { host_id: string; infra_env_id: string };
    answer: Blob;
  };
  /** Create an infra-env, the settings of a discovery image. */
  RegisterInfraEnv: {
    body: InfraEnvCreateParams;
    answer: InfraEnv;
  };
  /** List infra-envs. */
  ListInfraEnvs: {
    query: { cluster_id?: string; owner?: string };
    answer: InfraEnvList;
  };
  /** Read one infra-env. */
  GetInfraEnv: {
    path: { infra_env_id: string };
    answer: InfraEnv;
  };
  /** Change settings of an infra-env. */
  UpdateInfraEnv: {
    path: { infra_env_id: string };
    body: InfraEnvUpdateParams;
    answer: InfraEnv;
  };
  /** Delete an infra-env that has no hosts. */
  DeregisterInfraEnv: {
    path: { infra_env_id: string };
    answer: null;
  };
  /** Get a fresh link to the discovery image. */
  GetInfraEnvDownloadURL: {
    path: { infra_env_id: string };
    answer: PresignedUrl;
  };
  /** Download the discovery Ignition, the iPXE script or the static network archive. */
  v2DownloadInfraEnvFiles: {
    path: { infra_env_id: string };
    query: { discovery_iso_type?: "full-iso" | "minimal-iso" | "disconnected-iso"; file_name: "discovery.ign" | "ipxe-script" | "static-network-config"; ipxe_script_type?: "discovery-image-always" | "boot-order-control"; mac?: string };
    answer: Blob;
  };
  /** Get a link to a file of an infra-env. */
  GetInfraEnvPresignedFileURL: {
    path: { infra_env_id: string };
    query: { file_name: "discovery.ign" | "ipxe-script"; ipxe_script_type?: "discovery-image-always" | "boot-order-control" };
    answer: PresignedUrl;
  };
  /** Download the extra ramdisk of the minimal image. */
  DownloadMinimalInitrd: {
    path: { infra_env_id: string };
    answer: Blob | null;
  };
  /** Replace the key that signs image links and, if asked for, the token of agents. */
  RegenerateInfraEnvSigningKey: {
    path: { infra_env_id: string };
    query: { agent_tokens?: boolean };
    answer: null;
  };
  /** Start the installation of a ready cluster. */
  v2InstallCluster: {
    path: { cluster_id: string };
    answer: Cluster;
  };
  /** Stop a running installation. */
  V2CancelInstallation: {
    path: { cluster_id: string };
    answer: Cluster;
  };
  /** Reset a cluster to the state before its installation. */
  v2ResetCluster: {
    path: { cluster_id: string };
    answer: Cluster;
  };
  /** Older name of the call that lets an installed cluster accept more hosts. */
  TransformClusterToDay2: {
    path: { cluster_id: string };
    answer: Cluster;
  };
  /** Let an installed cluster accept more hosts. */
  TransformClusterToAddingHosts: {
    path: { cluster_id: string };
    answer: Cluster;
  };
  /** Post the final report of the in-cluster controller. */
  v2CompleteInstallation: {
    path: { cluster_id: string };
    header: { discovery_agent_version?: string };
    body: CompletionParams;
    answer: Cluster;
  };
  /** Report the finalizing stage a cluster has reached. */
  v2UpdateClusterFinalizingProgress: {
    path: { cluster_id: string };
    body: ClusterFinalizingProgress;
    answer: null;
  };
  /** Report the progress of log collection of a cluster. */
  v2UpdateClusterLogsProgress: {
    path: { cluster_id: string };
    body: LogsProgressParams;
    answer: null;
  };
  /** Upload the ingress CA of a finished cluster. */
  v2UploadClusterIngressCert: {
    path: { cluster_id: string };
    header: { discovery_agent_version?: string };
    body: IngressCertParams;
    answer: null;
  };
  /** Read the install-config a cluster would be installed with. */
  v2GetClusterInstallConfig: {
    path: { cluster_id: string };
    answer: string;
  };
  /** Replace the overrides merged into the install-config. */
  v2UpdateClusterInstallConfig: {
    path: { cluster_id: string };
    body: string;
    answer: null;
  };
  /** List the manifests added to a cluster. */
  V2ListClusterManifests: {
    path: { cluster_id: string };
    query: { include_system_generated?: boolean };
    answer: ListManifests;
  };
  /** Add a manifest to a cluster. */
  V2CreateClusterManifest: {
    path: { cluster_id: string };
    body: CreateManifestParams;
    answer: Manifest;
  };
  /** Change, move or rename a manifest. */
  V2UpdateClusterManifest: {
    path: { cluster_id: string };
    body: UpdateManifestParams;
    answer: Manifest;
  };
  /** Remove a manifest from a cluster. */
  V2DeleteClusterManifest: {
    path: { cluster_id: string };
    query: { file_name: string; folder?: "manifests" | "openshift" };
    answer: null;
  };
  /** Download one manifest. */
  v2DownloadClusterManifest: {
    path: { cluster_id: string };
    query: { file_name: string; folder?: "manifests" | "openshift" };
    answer: Blob;
  };
  /** List the names of operators that can be installed along. */
  V2ListSupportedOperators: {
    answer: Array<"amd-gpu" | "authorino" | "cluster-observability" | "cnv" | "fence-agents-remediation" | "kmm" | "kube-descheduler" | "loki" | "lso" | "lvm" | "mce" | "metallb" | "mtv" | "nmstate" | "node-feature-discovery" | "node-healthcheck" | "node-maintenance" | "numaresources" | "nvidia-gpu" | "oadp" | "odf" | "openshift-ai" | "openshift-logging" | "osc" | "pipelines" | "self-node-remediation" | "serverless" | "servicemesh">;
  };
  /** List the settings an operator takes. */
  V2ListOperatorProperties: {
    path: { operator_name: string };
    answer: OperatorProperties;
  };
  /** List bundles of operators for a kind of cluster. */
  V2ListBundles: {
    query: { cpu_architecture?: "x86_64" | "aarch64" | "arm64" | "ppc64le" | "s390x" | "multi"; external_platform_name?: string; feature_ids?: Array<"SNO">; openshift_version?: string; platform_type?: "baremetal" | "none" | "nutanix" | "vsphere" | "external" };
    answer: Array<Bundle>;
  };
  /** Read one operator bundle. */
  V2GetBundle: {
    path: { id: string };
    query: { feature_ids?: Array<"SNO"> };
    answer: Bundle;
  };
  /** List the operators watched in a cluster. */
  V2ListOfClusterOperators: {
    path: { cluster_id: string };
    query: { operator_name?: string };
    answer: MonitoredOperatorsList;
  };
  /** Report the state of a watched operator. */
  v2ReportMonitoredOperatorStatus: {
    path: { cluster_id: string };
    body: OperatorMonitorReport;
    answer: null;
  };
  /** List how well each feature is supported on a kind of cluster. */
  GetSupportedFeatures: {
    query: { cpu_architecture?: "x86_64" | "aarch64" | "arm64" | "ppc64le" | "s390x" | "multi"; external_platform_name?: string; openshift_version: string; platform_type?: "baremetal" | "none" | "nutanix" | "vsphere" | "external" };
    answer: {
      features?: SupportLevels;
    };
  };
  /** List how well each feature is supported, and what it excludes. */
  GetDetailedSupportedFeatures: {
    query: { cpu_architecture?: "x86_64" | "arm64" | "ppc64le" | "s390x" | "multi"; external_platform_name?: string; openshift_version: string; platform_type?: "baremetal" | "none" | "nutanix" | "vsphere" | "external" };
    answer: {
      features: Array<Feature> | null;
      operators: Array<Operator> | null;
    };
  };
  /** List the CPU architectures that a version supports. */
  GetSupportedArchitectures: {
    query: { openshift_version: string };
    answer: {
      architectures?: SupportLevels;
    };
  };
  /** List the versions of this service and its helpers. */
  v2ListComponentVersions: {
    answer: ListVersions;
  };
  /** List the OpenShift versions that can be installed. */
  v2ListSupportedOpenshiftVersions: {
    query: { only_latest?: boolean; version?: string };
    answer: OpenshiftVersions;
  };
  /** List the sources of releases. */
  v2ListReleaseSources: {
    answer: ReleaseSources;
  };
}

/** Method and path of each operation. */
export const calls = {
  v2RegisterHost: { method: "POST", path: "/v2/infra-envs/{infra_env_id}/hosts" },
  v2GetNextSteps: { method: "GET", path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}/instructions" },
  v2PostStepReply: { method: "POST", path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}/instructions" },
  v2UpdateHostInstallProgress: { method: "PUT", path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}/progress" },
  v2UpdateHostLogsProgress: { method: "PUT", path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}/logs-progress" },
  V2DownloadClusterFiles: { method: "GET", path: "/v2/clusters/{cluster_id}/downloads/files" },
  V2GetPresignedForClusterFiles: { method: "GET", path: "/v2/clusters/{cluster_id}/downloads/files-presigned" },
  V2DownloadClusterCredentials: { method: "GET", path: "/v2/clusters/{cluster_id}/downloads/credentials" },
  V2GetPresignedForClusterCredentials: { method: "GET", path: "/v2/clusters/{cluster_id}/downloads/credentials-presigned" },
  V2GetCredentials: { method: "GET", path: "/v2/clusters/{cluster_id}/credentials" },
  V2DownloadClusterLogs: { method: "GET", path: "/v2/clusters/{cluster_id}/logs" },
  V2UploadLogs: { method: "POST", path: "/v2/clusters/{cluster_id}/logs" },
  v2RegisterCluster: { method: "POST", path: "/v2/clusters" },
  v2ListClusters: { method: "GET", path: "/v2/clusters" },
  v2GetCluster: { method: "GET", path: "/v2/clusters/{cluster_id}" },
  v2DeregisterCluster: { method: "DELETE", path: "/v2/clusters/{cluster_id}" },
  V2UpdateCluster: { method: "PATCH", path: "/v2/clusters/{cluster_id}" },
  v2ImportCluster: { method: "POST", path: "/v2/clusters/import" },
  v2RegisterDisconnectedCluster: { method: "POST", path: "/v2/clusters/disconnected" },
  V2GetClusterDefaultConfig: { method: "GET", path: "/v2/clusters/default-config" },
  ListClusterHosts: { method: "GET", path: "/v2/clusters/{cluster_id}/hosts" },
  GetClusterSupportedPlatforms: { method: "GET", path: "/v2/clusters/{cluster_id}/supported-platforms" },
  v2GetPreflightRequirements: { method: "GET", path: "/v2/clusters/{cluster_id}/preflight-requirements" },
  v2GetIgnoredValidations: { method: "GET", path: "/v2/clusters/{cluster_id}/ignored-validations" },
  v2SetIgnoredValidations: { method: "PUT", path: "/v2/clusters/{cluster_id}/ignored-validations" },
  V2GetClusterUISettings: { method: "GET", path: "/v2/clusters/{cluster_id}/ui-settings" },
  V2UpdateClusterUISettings: { method: "PUT", path: "/v2/clusters/{cluster_id}/ui-settings" },
  V2ListManagedDomains: { method: "GET", path: "/v2/domains" },
  v2ListEvents: { method: "GET", path: "/v2/events" },
  v2TriggerEvent: { method: "POST", path: "/v2/events" },
  v2ListHosts: { method: "GET", path: "/v2/infra-envs/{infra_env_id}/hosts" },
  v2GetHost: { method: "GET", path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}" },
  v2UpdateHost: { method: "PATCH", path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}" },
  v2DeregisterHost: { method: "DELETE", path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}" },
  BindHost: { method: "POST", path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}/actions/bind" },
  UnbindHost: { method: "POST", path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}/actions/unbind" },
  v2ResetHost: { method: "POST", path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}/actions/reset" },
  v2InstallHost: { method: "POST", path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}/actions/install" },
  v2ResetHostValidation: { method: "PATCH", path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}/actions/reset-validation/{validation_id}" },
  v2UpdateHostInstallerArgs: { method: "PATCH", path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}/installer-args" },
  v2GetHostIgnition: { method: "GET", path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}/ignition" },
  v2UpdateHostIgnition: { method: "PATCH", path: "/v2/infra-envs/{infra_env_id}/hosts/{host_id}/ignition" },
  v2DownloadHostIgnition: { method: "GET", path: "/v2/infra-env/{infra_env_id}/hosts/{host_id}/downloads/ignition" },
  RegisterInfraEnv: { method: "POST", path: "/v2/infra-envs" },
  ListInfraEnvs: { method: "GET", path: "/v2/infra-envs" },
  GetInfraEnv: { method: "GET", path: "/v2/infra-envs/{infra_env_id}" },
  UpdateInfraEnv: { method: "PATCH", path: "/v2/infra-envs/{infra_env_id}" },
  DeregisterInfraEnv: { method: "DELETE", path: "/v2/infra-envs/{infra_env_id}" },
  GetInfraEnvDownloadURL: { method: "GET", path: "/v2/infra-envs/{infra_env_id}/downloads/image-url" },
  v2DownloadInfraEnvFiles: { method: "GET", path: "/v2/infra-envs/{infra_env_id}/downloads/files" },
  GetInfraEnvPresignedFileURL: { method: "GET", path: "/v2/infra-envs/{infra_env_id}/downloads/files-presigned" },
  DownloadMinimalInitrd: { method: "GET", path: "/v2/infra-envs/{infra_env_id}/downloads/minimal-initrd" },
  RegenerateInfraEnvSigningKey: { method: "POST", path: "/v2/infra-envs/{infra_env_id}/regenerate-signing-key" },
  v2InstallCluster: { method: "POST", path: "/v2/clusters/{cluster_id}/actions/install" },
  V2CancelInstallation: { method: "POST", path: "/v2/clusters/{cluster_id}/actions/cancel" },
  v2ResetCluster: { method: "POST", path: "/v2/clusters/{cluster_id}/actions/reset" },
  TransformClusterToDay2: { method: "POST", path: "/v2/clusters/{cluster_id}/actions/allow-add-workers" },
  TransformClusterToAddingHosts: { method: "POST", path: "/v2/clusters/{cluster_id}/actions/allow-add-hosts" },
  v2CompleteInstallation: { method: "POST", path: "/v2/clusters/{cluster_id}/actions/complete-installation" },
  v2UpdateClusterFinalizingProgress: { method: "PUT", path: "/v2/clusters/{cluster_id}/progress" },
  v2UpdateClusterLogsProgress: { method: "PUT", path: "/v2/clusters/{cluster_id}/logs-progress" },
  v2UploadClusterIngressCert: { method: "POST", path: "/v2/clusters/{cluster_id}/uploads/ingress-cert" },
  v2GetClusterInstallConfig: { method: "GET", path: "/v2/clusters/{cluster_id}/install-config" },
  v2UpdateClusterInstallConfig: { method: "PATCH", path: "/v2/clusters/{cluster_id}/install-config" },
  V2ListClusterManifests: { method: "GET", path: "/v2/clusters/{cluster_id}/manifests" },
  V2CreateClusterManifest: { method: "POST", path: "/v2/clusters/{cluster_id}/manifests" },
  V2UpdateClusterManifest: { method: "PATCH", path: "/v2/clusters/{cluster_id}/manifests" },
  V2DeleteClusterManifest: { method: "DELETE", path: "/v2/clusters/{cluster_id}/manifests" },
  v2DownloadClusterManifest: { method: "GET", path: "/v2/clusters/{cluster_id}/manifests/files" },
  V2ListSupportedOperators: { method: "GET", path: "/v2/supported-operators" },
  V2ListOperatorProperties: { method: "GET", path: "/v2/supported-operators/{operator_name}" },
  V2ListBundles: { method: "GET", path: "/v2/operators/bundles" },
  V2GetBundle: { method: "GET", path: "/v2/operators/bundles/{id}" },
  V2ListOfClusterOperators: { method: "GET", path: "/v2/clusters/{cluster_id}/monitored-operators" },
  v2ReportMonitoredOperatorStatus: { method: "PUT", path: "/v2/clusters/{cluster_id}/monitored-operators" },
  GetSupportedFeatures: { method: "GET", path: "/v2/support-levels/features" },
  GetDetailedSupportedFeatures: { method: "GET", path: "/v2/support-levels/features/detailed" },
  GetSupportedArchitectures: { method: "GET", path: "/v2/support-levels/architectures" },
  v2ListComponentVersions: { method: "GET", path: "/v2/component-versions" },
  v2ListSupportedOpenshiftVersions: { method: "GET", path: "/v2/openshift-versions" },
  v2ListReleaseSources: { method: "GET", path: "/v2/release-sources" },
} as const satisfies Record<keyof Operations, { method: string; path: string }>;
