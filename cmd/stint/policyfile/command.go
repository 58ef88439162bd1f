package policyfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/stintdb/stint/cmd/stint/adminclient"
	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/inspect"
	"github.com/stintdb/stint/internal/atomicfile"
	"github.com/stintdb/stint/server/policyset"
)

// filePath is where a server has its policies.
const filePath = "/api/policies/file"

// timeout bounds the time of one request. The effect of many changes takes some seconds.
const timeout = 30 * time.Second

// ErrDiffers says that diff found a difference.
var ErrDiffers = errors.New("the server's policies differ from the file's")

// Command is one run of `stint policy`.
type Command struct {
	Client   *adminclient.Client
	Token    string
	ReadFile func(name string) ([]byte, error)
	Out      io.Writer

	set                   *pflag.FlagSet
	asJSON, prune, dryRun bool
	before                string
	present               policyset.Present
}

// AddFlags adds the flags of the command to those that name a server.
func AddFlags(set *pflag.FlagSet) *Command {
	c := &Command{set: set}
	set.BoolVar(&c.prune, "prune", false, "")
	set.BoolVar(&c.dryRun, "dry-run", false, "")
	set.BoolVar(&c.asJSON, "json", false, "")
	set.StringVar(&c.before, "before", "", "")
	return c
}

// Run carries the command out, once its flags are read. The error is [ErrDiffers] if diff found a difference.
func (c *Command) Run(ctx context.Context) error {
	file, err := c.arguments()
	if err != nil {
		return err
	}
	switch c.set.Arg(0) {
	case "schema":
		_, err := io.WriteString(c.Out, Schema)
		return err
	case "export":
		return c.export(ctx, file)
	case "diff":
		return c.diff(ctx, file)
	case "usage":
		return c.usage(ctx, file)
	}
	if !c.dryRun {
		return c.apply(ctx, file)
	}
	if err := c.diff(ctx, file); !errors.Is(err, ErrDiffers) {
		return err
	}
	return nil
}

// flagsOf are the flags that each part of the command takes, beside those that name a server.
var flagsOf = map[string][]string{"export": {}, "schema": {}, "diff": {"prune", "json"}, "apply": {"prune", "json", "dry-run", "before"}, "usage": {"json"}}

// arguments returns the file that the arguments name, "" for none, or what is wrong with the arguments.
func (c *Command) arguments() (file string, err error) {
	set := c.set
	action := set.Arg(0)
	takes, known := flagsOf[action]
	files := set.NArg() - 1
	switch {
	case !known:
		return "", cli.Errorf("policy: needs export, diff, apply, usage or schema, got '%s'; 'stint policy --help' explains", action)
	case action == "usage" && files != 1:
		return "", cli.Errorf("policy usage: needs the name of one policy; 'stint policy --help' explains")
	case files > 1, action == "schema" && files > 0, (action == "diff" || action == "apply") && files != 1:
		return "", cli.Errorf("policy %s: got %s; 'stint policy --help' explains", action, inspect.Count(int64(files), "file"))
	}
	set.Visit(func(f *pflag.Flag) {
		if slices.Contains(flagsOf["apply"], f.Name) && !slices.Contains(takes, f.Name) {
			err = cli.Errorf("policy %s: takes no --%s; 'stint policy --help' explains", action, f.Name)
		}
	})
	return set.Arg(1), err
}

// export writes the server's policies to a file, or to standard output.
func (c *Command) export(ctx context.Context, file string) error {
	if file != "" {
		if _, err := FormatOf(file); err != nil {
			return cli.Usage(err)
		}
	}
	if err := c.fetch(ctx); err != nil {
		return err
	}
	if file != "" {
		return c.write(file)
	}
	text, err := Write(c.present.Policies, TOML)
	if err == nil {
		_, err = c.Out.Write(text)
	}
	return err
}

// fetch reads the server's policies.
func (c *Command) fetch(ctx context.Context) error {
	return c.request(ctx, http.MethodGet, filePath, nil, &c.present)
}

