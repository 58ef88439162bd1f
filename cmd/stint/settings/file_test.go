package settings

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/config"
)

func TestConfigFileRefused(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"unquoted size", "max-clients = 5\nmax-memory = 10 kb\n", `c.toml line 2: expected newline but got U+006B 'k'; a line is a name, = and a number or a text in quotes, such as max-memory = "128mb"`},
		{"twice", "loops = 1\n\nloops = 2\n", `c.toml line 3: key loops is already defined; a line is a name, = and a number or a text in quotes, such as max-memory = "128mb"`},
		{"unknown", "# ours\nloops = 1\nmax_clients = 5\n", `c.toml line 3: unknown setting "max_clients"; did you mean max-clients?`},
		{"name in capitals", "LOOPS = 1", `c.toml line 1: unknown setting "LOOPS"; did you mean loops?`},
		{"name of Redis", "\nmaxmemory = 1\n", `c.toml line 2: unknown setting "maxmemory"; did you mean max-memory?`},
		{"strange", "zzz = 1", `c.toml line 1: unknown setting "zzz"; 'stint server --help-all' lists them, with dashes that the file leaves out`},
		{"first of two", "loops = 1\nzzy = 1\nzzx = 1\n", `c.toml line 2: unknown setting "zzy"; 'stint server --help-all' lists them, with dashes that the file leaves out`},
		{"section", "loops = 1\n[server]\nmax-clients = 5\n", `c.toml line 2: there are no sections here, got "server": write every setting at the top level as name = value`},
		{"empty section", "loops = 1\n[server]\n", `c.toml line 2: there are no sections here, got "server": write every setting at the top level as name = value`},
		{"sections", "[[listen]]\naddress = 1\n", `c.toml line 1: there are no sections here, got "listen": write every setting at the top level as name = value`},
		{"dotted", "max.clients = 5", `c.toml line 1: there are no sections here, got "max": write every setting at the top level as name = value`},
		{"range", "loops = 1\nmax-clients = 0\n", `c.toml line 2: max-clients: must be an integer between 1 and 1000000, got '0'`},
		{"truth", "loops = true", `c.toml line 1: loops: must be an integer between 0 and 1024, got 'true'`},
		{"decimals", "loops = 1.5", `c.toml line 1: loops: must be an integer between 0 and 1024, got '1.5'`},
		{"date", "loops = 1979-05-27", `c.toml line 1: loops: must be an integer between 0 and 1024, got '1979-05-27'`},
		{"list for one", "loops = [1]", `c.toml line 1: loops takes a single value, got a list`},
		{"numbers for addresses", "listen = [6379]", `c.toml line 1: listen takes a list of texts in quotes, got 6379`},
		{"no address", "listen = []", `c.toml line 1: listen: must be HOST:PORT with a port between 0 and 65535, such as 127.0.0.1:6379 (0 picks a free one), or unix:/path, got ''`},
		{"another file", `config = "d.toml"`, `c.toml line 1: config can only be a flag or an environment variable, because a configuration file cannot name another one`},
	} {
		_, err := load([]string{"--config", "c.toml"}, nil, files{"c.toml": tc.text}.read)
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s:\ngot  %v\nwant %s", tc.name, err, tc.want)
		}
	}
}

// TestByteOrderMark: editors of Windows begin files with one, which is no part of the first name.
func TestByteOrderMark(t *testing.T) {
	const mark = "\ufeff"
	read := files{"c.toml": mark + "loops = 3\n", "empty.toml": mark}.read
	if cfg, err := load([]string{"--config", "c.toml"}, nil, read); err != nil || cfg.Loops != 3 {
		t.Errorf("a configuration: %+v, %v", cfg, err)
	}
	if _, err := load([]string{"--config", "empty.toml"}, nil, read); err != nil {
		t.Errorf("an empty configuration: %v", err)
	}
}

func TestConfigFileMissing(t *testing.T) {
	_, err := load([]string{"--config", "c.toml"}, nil, files{}.read)
	if want := "the configuration file 'c.toml' cannot be read: file does not exist"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestConfigFileNumbers(t *testing.T) {
	text := "max-memory = 209715200\nidle-timeout = 1.5\nshutdown-timeout = 2\nmax-key-size = 0x100\n"
	cfg, err := load([]string{"--config", "c.toml"}, nil, files{"c.toml": text}.read)
	if err != nil || cfg.MaxMemoryBytes != 200<<20 || cfg.IdleTimeout != 1.5e9 || cfg.ShutdownTimeout != 2e9 || cfg.MaxKeyBytes != 256 {
		t.Errorf("%+v, %v", cfg, err)
	}
}

// A file with any contents is read or refused in one line, and the settings read survive a rewrite.
func FuzzConfigFile(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		args := []string{"--config", "c.toml"}
		cfg, err := load(args, nil, files{"c.toml": text}.read)
		if err != nil {
			checkOneLine(t, err)
			return
		}
		rewritten := string(config.Rewrite(&cfg))
		again, err := load(args, nil, files{"c.toml": rewritten}.read)
		if err != nil {
			t.Fatalf("rewritten to a file that is refused: %v\n%s", err, rewritten)
		}
		if !reflect.DeepEqual(cfg, again) {
			t.Fatalf("rewritten to something else:\n%+v\n%+v", cfg, again)
		}
	})
}

func checkOneLine(t *testing.T, err error) {
	if strings.Contains(err.Error(), "c.toml line 0:") {
		t.Fatalf("an error without a place: %v", err)
	}
	for _, r := range err.Error() {
		if r == '\n' || r == '\r' {
			t.Fatalf("an error of several lines: %q", err)
		}
	}
}
