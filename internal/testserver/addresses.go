package testserver

import (
	"testing"

	"github.com/stintdb/stint/internal/testaddress"
)

// ReserveAddress returns an address of the loopback interface that nobody else is given before the test's end, and on
// which servers can listen one after the other: see [testaddress.Reserve]. Most servers need none. They listen on port
// 0, and [Process.Listening] and [Process.Admin] return the addresses that they print.
func ReserveAddress(t testing.TB) string {
	t.Helper()
	return ReserveAddresses(t, 1)[0]
}

// ReserveAddresses is ReserveAddress for several.
func ReserveAddresses(t testing.TB, count int) (addresses []string) {
	t.Helper()
	for range count {
		address, release, err := testaddress.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		addresses = append(addresses, address)
	}
	return addresses
}
