package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/progress"
	"github.com/stintdb/stint/internal/bytetext"
)

const topUsage = `Usage: stint top [flags]

Shows the traffic of a running server, the keys with the most denials in the
last 4 to 5 minutes and the limits that denied them, the keys of which tokens
are lent and to whom, and the nodes of its cluster. On a terminal it goes on
until Ctrl-C, once a second; otherwise it prints once.

` + adminUsage + `  --token-file FILE     a file with the server's --admin-token [default: the
                        token in STINT_ADMIN_TOKEN, if it is not a hash]
  --once                print once on a terminal too

Exit code 0: it was shown. 1: the server refused or did not answer. 2: wrong
arguments.
`

const (
	topEvery    = time.Second
	topMaxBytes = 4 << 20 // of an answer
	clearScreen = "\x1b[H\x1b[2J"
)

// top is the command `stint top`.
func (p *process) top(ctx context.Context, args []string) error {
	set := cli.NewFlags("top")
	server := p.adminFlags(set)
	tokenFile := set.String("token-file", "", "")
	once := set.Bool("once", false, "")
	if err := cli.ParseOnlyFlags(set, args); err != nil {
		return err
	}
	client, err := p.adminClient(server)
	if err != nil {
		return err
	}
	token := p.textVariable("STINT_ADMIN_TOKEN")
	if *tokenFile != "" {
		if token, err = p.secretIn("token-file", *tokenFile); err != nil {
			return err
		}
	}
	goesOn := progress.IsTerminal(p.stdout) && !*once
	for {
		view, err := client.overview(ctx, token)
		if err != nil {
			if goesOn && ctx.Err() != nil {
				return nil
			}
			return err
		}
		var screen bytes.Buffer
		if goesOn {
			screen.WriteString(clearScreen)
		}
		view.write(&screen, client.host)
		if _, err := screen.WriteTo(p.stdout); err != nil || !goesOn {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(topEvery):
		}
	}
}

// topView is the part of the page's overview that is shown.
type topView struct {
	Version string
	Ready   string
	Last    *struct {
		Seconds, Median, Tail float64
		Granted, Denied       int64
	}
	Top struct {
		Mode    string
		Entries []struct {
			Key, By      string
			Count, Error int64
			Own          *struct{ Part float64 }
		}
	}
	Lent []struct {
		Key    string
		Tokens int64
		Loans  []struct {
			Holder string
			Tokens int64
		}
	}
	Cluster  *topCluster
	Problems []struct{ Text string }
}

type topCluster struct {
	NodeID  string
	Term    uint64
	Members []topMember
	Groups  []topGroup
}

type topGroup struct {
	Group         int
	Slots, Leader string
	Term          uint64
	Lag, LogBytes float64
	Replicas      []string
}

type topMember struct {
	ID                       string
	Voter, Leader, Reachable bool
	Lag                      float64 // entries
}

// overview asks the server for its overview.
func (c *adminClient) overview(ctx context.Context, token string) (v *topView, err error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	response, err := c.ask(ctx, http.MethodGet, "/api/overview", token)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		if err := json.NewDecoder(io.LimitReader(response.Body, topMaxBytes)).Decode(&v); err != nil {
			return nil, fmt.Errorf("%s is not a Stint server of this version: %w", c.url, err)
		}
		return v, nil
	}
	reason := refusal(response)
	if response.StatusCode == http.StatusUnauthorized {
		reason += "; name a file with its --admin-token by --token-file"
	}
	return nil, fmt.Errorf("the server refuses: %s", reason)
}

// write writes the whole view: nothing is cut.
func (v *topView) write(w io.Writer, host string) {
	fmt.Fprintf(w, "Stint %s at %s: %s\n", v.Version, host, v.Ready)
	if s := v.Last; s != nil && s.Seconds > 0 {
		fmt.Fprintf(w, "%.0f granted/s, %.0f denied/s, p50 %.3f ms, p99 %.3f ms\n", float64(s.Granted)/s.Seconds, float64(s.Denied)/s.Seconds, 1000*s.Median, 1000*s.Tail)
	}
	for _, p := range v.Problems {
		fmt.Fprintf(w, "Problem: %s\n", shown(p.Text))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer table.Flush()
	if c := v.Cluster; c != nil {
		fmt.Fprintf(table, "\nNODE\tROLE\tREACHABLE\tENTRIES BEHIND\t(term %d)\n", c.Term)
		for _, m := range c.Members {
			role := "follower"
			switch led := c.ledBy(m.ID); {
			case len(led) > 0:
				role = "leads " + strings.Join(led, ", ")
			case m.Leader && len(c.Groups) == 0:
				role = "leader"
			case !m.Voter:
				role = "nonvoter"
			}
			reachable := "yes"
			switch {
			case m.ID == c.NodeID:
				reachable = "this node"
			case !m.Reachable:
				reachable = "no"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%.0f\t\n", shown(m.ID), role, reachable, m.Lag)
		}
		c.writeGroups(table)
	}
	switch {
	case v.Top.Mode == "off":
		fmt.Fprint(table, "\nDenied keys are not counted: --top-keys is off.\n")
	case len(v.Top.Entries) == 0:
		fmt.Fprint(table, "\nNo key was denied in the last minutes.\n")
	default:
		fmt.Fprint(table, "\nDENIED\tOF ITS REQUESTS\tKEY\tBY\n")
	}
	for _, e := range v.Top.Entries {
		part := "-"
		if e.Own != nil {
			part = fmt.Sprintf("%.0f %%", 100*e.Own.Part)
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\n", e.Count, part, shown(e.Key), cmp.Or(shown(e.By), "-"))
	}
	if len(v.Lent) > 0 {
		fmt.Fprint(table, "\nLENT\tKEY\tHOLDERS\n")
	}
	for _, k := range v.Lent {
		var holders []string
		for _, l := range k.Loans {
			holders = append(holders, fmt.Sprintf("%s %d", shown(l.Holder), l.Tokens))
		}
		fmt.Fprintf(table, "%d\t%s\t%s\n", k.Tokens, shown(k.Key), strings.Join(holders, ", "))
	}
}

// ledBy lists the groups of keys that a node leads.
func (c *topCluster) ledBy(node string) (groups []string) {
	for _, g := range c.Groups {
		if g.Leader == node {
			groups = append(groups, strconv.Itoa(g.Group))
		}
	}
	return groups
}

func (c *topCluster) writeGroups(w io.Writer) {
	if len(c.Groups) > 0 {
		fmt.Fprint(w, "\nGROUP\tLEADER\tTERM\tENTRIES BEHIND\tLOG BYTES\tSLOTS\tREPLICAS\n")
	}
	for _, g := range c.Groups {
		fmt.Fprintf(w, "%d\t%s\t%d\t%.0f\t%.0f\t%s\t%s\n", g.Group, cmp.Or(shown(g.Leader), "none"), g.Term, g.Lag, g.LogBytes, shown(g.Slots), shown(strings.Join(g.Replicas, " ")))
	}
}

// shown is a text as it is, or quoted if it could move the cursor of a terminal.
func shown(text string) string {
	if as, _ := bytetext.Printable([]byte(text)); as != nil {
		return *as
	}
	return strconv.QuoteToASCII(text)
}
