package command

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/resp"
)

var policyRows = []Row{{
	Name: "rl.check", Syntax: "name id [tokens] [PEEK]", Since: "0.1.0", Group: "limiter",
	Summary: "Ask the limits of a policy for a caller, all or nothing. " + replyOfAll,
	Flags:   Write | Fast | Decides, Parse: parseCheck, Reply: replyCheck,
}, {
	Name: "rl.policy", Syntax: "subcommand", Since: "0.1.0", Group: "limiter",
	Summary: "Commands about limits kept on the server by name.",
	Sub: []Row{
		{Name: "set", Syntax: "name spec ... [SHADOW]", Since: "0.1.0", Group: "limiter",
			Summary: "Keep limits under a name, from the next check on; {} in a key stands for the caller's id. SHADOW only counts what would be denied.",
			Flags:   Write | Admin, Parse: parsePolicySet, Reply: replyPolicy},
		{Name: "get", Syntax: "name [id]", Since: "0.1.0", Group: "limiter",
			Summary: "Show a policy and what it decided; with an id, the limits that caller is held to.",
			Flags:   ReadOnly, Run: runPolicyGet},
		{Name: "del", Syntax: "name", Since: "0.1.0", Group: "limiter", Summary: "Forget a policy. Replies 1, or 0 if there is none.",
			Flags: Write | Admin, Parse: parsePolicyDel, Reply: replyCount},
		{Name: "list", Since: "0.1.0", Group: "limiter", Summary: "The names of the policies.", Flags: ReadOnly, Run: runPolicyList},
		{Name: "override", Syntax: "name id spec ...", Since: "0.1.0", Group: "limiter",
			Summary: "Hold one caller to other limits than the policy's; NONE in place of limits ends that.",
			Flags:   Write | Admin, Parse: parseOverride, Reply: replyPolicy},
		helpRow("rl.policy"),
	},
}}

func parseCheck(r *Request) error {
	a := r.Args
	if err := r.key(a[2]); err != nil {
		return err
	}
	r.Ops = append(r.Ops, engine.Op{Verb: engine.Check, Key: a[1], Who: a[2], Tokens: 1, MaxKey: uint32(min(r.Bounds.MaxKeyBytes, math.MaxUint32))})
	op := &r.Ops[len(r.Ops)-1]
	words, err := tokens(op, "tokens", a[3:])
	if err != nil {
		return err
	}
	return r.options(op, words, []option{optPeek})
}

func replyCheck(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	if results[0].Status == engine.NotFound {
		w.Error(errNoPolicy.Error())
		return
	}
	replyAll(w, ops, results)
}

func policyName(name []byte) error {
	if len(name) == 0 || len(name) > engine.MaxPolicyName {
		return fmt.Errorf("ERR name: must be 1 to %d bytes, got %d", engine.MaxPolicyName, len(name))
	}
	return nil
}

// policySpecs reads a policy's limits and holds their keys to what a template may be.
func (r *Request) policySpecs(words [][]byte) (parts []engine.Op, rest [][]byte, err error) {
	if parts, rest, err = r.specs(words); err != nil {
		return nil, nil, err
	}
	for i := range parts {
		for _, text := range [][]byte{parts[i].Key, parts[i].Who} {
			if bytes.Count(text, []byte(engine.Placeholder)) > 1 {
				return nil, nil, fmt.Errorf("ERR spec: %s may stand only once, got '%s'", engine.Placeholder, clip(text, 64))
			}
		}
		for j := range i {
			if bytes.Equal(parts[i].Key, parts[j].Key) {
				return nil, nil, errSameKey
			}
		}
	}
	return parts, rest, nil
}

func parsePolicySet(r *Request) error {
	if err := policyName(r.Args[2]); err != nil {
		return err
	}
	parts, words, err := r.policySpecs(r.Args[3:])
	if err != nil {
		return err
	}
	r.Ops = append(r.Ops, engine.Op{Verb: engine.SetPolicy, Key: r.Args[2], Parts: parts})
	return r.options(&r.Ops[len(r.Ops)-1], words, []option{optShadow})
}

func parsePolicyDel(r *Request) error {
	r.Ops = append(r.Ops, engine.Op{Verb: engine.DropPolicy, Key: r.Args[2]})
	return nil
}

func parseOverride(r *Request) error {
	op := engine.Op{Verb: engine.SetOverride, Key: r.Args[2], Who: r.Args[3]}
	if err := r.key(op.Who); err != nil {
		return err
	}
	if len(r.Args) != 5 || !isWord(r.Args[4], "NONE") {
		parts, words, err := r.policySpecs(r.Args[4:])
		if err != nil {
			return err
		}
		if len(words) > 0 {
			return unknownOption("RL.POLICY OVERRIDE", words[0], optionNames(nil))
		}
		op.Parts = parts
	}
	r.Ops = append(r.Ops, op)
	return nil
}

