package str

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

// MGET in a cluster with several groups of keys. Each key is read in its own group: there is no moment at which all of the
// values were as in the reply.

// parseGetStrings makes one operation of MGET, or where there are groups one for each key.
func parseGetStrings(r *command.Request) error {
	row, all := command.LookUp(r.Args[0]), r.Args
	if r.Bounds.Groups < 2 {
		return data.DataOp(r, row)
	}
	defer func() { r.Args = all }()
	for _, key := range all[1:] {
		r.Args = [][]byte{all[0], key}
		if err := data.DataOp(r, row); err != nil {
			return err
		}
	}
	return nil
}

// oneValue begins the reply of MGET to one key.
var oneValue = []byte("*1\r\n")

func replyGetStrings(w *resp.Writer, ops []engine.Op, results []engine.Result) {
	if len(results) == 1 {
		data.ReplyData(w, ops, results)
		return
	}
	bytesOfAll := 0
	for i := range results {
		if command.WriteFailure(w, &results[i]) {
			return
		}
		if bytesOfAll += len(results[i].Reply); bytesOfAll > data.MaxRepeatedBytes+len(results[i].Reply) {
			w.Error(data.ErrReplyTooBig.With(data.MaxRepeatedBytes).Error())
			return
		}
	}
	w.Array(len(results))
	for i := range results {
		value := bytes.TrimPrefix(results[i].Reply, oneValue)
		if w.RESP3 {
			w.FromRESP2(value, w.Shape)
		} else {
			w.Buf = append(w.Buf, value...)
		}
	}
}