// write writes the server's policies to a file.
func (c *Command) write(file string) error {
	format, err := FormatOf(file)
	if err != nil {
		return cli.Usage(err)
	}
	text, err := Write(c.present.Policies, format)
	if err != nil {
		return err
	}
	out, err := atomicfile.Create(file)
	if err != nil {
		return cli.Errorf("policy: %w", err)
	}
	if _, err = out.Write(text); err == nil {
		err = out.Commit()
	}
	if err != nil {
		out.Abort()
		return fmt.Errorf("%s was not written: %w", file, err)
	}
	return nil
}

// diff shows the changes to the policies of a file.
func (c *Command) diff(ctx context.Context, file string) error {
	answer, _, err := c.compare(ctx, file)
	if err != nil {
		return err
	}
	if err := c.show(answer); err != nil {
		return err
	}
	if len(answer.Changes) > 0 {
		return ErrDiffers
	}
	return nil
}

// compare asks for the changes to the policies of a file.
func (c *Command) compare(ctx context.Context, file string) (*policyset.Reply, *policyset.Request, error) {
	want, err := ReadFile(file, c.ReadFile)
	if err != nil {
		return nil, nil, err
	}
	request := &policyset.Request{Policies: want, Prune: c.prune}
	answer := new(policyset.Reply)
	return answer, request, c.request(ctx, http.MethodPost, filePath, request, answer)
}

// ReadFile reads a file of policies by a function that reads files.
func ReadFile(file string, readFile func(name string) ([]byte, error)) (policyset.Set, error) {
	format, err := FormatOf(file)
	if err != nil {
		return nil, cli.Usage(err)
	}
	text, err := readFile(file)
	if err != nil {
		return nil, cli.Errorf("policies: %w", err)
	}
	set, err := Read(text, format)
	if err != nil {
		return nil, cli.Errorf("%s: %w", file, err)
	}
	return set, nil
}

// apply makes the changes to the policies of a file.
func (c *Command) apply(ctx context.Context, file string) error {
	if c.before != "" {
		if err := c.fetch(ctx); err != nil {
			return err
		}
		if err := c.write(c.before); err != nil {
			return err
		}
	}
	answer, request, err := c.compare(ctx, file)
	if err != nil {
		return err
	}
	if c.before != "" && c.present.Version != answer.Version {
		return errors.New("somebody else is changing the policies: nothing was changed; try again")
	}
	if err := c.show(answer); err != nil || len(answer.Changes) == 0 {
		return err
	}
	request.Apply, request.Version = true, answer.Version
	err = c.request(ctx, http.MethodPost, filePath, request, new(policyset.Reply))
	if _, isUnknown := errors.AsType[noAnswer](err); isUnknown {
		return fmt.Errorf("%w; the changes may have been made: look at them with stint policy diff", err)
	}
	if err != nil {
		return err
	}
	if !c.asJSON {
		_, err = fmt.Fprintf(c.Out, "\nMade %s.\n", inspect.Count(int64(len(answer.Changes)), "change"))
	}
	return err
}

// noAnswer is an error after which it is not known whether the server has carried out the request.
type noAnswer struct{ error }

func (e noAnswer) Unwrap() error { return e.error }

// request sends a request about the server's policies, and reads the answer.
func (c *Command) request(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	response, err := c.Client.Send(ctx, method, path, c.Token, text)
	if err != nil {
		return noAnswer{err}
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		if err := json.NewDecoder(response.Body).Decode(into); err != nil {
			return noAnswer{fmt.Errorf("%s is not a Stint server of this version: %w", c.Client.URL, err)}
		}
		return nil
	case http.StatusUnauthorized:
		return adminclient.Unauthorized(response)
	case http.StatusNotFound:
		return fmt.Errorf("%s is a server of an earlier version, which has no files of policies", c.Client.URL)
	}
	return fmt.Errorf("the server refused the request: %s", adminclient.Refusal(response))
}
