package config

import (
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
)

// MaxSocketPathBytes is the longest path of a unix socket that every supported system takes.
const MaxSocketPathBytes = 103

// UnixPrefix begins the address of a unix socket.
const UnixPrefix = "unix:"

const typeAddresses = "addresses"

const allowedHostPort = "HOST:PORT with a port between 0 and 65535, such as 127.0.0.1:6379 (0 picks a free one)"

// SplitAddress turns an address in a setting into the arguments of net.Listen: unix:/path into unix and the path,
// HOST:PORT into tcp and HOST:PORT.
func SplitAddress(text string) (network, address string) {
	if path, found := strings.CutPrefix(text, UnixPrefix); found {
		return "unix", path
	}
	return "tcp", text
}

// addresses is a list of HOST:PORT and unix:/path, separated by commas in its text form.
type addresses struct {
	field    *[]string
	optional bool // the list may be empty
}

func (v *addresses) String() string  { return strings.Join(*v.field, ",") }
func (v *addresses) Type() string    { return typeAddresses }
func (v *addresses) Allowed() string { return allowedHostPort + ", or unix:/path" }

func (v *addresses) Set(text string) error {
	if text == "" && v.optional {
		*v.field = nil
		return nil
	}
	var list []string
	for item := range strings.SplitSeq(text, ",") {
		item = strings.Trim(item, " ")
		if path, found := strings.CutPrefix(item, UnixPrefix); found {
			if err := checkSocketPath(path); err != nil {
				return err
			}
		} else if !isHostPort(item) {
			return must(v.Allowed())
		}
		list = append(list, item)
	}
	*v.field = list
	return nil
}

func checkSocketPath(path string) error {
	if !strings.HasPrefix(path, "/") || !printable(path) {
		return must("unix: and an absolute path, such as unix:/run/stint.sock")
	}
	if len(path) > MaxSocketPathBytes {
		return errors.New("must name a socket by a path of at most " + strconv.Itoa(MaxSocketPathBytes) + " bytes")
	}
	return nil
}

func isHostPort(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil || !isHost(host) {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// isHost accepts names that a resolver may look up, and rejects typing errors and URLs.
func isHost(host string) bool {
	return !strings.ContainsFunc(host, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("/,'\"\\@*?#", r)
	})
}

func isEveryInterface(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// IsOpen reports whether other machines can connect to an address for clients, if the network lets them.
func (c *Config) IsOpen() bool {
	return slices.ContainsFunc(slices.Concat(c.Listen, c.TLSListen, c.HTTPAddresses(), c.GRPCAddresses()), func(address string) bool {
		host, _, err := net.SplitHostPort(address)
		return err == nil && !strings.HasPrefix(address, "unix:") && !isLoopback(host)
	})
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
