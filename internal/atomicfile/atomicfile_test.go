package atomicfile

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// size is the size of the files: enough that a process is killed while it writes one.
const size = 4 << 20

func filled(with byte) []byte { return bytes.Repeat([]byte{with}, size) }

// If a process is killed during a write, the file has its old or its new contents.
func TestKilledWhileWriting(t *testing.T) {
	if path := os.Getenv("STINT_TEST_WRITE"); path != "" {
		for {
			for _, with := range []byte{'a', 'b'} {
				if err := Write(path, filled(with)); err != nil {
					t.Fatal(err)
				}
				fmt.Println("written")
			}
		}
	}
	path := filepath.Join(t.TempDir(), "users.acl")
	for round := range 20 {
		writer := testserver.Command(t, os.Args[0], "-test.run=^TestKilledWhileWriting$")
		writer.Env = append(os.Environ(), "STINT_TEST_WRITE="+path)
		said, err := writer.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(said)
		for range 1 + round%3 {
			lines.Scan()
		}
		if lines.Text() != "written" {
			t.Fatalf("the writer said %q, %v", lines.Text(), lines.Err())
		}
		_ = writer.Process.Kill() // at any place of the next writing
		_ = writer.Wait()
		if got := read(t, path); !bytes.Equal(got, filled('a')) && !bytes.Equal(got, filled('b')) {
			t.Fatalf("round %d: after the kill there are %d bytes, neither all old nor all new", round, len(got))
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A concurrent reader sees one or the other as well.
func TestReadWhileWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.acl")
	if err := Write(path, filled('a')); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		for i := range 30 {
			if err := Write(path, filled("ba"[i%2])); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	for {
		if got := read(t, path); !bytes.Equal(got, filled('a')) && !bytes.Equal(got, filled('b')) {
			t.Fatalf("read %d bytes, neither all old nor all new", len(got))
		}
		select {
		case err := <-written:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
	}
}

// A new file and one that was there are for the server's account alone, and nothing is left beside them.
func TestMode(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "users.acl")
	for range 2 {
		if err := Write(path, []byte("user default\n")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, dir, "users.acl")
}

func holds(t *testing.T, dir, want string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil || len(found) != 1 || found[0].Name() != want {
		t.Errorf("in the directory are %v, %v; want %s alone", found, err, want)
	}
}

// What cannot be replaced stays, and nothing is left beside it.
func TestCannotBeReplaced(t *testing.T) {
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "users.acl")
	if err := os.MkdirAll(filepath.Join(inTheWay, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(inTheWay, []byte("x")); err == nil {
		t.Error("a directory was replaced")
	}
	holds(t, dir, "users.acl")
	if err := Write(filepath.Join(dir, "missing", "users.acl"), []byte("x")); err == nil {
		t.Error("written into a directory that is not there")
	}
}

// A symbolic link stays, and the file it names has the new content: it may be in a volume that outlives the link's
// directory.
func TestSymbolicLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "volume", "users.acl"), filepath.Join(dir, "users.acl")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("volume", "users.acl"), link); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
}
