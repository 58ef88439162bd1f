package admin

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
)

// backupHost is a host whose backups are written by a function.
func backupHost(t *testing.T, write server.Backup) *host {
	h := newHost(t, func(_ *config.Config, o *server.Options) { o.Backup = write })
	h.serve()
	return h
}

// startBackup asks for a backup and does not read it.
func (h *host) startBackup() *http.Response {
	h.Helper()
	response, err := (&http.Client{Timeout: giveUp}).Post("http://"+h.Address()+"/api/backup", "", nil)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { response.Body.Close() })
	return response
}

// endless writes until an error, which it sends to ended.
func endless(ended chan<- error) server.Backup {
	return func(_ context.Context, to io.Writer, _ bool) (int64, error) {
		for {
			if _, err := to.Write(make([]byte, 64<<10)); err != nil {
				ended <- err
				return 0, err
			}
		}
	}
}

// Before anything is sent, an error is an ordinary reply. Later, the client gets a broken reply, not one that looks
// complete.
func TestBackupErrors(t *testing.T) {
	failing := errors.New("no leader")
	sent := 0
	h := backupHost(t, func(_ context.Context, to io.Writer, _ bool) (int64, error) {
		_, _ = to.Write(make([]byte, sent))
		return 0, failing
	})
	if status, body := h.send(http.MethodPost, "/api/backup", ""); status != http.StatusServiceUnavailable || !strings.Contains(body, `"no leader"`) {
		t.Errorf("%d %s", status, body)
	}
	sent = 1 << 20
	if n, err := io.Copy(io.Discard, h.startBackup().Body); err == nil {
		t.Errorf("%d bytes without an error", n)
	}
	if status, _ := h.get("/api/backup"); status == http.StatusOK {
		t.Error("a GET, which pages of other sites can send, starts a backup")
	}
	if status, _ := h.send(http.MethodPost, "/api/backup", "", "Origin", "http://example.com"); status != http.StatusForbidden {
		t.Errorf("a page of another site gets %d", status)
	}
}

// One backup is sent at a time. A client that goes away ends its own.
func TestOneBackupAtATime(t *testing.T) {
	ended := make(chan error, 2)
	h := backupHost(t, endless(ended))
	first := h.startBackup()
	if first.StatusCode != http.StatusOK {
		t.Fatal(first.Status)
	}
	if status, body := h.send(http.MethodPost, "/api/backup", ""); status != http.StatusConflict || !strings.Contains(body, "another backup is being sent") {
		t.Errorf("%d %s", status, body)
	}
	first.Body.Close()
	<-ended
	for status := http.StatusConflict; status != http.StatusOK; {
		again := h.startBackup()
		status = again.StatusCode
		again.Body.Close()
	}
}

// A client that does not read ends its backup.
func TestBackupOfASlowClient(t *testing.T) {
	defer func(d time.Duration) { backupChunkTimeout = d }(backupChunkTimeout)
	backupChunkTimeout = time.Millisecond
	ended := make(chan error, 1)
	h := backupHost(t, endless(ended))
	client, err := net.Dial("tcp", h.Address()) // the head of the response may not be sent in that time either
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Write([]byte("POST /api/backup HTTP/1.1\r\nHost: " + h.Address() + "\r\nContent-Length: 0\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(giveUp):
		t.Fatal("the backup of a client that does not read goes on")
	}
}

// The end of the server waits for the backup, because it reads the store.
func TestBackupEndsWithTheServer(t *testing.T) {
	t.Parallel() // it waits
	writing, over := make(chan struct{}), false
	h := backupHost(t, func(ctx context.Context, to io.Writer, _ bool) (int64, error) {
		close(writing)
		<-ctx.Done()
		time.Sleep(shutdownTimeout + 200*time.Millisecond) // longer than requests have
		over = true
		return 0, ctx.Err()
	})
	go func() {
		if response, err := http.Post("http://"+h.Address()+"/api/backup", "", nil); err == nil {
			response.Body.Close()
		}
	}()
	<-writing
	h.Close()
	if !over {
		t.Error("the backup goes on")
	}
}
