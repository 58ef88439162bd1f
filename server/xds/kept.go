package xds

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/stintdb/stint/internal/atomicfile"
	"github.com/stintdb/stint/server/rls"
)

// keptMagic begins the file: a line with the version of the format. Then come the SHA-256 of the push, and the push.
const keptMagic = "stint rls-xds 1\n"

// writeKept writes a push to a file.
func writeKept(path string, push *discovery.DiscoveryResponse) error {
	text, err := proto.Marshal(push)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(text)
	return atomicfile.Write(path, append(append([]byte(keptMagic), hash[:]...), text...))
}

// readKept returns the push in a file and when it came, nil if there is no file.
func readKept(path string) (*discovery.DiscoveryResponse, time.Time, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, time.Time{}, nil
	case err != nil:
		return nil, time.Time{}, err
	case info.Size() > 2*rls.MaxTotalBytes:
		return nil, time.Time{}, errDamaged
	}
	all, err := os.ReadFile(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	const begin = len(keptMagic) + sha256.Size
	if len(all) < begin || string(all[:len(keptMagic)]) != keptMagic {
		return nil, time.Time{}, errDamaged
	}
	if hash := sha256.Sum256(all[begin:]); string(all[len(keptMagic):begin]) != string(hash[:]) {
		return nil, time.Time{}, errDamaged
	}
	push := new(discovery.DiscoveryResponse)
	return push, info.ModTime(), proto.Unmarshal(all[begin:], push)
}

var errDamaged = errors.New("the file is damaged, or of another version")
