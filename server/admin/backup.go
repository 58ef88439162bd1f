package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/resp"
)

// The client of a backup must read backupChunk bytes within backupChunkTimeout, or the backup ends.
const backupChunk = 256 << 10

var backupChunkTimeout = 15 * time.Second // changed by a test

// backup streams the state. It is a POST, so that pages of other sites cannot start one. Before the first byte, an
// error is an ordinary reply; later, the connection is cut, and the client notices that the backup is incomplete.
func (a *Admin) backup(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stale := r.URL.Query().Get("stale")
	if r.URL.Query().Has("stale") && stale != "yes" && stale != "no" {
		fail(w, http.StatusBadRequest, fmt.Sprintf("stale: must be yes or no, got %q", stale))
		return
	}
	if !a.backingUp.TryLock() {
		fail(w, http.StatusConflict, "another backup is being sent; try again when it is complete")
		return
	}
	defer a.backingUp.Unlock()
	if a.ending.Err() != nil {
		fail(w, http.StatusServiceUnavailable, "this server is shutting down")
		return
	}
	defer context.AfterFunc(a.ending, cancel)()
	controller := http.NewResponseController(w)
	_ = controller.SetReadDeadline(time.Time{}) // the deadline would end the request, although there is nothing more to read
	to := &backupWriter{ResponseWriter: w, ctx: ctx, controller: controller, touch: connOf(r).touch}
	out := bufio.NewWriterSize(to, backupChunk)
	started := time.Now()
	w.Header().Set("Content-Type", "application/octet-stream")
	keys, err := a.about.Load().Backup(ctx, out, stale == "yes")
	if err == nil {
		err = out.Flush()
	}
	switch {
	case err == nil:
		a.log.Info("sent a backup", "to", r.RemoteAddr, "keys", keys, "bytes", to.bytes, "took", time.Since(started))
	case to.bytes > 0:
		a.log.Warn("a backup was not sent completely", "to", r.RemoteAddr, "bytes", to.bytes, "error", err)
		panic(http.ErrAbortHandler)
	default:
		a.log.Warn("cannot make a backup", "for", r.RemoteAddr, "error", err)
		fail(w, http.StatusServiceUnavailable, err.Error())
	}
}

// backupWriter writes to a client, with a deadline for each write.
type backupWriter struct {
	http.ResponseWriter
	ctx        context.Context
	controller *http.ResponseController
	touch      func()
	bytes      int64
}

func (w *backupWriter) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	w.touch()
	if err := w.controller.SetWriteDeadline(time.Now().Add(backupChunkTimeout)); err != nil {
		return 0, err
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// withBackupRights asks for the token, or if there is none, for a user who may see everything.
func (a *Admin) withBackupRights(next http.HandlerFunc) http.HandlerFunc {
	return a.secured(func(w http.ResponseWriter, r *http.Request) {
		s := a.about.Load()
		if s == nil {
			fail(w, http.StatusServiceUnavailable, starting)
			return
		}
		if a.token != nil {
			next(w, r)
			return
		}
		switch err := s.AuthorizeBackup(r.Context(), r.RemoteAddr, r.Header.Get("Authorization")); {
		case err == nil:
			next(w, r)
		case errors.Is(err, server.ErrMayNotBackUp):
			fail(w, http.StatusForbidden, err.Error())
		case errors.Is(err, server.ErrNoAuth):
			w.Header().Set("WWW-Authenticate", "Bearer realm=\"password\"") // stint backup names the flag
			fail(w, http.StatusUnauthorized, "send a password: Authorization: Bearer USER:PASSWORD")
		case errors.Is(err, server.ErrWrongLogin):
			w.Header().Set("WWW-Authenticate", "Bearer realm=\"password\"")
			fail(w, http.StatusUnauthorized, err.Error())
		default:
			fail(w, http.StatusTooManyRequests, resp.WithoutCode(err))
		}
	})
}
