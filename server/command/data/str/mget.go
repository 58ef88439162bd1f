package str

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

// In a cluster with several groups of keys, MGET reads each key in its own group. The reply need not show the values of
// any single moment.

// parseGetStrings makes one operation of MGET, or one for each key if there are groups.
func parseGetStrings(r *command.Request) error {
	row, all := command.LookUp(r.Args[0]), r.Args
	if r.Bounds.Groups < 2 {
		return data.ParseOp(r, row)
	}
	defer func() { r.Args = all }()
	for _, key := range all[1:] {
		r.Args = [][]byte{all[0], key}
		if err := data.ParseOp(r, row); err != nil {
			return err
		}
	}
	return nil
}

// oneValue begins MGET's reply for one key.
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
