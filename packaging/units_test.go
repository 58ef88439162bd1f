package packaging

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testtls"
	"github.com/stintdb/stint/internal/testwait"
)

// TestUnitsCommands carries out every command of the units as systemd would: it starts a server, reloads it twice,
// backs it up, stops it by systemd's signal and starts it again. No command ends the server, and no reload forgets a
// request, in any configuration that /etc/stint/stint.env may give it.
func TestUnitsCommands(t *testing.T) {
	program, tls, peer := buildServer(t), testtls.New(t), testserver.ReserveAddress(t)
	for name, environment := range map[string][]string{
		"as packaged": {},
		"password":    {"STINT_REQUIREPASS=long and random"},
		"TLS":         {"STINT_TLS_LISTEN=127.0.0.1:0", "STINT_TLS_CERT=" + tls.Cert, "STINT_TLS_KEY=" + tls.Key},
		"snapshot":    {"STINT_DURABILITY=snapshot"},
		"always":      {"STINT_DURABILITY=always"},
		"cluster":     {"STINT_NODE_ID=a", "STINT_CLUSTER_LISTEN=" + peer, "STINT_CLUSTER_PEERS=" + peer, "STINT_CLUSTER_HEARTBEAT=1s", "STINT_DECIDE_TIMEOUT=20s"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUnits(t, program, environment)
			u.server.Start(t)
			u.take(t, 9)
			for range 2 {
				u.run(t, u.commands["ExecReload"])
				u.server.AwaitOutput(t, regexp.MustCompile("reloaded the certificates|nothing to reload"))
			}
			u.take(t, 8)
			u.run(t, u.backup["ExecStart"])
			if made, err := filepath.Glob(filepath.Join(u.backups, "stint-[0-2][0-9].stint")); err != nil || len(made) != 1 {
				t.Errorf("backups: %v, %v", made, err)
			}
			u.server.Stop(t) // by SIGTERM, as systemd does
			u.server.Start(t)
			u.take(t, 7)
			u.server.Stop(t)
		})
	}
}

// systemd starts a server again for as long as it takes, as one whose machine's clock or disk is not ready yet. Go's
// panics have the exit code of wrong settings, so no code may prevent that.
func TestUnitStartsAgain(t *testing.T) {
	text := read(t, "packaging/systemd/stint.service")
	for _, want := range []string{"StartLimitIntervalSec=0", "Restart=on-failure"} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("the unit has no %s", want)
		}
	}
	if strings.Contains(text, "RestartPreventExitStatus") {
		t.Error("a server that panicked would not start again")
	}
}

// units are the units of the server and of backups, with paths of this test.
type units struct {
	commands, backup map[string]string
	server           *testserver.Process
	environment      []string
	program, backups string
}

func newUnits(t *testing.T, program string, environment []string) *units {
	t.Helper()
	state := t.TempDir()
	u := &units{
		commands: unitCommands(t, "stint.service", "ExecStart", "ExecReload"), backup: unitCommands(t, "stint-backup.service", "ExecStart"),
		program: program, backups: t.TempDir(),
	}
	u.environment = append([]string{"PATH=" + os.Getenv("PATH"), "STINT_LISTEN=127.0.0.1:0", "STINT_ADMIN=127.0.0.1:0", "STATE_DIRECTORY=" + u.backups}, environment...)
	start := strings.NewReplacer("/etc/stint/stint.toml", absolute(t, "packaging/stint.toml"), "/var/lib/stint", state).Replace(u.shell(u.commands["ExecStart"]))
	u.server = testserver.NewProcess(t, "/bin/sh", "-c", "exec "+start)
	u.server.Env = u.environment
	return u
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// unitCommands are the commands of a unit by their settings, which must be those named: any other would need a case
// here.
func unitCommands(t *testing.T, unit string, names ...string) map[string]string {
	t.Helper()
	commands := map[string]string{}
	text := read(t, "packaging/systemd/"+unit)
	for _, found := range regexp.MustCompile(`(?m)^(Exec\w+)=(.*)$`).FindAllStringSubmatch(text, -1) {
		commands[found[1]] = found[2]
	}
	if len(commands) != len(names) || regexp.MustCompile(`(?m)^Kill`).MatchString(text) {
		t.Fatalf("%s: this test knows %q and systemd's usual signals alone, not %q", unit, names, commands)
	}
	for _, name := range names {
		if commands[name] == "" {
			t.Fatalf("%s has no %s", unit, name)
		}
	}
	return commands
}

// shell is a command of a unit as the shell reads it.
func (u *units) shell(command string) string {
	return strings.NewReplacer("/usr/bin/stint", u.program, "$$", "$", "%%", "%").Replace(command)
}

// run runs a command beside the server.
func (u *units) run(t *testing.T, command string) {
	t.Helper()
	cmd := testserver.Command(t, "/bin/sh", "-c", "exec "+u.shell(command))
	cmd.Env = append([]string{fmt.Sprint("MAINPID=", u.server.Pid())}, u.environment...)
	cmd.Env = append(cmd.Env, "STINT_ADMIN="+u.server.Admin(t)) // the last one counts
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// take takes a token of ten, and wants left to be left.
func (u *units) take(t *testing.T, left int) {
	t.Helper()
	address := u.server.AwaitReady(t)[0]
	u.server.Await(t, fmt.Sprint("it grants a token of ten, and ", left, " are left"), func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		defer conn.Close()
		_ = conn.SetDeadline(testwait.Deadline())
		_, _ = io.WriteString(conn, "AUTH \"long and random\"\r\nTB.ACQUIRE k 10 1/d\r\nQUIT\r\n")
		got, _ := io.ReadAll(conn)
		return strings.Contains(string(got), fmt.Sprintf("*5\r\n:1\r\n:10\r\n:%d\r\n", left))
	})
}
