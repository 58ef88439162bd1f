package vectors_test

import (
	"time"

	stint "github.com/stintdb/stint/clients/go"
)

type class struct {
	Key     string  `json:"key"`
	Assured limit   `json:"assured"`
	Ceiling limit   `json:"ceiling"`
	Under   []keyed `json:"under"`
}

type report struct {
	Good  int64   `json:"good"`
	Bad   int64   `json:"bad"`
	Every int64   `json:"every_ms,omitempty"`
	Down  float64 `json:"down_percent,omitempty"`
	Up    float64 `json:"up_percent,omitempty"`
	Pause int64   `json:"pause_ms,omitempty"`
}

type keyed struct {
	Key   string `json:"key"`
	Limit limit  `json:"limit"`
	Cost  *int64 `json:"cost,omitempty"`
	Keep  string `json:"keep,omitempty"`

	OrElse bool `json:"or_else,omitempty"`
}

func (c class) stint() stint.Class {
	return stint.Class{Key: raw(c.Key), Assured: c.Assured.stint(), Ceiling: c.Ceiling.stint(), Under: onKeys(c.Under)}
}

func (r report) stint() stint.Report {
	return stint.Report{
		Good: r.Good, Bad: r.Bad, Every: time.Duration(r.Every) * time.Millisecond, Down: r.Down, Up: r.Up,
		Pause: time.Duration(r.Pause) * time.Millisecond,
	}
}

func members(list []stint.PoolMember) []any {
	all := []any{}
	for _, m := range list {
		all = append(all, map[string]any{"name": shown(m.Name), "weight": m.Weight, "taken": m.Taken})
	}
	return all
}
