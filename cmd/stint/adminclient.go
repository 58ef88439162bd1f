package main

import (
	"context"
	"fmt"
	"net/http"
)

// askAdmin sends a request without a body to a server's --admin. bearer is the token, or a user and password with a colon in between; ""
// for neither. The caller closes the body of the response.
func askAdmin(ctx context.Context, method, url, bearer string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	direct := &http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true, DisableCompression: true}} // without the machine's proxy
	response, err := direct.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the server does not answer: %w", err)
	}
	return response, nil
}
