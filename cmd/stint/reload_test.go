package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
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
		var fails atomic.Bool
		var log strings.Builder
		go reloadLoop(watchFiles(filepath.Join(dir, "data", "tls.crt"), ""), hangUp, end, slog.New(slog.NewTextHandler(&log, nil)), func() error {
			if reloads.Add(1); fails.Load() {
				return os.ErrPermission
			}
			return nil
		})
		step := func(name string, want int64, do func()) {
			t.Helper()
			do()
			time.Sleep(lookEvery)
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
		step("replaced by one that may not be read", 6, func() { fails.Store(true); write("5", "the fifth one") })
		step("still so", 7, func() {})
		step("permitted, which changes no time", 8, func() { fails.Store(false) })
		step("unchanged since", 8, func() {})
		close(end)
		synctest.Wait()
		if got := strings.Count(log.String(), "could not reload"); got != 1 {
			t.Errorf("the log has %d errors:\n%s", got, &log)
		}
	})
}
