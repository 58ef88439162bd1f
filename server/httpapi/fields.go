package httpapi

import (
	"net/http"
	"strconv"
)

// setFields sets RateLimit and RateLimit-Policy of draft-ietf-httpapi-ratelimit-headers-10. The tightest limit comes first: the one
// that denied or, if none did, the one with the smallest part of it left. Of a denial, its t and Retry-After are both the time until
// the request would be granted, so neither is earlier than the other; of all else, the time until there is more is not known.
func setFields(h http.Header, name string, d *decision) {
	if len(d.Limits) == 0 {
		return
	}
	first := d.tightest()
	limit := d.appendLimit(make([]byte, 0, 128), name, first)
	if !d.Allowed && d.WaitMs >= 0 {
		after := itoa(max(1, (d.WaitMs+999)/1000))
		limit = append(append(limit, ";t="...), after...)
		h["Retry-After"] = []string{after}
	}
	policy := d.appendQuota(make([]byte, 0, 128), name, first)
	for i := range d.Limits {
		if i == first {
			continue
		}
		if len(limit) > maxField || len(policy) > maxField {
			break
		}
		limit = d.appendLimit(append(limit, ", "...), name, i)
		policy = d.appendQuota(append(policy, ", "...), name, i)
	}
	both := string(append(limit, policy...))
	values := [2]string{both[:len(limit)], both[len(limit):]}
	h["Ratelimit"], h["Ratelimit-Policy"] = values[:1:1], values[1:]
}

// maxField is the length of a field after which no more limits are added to it: proxies bound the header of a response, nginx at 4 KiB.
const maxField = 1000

// appendLimit appends the item of a limit in RateLimit.
func (d *decision) appendLimit(b []byte, policy string, i int) []byte {
	return strconv.AppendInt(append(d.appendName(b, policy, i), ";r="...), max(0, d.Limits[i].Remaining), 10)
}

// appendQuota appends the item of a limit in RateLimit-Policy.
func (d *decision) appendQuota(b []byte, policy string, i int) []byte {
	return strconv.AppendInt(append(d.appendName(b, policy, i), ";q="...), d.Limits[i].Limit, 10)
}

// appendName appends the name of a limit as a string of structured fields.
func (d *decision) appendName(b []byte, policy string, i int) []byte {
	b = append(b, '"')
	for _, c := range []byte(d.nameOf(policy, i)) {
		if c == '"' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	return append(b, '"')
}

// nameOf is the name of a limit: that of the policy, as [nameInField] writes it, with its position there if it has several.
func (d *decision) nameOf(policy string, i int) string {
	if policy != "" {
		policy = nameInField(policy)
	} else {
		policy = nameOfLimits
	}
	if len(d.Limits) <= 1 {
		return policy
	}
	return policy + ":" + strconv.Itoa(i)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
