package httpapi

import "testing"

// The short way for localhost takes no more names than the long one.
func TestHostsOfThisServer(t *testing.T) {
	a := &allowed{hosts: []string{"limits.example"}}
	for host, want := range map[string]bool{
		"localhost": true, "localhost:": true, "localhost:8080": true, "LocalHost:8080": true, "127.0.0.1": true, "127.0.0.1:80": true, "[::1]:80": true,
		"limits.example": true, "Limits.example:80": true,
		"": false, "localhost:1:2": false, "localhost:[x]": false, "localhost.example": false, "localhost.": false, "xlocalhost:80": false, "example:80": false,
		"[fe80::1%eth0]:80": false,
	} {
		if got := a.knows(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}
