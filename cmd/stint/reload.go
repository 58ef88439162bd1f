package main

import (
	"log/slog"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
)

// certificatesEvery is the time between looks at the files of the certificates.
const certificatesEvery = 10 * time.Second

// reloadCertificates makes a server reload its certificates on SIGHUP, and when their files have changed. It logs other
// signals. stop ends that.
func reloadCertificates(s *server.Server, cfg *config.Config, signals <-chan os.Signal, log *slog.Logger) (stop func()) {
	end := make(chan struct{})
	files := watchFiles(cfg.TLSCert, cfg.TLSKey, cfg.TLSClientCA)
	go reloadLoop(files, signals, end, log, func() error {
		if cfg.TLSCert == "" {
			log.Info("nothing to reload, because there is no --tls-cert; to change settings send CONFIG SET, to reload users ACL LOAD")
			return nil
		}
		if err := s.ReloadTLS(); err != nil {
			return err
		}
		log.Info("reloaded the certificates")
		return nil
	})
	return func() { close(end) }
}

// reloadLoop calls reload after each SIGHUP and each change of the files, until end is closed. One that fails is tried
// again, because nothing shows when a file has become readable.
func reloadLoop(files *watchedFiles, signals <-chan os.Signal, end <-chan struct{}, log *slog.Logger, reload func() error) {
	look := time.NewTicker(certificatesEvery)
	defer look.Stop()
	failure := "" // of the last reload, and logged
	for {
		select {
		case <-end:
			return
		case s := <-signals:
			if s != syscall.SIGHUP {
				log.Info("ignored a signal: the log goes to standard error, so a rotation needs no signal", "signal", s.String())
				continue
			}
			files.changed()
			failure = ""
		case <-look.C:
			switch {
			case files.changed():
				failure = ""
			case failure == "":
				continue
			}
		}
		switch err := reload(); {
		case err == nil:
			failure = ""
		case err.Error() != failure:
			failure = err.Error()
			log.Error("could not reload the certificates; the old ones stay in use", "error", err)
		}
	}
}

// watchedFiles knows the last change of some files.
type watchedFiles struct {
	paths []string
	seen  []fileStamp
}

// fileStamp is the state of a file, zero if it cannot be read.
type fileStamp struct {
	modified int64 // nanoseconds since 1970
	bytes    int64
}

func watchFiles(paths ...string) *watchedFiles {
	w := &watchedFiles{paths: slices.DeleteFunc(paths, func(path string) bool { return path == "" })}
	w.changed()
	return w
}

// changed reports whether a file has changed since the last call. It follows symbolic links, by which Kubernetes
// replaces the files of a secret.
func (w *watchedFiles) changed() bool {
	var now []fileStamp
	for _, path := range w.paths {
		var stamp fileStamp
		if info, err := os.Stat(path); err == nil {
			stamp = fileStamp{info.ModTime().UnixNano(), info.Size()}
		}
		now = append(now, stamp)
	}
	before := w.seen
	w.seen = now
	return !slices.Equal(before, now)
}
