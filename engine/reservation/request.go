package reservation

import (
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/layout"
)

// AppendRequest appends the parameters of a request, of which a fingerprint is made.
func AppendRequest(b []byte, op *engine.Op) []byte {
	b = op.Limit.Append(append(b, byte(op.Verb), byte(op.Options)))
	b = binary.AppendVarint(binary.AppendUvarint(b, uint64(op.Tokens)), op.MaxWait)
	b = binary.AppendVarint(b, int64(op.Keep))
	b = layout.AppendText(layout.AppendText(b, op.Key), op.Who)
	if op.Verb == engine.AddCredits {
		b = binary.AppendVarint(b, op.PriorAt)
	}
	if op.Weight != 0 {
		b = binary.AppendUvarint(b, uint64(op.Weight))
	}
	b = binary.AppendUvarint(b, uint64(len(op.Args)))
	for _, arg := range op.Args {
		b = layout.AppendText(b, arg)
	}
	b = binary.AppendUvarint(b, uint64(len(op.Parts)))
	for i := range op.Parts {
		b = AppendRequest(b, &op.Parts[i])
	}
	return b
}
