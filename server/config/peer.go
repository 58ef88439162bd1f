package config

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/stintdb/stint/engine/limits"
)

const allowedPeer = "HOST:PORT that others can reach, with a port between 1 and 65535, such as 10.0.0.7:7379"

func isPeer(text string) bool {
	host, port, err := net.SplitHostPort(text)
	return err == nil && isHostPort(text) && !isEveryInterface(host) && strings.Trim(port, "0") != ""
}

// peer is an address that is announced to others; empty is none.
type peer struct{ field *string }

func (v *peer) String() string  { return *v.field }
func (v *peer) Type() string    { return "address" }
func (v *peer) Allowed() string { return allowedPeer + ", or empty for the default" }

func (v *peer) Set(text string) error {
	if text != "" && !isPeer(text) {
		return must(v.Allowed())
	}
	*v.field = text
	return nil
}

// peers is a list of such addresses, separated by commas in its text form; empty is none.
type peers struct{ field *[]string }

func (v *peers) String() string { return strings.Join(*v.field, ",") }
func (v *peers) Type() string   { return typeAddresses }

func (v *peers) Allowed() string {
	return fmt.Sprintf("%s; at most %d of them, separated by commas", allowedPeer, MaxPeers)
}

func (v *peers) Set(text string) error {
	var list []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.Trim(item, " "); item == "" && text == "" {
			break
		}
		if !isPeer(item) {
			return must(v.Allowed())
		}
		list = append(list, item)
	}
	if len(list) > MaxPeers {
		return must(v.Allowed())
	}
	*v.field = list
	return nil
}

// MaxNodeIDBytes is the longest name of a node.
const MaxNodeIDBytes = 64

// name is the name of a node: a word that is valid in every reply and file.
type name struct{ field *string }

func (v *name) String() string { return *v.field }
func (v *name) Type() string   { return "word" }

func (v *name) Allowed() string {
	return fmt.Sprintf("1 to %d letters, digits and _ . -, beginning with a letter or digit, or empty for none", MaxNodeIDBytes)
}

func (v *name) Set(text string) error {
	if len(text) > MaxNodeIDBytes || strings.ContainsFunc(text, func(r rune) bool { return !isAlphanumeric(r) && !strings.ContainsRune("_.-", r) }) ||
		text != "" && !isAlphanumeric(rune(text[0])) {
		return must(v.Allowed())
	}
	*v.field = text
	return nil
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// period is a duration that can't be 0.
type period struct {
	field    *time.Duration
	min, max time.Duration
}

func (v *period) String() string { return limits.FormatDuration(int64(*v.field)) }
func (v *period) Type() string   { return "duration" }

func (v *period) Allowed() string {
	return fmt.Sprintf("a duration between %s and %s, such as 250ms or 1.5s (a bare number is seconds)",
		limits.FormatDuration(int64(v.min)), limits.FormatDuration(int64(v.max)))
}

func (v *period) Set(text string) error {
	nanos, err := limits.ParseDuration(text)
	if err != nil || nanos < int64(v.min) || nanos > int64(v.max) {
		return must(v.Allowed())
	}
	*v.field = time.Duration(nanos)
	return nil
}
