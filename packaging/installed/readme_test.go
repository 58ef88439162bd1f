//go:build installed

package installed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// TestReadmeDocker runs the README's two lines with docker as they are written: the first builds the image, the second
// starts a server, which then decides for a client outside the container.
func TestReadmeDocker(t *testing.T) {
	lines := regexp.MustCompile(`(?m)^docker .*$`).FindAllString(handbook(t, "../README.md"), -1)
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "docker build ") {
		t.Fatalf("the README has the lines %q, not one that builds the image and one that runs it", lines)
	}
	port := regexp.MustCompile(` -p (\d+):\d+ `).FindStringSubmatch(lines[1])
	secret := regexp.MustCompile(` -e STINT_REQUIREPASS=(\S+) `).FindStringSubmatch(lines[1])
	if port == nil || secret == nil {
		t.Fatalf("%s: it names no port, or no password", lines[1])
	}
	d := startDocker(t, "--net")
	d.importGo(t)
	d.runAs(t, "sh", "-c", "cd ../.. && "+lines[0])

	server := testserver.NewProcess(t, "sh", "-c", "exec "+lines[1])
	server.Env = d.environment(t)
	server.Start(t)
	testwait.UntilNil(t, "the server in the container decides", func() error {
		out, err := testserver.Command(t, "nsenter", "--target", fmt.Sprint(d.daemon.Pid()), "--net",
			"redis-cli", "-p", port[1], "--no-auth-warning", "-a", secret[1], "TB.ACQUIRE", "user:7", "3", "1/m").CombinedOutput()
		if got := strings.Fields(string(out)); err != nil || len(got) != 5 || strings.Join(got[:4], " ") != "1 3 2 0" {
			return fmt.Errorf("%w: %s\n%s", errors.Join(errNotYet, err), out, server.LastLines())
		}
		return nil
	})
}

// importGo makes the image that docker/Dockerfile builds in, from the Go of this machine and what a shell needs, because
// no registry is at hand. The image has the modules of go.mod too: containers have no network.
func (d docker) importGo(t *testing.T) {
	t.Helper()
	name := regexp.MustCompile(`(?m)^FROM (golang:\S+) AS build$`).FindStringSubmatch(handbook(t, "../docker/Dockerfile"))
	if name == nil {
		t.Fatal("docker/Dockerfile builds in another image than that of Go")
	}
	var files []string
	for _, program := range []string{"sh", "mkdir", "ln"} {
		path, err := filepath.EvalSymlinks("/bin/" + program)
		if err != nil {
			t.Fatal(err)
		}
		libraries, _ := testserver.Command(t, "ldd", path).Output() // it fails for a program without any
		files = append(files, "/bin/"+program, path)
		files = append(files, regexp.MustCompile(`/\S+`).FindAllString(string(libraries), -1)...)
	}
	settings := map[string]string{}
	if err := json.Unmarshal([]byte(output(t, "go", "env", "-json", "GOROOT", "GOMODCACHE")), &settings); err != nil {
		t.Fatal(err)
	}
	// The command asks for the go.mod of every module in the graph, and for the code of those that are used.
	modules := filepath.Join(settings["GOMODCACHE"], "cache/download")
	files = append(files, strings.Fields(output(t, "find", modules, "-name", "*.mod"))...)
	downloads := testserver.Command(t, "go", "mod", "download", "-json")
	downloads.Dir = "../.."
	out, err := downloads.Output()
	if err != nil {
		t.Fatal(err)
	}
	for rest := json.NewDecoder(bytes.NewReader(out)); ; {
		var module struct{ Zip, Info string }
		if err := rest.Decode(&module); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		files = append(files, module.Zip, module.Info)
	}
	slices.Sort(files)
	files = slices.Compact(files) // programs share libraries
	list := filepath.Join(t.TempDir(), "files")
	if err := os.WriteFile(list, []byte(strings.Join(files, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "root.tar")
	output(t, "tar", "--create", "--file", root, "--absolute-names", "--dereference", "--exclude=testdata", "--exclude=*_test.go",
		"--exclude=go/src/cmd", "--exclude=go/test", "--files-from", list, settings["GOROOT"])
	d.run(t, "import", "--change", "ENV PATH="+settings["GOROOT"]+"/bin:/bin GOPROXY=file://"+modules+" GOSUMDB=off GOTOOLCHAIN=local HOME=/tmp", root, name[1])
}
