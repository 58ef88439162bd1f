package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// errTorn tells what to do about a log, or votes, that lack what was once in them. A node must not go on without: it may have promised
// its vote, or acknowledged decisions, in what is missing.
var errTorn = errors.New("the node cannot go on with what is left: move the directory away and start with an empty --dir, and the node joins as a new one with the state of the others")

// checkVotes refuses a directory whose file of terms and votes has been lost or cut short, which its library would read as
// an empty one, or would die of when it reads where nothing is.
func checkVotes(dir string) error {
	path := filepath.Join(dir, votesFile)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return checkNeverUsed(dir, path, "is missing")
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return checkNeverUsed(dir, path, "is empty")
	}
	if needs := boltNeeds(file); info.Size() < needs {
		return fmt.Errorf("%s has been cut short: it is %d bytes long, and %d belong to it; %w", path, info.Size(), needs, errTorn)
	}
	return nil
}

// checkNeverUsed allows a file to be new only where the node is.
func checkNeverUsed(dir, path, what string) error {
	if isUsed, err := isUsed(dir); err != nil {
		return err
	} else if isUsed {
		return fmt.Errorf("%s %s, although %s shows that the node has been in use; %w", path, what, identityFile, errTorn)
	}
	return nil
}

// boltNeeds is how long a file of bbolt's has to be by its newest meta page, the first two pages being those; 0 if neither
// reads, which bbolt reports itself. A meta page is, behind a head of 16 bytes:
//
//	4  magic      4  version     4  page size   4  flags
//	8  root       8  sequence    8  freelist    8  pages in use, those in the freelist among them
//	8  number of the transaction                8  FNV-1a of everything before it
func boltNeeds(file io.ReaderAt) (bytes int64) {
	const head, size, magic, smallest, largest = 16, 64, 0xED0CDAED, 1 << 10, 64 << 10
	newest := uint64(0)
	look := func(at int64) {
		meta := make([]byte, size)
		if _, err := file.ReadAt(meta, at+head); err != nil {
			return
		}
		sum := fnv.New64a()
		_, _ = sum.Write(meta[:size-8])
		page, pages, number := binary.NativeEndian.Uint32(meta[8:]), binary.NativeEndian.Uint64(meta[40:]), binary.NativeEndian.Uint64(meta[48:])
		if binary.NativeEndian.Uint32(meta) != magic || sum.Sum64() != binary.NativeEndian.Uint64(meta[size-8:]) || number < newest {
			return
		}
		newest, bytes = number, int64(pages)*int64(page)
	}
	look(0)
	for page := int64(smallest); page <= largest; page *= 2 { // the first may not read, and only it would tell the size
		look(page)
	}
	return bytes
}
