package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"

	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/logqueue"
	"github.com/stintdb/stint/cmd/stint/progress"
	"github.com/stintdb/stint/cmd/stint/settings"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/admin"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/envoy"
	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/health"
	"github.com/stintdb/stint/server/httpapi"
	"github.com/stintdb/stint/server/keyevents"
	"github.com/stintdb/stint/server/pubsub"
	"github.com/stintdb/stint/server/warn"
)

// server is the command `stint server`.
func (p *process) server(ctx context.Context, args []string) error {
	cfg, ignored, err := settings.Read(p.program, args, p.environ, p.readFile)
	if errors.Is(err, settings.ErrHelpAll) {
		_, err = io.WriteString(p.stdout, settings.FullHelp())
		return err
	}
	if err != nil {
		return cli.Usage(err)
	}
	if cfg.IsCluster() && p.beginNode != nil {
		p.beginNode(p.environ)
	}
	return p.runServer(ctx, cfg, ignored)
}

// runServer serves until ctx is done. Parts start in the order of their dependencies and stop in reverse.
func (p *process) runServer(ctx context.Context, cfg config.Config, ignored []settings.Warning) error {
	line := progress.New(p.stderr)
	log, level, flush := newLogger(cfg, line.Above(p.stderr))
	defer flush(true)
	for _, w := range ignored {
		log.Warn("an environment variable has no effect", "variable", w.Variable, "instead", w.Instead)
	}
	files, err := fitDescriptors(&cfg, log)
	if err != nil {
		return err
	}
	channels, changes := new(pubsub.Channels), new(keyevents.Hub)
	warnings := warn.New(warn.Options{Publish: channels.Publish, Webhook: cfg.WarnWebhook, Log: log})
	// The stores are unbounded, because the server bounds the whole process.
	commands := new(server.Commands)
	stores := newStores(&cfg, commands, store.Config{Publish: channels.Publish, Changed: changes.Changed, Warned: warnings.Note})
	defer stores.close()
	changes.Attach(stores.observe)
	keys := stores.first
	operators, err := admin.Listen(&cfg, files.admin, log)
	if err != nil {
		return err
	}
	defer operators.Close()
	users, err := acl.New(acl.Settings{File: cfg.ACLFile, DefaultPassword: (*acl.Hash)(cfg.Password()), LogLength: cfg.ACLLogLength})
	if err != nil {
		return err
	}
	line.OrLines(slog.NewLogLogger(log.Handler(), slog.LevelInfo).Writer())
	state, err := openState(ctx, cfg, keys, stores.groups, files, operators, log, line)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		log.Info("stopped while the state was read; nothing on disk was changed")
		return nil
	}
	if err != nil {
		return err
	}
	defer state.stop()
	closeUpstream, err := state.connectUpstream(&cfg, keys, log)
	if err != nil {
		return err
	}
	defer closeUpstream()
	o := state.serverOptions(cfg, files, log, level)
	o.KeepProcessors = p.addProcessors != nil && p.addProcessors(p.environ, &cfg)
	o.Commands, o.Channels, o.KeyEvents, o.Warnings, o.Users = commands, channels, changes, warnings, users
	s := server.New(o)
	stopReloading, err := p.followFiles(ctx, s, &cfg, log)
	if err != nil {
		return err
	}
	defer stopReloading()
	defer state.followHome(s)()
	operators.Attach(s)
	return state.serve(ctx, s, func(addresses []string) {
		dropStartPages(&cfg)
		flush(false) // the banner comes last
		p.printBanner(state.banner, addresses, operators, s)
	})
}

// serve serves until ctx is done, or the state fails.
func (s *state) serve(ctx context.Context, server *server.Server, ready func(addresses []string)) error {
	going, stop := s.failing(ctx)
	defer stop(nil)
	err := server.Serve(going, ready)
	if ctx.Err() == nil && going.Err() != nil {
		return errors.Join(context.Cause(going), err)
	}
	return err
}

