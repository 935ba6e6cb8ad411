package wire

import (
	"fmt"
	"unicode/utf8"
)

// MinSecret is how many characters a secret has at least, MaxSecret how many bytes at most. The proof is an HMAC over
// bytes that were sent in the clear. So an attacker who recorded a handshake can try secrets without the server, and
// finds a secret of a few characters at once. The minimum prevents only that. The secret that serve makes has 128
// random bits.
const (
	MinSecret = 8
	MaxSecret = 1024
)

// CheckSecret checks the length of a secret. The error does not contain the secret.
func CheckSecret(secret []byte) error {
	if n := utf8.RuneCount(secret); n < MinSecret {
		characters := "characters"
		if n == 1 {
			characters = "character"
		}
		return fmt.Errorf("the secret has %d %s, and at least %d are needed: take what 'nearfar engine serve' makes "+
			"where "+
			"it is given none, or the output of 'openssl rand -hex 16'", n, characters, MinSecret)
	}
	if len(secret) > MaxSecret {
		return fmt.Errorf("the secret is longer than %d bytes", MaxSecret)
	}
	return nil
}
