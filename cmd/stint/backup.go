package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/stintdb/stint/cmd/stint/adminclient"
	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/inspect"
	"github.com/stintdb/stint/cmd/stint/progress"
	"github.com/stintdb/stint/cmd/stint/settings"
	"github.com/stintdb/stint/internal/atomicfile"
	"github.com/stintdb/stint/persistence"
	"github.com/stintdb/stint/persistence/disk"
)

const backupUsage = `Usage: stint backup [flags] FILE

Copies the state of a running server, or of the cluster it belongs to, to FILE:
keys, policies and scripts, but not users and settings. The server answers
requests in the meantime. To use the file, run 'stint restore' for a standalone
server, or 'stint server --cluster-import' for a new cluster.

FILE appears only when the backup is complete, checked and synced to disk, and
replaces an older file only then. If FILE is -, the backup goes to standard
output, and is complete only if the exit code is 0.

` + adminclient.Usage + `  --token-file FILE     a file with the server's --admin-token [default: the
                        token in STINT_ADMIN_TOKEN, if it is not a hash]
  --user NAME           for a server without a token: a user with +save and ~*
                        [default default]
  --password-file FILE  a file with the user's password [default: the password
                        in REDISCLI_AUTH, or STINT_REQUIREPASS]
  --stale               in a cluster without a leader: copy the state of this
                        node, which may lack the last grants

Exit code 0: the file is complete. 1: the server refused or the backup failed.
2: wrong arguments.
`

// backup is the command `stint backup`.
func (p *process) backup(ctx context.Context, args []string) error {
	set := cli.NewFlags("backup")
	server := adminclient.AddFlags(set, p.variable)
	tokenFile := set.String("token-file", "", "")
	user := set.String("user", "default", "")
	passwordFile := set.String("password-file", "", "")
	stale := set.Bool("stale", false, "")
	if err := cli.ParseFlags(set, args); err != nil {
		return err
	}
	if set.NArg() != 1 {
		return cli.Errorf("backup: needs the name of one file to write, got %s; 'stint backup --help' explains", inspect.Count(int64(set.NArg()), "name"))
	}
	client, err := adminclient.New(server, p.readFile)
	if err != nil {
		return err
	}
	bearer, err := p.backupBearer(*tokenFile, *user, *passwordFile)
	if err != nil {
		return err
	}
	f := &backupFetch{client: client, path: "/api/backup", bearer: bearer, line: progress.New(p.stderr)}
	defer f.line.Clear()
	if *stale {
		f.path += "?stale=yes"
	}
	if set.Arg(0) == "-" {
		return f.pass(ctx, p.stdout)
	}
	report, err := f.store(ctx, set.Arg(0))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f.line.Above(p.stdout), "%s: %s\n", set.Arg(0), inspect.Describe(report))
	return err
}

// backupBearer is the server's token, or else a user and a password, with a colon in between; "" if there is neither.
func (p *process) backupBearer(tokenFile, user, passwordFile string) (bearer string, err error) {
	token := p.textVariable("STINT_ADMIN_TOKEN")
	switch {
	case tokenFile != "":
		return p.secretIn("token-file", tokenFile)
	case passwordFile == "" && token != "":
		return token, nil
	}
	password := cmp.Or(p.variable("REDISCLI_AUTH"), p.textVariable("STINT_REQUIREPASS"))
	if passwordFile != "" {
		if password, err = p.secretIn("password-file", passwordFile); err != nil {
			return "", err
		}
	}
	if password == "" {
		return "", nil
	}
	return user + ":" + password, nil
}

// textVariable is a secret in the server's environment; "" if it is there as a hash only.
func (p *process) textVariable(name string) string {
	if value := p.variable(name); !strings.HasPrefix(value, "#") {
		return value
	}
	return ""
}

