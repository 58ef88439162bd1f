package command_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testgenerated"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

// docs/errors.md is made from the tables of errors.
func TestErrorsPageIsCurrent(t *testing.T) {
	testgenerated.Check(t, "../../docs/errors.md", errorsPage(), *update, "go generate ./server/command")
}

var errorSections = []*resp.ErrorSection{&command.LimiterErrors, &command.PolicyErrors, &command.CommandErrors, &command.KeyErrors, &command.DataErrors, &command.TransactionErrors, &command.ConnectionErrors, &command.UserErrors, &command.ServerErrors, &command.ClusterErrors, &resp.BoundErrors, &resp.ProtocolErrors}

const errorsIntroduction = `# Errors

<!-- Made from the tables of errors in server/command and server/resp by "go generate ./server/command". Change them there. -->

An error is one line. Its first word is a code in capitals, such as ` + "`ERR`" + `, by which programs recognize the error. The rest is
for people, but if an error comes from Redis, client libraries may recognize it by its whole text. In the tables, … stands for a
value. Values from the request are cut off after 64 or 128 bytes, and their line ends become spaces.

This page omits errors that explain themselves. Unless it says otherwise, a request that gets an error changes nothing, and the
connection stays open. But after ` + "`UNCERTAIN`" + `, and after ` + "`MISCONF`" + ` if the disk failed during the request, tokens may have been taken.
`

var formatVerb = regexp.MustCompile(`%[+#]?[a-z]`)

func errorsPage() []byte {
	var out bytes.Buffer
	out.WriteString(errorsIntroduction)
	for _, s := range errorSections {
		fmt.Fprintf(&out, "\n## %s\n\n", s.Heading)
		if s.Before != "" {
			out.WriteString(s.Before + "\n")
		}
		out.WriteString("| error | when, and what to do |\n|---|---|\n")
		for _, e := range s.Rows {
			if e.Advice == "" {
				continue
			}
			fmt.Fprintf(&out, "| `%s` | %s |\n", strings.ReplaceAll(formatVerb.ReplaceAllString(e.Text, "…"), "%%", "%"), e.Advice)
		}
		if s.After != "" {
			out.WriteString("\n" + s.After)
		}
	}
	return out.Bytes()
}

// The page names every limiter command that no script may call, because it asks several limits, and the errors that
// come before this one.
func TestPageNamesLimitsNoScriptMayAsk(t *testing.T) {
	for _, row := range command.Table {
		if !row.InScripts() || row.Data != 0 {
			continue
		}
		r := command.Request{Args: bytes.Fields([]byte(row.Name + " " + row.Example)), Bounds: command.Bounds{MaxKeyBytes: 4096, MaxLogLimit: 100}}
		if err := row.Parse(&r); err != nil {
			t.Fatalf("%s: %v", row.Name, err)
		}
		if name := "`" + strings.ToUpper(row.Name) + "`"; !r.Ops[0].Verb.HasOneKey() && !strings.Contains(data.ErrSeveralInScript.Advice, name) {
			t.Errorf("%s is not named: %s", name, data.ErrSeveralInScript.Advice)
		}
	}
	for _, e := range []*resp.WireError{data.ErrNotOwnedInScript, data.ErrNoKeyInScript} {
		if !strings.Contains(e.Advice, "`RL.ALL`") {
			t.Errorf("%q is the answer to RL.ALL too, and does not mention it", e.Text)
		}
	}
}
