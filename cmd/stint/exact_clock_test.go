//go:build e2e

package main

import (
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"
)

// asTimed names a file whose first eight bytes are the time of this test's program, run as a server, in nanoseconds
// since the Unix epoch.
const asTimed = "STINT_TEST_CLOCK"

// timePage is a time in shared memory: a time stored by one process is read by all at once.
type timePage struct {
	now  *atomic.Int64
	file string
}

func openPage(file string) (*timePage, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(int64(os.Getpagesize())); err != nil {
		return nil, err
	}
	page, err := syscall.Mmap(int(f.Fd()), 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &timePage{(*atomic.Int64)(unsafe.Pointer(&page[0])), file}, nil // mapped until the process ends
}

// readTestClock sets a server's clock to a time page, if its test has one.
func readTestClock() {
	file := os.Getenv(asTimed)
	if file == "" {
		return
	}
	os.Unsetenv(asTimed)
	page, err := openPage(file)
	if err != nil {
		panic(err)
	}
	testTime = page.now.Load
}

// newPage makes a time page, the clock of every server that this test starts afterwards.
func newPage(t *testing.T, now int64) *timePage {
	t.Helper()
	page, err := openPage(t.TempDir() + "/time")
	if err != nil {
		t.Fatal(err)
	}
	page.now.Store(now)
	t.Setenv(asTimed, page.file)
	return page
}
