package inspect

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/bytetext"
	"github.com/stintdb/stint/persistence"
)

// dumper writes records as lines of JSON.
type dumper struct {
	lines *bufio.Writer
	to    *json.Encoder // to lines
	store *store.Store  // used to decode a state
}

func newDumper(to io.Writer) *dumper {
	lines := bufio.NewWriterSize(to, 64<<10)
	d := &dumper{lines, json.NewEncoder(lines), store.New(store.Config{Shards: 1})}
	d.to.SetEscapeHTML(false)
	return d
}

// line is one record. Fields that a type of record does not have are left out.
type line struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"` // of the block
	Time   string `json:"time"`   // of the block
	// Type is state, deleted, flushed, policy-set, policy-dropped, policy-override, policies-forgotten, script-kept,
	// scripts-dropped or new-keys.
	Type string `json:"type"`

	Database  uint8   `json:"database,omitempty"` // none is 0
	Key       *string `json:"key,omitempty"`
	KeyBase64 []byte  `json:"key_base64,omitempty"` // in place of key if it is not printable

	Algorithm string         `json:"algorithm,omitempty"`
	Params    map[string]any `json:"params,omitempty"`
	*usage
	*data
	*reserved

	Name       *string    `json:"name,omitempty"` // of a policy; the SHA-1 of a script
	NameBase64 []byte     `json:"name_base64,omitempty"`
	ID         *string    `json:"id,omitempty"` // of an override
	IDBase64   []byte     `json:"id_base64,omitempty"`
	Shadow     bool       `json:"shadow,omitempty"`
	Strict     bool       `json:"strict,omitempty"`
	Fields     bool       `json:"named_fields,omitempty"` // {name} in the keys and holders is no text
	Limits     []partLine `json:"limits,omitempty"`
}

// usage is the usage of a limit at the time of its record.
type usage struct {
	Limit     int64       `json:"limit"`
	Taken     int64       `json:"taken"`
	Lent      int64       `json:"lent,omitempty"`
	Remaining int64       `json:"remaining"`
	ResetMs   int64       `json:"reset_ms"`
	Leases    []leaseLine `json:"leases,omitempty"`
}

// data is the data of a key without a limiter.
type data struct {
	Bytes       int     `json:"bytes"`
	Value       *string `json:"value,omitempty"` // of a string
	ValueBase64 []byte  `json:"value_base64,omitempty"`
	Expires     string  `json:"expires,omitempty"` // a time; none if it never does
}

// reserved is the contents of a reservation.
type reserved struct {
	Granted    int64         `json:"granted"`
	Extensions uint32        `json:"extensions,omitempty"`
	Settled    bool          `json:"settled"`
	Ends       string        `json:"ends"`
	Charged    []chargedLine `json:"charged"`
}

type chargedLine struct {
	partLine
	Tokens int64 `json:"tokens"`
}

type leaseLine struct {
	Holder       *string `json:"holder,omitempty"`
	HolderBase64 []byte  `json:"holder_base64,omitempty"`
	RemainingMs  int64   `json:"remaining_ms"`
}

type partLine struct {
	Algorithm    string         `json:"algorithm"`
	Key          *string        `json:"key,omitempty"`
	KeyBase64    []byte         `json:"key_base64,omitempty"`
	Params       map[string]any `json:"params"`
	Holder       *string        `json:"holder,omitempty"`
	HolderBase64 []byte         `json:"holder_base64,omitempty"`
}

func (d *dumper) record(file string, r persistence.Record) error {
	l := line{File: file, Offset: r.Offset, Time: time.Unix(0, r.Time).UTC().Format(time.RFC3339Nano)}
	switch r.Kind {
	case keyspace.Changed:
		l.Type = "state"
		l.key(r.Entry.Key)
		l.Algorithm, l.Params = r.Entry.Limit.Algorithm.String(), paramsOf(r.Entry.Limit)
		var err error
		switch {
		case r.Entry.Limit.Algorithm.IsValue():
			l.data, err = dataOf(&r.Entry)
		case r.Entry.Limit.Algorithm == limits.Reservation:
			l.reserved, err = reservedOf(&r.Entry)
		default:
			l.usage, err = d.usage(r)
		}
		if err != nil {
			return err
		}
	case keyspace.Deleted:
		l.Type = "deleted"
		l.key(r.Entry.Key)
	case keyspace.Flushed:
		l.Type = "flushed"
	case keyspace.PolicyChanged:
		l.policy(r.Op)
	case keyspace.PoliciesForgotten:
		l.Type = "policies-forgotten"
	}
	return d.to.Encode(l)
}

