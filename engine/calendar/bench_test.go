package calendar

import "testing"

func BenchmarkWindow(b *testing.B) {
	zone, _ := ParseZone([]byte("Europe/Berlin"))
	for b.Loop() {
		Anchor{zone, 17}.window(Month, 1_790_000_000_000_000_000)
	}
}

func BenchmarkWindowKept(b *testing.B) {
	zone, _ := ParseZone([]byte("Europe/Berlin"))
	for b.Loop() {
		Anchor{zone, 17}.Window(Month, 1_790_000_000_000_000_000)
	}
}

func BenchmarkParseZone(b *testing.B) {
	name := []byte("Europe/Berlin")
	for b.Loop() {
		ParseZone(name)
	}
}
