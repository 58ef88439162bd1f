package config

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/stintdb/stint/engine/limits"
)

const allowedPeer = "HOST:PORT that others can reach, with a port between 1 and 65535, such as 10.0.0.7:7379"

func isPeer(text string) bool {
	host, port, err := net.SplitHostPort(text)
	return err == nil && isHostPort(text) && !isEveryInterface(host) && strings.Trim(port, "0") != ""
}

const allowedPeers = allowedPeer + ", or dns:HOST:PORT, or srv:_SERVICE._tcp.DOMAIN"

// isPeerName reports whether a text names peers in DNS, as [github.com/stintdb/stint/cluster/peers.IsName] knows them.
func isPeerName(text string) bool {
	host, isHost := strings.CutPrefix(text, "dns:")
	service, isService := strings.CutPrefix(text, "srv:")
	return isHost && isPeer(host) || isService && service != "" && len(service) <= 253 && printable(service) && !strings.ContainsAny(service, " :/")
}

// MaxNodeIDBytes is the length of the longest name of a node.
const MaxNodeIDBytes = 64

func isName(text string) bool {
	return text == "" || len(text) <= MaxNodeIDBytes && isAlphanumeric(rune(text[0])) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !isAlphanumeric(r) && !strings.ContainsRune("_.-", r) })
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// period is a duration with a minimum.
type period struct {
	field    *time.Duration
	min, max time.Duration
}

func (v *period) String() string { return limits.FormatDuration(int64(*v.field)) }
func (v *period) Type() string   { return "duration" }

func (v *period) Allowed() string {
	return fmt.Sprintf("a duration between %s and %s, such as 250ms or 1.5s (a bare number is seconds)",
		limits.FormatDuration(int64(v.min)), limits.FormatDuration(int64(v.max)))
}

func (v *period) Set(text string) error {
	nanos, err := limits.ParseDuration(text)
	if err != nil || nanos < int64(v.min) || nanos > int64(v.max) {
		return must(v.Allowed())
	}
	*v.field = time.Duration(nanos)
	return nil
}

// MaxPeers limits the nodes of a cluster.
const MaxPeers = 64
