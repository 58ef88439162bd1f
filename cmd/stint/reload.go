package main

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/stintdb/stint/server"
)

// reloadOnHangUp has a server read its certificates again whenever SIGHUP comes. stop ends that.
func reloadOnHangUp(s *server.Server, log *slog.Logger) (stop func()) {
	hangUp, end := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangUp, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-end:
				return
			case <-hangUp:
			}
			if err := s.ReloadTLS(); err != nil {
				log.Error("the certificates stay as they were", "error", err)
				continue
			}
			log.Info("read the certificates again")
		}
	}()
	return func() {
		signal.Stop(hangUp)
		close(end)
	}
}