// secretIn is the token or password in the file that a flag names.
func (p *process) secretIn(flag, file string) (string, error) {
	content, err := p.readFile(file)
	if err != nil {
		return "", cli.Errorf("--%s: %w", flag, err)
	}
	secret := strings.TrimSpace(strings.TrimPrefix(string(content), settings.ByteOrderMark))
	if secret == "" || strings.ContainsAny(secret, "\r\n") {
		return "", cli.Errorf("--%s: %s must contain one line with the secret", flag, file)
	}
	return secret, nil
}

// backupFetch gets a backup from a server.
type backupFetch struct {
	client *adminclient.Client
	path   string
	bearer string // the token, or a user and password; "" for neither
	line   *progress.Line
}

// store writes the backup to a file, which it checks before the file gets its name.
func (f *backupFetch) store(ctx context.Context, path string) (report persistence.Report, err error) {
	file, err := atomicfile.Create(path)
	if folder, is := errors.AsType[*fs.PathError](err); is {
		return report, fmt.Errorf("%s: %w", path, folder.Err)
	}
	if err != nil {
		return report, err
	}
	defer func() {
		if err != nil {
			file.Abort()
		}
	}()
	from, err := f.ask(ctx)
	if err != nil {
		return report, err
	}
	defer from.Close()
	if n, err := io.Copy(file, from); err != nil {
		return report, fmt.Errorf("the backup failed after %s: %w; no part of it was kept, and an older file is unchanged", inspect.Count(n, "byte"), err)
	}
	if err := file.Sync(); err != nil {
		return report, fmt.Errorf("the backup cannot be stored: %w; an older file is unchanged", err)
	}
	if report, err = checkBackup(ctx, file.Name(), f.line); err != nil {
		return report, fmt.Errorf("the backup arrived incomplete or damaged: %w; try again", err)
	}
	return report, file.Commit()
}

// pass writes the backup to a stream, and checks it on the way.
func (f *backupFetch) pass(ctx context.Context, to io.Writer) error {
	from, err := f.ask(ctx)
	if err != nil {
		return err
	}
	defer from.Close()
	_, n, err := persistence.CopyState(to, from)
	if err != nil {
		return fmt.Errorf("the output is not complete: after %s: %w", inspect.Count(n, "byte"), err)
	}
	return nil
}

// ask starts the backup, and returns the server's answer.
func (f *backupFetch) ask(ctx context.Context) (io.ReadCloser, error) {
	response, err := f.client.Ask(ctx, http.MethodPost, f.path, f.bearer)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, refusedBackup(response)
	}
	return &shownAnswer{ReadCloser: response.Body, line: f.line}, nil
}

// shownAnswer shows how much of an answer was read.
type shownAnswer struct {
	io.ReadCloser
	line *progress.Line
	read int64
}

func (a *shownAnswer) Read(b []byte) (int, error) {
	n, err := a.ReadCloser.Read(b)
	a.read += int64(n)
	a.line.Show(func() string { return fmt.Sprintf("received %d MB", a.read>>20) })
	return n, err
}

// refusedBackup is the error of a server that does not make the backup, with what to do.
func refusedBackup(response *http.Response) error {
	switch {
	case response.StatusCode == http.StatusUnauthorized:
		return adminclient.Unauthorized(response)
	case response.StatusCode == http.StatusNotFound || response.StatusCode == http.StatusMethodNotAllowed:
		return fmt.Errorf("the server replies %s: it is older than this command, or --admin is the address of another program", response.Status)
	}
	return fmt.Errorf("the server refused the request: %s", adminclient.Refusal(response))
}

// checkBackup reads all of a file. Its error names the damage.
func checkBackup(ctx context.Context, path string, line *progress.Line) (persistence.Report, error) {
	dir, name := filepath.Split(path)
	report, err := persistence.Inspect(line.Files(ctx, disk.Dir(cmp.Or(dir, "."))), name, func(persistence.Record) error { return ctx.Err() })
	switch {
	case err != nil:
		return report, err
	case report.Journal:
		return report, fmt.Errorf("%s is a journal, not a backup", path)
	case report.Damage != nil:
		return report, report.Damage
	case report.RefusedCount > 0:
		return report, report.Refused[0]
	}
	return report, ctx.Err()
}
