package testserver

import (
	"io"
	"net/http"
	"testing"
)

// GetText returns the body of the answer at a URL, such as /metrics.
func GetText(t testing.TB, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
