package servertest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A Cluster is nodes that decide as one.
type Cluster struct {
	Nodes   []*Server
	folder  string
	release []func() // of the nodes' addresses
}

// StartCluster starts a cluster of three nodes and waits until all are ready.
func StartCluster(flags ...string) (*Cluster, error) {
	const size = 3
	folder, err := os.MkdirTemp("", "stint-cluster")
	if err != nil {
		return nil, err
	}
	c := &Cluster{folder: folder}
	between, err1 := c.reserve(size)
	toClients, err2 := c.reserve(size) // announced by the cluster, which a port of the node's choice is not
	if err := errors.Join(err1, err2); err != nil {
		c.Kill()
		return nil, err
	}
	nodes, failures := make([]*Server, size), make([]error, size)
	var starts sync.WaitGroup
	for i := range size {
		all := append([]string{
			"--node-id", fmt.Sprint("n", i), "--cluster-listen", between[i], "--cluster-peers", strings.Join(between, ","),
			"--bootstrap-expect", fmt.Sprint(size), "--dir", filepath.Join(folder, fmt.Sprint(i)), "--cluster-heartbeat", "1s",
		}, flags...)
		starts.Go(func() { nodes[i], failures[i] = StartAt(toClients[i], all...) })
	}
	starts.Wait()
	c.Nodes = slices.DeleteFunc(nodes, func(n *Server) bool { return n == nil })
	if err := errors.Join(failures...); err != nil {
		c.Kill()
		return nil, err
	}
	return c, nil
}

// reserve holds addresses for as long as the cluster lasts.
func (c *Cluster) reserve(count int) (addresses []string, err error) {
	for range count {
		address, release, err := Reserve()
		if err != nil {
			return nil, err
		}
		addresses, c.release = append(addresses, address), append(c.release, release)
	}
	return addresses, nil
}

// Addresses are the client addresses of the nodes.
func (c *Cluster) Addresses() (all []string) {
	for _, n := range c.Nodes {
		all = append(all, n.Address)
	}
	return all
}

// Node returns the node at an address.
func (c *Cluster) Node(address string) *Server {
	for _, n := range c.Nodes {
		if n.Address == address {
			return n
		}
	}
	return nil
}

// Kill ends all nodes and removes their folders.
func (c *Cluster) Kill() {
	for _, n := range c.Nodes {
		n.Kill()
	}
	for _, release := range c.release {
		release()
	}
	os.RemoveAll(c.folder)
}
