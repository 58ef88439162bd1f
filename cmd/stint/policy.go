package main

import (
	"context"

	"github.com/stintdb/stint/cmd/stint/adminclient"
	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/policyfile"
)

const policyUsage = `Usage: stint policy export [flags] [FILE]
       stint policy diff [flags] FILE
       stint policy apply [flags] FILE
       stint policy usage [flags] NAME
       stint policy schema

Keeps the policies of a running server in a file, so that limits are reviewed
and rolled back like code. FILE is TOML or YAML by the end of its name: .toml,
.yaml or .yml.

export writes the server's policies to FILE, or as TOML to standard output.
diff shows what apply would change: each policy, how many of its present
callers would be denied, and how many of the requests of the last minutes.
apply shows the changes and makes them: all of them or none, and none if
somebody else has changed the policies meanwhile. usage prints how much each
caller of the policy NAME has used of its limits, as CSV; only keys that exist
are listed. schema prints a JSON schema for editors.

  [policies.api]
  limits = ["TB user:{} 100 100/m", "FW org:{org} 10000 @day"]
  [policies.api.overrides]
  acme = ["TB user:{} 1000 1000/m"]

` + adminclient.Usage + `  --token-file FILE     a file with the server's --admin-token [default: the
                        token in STINT_ADMIN_TOKEN, if it is not a hash]
  --prune               diff, apply: remove the policies that FILE does not
                        have, and the overrides of its policies
  --dry-run             apply: only show the changes, as diff does
  --before FILE         apply: first write the present policies to this file;
                        'stint policy apply --prune' of it goes back
  --json                diff, apply: print the changes as JSON; usage: print a
                        line of JSON for each key

Exit code 0: success; of diff: there is no difference. 1: the server refused or
did not answer. 2: wrong arguments, or a FILE that cannot be read. 3: diff found
a difference.
`

// policy is the command `stint policy`.
func (p *process) policy(ctx context.Context, args []string) (err error) {
	set := cli.NewFlags("policy")
	server := adminclient.AddFlags(set, p.variable)
	tokenFile := set.String("token-file", "", "")
	c := policyfile.AddFlags(set)
	if err := cli.ParseFlags(set, args); err != nil {
		return err
	}
	c.ReadFile, c.Out = p.readFile, p.stdout
	if c.Client, err = adminclient.New(server, p.readFile); err != nil {
		return err
	}
	if c.Token = p.textVariable("STINT_ADMIN_TOKEN"); *tokenFile != "" {
		if c.Token, err = p.secretIn("token-file", *tokenFile); err != nil {
			return err
		}
	}
	return c.Run(ctx)
}
