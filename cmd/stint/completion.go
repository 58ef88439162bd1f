package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stintdb/stint/cmd/stint/cli"
)

const completionUsage = `Usage: stint completion SHELL

Prints a script that completes stint's commands and flags in a SHELL: bash, zsh
or fish. The packages install the scripts for all three. To try it:

  bash, zsh  source <(stint completion bash)
  fish       stint completion fish | source

In zsh, load compinit first, and write zsh instead of bash.
`

const manualUsage = `Usage: stint manual

Prints the manual page for man, which the packages install. To read it:

  stint manual | man -l -
`

// A flagHelp is a flag as the help of a command has it.
type flagHelp struct {
	name     string // without dashes
	hasValue bool
	about    string // the first line of its text
}

var flagLine = regexp.MustCompile(`(?m)^  --([a-z0-9-]+)( [A-Z][^ \n]*)? +(.*)$`)

// flags are the flags in the help of a command.
func (c *command) flags() (flags []flagHelp) {
	for _, m := range flagLine.FindAllStringSubmatch(c.fullHelp(), -1) {
		flags = append(flags, flagHelp{m[1], m[2] != "", m[3]})
	}
	return flags
}

// shells are the writers of the completion scripts.
var shells = map[string]func([]command) string{"bash": completeBash, "zsh": completeZsh, "fish": completeFish}

// completion is the command `stint completion`.
func (p *process) completion(_ context.Context, args []string) error {
	set := cli.NewFlags("completion")
	if err := cli.ParseFlags(set, args); err != nil {
		return err
	}
	write := shells[set.Arg(0)]
	if set.NArg() != 1 || write == nil {
		return cli.Errorf("completion: needs one of %s, got '%s'; 'stint completion --help' explains", strings.Join(slices.Sorted(maps.Keys(shells)), ", "), strings.Join(set.Args(), " "))
	}
	_, err := fmt.Fprint(p.stdout, write(commands()))
	return err
}

func completeBash(all []command) string {
	var names []string
	var cases strings.Builder
	for i := range all {
		names = append(names, all[i].name)
		var flags []string
		for _, f := range all[i].flags() {
			flags = append(flags, "--"+f.name)
		}
		if len(flags) > 0 {
			fmt.Fprintf(&cases, "    %s) flags='%s' ;;\n", all[i].name, strings.Join(flags, " "))
		}
	}
	return fmt.Sprintf(`# Completes stint's commands and flags in bash. Made by stint completion bash.
_stint() {
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} flags=
    [[ $command != -* ]] || command=server
    case $command in
%s    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
    elif ((COMP_CWORD == 1)) || [[ ${COMP_WORDS[1]} == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W '%s' -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _stint stint
`, cases.String(), strings.Join(names, " "))
}

// zshText escapes a text within single quotes for _arguments and _describe.
var zshText = strings.NewReplacer(`'`, `'\''`, `[`, `\[`, `]`, `\]`, `:`, `\:`)

func completeZsh(all []command) string {
	var out strings.Builder
	out.WriteString("#compdef stint\n# Completes stint's commands and flags in zsh. Made by stint completion zsh.\n_stint() {\n    local -a commands=(\n")
	for i := range all {
		fmt.Fprintf(&out, "        '%s:%s'\n", all[i].name, zshText.Replace(all[i].summary))
	}
	out.WriteString(`    )
    local command=server
    if [[ $words[2] != -* ]]; then
        if ((CURRENT == 2)); then
            _describe command commands
            return
        fi
        command=$words[2]
    fi
    case $command in
`)
	for i := range all {
		fmt.Fprintf(&out, "    %s)\n        _arguments", all[i].name)
		for _, f := range all[i].flags() {
			value := ""
			if f.hasValue {
				value = ":value:_files"
			}
			fmt.Fprintf(&out, " \\\n            '--%s[%s]%s'", f.name, zshText.Replace(f.about), value)
		}
		out.WriteString(" \\\n            '*:file:_files' ;;\n")
	}
	out.WriteString("    esac\n}\ncompdef _stint stint\n")
	return out.String()
}

var fishText = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

func completeFish(all []command) string {
	var out strings.Builder
	out.WriteString("# Completes stint's commands and flags in fish. Made by stint completion fish.\n")
	for i := range all {
		c := &all[i]
		fmt.Fprintf(&out, "complete -c stint -n __fish_use_subcommand -a %s -d '%s'\n", c.name, fishText.Replace(c.summary))
		for _, f := range c.flags() {
			value := ""
			if f.hasValue {
				value = " -r"
			}
			fmt.Fprintf(&out, "complete -c stint -n '__fish_seen_subcommand_from %s' -l %s%s -d '%s'\n", c.name, f.name, value, fishText.Replace(f.about))
		}
	}
	return out.String()
}

// roff escapes a text for man.
var roff = strings.NewReplacer(`\`, `\e`, `-`, `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'")

// manual is the command `stint manual`.
func (p *process) manual(_ context.Context, args []string) error {
	if err := cli.ParseOnlyFlags(cli.NewFlags("manual"), args); err != nil {
		return err
	}
	_, err := fmt.Fprint(p.stdout, manualPage(commands()))
	return err
}

func manualPage(all []command) string {
	var out strings.Builder
	out.WriteString(".\\\" Made by stint manual.\n.TH STINT 1 \"\" \"Stint\" \"User Commands\"\n" +
		".SH NAME\nstint \\- rate limit server that speaks the Redis protocol\n" +
		".SH SYNOPSIS\n.B stint\n[\\fIcommand\\fR] [\\fIflags\\fR]\n.SH COMMANDS\n")
	for i := range all {
		fmt.Fprintf(&out, ".TP\n.B %s\n%s\n", all[i].name, roff.Replace(all[i].summary))
	}
	for i := range all {
		if all[i].usage != "" {
			fmt.Fprintf(&out, ".SH STINT %s\n.nf\n%s.fi\n", strings.ToUpper(all[i].name), strings.TrimPrefix(roff.Replace("\n"+all[i].fullHelp()), "\n"))
		}
	}
	return out.String()
}
