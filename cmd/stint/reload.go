package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/stintdb/stint/cmd/stint/policyfile"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/policyset"
)

// lookEvery is the time between looks at the files.
const lookEvery = 10 * time.Second

// followFiles sets a server's policies, and reloads them and the certificates on SIGHUP and when their files have changed.
// It logs other signals. stop ends that.
func (p *process) followFiles(ctx context.Context, s *server.Server, cfg *config.Config, log *slog.Logger) (stop func(), err error) {
	if err := p.setPolicies(ctx, s, cfg.Policies, log); err != nil {
		return nil, err
	}
	end := make(chan struct{})
	files := watchFiles(cfg.TLSCert, cfg.TLSKey, cfg.TLSClientCA, cfg.Policies)
	go reloadLoop(files, p.signals, end, log, func() error { return p.reload(ctx, s, cfg, log) })
	return func() { close(end) }, nil
}

// reload reads the files again.
func (p *process) reload(ctx context.Context, s *server.Server, cfg *config.Config, log *slog.Logger) (err error) {
	if cfg.TLSCert == "" && cfg.Policies == "" {
		log.Info("nothing to reload, because there is no --tls-cert and no --policies; to change settings send CONFIG SET, to reload users ACL LOAD")
		return nil
	}
	if cfg.TLSCert != "" {
		if err = s.ReloadTLS(); err == nil {
			log.Info("reloaded the certificates")
		}
	}
	return errors.Join(err, p.setPolicies(ctx, s, cfg.Policies, log))
}

// setPolicies gives a server the policies in a file, and removes all others. Without a file it does nothing.
func (p *process) setPolicies(ctx context.Context, s *server.Server, file string, log *slog.Logger) error {
	if file == "" {
		return nil
	}
	want, err := policyfile.ReadFile(file, p.readFile)
	if err != nil {
		return err
	}
	_, changes, err := policyset.Apply(ctx, s, server.FromSettings, want, true, "")
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	log.Info("set the policies of a file", "file", file, "policies", len(want), "changes", len(changes))
	return nil
}

// reloadLoop calls reload after each SIGHUP and each change of the files, until end is closed. One that fails is tried
// again, because nothing shows when a file has become readable.
func reloadLoop(files *watchedFiles, signals <-chan os.Signal, end <-chan struct{}, log *slog.Logger, reload func() error) {
	look := time.NewTicker(lookEvery)
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
			log.Error("could not reload a file; its earlier contents stay in use", "error", err)
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
