package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestReloadCertificates replaces files as Kubernetes does, by a symbolic link to another folder, and sends SIGHUP.
func TestReloadCertificates(t *testing.T) {
	dir := t.TempDir()
	write := func(version, text string) {
		t.Helper()
		folder := filepath.Join(dir, version)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "tls.crt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(folder, filepath.Join(dir, "next")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "data")); err != nil {
			t.Fatal(err)
		}
	}
	write("1", "the first")
	synctest.Test(t, func(t *testing.T) {
		hangUp, end := make(chan os.Signal, 1), make(chan struct{})
		var reloads atomic.Int64
		go reloadLoop(watchFiles(filepath.Join(dir, "data", "tls.crt"), ""), hangUp, end, slog.New(slog.DiscardHandler), func() { reloads.Add(1) })
		step := func(name string, want int64, do func()) {
			t.Helper()
			do()
			time.Sleep(certificatesEvery)
			synctest.Wait()
			if got := reloads.Load(); got != want {
				t.Fatalf("%s: %d reloads, want %d", name, got, want)
			}
		}
		step("unchanged", 0, func() {})
		step("replaced", 1, func() { write("2", "the second one") })
		step("unchanged since", 1, func() {})
		step("gone", 2, func() { _ = os.Remove(filepath.Join(dir, "data")) })
		step("back", 3, func() { write("3", "the third") })
		step("SIGHUP", 4, func() { hangUp <- syscall.SIGHUP })
		step("another signal", 4, func() { hangUp <- syscall.SIGUSR1 })
		step("changed and SIGHUP", 5, func() { write("4", "the fourth one"); hangUp <- syscall.SIGHUP; synctest.Wait() })
		close(end)
	})
}
