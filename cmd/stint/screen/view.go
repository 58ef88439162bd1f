package screen

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/stintdb/stint/internal/bytetext"
)

// View is what is shown of a server: a part of its /api/overview.
type View struct {
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
	Cluster  *Cluster
	Problems []struct{ Text string }
}

// Cluster is the cluster of the server, if it is a node.
type Cluster struct {
	NodeID  string
	Term    uint64
	Members []Member
	Groups  []Group
}

// Group is a group of keys.
type Group struct {
	Group         int
	Slots, Leader string
	Term          uint64
	Lag, LogBytes float64 // Lag is in entries of the log
	Replicas      []string
}

// Member is a node of the cluster.
type Member struct {
	ID                       string
	Voter, Leader, Reachable bool
	Lag                      float64 // behind the leader, in entries of the log
}

// The styles of cells. Their codes are equally long, so that a column stays straight.
const (
	plain  = "00"
	bold   = "01"
	red    = "31"
	yellow = "33"
)

// Drawing is where a view is drawn.
type Drawing struct {
	Host     string // of the server, for the first line
	Coloured bool   // for a terminal with colours
}

// Draw writes the whole view: nothing is cut.
func (d *Drawing) Draw(w io.Writer, v *View) {
	state := v.Ready
	if state == "ready" && len(v.Problems) > 0 {
		state = d.in(yellow, "degraded")
	}
	fmt.Fprintf(w, "%s at %s: %s\n", d.in(bold, "Stint "+v.Version), d.Host, state)
	if s := v.Last; s != nil && s.Seconds > 0 {
		fmt.Fprintf(w, "%.0f granted/s, %.0f denied/s, p50 %.3f ms, p99 %.3f ms\n", float64(s.Granted)/s.Seconds,
			float64(s.Denied)/s.Seconds, 1000*s.Median, 1000*s.Tail)
	}
	for _, p := range v.Problems {
		fmt.Fprintf(w, "%s %s\n", d.in(red, "Problem:"), shown(p.Text))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer table.Flush()
	if v.Cluster != nil {
		d.members(table, v.Cluster)
		d.groups(table, v.Cluster)
	}
	d.denied(table, v)
	d.lent(table, v)
}

// in is a text in a style.
func (d *Drawing) in(style, text string) string {
	if !d.Coloured {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[00m"
}

// row writes the cells of a row. The first one has a style of its own.
func (d *Drawing) row(w io.Writer, style, first string, others ...string) {
	cells := []string{d.in(style, first)}
	for _, text := range others {
		if style != bold {
			style = plain
		}
		cells = append(cells, d.in(style, text))
	}
	fmt.Fprintln(w, strings.Join(cells, "\t"))
}

func (d *Drawing) members(w io.Writer, c *Cluster) {
	fmt.Fprintln(w)
	d.row(w, bold, "NODE", "ROLE", "REACHABLE", "ENTRIES BEHIND", fmt.Sprintf("(term %d)", c.Term))
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
		style, reachable := plain, "yes"
		switch {
		case m.ID == c.NodeID:
			reachable = "this node"
		case !m.Reachable:
			style, reachable = red, "no"
		}
		d.row(w, style, shown(m.ID), role, reachable, fmt.Sprintf("%.0f", m.Lag), "")
	}
}

// ledBy lists the groups of keys that a node leads.
func (c *Cluster) ledBy(node string) (groups []string) {
	for _, g := range c.Groups {
		if g.Leader == node {
			groups = append(groups, strconv.Itoa(g.Group))
		}
	}
	return groups
}

func (d *Drawing) groups(w io.Writer, c *Cluster) {
	if len(c.Groups) > 0 {
		fmt.Fprintln(w)
		d.row(w, bold, "GROUP", "LEADER", "TERM", "ENTRIES BEHIND", "LOG BYTES", "SLOTS", "REPLICAS")
	}
	for _, g := range c.Groups {
		style := plain
		if g.Leader == "" {
			style = red
		}
		d.row(w, style, strconv.Itoa(g.Group), cmp.Or(shown(g.Leader), "none"), strconv.FormatUint(g.Term, 10),
			fmt.Sprintf("%.0f", g.Lag), fmt.Sprintf("%.0f", g.LogBytes), shown(g.Slots), shown(strings.Join(g.Replicas, " ")))
	}
}

func (d *Drawing) denied(w io.Writer, v *View) {
	switch {
	case v.Top.Mode == "off":
		fmt.Fprint(w, "\nDenied keys are not counted, because --top-keys is off.\n")
	case len(v.Top.Entries) == 0:
		fmt.Fprint(w, "\nNo key was denied in the last minutes.\n")
	default:
		fmt.Fprintln(w)
		d.row(w, bold, "DENIED", "OF ITS REQUESTS", "KEY", "BY")
	}
	for _, e := range v.Top.Entries {
		part := "-"
		if e.Own != nil {
			part = fmt.Sprintf("%.0f %%", 100*e.Own.Part)
		}
		d.row(w, red, strconv.FormatInt(e.Count, 10), part, shown(e.Key), cmp.Or(shown(e.By), "-"))
	}
}

func (d *Drawing) lent(w io.Writer, v *View) {
	if len(v.Lent) > 0 {
		fmt.Fprintln(w)
		d.row(w, bold, "LENT", "KEY", "HOLDERS")
	}
	for _, k := range v.Lent {
		var holders []string
		for _, l := range k.Loans {
			holders = append(holders, fmt.Sprintf("%s %d", shown(l.Holder), l.Tokens))
		}
		d.row(w, plain, strconv.FormatInt(k.Tokens, 10), shown(k.Key), strings.Join(holders, ", "))
	}
}

// shown is a text as it is, or quoted if it could move the cursor of a terminal.
func shown(text string) string {
	if as, _ := bytetext.Printable([]byte(text)); as != nil {
		return *as
	}
	return strconv.QuoteToASCII(text)
}
