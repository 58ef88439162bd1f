package servertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Cluster is nodes that decide as one.
type Cluster struct {
	Nodes  []*Server
	folder string
}

// StartCluster starts a cluster of three nodes and waits until all are ready.
func StartCluster(flags ...string) (*Cluster, error) {
	const size = 3
	folder, err := os.MkdirTemp("", "stint-cluster")
	if err != nil {
		return nil, err
	}
	c := &Cluster{folder: folder}
	var between []string
	for range size {
		address, err := FreeAddress()
		if err != nil {
			return nil, err
		}
		between = append(between, address)
	}
	type started struct {
		server *Server
		err    error
	}
	nodes := make(chan started, size)
	for i := range size {
		all := append([]string{
			"--node-id", fmt.Sprint("n", i), "--cluster-listen", between[i], "--cluster-peers", strings.Join(between, ","),
			"--bootstrap-expect", fmt.Sprint(size), "--dir", filepath.Join(folder, fmt.Sprint(i)), "--cluster-heartbeat", "1s",
		}, flags...)
		go func() {
			server, err := Start(all...)
			nodes <- started{server, err}
		}()
	}
	for range size {
		n := <-nodes
		if n.err != nil {
			err = n.err
			continue
		}
		c.Nodes = append(c.Nodes, n.server)
	}
	if err != nil {
		c.Kill()
		return nil, err
	}
	return c, nil
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

// Kill ends all nodes.
func (c *Cluster) Kill() {
	for _, n := range c.Nodes {
		n.Kill()
	}
	os.RemoveAll(c.folder)
}
