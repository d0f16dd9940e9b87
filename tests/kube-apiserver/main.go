// The Kubernetes API server, built for the tests from its published module: what our certificates
// and kubeconfigs must convince. Upstream's own main pulls in the same command.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	os.Exit(cli.Run(app.NewAPIServerCommand()))
}
