//go:build e2e

package compattest

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"testing"
)

// outcomesOfGo reads the standard output of go test -json. A skipped test is none.
func outcomesOfGo(output []byte, _ string) map[string]string {
	outcomes, printed := map[string]string{}, map[string]string{}
	for line := range bytes.Lines(output) {
		var event struct{ Action, Package, Test, Output string }
		if json.Unmarshal(line, &event) != nil || event.Test == "" {
			continue
		}
		name := event.Package + "." + event.Test
		switch event.Action {
		case "output":
			printed[name] += event.Output
		case "pass":
			outcomes[name] = ""
		case "fail":
			outcomes[name] = "fails: " + printed[name]
		}
	}
	return outcomes
}

// outcomesOfJUnit reads a file in JUnit's format. A skipped test is none. Tests of the same name are numbered.
func outcomesOfJUnit(_ []byte, results string) map[string]string {
	outcomes := map[string]string{}
	text, err := os.ReadFile(results)
	if err != nil {
		return outcomes
	}
	for decoder := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := decoder.Token()
		if err != nil {
			return outcomes
		}
		start, is := token.(xml.StartElement)
		if !is || start.Name.Local != "testcase" {
			continue
		}
		var test struct {
			Class   string    `xml:"classname,attr"`
			Name    string    `xml:"name,attr"`
			Failure []message `xml:"failure"`
			Error   []message `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		}
		if decoder.DecodeElement(&test, &start) != nil || test.Skipped != nil {
			continue
		}
		name := test.Class + ": " + test.Name
		for n := 2; ; n++ {
			if _, is := outcomes[name]; !is {
				break
			}
			name = fmt.Sprintf("%s: %s (%d)", test.Class, test.Name, n)
		}
		outcomes[name] = ""
		for _, m := range append(test.Failure, test.Error...) {
			outcomes[name] = "fails: " + strings.TrimSpace(m.Message+"\n"+m.Text)
		}
	}
}

// message is an error in JUnit's format.
type message struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func TestOutcomes(t *testing.T) {
	results := t.TempDir() + "/results"
	junit := `<testsuites><testsuite name="a"><testcase classname="c" name="passes"/><testcase classname="c" name="passes"></testcase>
		<testsuite><testcase classname="c" name="fails"><failure message="4 is not 5"/></testcase></testsuite>
		<testcase classname="c" name="is left out"><skipped/></testcase></testsuite></testsuites>`
	if err := os.WriteFile(results, []byte(junit), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(outcomesOfJUnit(nil, results)), "map[c: fails:fails: 4 is not 5 c: passes: c: passes (2):]"; got != want {
		t.Errorf("of JUnit %s, want %s", got, want)
	}
	events := `building
		{"Action":"pass","Package":"p","Test":"A"}
		{"Action":"output","Package":"p","Test":"B","Output":"4 is not 5"}
		{"Action":"fail","Package":"p","Test":"B"}
		{"Action":"skip","Package":"p","Test":"C"}
		{"Action":"fail","Package":"p"}`
	if got, want := fmt.Sprint(outcomesOfGo([]byte(events), "")), "map[p.A: p.B:fails: 4 is not 5]"; got != want {
		t.Errorf("of go test %s, want %s", got, want)
	}
}
