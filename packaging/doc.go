// Package packaging tests the deployment of Stint: the image and the compose files in docker, and here the systemd
// unit, releases with the Debian package, and the Helm chart and manifests for Kubernetes. The server's parser reads
// every setting in them. It is a separate module so that the tools of packaging stay out of the server's dependencies.
package packaging
