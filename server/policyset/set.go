package policyset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/policy"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
	"github.com/stintdb/stint/server/command/limiter"
	"github.com/stintdb/stint/server/resp"
)

// Set is policies by their names.
type Set map[string]Policy

// Policy is a policy as files have it.
type Policy struct {
	Rule `yaml:",inline"`
	// Overrides are the limits of single callers, by their ids.
	Overrides map[string][]string `json:"overrides,omitempty" toml:"overrides,omitempty" yaml:"overrides,omitempty"`
}

// Rule is what a policy, or an override, holds callers to. An override has limits only.
type Rule struct {
	Limits []string `json:"limits" toml:"limits" yaml:"limits"` // each as RL.POLICY SET takes it
	Shadow bool     `json:"shadow,omitempty" toml:"shadow,omitempty" yaml:"shadow,omitempty"`
	Strict bool     `json:"strict,omitempty" toml:"strict,omitempty" yaml:"strict,omitempty"`
}

// Of returns the policies of a server. Policies and callers whose names are not UTF-8 are an error, because files have
// no words for them.
func Of(s *server.Server) (Set, error) {
	set := Set{}
	for _, name := range s.Keys().PolicyNames() {
		p, found := s.Keys().Policy(name)
		if !found {
			continue // it was deleted since
		}
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("the name of the policy %q is not UTF-8, so no file can have it: delete it with RL.POLICY DEL first", name)
		}
		one := Policy{Rule: RuleOf(&p)}
		for _, o := range p.Overrides {
			if !utf8.ValidString(o.ID) {
				return nil, fmt.Errorf("the policy %s has an override for %q, which is not UTF-8, so no file can have it: remove it with RL.POLICY OVERRIDE first", name, o.ID)
			}
			if one.Overrides == nil {
				one.Overrides = map[string][]string{}
			}
			one.Overrides[o.ID] = texts(o.Parts)
		}
		set[name] = one
	}
	return set, nil
}

// RuleOf returns what a policy holds callers to, or those callers whose limits it has.
func RuleOf(p *policy.Policy) Rule {
	return Rule{Limits: texts(p.Parts), Shadow: p.Shadow, Strict: p.Strict}
}

// Version returns a text that differs between sets that differ.
func (s Set) Version() string { return versionOf(s) }

// Version returns a text that differs between rules that differ.
func (r Rule) Version() string { return versionOf(r) }

func versionOf(of any) string {
	text, err := json.Marshal(of)
	if err != nil {
		panic(err) // there are only texts in it
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func texts(limits []engine.Op) []string {
	all := make([]string, len(limits))
	for i := range limits {
		all[i] = limiter.SpecText(limits[i])
	}
	return all
}

// maxLine bounds the words of one command.
const maxLine = 1 << 20

// Words appends limits, as RL.POLICY SET takes them and with line breaks anywhere, to the words of a command.
func Words(limits string, words ...string) ([]string, error) {
	line := append([]byte(" "+strings.NewReplacer("\r", " ", "\n", " ").Replace(limits)), '\r', '\n')
	reader := resp.Reader{Limits: resp.Limits{MaxArgs: maxLine, MaxBulk: maxLine, MaxInline: maxLine}}
	args, _, err := reader.Next(line)
	if err != nil {
		return nil, err
	}
	for _, a := range args {
		words = append(words, string(a))
	}
	return words, nil
}

// Parse returns the operation of a command. Errors are the same as for a client.
func Parse(s *server.Server, words []string) (*engine.Op, error) {
	request := command.Request{Bounds: s.Bounds()}
	for _, w := range words {
		request.Args = append(request.Args, []byte(w))
	}
	row, err := command.Find(request.Args)
	if err == nil {
		err = row.Parse(&request)
	}
	if err != nil {
		return nil, err
	}
	return &request.Ops[0], nil
}
