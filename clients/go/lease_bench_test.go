package stint_test

import (
	"testing"

	stint "github.com/stintdb/stint/clients/go"
)

// BenchmarkLeases is one key that all goroutines share.
func BenchmarkLeases(b *testing.B) {
	l := connect(b)
	leases := l.Lease(stint.LeaseOptions{})
	defer leases.Close(b.Context())
	limit := stint.PerSecond(100_000_000)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if r, err := leases.Allow(b.Context(), "k", limit); err != nil || !r.Allowed {
				b.Errorf("%+v, %v", r, err)
				return
			}
		}
	})
}

func BenchmarkAllow(b *testing.B) {
	l := connect(b)
	limit := stint.PerSecond(100_000_000)
	b.SetParallelism(50)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if r, err := l.Allow(b.Context(), "k", limit); err != nil || !r.Allowed {
				b.Errorf("%+v, %v", r, err)
				return
			}
		}
	})
}