// key writes the key of a name.
func (l *line) key(name []byte) {
	number, key := database.Split(name)
	l.Database = number
	l.Key, l.KeyBase64 = bytetext.Printable(key)
}

func dataOf(e *keyspace.Entry) (*data, error) {
	v, err := e.Value()
	if err != nil {
		return nil, err
	}
	d := &data{Bytes: len(v.Data)}
	switch v.Kind {
	case engine.StringKind:
		d.Value, d.ValueBase64 = bytetext.Printable(v.Data)
	case engine.GCRAKind:
		arrival := time.UnixMicro(datatype.GCRA(v.Data).ArrivalTime()).UTC().Format(time.RFC3339Nano)
		d.Value = &arrival
	}
	if v.ExpiresAt != 0 {
		d.Expires = time.Unix(0, v.ExpiresAt).UTC().Format(time.RFC3339Nano)
	}
	return d, nil
}

func reservedOf(e *keyspace.Entry) (*reserved, error) {
	v, err := e.Reserved()
	if err != nil {
		return nil, err
	}
	r := &reserved{Granted: v.Granted, Extensions: v.Extensions, Settled: v.Settled, Ends: time.Unix(0, v.Ends).UTC().Format(time.RFC3339Nano)}
	for i := range v.Parts {
		r.Charged = append(r.Charged, chargedLine{partLineOf(&v.Parts[i]), v.Parts[i].Tokens})
	}
	return r, nil
}

// usage returns the usage of a state.
func (d *dumper) usage(r persistence.Record) (*usage, error) {
	if err := d.store.Load(r.Time, r.Entry); err != nil {
		return nil, err
	}
	defer d.store.Unload(r.Entry.Key)
	ops := []engine.Op{{Verb: engine.Look, Key: r.Entry.Key}}
	if r.Entry.Limit.Algorithm == limits.Concurrency {
		ops = append(ops, engine.Op{Verb: engine.Leases, Key: r.Entry.Key})
	}
	results := make([]engine.Result, 2)
	d.store.Apply(r.Time, ops, results)
	look := &results[0]
	if look.Status == engine.NotFound { // expired by then
		return &usage{Limit: r.Entry.Limit.Capacity, Remaining: r.Entry.Limit.Capacity}, nil
	}
	u := &usage{Limit: look.Limit, Taken: look.Limit - look.Remaining - look.Lent, Lent: look.Lent, Remaining: look.Remaining, ResetMs: millis(look.Reset)}
	for _, lease := range results[1].Leases {
		l := leaseLine{RemainingMs: millis(lease.Remaining)}
		l.Holder, l.HolderBase64 = bytetext.Printable(lease.Holder)
		u.Leases = append(u.Leases, l)
	}
	return u, nil
}

func millis(nanos int64) int64 {
	return (nanos + int64(time.Millisecond) - 1) / int64(time.Millisecond)
}

func (l *line) policy(op *engine.Op) {
	l.Name, l.NameBase64 = bytetext.Printable(op.Key)
	l.Fields = op.Options&engine.NamedFields != 0
	switch op.Verb {
	case engine.SetPolicy:
		l.Type, l.Shadow, l.Strict = "policy-set", op.Options&engine.Shadow != 0, op.Options&engine.Strict != 0
	case engine.DropPolicy:
		l.Type = "policy-dropped"
	case engine.SetOverride:
		l.Type = "policy-override"
		l.ID, l.IDBase64 = bytetext.Printable(op.Who)
	case engine.KeepScript:
		digest := scriptcache.Digest(op.Who)
		l.Type, l.Name = "script-kept", &digest
	case engine.DropScripts:
		l.Type = "scripts-dropped"
	default: // restrictions of new keys, and the limiters that they share
		l.Type = "new-keys"
	}
	for i := range op.Parts {
		l.Limits = append(l.Limits, partLineOf(&op.Parts[i]))
	}
}

func partLineOf(part *engine.Op) partLine {
	p := partLine{Algorithm: part.Limit.Algorithm.String(), Params: paramsOf(part.Limit)}
	p.Key, p.KeyBase64 = bytetext.Printable(database.KeyOf(part.Key))
	if part.Limit.Algorithm.NeedsWho() {
		p.Holder, p.HolderBase64 = bytetext.Printable(part.Who)
	}
	return p
}

// paramsOf are a limit's parameters by their names in its command. All are numbers except rates and times.
func paramsOf(limit limits.Limit) map[string]any {
	params := map[string]any{}
	for _, p := range limit.Params() {
		switch p.Name {
		case "rate", "window", "ttl", "for", "tz", "from", "warn":
			params[p.Name] = p.Text
		default:
			params[p.Name] = json.Number(p.Text)
		}
	}
	return params
}
