package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"testing"
)

// A server that shuts down transfers leadership while it still serves: requests that it then forwards are decided
// there.
func TestHandsOverBeforeItDrains(t *testing.T) {
	h, stop := serveUntil(t)
	conn := h.dial(t)
	expect(t, conn, frames("PING"), "+PONG\r\n") // it is being served
	handedOver := false
	h.handLeadership = func(context.Context) error {
		handedOver = true
		if err := h.Ready(); !errors.Is(err, errDraining) {
			t.Errorf("while leadership is handed over, /readyz says %v: balancers send more clients", err)
		}
		if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
			t.Error(err)
		}
		if line, err := bufio.NewReader(conn).ReadString('\n'); line != "+PONG\r\n" {
			t.Errorf("while leadership is handed over, a PING is answered %q, %v", line, err)
		}
		return nil
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if !handedOver {
		t.Error("it ended without handing over")
	}
}
