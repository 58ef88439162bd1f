package limiter

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/policy"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var policyRows = []command.Row{{
	Name: "rl.check", Syntax: "name id [tokens] [PEEK] [KEEP amount] [MAXWAIT duration | BLOCK duration [PRIORITY priority]] [AS id FOR duration] [WARN] [SPLIT] [WITH field value [field value ...]]", Group: "limiter",
	Summary: "Take tokens from all limits of a policy for the caller id, or from none of them. KEEP applies to every limit of the policy that has no KEEP of its own, except LQ and CC. WARN adds the field warn to the reply for limits that have a WARN. SPLIT adds it too; for a policy with a BAL, it also shows the tokens taken from each limit. The other options are as in RL.ALL. WITH gives the values of the fields {name} in the limits' keys.",
	Returns: "as [`RL.ALL`](#rlall). If the policy has SHADOW, granted is always the number of requested tokens, and binding is the limit that would have denied.",
	Example: "private 1",
	Cost:    command.PolicyCheck, Flags: command.Write | command.Fast | command.Decides | command.Blocking, Parse: parseCheck, Reply: replyCheck,
}, {
	Name: "rl.policy", Syntax: "subcommand", Group: "limiter",
	Summary: "Manage policies: limits that the server stores under a name.",
	Sub: []command.Row{
		{Name: "set", Syntax: "name spec ... [SHADOW] [STRICT]", Group: "limiter",
			Summary: "Store limits under a name; the next check uses them. {} in a key stands for the caller's id, {name} for a field that the check gives after WITH. SHADOW denies nothing and only counts denials. With STRICT, a cluster grants checks, and requests for the keys of these limits, only through its log, never from tokens that a node holds in advance.",
			Returns: "`OK`.", Example: "private TB mine:{} 1 1/h",
			Cost: command.PolicyChange, Flags: command.Write | command.Admin, Parse: parsePolicySet, Reply: replyPolicy},
		{Name: "get", Syntax: "name [id]", Group: "limiter",
			Summary: "Show a policy and its counters; with an id, the limits that apply to that caller.",
			Returns: "a map of limits (in the syntax of SET), overrides, granted, denied and shadow_denied (checks that this node answered since it started), shadow and strict; null if the policy does not exist or the user may not read its keys.",
			Example: "private",
			Cost:    command.Report, Flags: command.ReadOnly, Run: runPolicyGet},
		policyUsageRow,
		{Name: "del", Syntax: "name", Group: "limiter", Summary: "Delete a policy.",
			Returns: "1, or 0 if the policy did not exist.", Example: "private",
			Cost: command.PolicyList, Flags: command.Write | command.Admin, Parse: parsePolicyDel, Reply: command.ReplyCount},
		{Name: "list", Group: "limiter", Summary: "List the names of the policies.",
			Returns: "an array of the names of the policies whose keys the user may read.",
			Cost:    command.PolicyList, Flags: command.ReadOnly, Run: runPolicyList},
		{Name: "version", Group: "limiter", Summary: "Return a text that changes whenever a policy changes. While it stays the same, the replies to LIST, GET and OVERRIDES stay the same, except for counters.",
			Returns: "a text. All servers with the same policies return the same text to users who may read the same policies.",
			Cost:    command.PolicyList, Flags: command.ReadOnly, Run: runPolicyVersion},
		{Name: "override", Syntax: "name id spec ...", Group: "limiter",
			Summary: "Give one caller its own limits instead of the policy's. NONE instead of limits removes the override.",
			Returns: "`OK`.", Example: "private 1 NONE",
			Cost: command.PolicyChange, Flags: command.Write | command.Admin, Parse: parseOverride, Reply: replyPolicy},
		policyOverridesRow,
		policyCallersRow,
	},
}}

func parseCheck(r *command.Request) error {
	beginReservable(r)
	a := r.Args
	if err := r.Key(a[2]); err != nil {
		return err
	}
	if len(a[2]) == 0 {
		return errEmptyCaller
	}
	op := r.AddOp(engine.Check)
	op.Key, op.Who, op.Tokens, op.MaxKey = a[1], a[2], 1, uint32(min(r.Bounds.MaxKeyBytes, math.MaxUint32))
	words, err := tokens(op, "tokens", a[3:])
	if err != nil {
		return err
	}
	if err := r.Options(op, words, checkOptions); err != nil {
		return err
	}
	if err := waitForPlace(r, op); err != nil {
		return err
	}
	return reserveIfAsked(r)
}

var checkOptions = []command.Option{optPeek, optKeep, optMaxWait, optBlock, optPriority, optAs, optFor, optShowWarn, optSplit, optWith}

func replyCheck(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	if results[0].Status == engine.NotFound {
		w.Error(noPolicy(&results[0]).Error())
		return
	}
	replyAll(w, ops, results)
}

func policyName(name []byte) error {
	if len(name) == 0 || len(name) > engine.MaxPolicyName {
		return errPolicyName.With(engine.MaxPolicyName, len(name))
	}
	return nil
}

