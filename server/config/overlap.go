package config

import (
	"net"
	"slices"
)

// overlap reports whether a server cannot listen on both of two valid addresses: the same socket path, or the same port
// on the same host or on every interface. Port 0 is a different free port each time.
func overlap(a, b string) bool {
	networkA, a := SplitAddress(a)
	networkB, b := SplitAddress(b)
	if networkA != networkB {
		return false
	}
	if networkA == "unix" {
		return a == b
	}
	hostA, portA, _ := net.SplitHostPort(a)
	hostB, portB, _ := net.SplitHostPort(b)
	return portA == portB && portA != "0" && (sameHost(hostA, hostB) || covers(hostA, hostB) || covers(hostB, hostA))
}

func sameHost(a, b string) bool {
	if a == "localhost" {
		a = "127.0.0.1"
	}
	if b == "localhost" {
		b = "127.0.0.1"
	}
	ipA, ipB := net.ParseIP(a), net.ParseIP(b)
	return a == b || ipA != nil && ipA.Equal(ipB)
}

// covers reports whether host stands for every interface, and other may be one of them. A name may be any of them.
func covers(host, other string) bool {
	switch host {
	case "", "::":
		return true
	case "0.0.0.0":
		ip := net.ParseIP(other)
		return ip == nil || ip.To4() != nil
	}
	return false
}

// checkPorts refuses addresses of a setting, own, that use the same port as each other, as other settings or as admin.
func checkPorts(c *Config, setting string, own, others []string) error {
	for i, a := range own {
		for _, b := range slices.Concat(own[:i], others) {
			if overlap(a, b) {
				return conflictf("%s (%s) takes the same port as %s: give it another port", setting, a, b)
			}
		}
		if c.AdminAddress() != "" && overlap(a, c.Admin) {
			return conflictf("--admin (%s) takes the same port as %s (%s): give --admin another port", c.Admin, setting, a)
		}
	}
	return nil
}