func replyPolicy(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	switch results[0].Status {
	case engine.NotFound:
		w.Error(errNoPolicy.Error())
	case engine.PolicyTooMany:
		w.Error(fmt.Sprintf("ERR name: at most %d policies, and %d overrides in all, of together %d bytes, are kept", engine.MaxPolicies, engine.MaxOverrides, engine.MaxPolicyBytes))
	default:
		replyOK(w, nil, results)
	}
}

// whenCurrent answers from the local store once that holds all that was acknowledged anywhere before the command came.
// After READONLY, and within EXEC, it is answered from what the store holds.
func whenCurrent(s Session, w *resp.Writer, answer func(w *resp.Writer)) {
	m := s.Server().Membership()
	if m == nil || s.Client().ReadOnly || !s.MayAwait() {
		answer(w)
		return
	}
	s.AwaitReply(func(done func(func(*resp.Writer))) {
		m.Barrier(func(err error) {
			if err = clusterError(err); err != nil {
				done(func(w *resp.Writer) { w.Error(err.Error()) })
				return
			}
			done(answer)
		})
	})
}

// seesPolicy reports whether the user may look at all keys of a policy, its {} taken as they stand there.
func seesPolicy(s Session, p engine.Policy) bool {
	return !slices.ContainsFunc(p.Parts, func(part engine.Op) bool { return !s.Reaches(part.Key) })
}

func runPolicyList(s Session, w *resp.Writer, _ [][]byte) {
	whenCurrent(s, w, func(w *resp.Writer) {
		names := slices.DeleteFunc(s.Server().Keys().PolicyNames(), func(name string) bool {
			p, found := s.Server().Keys().Policy(name)
			return !found || !seesPolicy(s, p)
		})
		w.Array(len(names))
		for _, n := range names {
			w.BulkString(n)
		}
	})
}

func runPolicyGet(s Session, w *resp.Writer, args [][]byte) {
	if len(args) > 4 {
		w.Error(ErrSyntax.Error())
		return
	}
	words := texts(args[2:]) // the arguments are gone when a reply is awaited
	whenCurrent(s, w, func(w *resp.Writer) { writePolicy(s, w, words) })
}

// writePolicy shows the policy named by the first word, for the caller that is the second, if there is one.
func writePolicy(s Session, w *resp.Writer, words []string) {
	p, found := s.Server().Keys().Policy(words[0])
	if !found || !seesPolicy(s, p) {
		w.Null()
		return
	}
	limits := p.Parts
	if len(words) == 2 {
		limits = p.For(words[1])
	}
	w.Map(6)
	w.BulkString("limits")
	w.Array(len(limits))
	for _, l := range limits {
		w.BulkString(specText(l))
	}
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"overrides", int64(len(p.Overrides))}, {"granted", p.Granted}, {"denied", p.Denied}, {"shadow_denied", p.ShadowDenied},
	} {
		w.BulkString(f.name)
		w.Int(f.value)
	}
	w.BulkString("shadow")
	w.Bool(p.Shadow)
}

// SpecText writes a limit as RL.POLICY SET takes it.
func SpecText(op engine.Op) string { return specText(op) }

// specText writes a limit in the form that specs reads, quoted as redis-cli does where need be.
func specText(op engine.Op) string {
	k := kindOf(op.Limit.Algorithm)
	words := []string{k.word, wordText(op.Key)}
	for _, p := range op.Limit.Params() {
		words = append(words, p.Text)
	}
	if k.holder {
		words = append(words, wordText(op.Who))
	}
	return strings.Join(words, " ")
}

// wordText writes a word so that it can be told from those around it: as it is, or in quotes if it is empty or holds
// anything but printable ASCII, or a space, a quote or a backslash.
func wordText(word []byte) string {
	isPlain := len(word) > 0
	quoted := []byte{'"'}
	for _, c := range word {
		switch {
		case c == '"' || c == '\\':
			isPlain, quoted = false, append(quoted, '\\', c)
		case c < ' ' || c > '~':
			isPlain, quoted = false, fmt.Appendf(quoted, `\x%02x`, c)
		default:
			isPlain, quoted = isPlain && c != ' ' && c != '\'', append(quoted, c)
		}
	}
	if isPlain {
		return string(word)
	}
	return string(append(quoted, '"'))
}