// policySpecs parses a policy's limits into op and checks that their keys and holders are valid templates. It sets
// NamedFields only if a limit needs it, because nodes of earlier versions do not know it.
func policySpecs(r *command.Request, op *engine.Op, words [][]byte) (rest [][]byte, err error) {
	parts, rest, err := readSpecs(r, words)
	if err != nil {
		return nil, err
	}
	op.Parts = parts
	op.Options |= engine.NamedFields
	if text, err := op.CheckTemplates(); err != nil {
		return nil, errTemplate.With(err, command.Truncate(text, 64))
	}
	if !op.HasNames() {
		op.Options &^= engine.NamedFields
	}
	for i := range parts {
		for j := range i {
			if bytes.Equal(parts[i].Key, parts[j].Key) {
				return nil, command.ErrDuplicateKey
			}
		}
	}
	if one, other := policy.MeetingKeys(op); one != nil {
		return nil, errMeetingKeys.With(command.Truncate(one, 64), command.Truncate(other, 64))
	}
	return rest, checkTogether(&r.Bounds, op)
}

func parsePolicySet(r *command.Request) error {
	if err := policyName(r.Args[2]); err != nil {
		return err
	}
	op := engine.Op{Verb: engine.SetPolicy, Key: r.Args[2]}
	words, err := policySpecs(r, &op, r.Args[3:])
	if err != nil {
		return err
	}
	r.Ops = append(r.Ops, op)
	return r.Options(&r.Ops[len(r.Ops)-1], words, []command.Option{optShadow, optStrict})
}

func parsePolicyDel(r *command.Request) error {
	r.Ops = append(r.Ops, engine.Op{Verb: engine.DropPolicy, Key: r.Args[2]})
	return nil
}

func parseOverride(r *command.Request) error {
	op := engine.Op{Verb: engine.SetOverride, Key: r.Args[2], Who: r.Args[3]}
	if err := r.Key(op.Who); err != nil {
		return err
	}
	if len(r.Args) != 5 || !command.IsWord(r.Args[4], "NONE") {
		if len(op.Who) == 0 {
			return errEmptyCaller
		}
		words, err := policySpecs(r, &op, r.Args[4:])
		if err != nil {
			return err
		}
		if len(words) > 0 {
			return command.UnknownOption("RL.POLICY OVERRIDE", words[0], command.OptionNames(nil))
		}
	}
	r.Ops = append(r.Ops, op)
	return nil
}

func replyPolicy(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	switch results[0].Status {
	case engine.NotFound:
		w.Error(noPolicy(&results[0]).Error())
	case engine.TooMany:
		w.Error(errTooManyPolicies.With(policy.MaxPolicies, policy.MaxOverrides, policy.MaxPolicyBytes).Error())
	default:
		command.ReplyOK(w, nil, results)
	}
}

func runPolicyList(s command.Session, w *resp.Writer, _ [][]byte) {
	whenCurrent(s, w, func(w *resp.Writer) { command.WriteTexts(w, seenPolicies(s)) })
}

// seenPolicies are the names of the policies that the user may look at.
func seenPolicies(s command.Session) []string {
	return slices.DeleteFunc(s.Server().Keys().PolicyNames(), func(name string) bool { return !seesPolicy(s, name) })
}

func runPolicyVersion(s command.Session, w *resp.Writer, _ [][]byte) {
	whenCurrent(s, w, func(w *resp.Writer) {
		sum := s.Server().Keys().PoliciesSum() // before the names: a change between them shows at the next look
		version := sha256.Sum256(fmt.Appendf(sum[:], "%q", seenPolicies(s)))
		w.BulkString(hex.EncodeToString(version[:16]))
	})
}

func runPolicyGet(s command.Session, w *resp.Writer, args [][]byte) {
	if len(args) > 4 {
		w.Error(command.ErrSyntax.Error())
		return
	}
	words := command.Texts(args[2:]) // the arguments are overwritten while a reply is awaited
	whenCurrent(s, w, func(w *resp.Writer) { writePolicy(s, w, words) })
}

// writePolicy shows the policy named by the first word. The second word, if any, is the caller.
func writePolicy(s command.Session, w *resp.Writer, words []string) {
	p, found := s.Server().Keys().PolicyOf(words[0], nil)
	if !found || !seesPolicy(s, words[0]) || len(words) == 2 && !seesCaller(s, words[0], words[1]) {
		w.Null()
		return
	}
	parts := p.Parts
	if len(words) == 2 {
		own, _ := s.Server().Keys().PolicyOf(words[0], []byte(words[1]))
		parts = own.Parts
	}
	command.WriteFields(w, []command.Field{
		{Name: "limits", Value: specTexts(parts)}, {Name: "overrides", Value: int64(p.Overridden)}, {Name: "granted", Value: p.Granted}, {Name: "denied", Value: p.Denied}, {Name: "shadow_denied", Value: p.ShadowDenied},
		{Name: "shadow", Value: p.Shadow}, {Name: "strict", Value: p.Strict},
	})
}
