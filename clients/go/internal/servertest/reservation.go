package servertest

import "testing"

// Reserved is an address of the loopback at which nobody listens, unless the test starts a server there. It stays so
// until the test ends, because neither a listener with a port of the system's choice nor an outgoing connection gets
// the port.
func Reserved(t testing.TB) (address string) {
	t.Helper()
	address, release, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return address
}
