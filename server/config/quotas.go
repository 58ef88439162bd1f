package config

import (
	"slices"
	"strconv"
	"strings"
)

const typeQuotas = "quotas"

// quotas is a list of PREFIX=N, separated by commas in its text form.
type quotas struct{ field *[]PrefixQuota }

func (v *quotas) Type() string { return typeQuotas }
func (v *quotas) Allowed() string {
	return "PREFIX=N with N between 1 and 1000000000000, such as ip:=1000000, each prefix once"
}

func (v *quotas) String() string {
	items := make([]string, len(*v.field))
	for i, q := range *v.field {
		items[i] = q.Prefix + "=" + strconv.FormatInt(q.MaxKeys, 10)
	}
	return strings.Join(items, ",")
}

func (v *quotas) Set(text string) error {
	var list []PrefixQuota
	for item := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		at := strings.LastIndexByte(item, '=')
		if at < 0 || !printable(item) {
			return must(v.Allowed())
		}
		q := PrefixQuota{Prefix: item[:at]}
		n, err := strconv.ParseUint(item[at+1:], 10, 63)
		if q.MaxKeys = int64(n); err != nil || n < 1 || n > 1_000_000_000_000 ||
			slices.ContainsFunc(list, func(o PrefixQuota) bool { return o.Prefix == q.Prefix }) {
			return must(v.Allowed())
		}
		list = append(list, q)
	}
	*v.field = list
	return nil
}
