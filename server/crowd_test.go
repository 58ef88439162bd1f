package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/sysmem"
)

// crowdAddress makes a copy of this test's program the crowd that connects to that address.
const crowdAddress = "STINT_TEST_CROWD"

const crowdSize = 10_000

// 10,000 connections that say nothing cost little memory each, and do not slow the others down.
func TestIdleCrowd(t *testing.T) {
	if addr := os.Getenv(crowdAddress); addr != "" {
		beCrowd(t, addr)
		return
	}
	wantDescriptors(t)
	h := serve(t, func(c *config.Config) { c.MaxClients, c.AddressClients = crowdSize+10, crowdSize+10 })
	busy := h.dial(t)
	expect(t, busy, frames("PING"), "+PONG\r\n")
	heap, resident := heapBytes(), sysmem.RSS()

	crowd := testserver.Command(t, os.Args[0], "-test.run=^TestIdleCrowd$")
	crowd.Env = append(os.Environ(), crowdAddress+"="+h.addr)
	crowd.Stderr = os.Stderr
	leave, err := crowd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := crowd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := crowd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "connected\n" {
		t.Fatalf("the crowd says %q (%v)", line, err)
	}
	if n := h.env.Registry.Count(); n != crowdSize+1 {
		t.Errorf("%d connections are open, want %d", n, crowdSize+1)
	}
	const limit = 20 << 10
	if each := (heapBytes() - heap) / crowdSize; each > limit {
		t.Errorf("a connection takes %d bytes of heap, want at most %d", each, limit)
	} else {
		t.Logf("a connection takes %d bytes of heap", each)
	}
	each := (sysmem.RSS() - resident) / crowdSize // which depends on when Go collects garbage
	t.Logf("a connection takes %d bytes of resident memory", each)
	if testsize.IsNightly() && each > limit {
		t.Errorf("a connection takes %d bytes of resident memory, want at most %d", each, limit)
	}
	expect(t, busy, frames("TB.ACQUIRE k 1 1/s"), "*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:1000\r\n")
	leave.Close()
	if err := crowd.Wait(); err != nil {
		t.Error(err)
	}
	eventually(t, "all have gone", func() bool { return h.env.Registry.Count() == 1 })
}

// beCrowd opens connections, has each used once, and stays until told to leave.
func beCrowd(t *testing.T, addr string) {
	wantDescriptors(t)
	conns := make([]net.Conn, crowdSize)
	for i := range conns {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, conn, frame("TB.ACQUIRE", "key"+strconv.Itoa(i), "1", "1/s"), "*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:1000\r\n")
		conns[i] = conn
	}
	fmt.Println("connected")
	_, _ = io.Copy(io.Discard, os.Stdin)
	for _, c := range conns {
		c.Close()
	}
}

// wantDescriptors raises the bound on open files for the crowd, and skips the test where that is forbidden.
func wantDescriptors(t *testing.T) {
	const need = crowdSize + 200
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur >= need {
		return
	}
	raised := syscall.Rlimit{Cur: need, Max: max(limit.Max, need)}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err != nil {
		t.Skipf("this machine allows %d open files, and %d are needed: %v", limit.Max, need, err)
	}
}
