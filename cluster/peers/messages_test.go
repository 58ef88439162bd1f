package peers

import (
	"encoding/json"
	"testing"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/group"
)

// Nodes write to each other about the cluster as release 0.1.0 did.
func TestRequestsAreWrittenAsBefore(t *testing.T) {
	join := &group.JoinRequest{ID: "a#1", Address: "a:1", Member: fsm.Member{Node: "a", Client: "c:1"}}
	for _, c := range []struct {
		message any
		want    string
	}{
		{request{Status: &statusRequest{}}, `{"report":{}}`},
		{request{Request: group.Request{Join: join}},
			`{"join":{"id":"a#1","address":"a:1","member":{"node":"a","client":"c:1","spare":false}}}`},
		{request{Request: group.Request{Admin: &group.AdminRequest{Do: "remove", Node: "a"}}},
			`{"admin":{"do":"remove","node":"a"}}`},
		{request{Pledge: &pledgeRequest{Of: "a#1", To: Pledge{Former: "b#1", Address: "b:1"}}},
			`{"pledge":{"of":"a#1","to":{"former":"b#1","address":"b:1"}}}`},
		{response{}, `{}`},
		{response{Response: group.Response{Error: "no", Leader: "a:1"}}, `{"error":"no","leader":"a:1"}`},
		{response{Status: &group.MemberStatus{ID: "a#1", Term: 2}},
			`{"report":{"id":"a#1","cluster":"","started":false,"client":"","leads":false,"leased":false,"leader":"","term":2,"applied":0,"last":0,"now":0,"silent":0}}`},
	} {
		if text, err := json.Marshal(c.message); err != nil || string(text) != c.want {
			t.Errorf("%s, %v; want %s", text, err, c.want)
		}
	}
}
