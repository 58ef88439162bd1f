package peers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The prefixes of names in a list of peers. A name stands for all addresses that DNS has for it at the moment.
const (
	hostPrefix    = "dns:" // dns:HOST:PORT is each IP address of HOST, with PORT
	servicePrefix = "srv:" // srv:_SERVICE._PROTO.DOMAIN is each target of an SRV record
)

// IsName reports whether an item of a list of peers is a name that DNS knows addresses for, not the address of a node.
func IsName(peer string) bool {
	return strings.HasPrefix(peer, hostPrefix) || strings.HasPrefix(peer, servicePrefix)
}

// Resolver asks DNS. [net.Resolver] is one.
type Resolver interface {
	LookupHost(ctx context.Context, host string) (addresses []string, err error)
	LookupSRV(ctx context.Context, service, proto, name string) (cname string, targets []*net.SRV, err error)
}

// maxFound is how many addresses of all names are used. It is larger than a cluster may be.
const maxFound = 256

// names finds nodes by names of DNS. What DNS returns is often not the address by which a cluster knows a node, such as
// the IP address of a pod with a name of its own. So each address is asked once for the address that its node advertises.
type names struct {
	list     []string
	resolver Resolver

	mu    sync.Mutex
	found map[string]string // by the address that DNS has: what its node advertises, or "" until the node has answered
}

// split divides a list of peers into addresses and names.
func split(list []string, r Resolver) (addresses []string, n *names) {
	n = &names{resolver: r, found: map[string]string{}}
	for _, p := range list {
		if IsName(p) {
			n.list = append(n.list, p)
		} else {
			addresses = append(addresses, p)
		}
	}
	return addresses, n
}

// lookUp asks DNS for the addresses of a name.
func (n *names) lookUp(ctx context.Context, name string) (all []string, err error) {
	if service, is := strings.CutPrefix(name, servicePrefix); is {
		_, targets, err := n.resolver.LookupSRV(ctx, "", "", service)
		for _, t := range targets {
			all = append(all, net.JoinHostPort(strings.TrimSuffix(t.Target, "."), strconv.Itoa(int(t.Port))))
		}
		return all, err
	}
	host, port, err := net.SplitHostPort(strings.TrimPrefix(name, hostPrefix))
	if err != nil {
		return nil, err
	}
	hosts, err := n.resolver.LookupHost(ctx, host)
	for _, h := range hosts {
		all = append(all, net.JoinHostPort(h, port))
	}
	return all, err
}

// addresses returns the advertised addresses of the nodes that have been found and have answered.
func (n *names) addresses() (all []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, advertised := range n.found {
		if advertised != "" {
			all = append(all, advertised)
		}
	}
	return all
}

// refresh replaces the addresses that have been found, and returns them: their nodes are asked what they advertise, also
// again, because an address may be another node's by now. If DNS does not answer for one of the names, the old addresses
// are kept beside the new ones.
func (n *names) refresh(ctx context.Context) (all []string, err error) {
	now := map[string]string{}
	for _, name := range n.list {
		addresses, failed := n.lookUp(ctx, name)
		if failed == nil && len(addresses) == 0 {
			failed = fmt.Errorf("%s has no address", name)
		}
		if dns := new(net.DNSError); errors.As(failed, &dns) && dns.Timeout() {
			failed = fmt.Errorf("%s: DNS does not answer", name) // the text of a DNSError has the port that was used
		}
		if failed != nil {
			err = failed
		}
		for _, a := range addresses {
			now[a] = ""
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for resolved, advertised := range n.found {
		if _, still := now[resolved]; still || err != nil {
			now[resolved] = advertised
		}
	}
	n.found = map[string]string{}
	for resolved, advertised := range now {
		if len(n.found) == maxFound {
			return all, fmt.Errorf("DNS has more than %d addresses for %s", maxFound, strings.Join(n.list, ", "))
		}
		n.found[resolved] = advertised
		all = append(all, resolved)
	}
	slices.Sort(all)
	return all, err
}

// note notes what the node at a resolved address advertises.
func (n *names) note(resolved, advertised string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, still := n.found[resolved]; still {
		n.found[resolved] = advertised
	}
}

// LookUpNames asks DNS for the nodes of the names among the peers, and the nodes for the addresses that they advertise.
// Its error names what DNS did not answer, and the nodes that did not. Without names it does nothing.
func (s *Statuses) LookUpNames(ctx context.Context) error {
	if len(s.names.list) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.MeetEvery)
	defer cancel()
	found, err := s.names.refresh(ctx)
	failed := make([]error, len(found))
	var asked sync.WaitGroup
	for i, address := range found {
		asked.Go(func() {
			var r nodeStatus
			if r, failed[i] = s.ask(ctx, address); failed[i] == nil {
				s.names.note(address, cmp.Or(r.Advertise, address))
			}
		})
	}
	asked.Wait()
	return errors.Join(append(failed, err)...)
}
