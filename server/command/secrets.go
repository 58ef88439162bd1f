package command

// HasSecrets reports whether a command's arguments can hold a password.
func HasSecrets(args [][]byte) bool {
	row, err := Find(args)
	if row == nil && err != nil {
		return true // it may be a mistyped AUTH
	}
	switch row.FullName {
	case "auth", "hello", "acl|setuser", "config|set":
		return true
	}
	return false
}
