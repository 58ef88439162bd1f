package main

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/stintdb/stint/server"
)

// reloadOnHangUp makes a server reload its certificates on SIGHUP. stop ends that.
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
				log.Error("could not reload the certificates; the old ones stay in use", "error", err)
				continue
			}
			log.Info("reloaded the certificates")
		}
	}()
	return func() {
		signal.Stop(hangUp)
		close(end)
	}
}
