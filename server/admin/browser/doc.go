// Package browser tests the dashboard in a headless Chromium, against a running server, and the site of the handbook,
// which is in the folder SITE. It is a separate module so that the driver of the browser stays out of the server's
// dependencies.
//
// If SCREENSHOTS names a folder, the tests save pictures there. This makes the pictures of the handbook, in twelve
// minutes:
//
//	SCREENSHOTS=../../../docs PICTURE_SECONDS=300 go test -run TestPicture
package browser
