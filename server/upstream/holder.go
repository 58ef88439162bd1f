package upstream

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stintdb/stint/internal/atomicfile"
)

// holderFile is the file with the name under which home knows a server without a cluster.
const holderFile = "upstream.id"

// HolderID returns the name under which home knows a server without a cluster. The name belongs to the directory, or to
// this process if there is none.
func HolderID(dir string) (string, error) {
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails: the runtime ends the process instead
	id := "server-" + hex.EncodeToString(random)
	if dir == "" {
		return id, nil
	}
	path := filepath.Join(dir, holderFile)
	kept, err := os.ReadFile(path)
	switch {
	case err == nil && len(strings.TrimSpace(string(kept))) == len(id):
		return strings.TrimSpace(string(kept)), nil
	case err == nil:
		return "", fmt.Errorf("%s does not contain the name by which the home cluster knows this server: remove the file, and void its loans there with RL.VOID", path)
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	return id, atomicfile.Write(path, []byte(id+"\n"))
}
