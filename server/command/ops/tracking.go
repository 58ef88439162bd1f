package ops

import (
	"strings"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
	"github.com/stintdb/stint/server/tracking"
)

// trackingRows are the subcommands of CLIENT about client-side caching.
var trackingRows = []command.Row{
	{Name: "tracking", Syntax: "status [REDIRECT client-id] [PREFIX prefix ...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]", Group: "connection",
		Summary: "Receive a message, an invalidation, when a key that this connection has read changes. With BCAST, receive it when any key changes, or any key that begins with a PREFIX.",
		Returns: "`OK`. Then, for each changed key, a message of `invalidate` and an array with the key, or null if all keys may have changed. It is a push message of RESP3 or, with REDIRECT, a message on the channel `__redis__:invalidate` of the given connection. The refill of a limiter does not count as a change, and neither does a grant from tokens that a node holds in advance.",
		Example: "ON",
		Cost:    command.ConnectionPass, Flags: command.Connection | command.NotInMulti,
		Run: runTracking},
	{Name: "caching", Syntax: "YES | NO", Group: "connection",
		Summary: "Choose whether CLIENT TRACKING tracks the keys that the next command reads: YES needs OPTIN, NO needs OPTOUT.",
		Returns: "`OK`.", Example: "YES",
		Cost: command.Light, Flags: command.Connection,
		Run: runCaching},
	{Name: "trackinginfo", Group: "connection", Summary: "Show how this connection tracks keys.",
		Returns: "a map of flags, redirect and prefixes.",
		Cost:    command.Report, Flags: command.Connection,
		Run: runTrackingInfo},
	{Name: "getredir", Group: "connection", Summary: "Show the connection to which invalidations go.",
		Returns: "its number; 0 for this connection, -1 without CLIENT TRACKING.",
		Cost:    command.Light, Flags: command.Connection,
		Run: func(s command.Session, w *resp.Writer, _ [][]byte) { w.Int(redirectOf(s)) }},
}

func runTracking(s command.Session, w *resp.Writer, args [][]byte) {
	o, prefixes, err := trackingOptions(s.Tracking(), args[3:])
	switch {
	case err != nil:
	case command.IsWord(args[2], "ON"):
		if m := s.Server().Membership(); m != nil && m.Status().Replicas > 0 {
			err = errNotTracked
		} else if err = checkTracking(s.Tracking(), o, prefixes); err == nil {
			if o.Broadcast && len(prefixes) == 0 {
				prefixes = []string{""}
			}
			err = s.Tracking().Start(o, prefixes)
		}
	case command.IsWord(args[2], "OFF"):
		s.Tracking().Stop()
	default:
		err = command.ErrSyntax
	}
	okOrError(w, err)
}

func trackingOptions(t command.Tracking, words [][]byte) (o tracking.Options, prefixes []string, err error) {
	for ; len(words) > 0; words = words[1:] {
		switch more := len(words) > 1; {
		case more && command.IsWord(words[0], "REDIRECT"):
			if o.Redirect != 0 {
				return o, nil, errRedirectTwice
			}
			id, ok := command.ParseRedisInt(words[1])
			if !ok {
				return o, nil, command.ErrNotInteger
			}
			if !t.Knows(id) {
				return o, nil, command.ErrNoRedirect
			}
			o.Redirect, words = id, words[1:]
		case more && command.IsWord(words[0], "PREFIX"):
			prefixes, words = append(prefixes, string(words[1])), words[1:]
		case command.IsWord(words[0], "BCAST"):
			o.Broadcast = true
		case command.IsWord(words[0], "OPTIN"):
			o.OptIn = true
		case command.IsWord(words[0], "OPTOUT"):
			o.OptOut = true
		case command.IsWord(words[0], "NOLOOP"):
			o.NoLoop = true
		default:
			return o, nil, command.ErrSyntax
		}
	}
	return o, prefixes, nil
}

// checkTracking returns an error if options contradict each other or the connection's present options.
func checkTracking(t command.Tracking, o tracking.Options, prefixes []string) error {
	before, on := t.Client().Options()
	switch {
	case !o.Broadcast && len(prefixes) > 0:
		return errPrefixMode
	case on && o.Broadcast != before.Broadcast:
		return errSwitchBroadcast
	case o.Broadcast && (o.OptIn || o.OptOut):
		return errBroadcastOpt
	case o.OptIn && o.OptOut:
		return errOptBoth
	case o.OptIn && before.OptOut || o.OptOut && before.OptIn:
		return errSwitchOpt
	}
	var existing []string
	if on {
		existing = t.Client().Prefixes()
	}
	return checkPrefixes(prefixes, existing)
}

// checkPrefixes returns an error if one prefix begins with another.
func checkPrefixes(prefixes, existing []string) error {
	if len(prefixes) > tracking.MaxClientPrefixes {
		return command.ErrManyPrefixes.With(tracking.MaxClientPrefixes, tracking.MaxPrefixBytes, tracking.MaxPrefixes, tracking.MaxNestedPrefixes)
	}
	overlap := func(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
	for i, prefix := range prefixes {
		for _, other := range existing {
			if overlap(prefix, other) {
				return errPrefixOverlaps.With(command.Truncate([]byte(prefix), 64), command.Truncate([]byte(other), 64))
			}
		}
		for _, other := range prefixes[i+1:] {
			if overlap(prefix, other) {
				return errPrefixesOverlap.With(command.Truncate([]byte(prefix), 64), command.Truncate([]byte(other), 64))
			}
		}
	}
	return nil
}

func runCaching(s command.Session, w *resp.Writer, args [][]byte) {
	err := SetsCaching(s.Tracking(), args)
	if err == nil {
		s.Tracking().SetCaching()
	}
	okOrError(w, err)
}

// SetsCaching returns the error of a CLIENT CACHING that is refused.
func SetsCaching(t command.Tracking, args [][]byte) error {
	o, on := t.Client().Options()
	switch yes, no := command.IsWord(args[2], "YES"), command.IsWord(args[2], "NO"); {
	case !on:
		return errCachingMode
	case yes && !o.OptIn:
		return errCachingYes
	case no && !o.OptOut:
		return errCachingNo
	case !yes && !no:
		return command.ErrSyntax
	}
	return nil
}

func redirectOf(s command.Session) int64 {
	if o, on := s.Tracking().Client().Options(); on {
		return o.Redirect
	}
	return -1
}

func runTrackingInfo(s command.Session, w *resp.Writer, _ [][]byte) {
	c := s.Tracking().Client()
	o, on := c.Options()
	flags, prefixes := command.TextSet{"off"}, []string(nil)
	if on {
		flags, prefixes = command.TextSet{"on"}, c.Prefixes()
	}
	caching := s.Tracking().Caching()
	for _, f := range []struct {
		name string
		is   bool
	}{
		{"bcast", o.Broadcast}, {"optin", o.OptIn}, {"caching-yes", o.OptIn && caching}, {"optout", o.OptOut}, {"caching-no", o.OptOut && caching},
		{"noloop", o.NoLoop}, {"broken_redirect", on && c.IsBroken()},
	} {
		if f.is {
			flags = append(flags, f.name)
		}
	}
	command.WriteFields(w, []command.Field{{Name: "flags", Value: flags}, {Name: "redirect", Value: redirectOf(s)}, {Name: "prefixes", Value: prefixes}})
}