// serverOptions are the options of a server with this state.
func (s *state) serverOptions(cfg config.Config, files descriptors, log *slog.Logger, level *slog.LevelVar) server.Options {
	return server.Options{
		Config:             cfg,
		Decider:            s.decider,
		Keys:               s.keys,
		Clock:              s.clock,
		Log:                log,
		Version:            thisBuild().version,
		Commit:             thisBuild().commit,
		Persistence:        s.persistence,
		Cluster:            s.cluster,
		TransferLeadership: s.transferLeadership,
		Backup:             s.backup,
		Upstream:           s.upstream,
		Services:           services(&cfg),

		ClientLimit:  files.clients,
		HandoffLimit: files.accepting,
		Changed: func(cfg *config.Config) {
			level.Set(logLevel(cfg))
			if s.changed != nil {
				s.changed(cfg)
			}
		},
	}
}

// services are the servers of protocols other than RESP that the settings ask for.
func services(cfg *config.Config) (all []gateway.Service) {
	if len(cfg.HTTPAddresses()) > 0 {
		all = append(all, new(httpapi.Service))
	}
	if len(cfg.GRPCAddresses()) > 0 {
		all = append(all, new(envoy.Service))
	}
	if len(cfg.HealthListen) > 0 {
		all = append(all, new(health.Service))
	}
	return all
}

// newLogger returns the log, and its level, which can be changed while the server runs. flush writes the lines so far;
// after that at the end nothing more is written.
func newLogger(cfg config.Config, to io.Writer) (log *slog.Logger, level *slog.LevelVar, flush func(end bool)) {
	level = new(slog.LevelVar)
	level.Set(logLevel(&cfg))
	on := func(to io.Writer) *slog.Logger {
		options := &slog.HandlerOptions{Level: level}
		if cfg.LogFormat == "json" {
			return slog.New(slog.NewJSONHandler(to, options))
		}
		return slog.New(slog.NewTextHandler(to, options))
	}
	queue := logqueue.New(to, func(lost int) {
		on(to).Error("some lines of the log were lost, because standard error could not be written fast enough", "lines", lost)
	})
	return on(queue), level, queue.Flush
}

func logLevel(cfg *config.Config) (level slog.Level) {
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		panic("stint: log level " + cfg.LogLevel + " passed the configuration's check")
	}
	return level
}

// printBanner prints the version, the addresses and a first command to try. Scripts wait for its last line.
func (p *process) printBanner(banner string, addresses []string, operators *admin.Admin, s *server.Server) {
	to, password, page := p.stdout, "", "has the dashboard, /metrics and /readyz"
	if s.NeedsPassword() {
		password = "REDISCLI_AUTH=PASSWORD "
		if s.Config().AdminToken == "" {
			page = "has /metrics and /readyz; its dashboard needs --admin-token"
		}
	}
	fmt.Fprintf(to, "Stint %s: %s.\n", thisBuild().version, banner)
	fmt.Fprintf(to, "Try: %s%s TB.ACQUIRE user:7 3 1/m\n", password, redisCLI(addresses[0]))
	if operators != nil {
		fmt.Fprintf(to, "Look: %s %s\n", operators.URL(), page)
	}
	if progress.IsTerminal(to) {
		fmt.Fprintln(to, "Next: 'stint server --help' has the usual flags, 'stint help' the other commands, and Ctrl-C stops the server")
	}
	if cfg := s.Config(); password == "" && cfg.ProtectedMode && cfg.IsOpen() {
		fmt.Fprintln(to, "Clients on other machines, and outside this container, are refused until there is a password: start with STINT_REQUIREPASS=PASSWORD in the environment, or with --requirepass PASSWORD")
	}
	fmt.Fprintf(to, "ready: accepting connections on %s\n", strings.Join(addresses, ", "))
}

// redisCLI is the redis-cli command line that reaches an address.
func redisCLI(address string) string {
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		return "redis-cli -s " + address
	case port == "6379" && (host == "127.0.0.1" || net.ParseIP(host).IsUnspecified()):
		return "redis-cli"
	case net.ParseIP(host).IsUnspecified():
		return "redis-cli -p " + port
	}
	return "redis-cli -h " + host + " -p " + port
}
