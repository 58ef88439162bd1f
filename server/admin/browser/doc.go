// Package browser tests the page for operators in a headless Chromium, against a running server. It is a separate
// module so that the driver of the browser stays out of the server's dependencies.
package browser
