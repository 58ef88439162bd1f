package raftstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/stintdb/stint/cluster/boltfile"
)

// A sealed file is a JSON object whose last field is the CRC-32C of the object without it:
//
//	{"node":"a","incarnation":"k3jf02ls","crc32c":"9a1b2c3d"}
const sealHead, sealSize = `,"crc32c":"`, len(`,"crc32c":"00000000"}`)

var errDamaged = boltfile.ErrDamaged

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal returns a value as a sealed file holds it.
func seal(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(text[:len(text)-1], `%s%08x"}`, sealHead, crc32.Checksum(text, castagnoli)), nil
}

// unseal reads a sealed file into value, a pointer to a struct.
func unseal(text []byte, value any) error {
	at := max(0, len(text)-sealSize)
	body := append(bytes.Clone(text[:at]), '}')
	if want := fmt.Appendf(nil, `%s%08x"}`, sealHead, crc32.Checksum(body, castagnoli)); !bytes.Equal(text[at:], want) {
		return errDamaged
	}
	in := json.NewDecoder(bytes.NewReader(body))
	in.DisallowUnknownFields()
	if err := in.Decode(value); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil
}
