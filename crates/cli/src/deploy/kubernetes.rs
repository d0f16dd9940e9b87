//! The service on Kubernetes.

use clap::Args;

use super::{
    Files, own_image,
    yaml::{entries, quoted},
};

/// What to do with the file.
pub const NEXT: &str = "next: kubectl apply -f DIR/muster.yaml";

/// Manifests for a cluster: one replica with a volume, or several on PostgreSQL and S3.
#[derive(Clone, Debug, Args)]
pub struct Kubernetes {
    /// URL at which hosts reach the service, such as https://muster.example.com
    #[arg(long, value_name = "URL")]
    base_url: String,
    /// Image of the service
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Namespace
    #[arg(long, value_name = "NAME", default_value = "muster")]
    namespace: String,
    /// Several replicas on a PostgreSQL server and an S3 bucket, whose addresses and credentials you
    /// fill into the Secret
    #[arg(long)]
    replicated: bool,
}

impl Kubernetes {
    /// The manifest.
    pub fn files(&self) -> anyhow::Result<Files> {
        let image = self.image.clone().unwrap_or_else(own_image);
        let variables = [
            ("SERVICE_BASE_URL", self.base_url.clone()),
            ("IMAGE_SERVICE_BASE_URL", self.base_url.clone()),
            ("AUTH_TYPE", "users".to_owned()),
        ];
        let workload = if self.replicated { REPLICATED } else { SINGLE };
        let text = format!(
            "{HEAD}{}---\n{SERVICE}---\n{workload}",
            entries(&variables, 2)
        )
        .replace("{container}", CONTAINER)
        .replace("{image}", &quoted(&image))
        .replace("{namespace}", &self.namespace);
        Ok(vec![("muster.yaml", text)])
    }
}

const HEAD: &str = "# Made by `muster deploy kubernetes`.
apiVersion: v1
kind: Namespace
metadata:
  name: {namespace}
  labels:
    pod-security.kubernetes.io/enforce: restricted
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: muster-config
  namespace: {namespace}
data:
";

const SERVICE: &str = "apiVersion: v1
kind: Service
metadata:
  name: muster-api
  namespace: {namespace}
spec:
  type: LoadBalancer
  selector:
    app: muster
  ports:
    - name: https
      port: 8090
      targetPort: https
";

/// The container, in the template of a pod.
const CONTAINER: &str = "      automountServiceAccountToken: false
      enableServiceLinks: false
      securityContext:
        runAsNonRoot: true
        fsGroup: 1001
        seccompProfile:
          type: RuntimeDefault
      terminationGracePeriodSeconds: 30
      containers:
        - name: service
          image: {image}
          args: [serve]
          ports:
            - name: https
              containerPort: 8090
          startupProbe:
            httpGet: {path: /ready, port: https, scheme: HTTPS}
            periodSeconds: 2
            failureThreshold: 150
          readinessProbe:
            httpGet: {path: /ready, port: https, scheme: HTTPS}
            periodSeconds: 5
          livenessProbe:
            httpGet: {path: /health, port: https, scheme: HTTPS}
            periodSeconds: 20
            timeoutSeconds: 10
          resources:
            requests:
              cpu: 250m
              memory: 256Mi
            limits:
              memory: 2Gi
          securityContext:
            readOnlyRootFilesystem: true
            allowPrivilegeEscalation: false
            capabilities:
              drop: [ALL]
          volumeMounts:
            - name: data
              mountPath: /data
            - name: tmp
              mountPath: /tmp
";

const SINGLE: &str = "# One replica: its database, files and keys are on a volume. Only one process may use them, so an
# upgrade stops the old pod first.
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: muster
  namespace: {namespace}
spec:
  serviceName: muster-api
  replicas: 1
  selector:
    matchLabels:
      app: muster
  template:
    metadata:
      labels:
        app: muster
    spec:
{container}          envFrom:
            - configMapRef:
                name: muster-config
      volumes:
        - name: tmp
          emptyDir: {}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        resources:
          requests:
            storage: 60Gi
";

const REPLICATED: &str =
    "# Fill in before applying. All replicas need the same keys: the sealing key by
# `openssl rand -base64 32`, the signing key by `openssl ecparam -name prime256v1 -genkey -noout`.
apiVersion: v1
kind: Secret
metadata:
  name: muster-secrets
  namespace: {namespace}
stringData:
  MUSTER_DATABASE_URL: postgres://muster:PASSWORD@postgresql.example.com/muster
  MUSTER_DATABASE_SEALING_KEY: \"\"
  EC_PRIVATE_KEY_PEM: \"\"
  MUSTER_STORAGE_URL: s3://muster?endpoint=https://s3.example.com
  AWS_ACCESS_KEY_ID: \"\"
  AWS_SECRET_ACCESS_KEY: \"\"
---
# The certificate that all replicas show, of type kubernetes.io/tls; cert-manager can make and renew
# it. Hosts get ca.crt of it.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: muster
  namespace: {namespace}
spec:
  replicas: 2
  selector:
    matchLabels:
      app: muster
  strategy:
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
  template:
    metadata:
      labels:
        app: muster
    spec:
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app: muster
{container}            - name: tls
              mountPath: /etc/muster/tls
              readOnly: true
          env:
            - name: HTTPS_CERT_FILE
              value: /etc/muster/tls/tls.crt
            - name: HTTPS_KEY_FILE
              value: /etc/muster/tls/tls.key
            - name: SERVICE_CA_CERT_PATH
              value: /etc/muster/tls/ca.crt
          envFrom:
            - configMapRef:
                name: muster-config
            - secretRef:
                name: muster-secrets
      volumes:
        - name: tmp
          emptyDir: {}
        # OS images and what was read of releases: fetched again when it is gone.
        - name: data
          emptyDir:
            sizeLimit: 60Gi
        - name: tls
          secret:
            secretName: muster-tls
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: muster
  namespace: {namespace}
spec:
  minAvailable: 1
  selector:
    matchLabels:
      app: muster
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: muster
  namespace: {namespace}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: muster
  minReplicas: 2
  maxReplicas: 6
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: 70
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::tests::is_current;

    fn text(replicated: bool) -> String {
        let options = Kubernetes {
            base_url: "https://muster.example.com:8090".to_owned(),
            image: Some("registry.example.com/muster:0.1.0".to_owned()),
            namespace: "muster".to_owned(),
            replicated,
        };
        options.files().unwrap().remove(0).1
    }

    #[test]
    fn the_files_in_deploy_are_current() {
        is_current("kubernetes/muster.yaml", &text(false));
        is_current("kubernetes/muster-replicated.yaml", &text(true));
    }

    #[test]
    fn every_document_is_yaml() {
        for replicated in [false, true] {
            for document in text(replicated).split("---\n") {
                let document: serde_json::Value = serde_yaml_ng::from_str(document).unwrap();
                assert!(document["kind"].is_string(), "{document}");
            }
        }
    }
}
