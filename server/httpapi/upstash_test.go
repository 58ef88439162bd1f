package httpapi

import (
	"strings"
	"testing"
)

// The answers of Upstash's REST dialect.
func TestUpstash(t *testing.T) {
	h := serve(t)
	many := "[" + strings.TrimSuffix(strings.Repeat(`["PING"],`, maxCommands+1), ",") + "]"
	for _, step := range []struct {
		path, body, header string
		status             int
		want               string
	}{
		{"/", `["SET","foo","bär"]`, "", 200, `{"result":"OK"}`},
		{"/", `["GET","foo"]`, "", 200, `{"result":"bär"}`},
		{"/", `["GET","foo"]`, "Upstash-Encoding: base64", 200, `{"result":"YsOkcg=="}`},
		{"/", `["SET","foo",1,"EX",10,"GET"]`, "Upstash-Encoding: base64", 200, `{"result":"YsOkcg=="}`},
		{"/", `["SET","a","b"]`, "Upstash-Encoding: base64", 200, `{"result":"OK"}`},
		{"/", `["GET","nothing"]`, "Upstash-Encoding: base64", 200, `{"result":null}`},
		{"/", `["INCR","n"]`, "", 200, `{"result":1}`},
		{"/", `["MGET","n","nothing"]`, "", 200, `{"result":["1",null]}`},
		{"/", `["TB.ACQUIRE","k",5,"1/h"]`, "", 200, `{"result":[1,5,4,0,3600000]}`},
		{"/", `["EVAL","return {1,'x',{false}}",0]`, "", 200, `{"result":[1,"x",[null]]}`},
		{"/", `["SET"]`, "", 400, `{"error":"ERR wrong number of arguments for 'set' command"}`},
		{"/", `["NOSUCH"]`, "", 400, `{"error":"ERR unknown command 'NOSUCH'`},
		{"/", `["MONITOR"]`, "", 400, `{"error":"ERR 'monitor' is about a connection`},
		{"/", `["SUBSCRIBE","c"]`, "", 400, `{"error":"ERR 'subscribe' is about a connection`},
		{"/", `["AUTH","x"]`, "", 400, `{"error":"ERR 'auth' is about a connection`},
		{"/", `[]`, "", 400, `{"error":"ERR cannot read the request: a command must be`},
		{"/", `{}`, "", 400, `{"error":"ERR cannot read the request: a command must be`},
		{"/", `["GET",null]`, "", 400, `{"error":"ERR cannot read the request: a command must be`},
		{"/", `["GET"`, "", 400, `{"error":"ERR cannot read the request: the body is not`},
		{"/pipeline", `[["SET","p",1],["INCR","p"],["NOSUCH"],["GET","p"]]`, "", 200, `[{"result":"OK"},{"result":2},{"error":"ERR unknown command 'NOSUCH', with args beginning with: "},{"result":"2"}]`},
		{"/pipeline", `[["GET","p"]]`, "Upstash-Encoding: base64", 200, `[{"result":"Mg=="}]`},
		{"/pipeline", `["GET","p"]`, "", 400, `{"error":"ERR cannot read the request: a command must be`},
		{"/pipeline", `[]`, "", 400, `{"error":"ERR cannot read the request: the body must be an array of commands"}`},
		{"/pipeline", many, "", 400, `{"error":"ERR cannot read the request: at most 1000 commands in a request, got 1001"}`},
		{"/multi-exec", `[["INCR","m"],["INCR","m"]]`, "", 200, `[{"result":1},{"result":2}]`},
		{"/multi-exec", `[["INCR","m"],["LPUSH","m","x"]]`, "", 200, `[{"result":3},{"error":"WRONGTYPE `},
		{"/multi-exec", `[["INCR","m"],["NOSUCH"]]`, "", 400, `{"error":"EXECABORT Transaction discarded because of previous errors."}`},
		{"/multi-exec", `[["DISCARD"],["INCR","m"]]`, "", 400, `{"error":"ERR EXEC without MULTI"}`},
		{"/", `["GET","m"]`, "", 200, `{"result":"4"}`},
	} {
		headers := []string{step.header}
		if step.header == "" {
			headers = nil
		}
		if a := h.post(step.path, step.body, headers...); a.status != step.status || !strings.HasPrefix(a.body, step.want) {
			t.Errorf("%s %.100s: %d %s", step.path, step.body, a.status, a.body)
		}
	}
}
