package wire

import (
	"fmt"
	"unicode/utf8"
)

// MinSecret is how many characters a secret has at least, and MaxSecret how many bytes at most. A recorded handshake
// is enough to try secrets without the server, because its proof is an HMAC over bytes that were sent in the clear. A
// secret of a few characters is found at once. The minimum prevents only that; the secret that serve makes has 128
// random bits.
const (
	MinSecret = 8
	MaxSecret = 1024
)

// CheckSecret refuses a secret that is too short or too long. The error does not hold the secret.
func CheckSecret(secret []byte) error {
	if n := utf8.RuneCount(secret); n < MinSecret {
		characters := "characters"
		if n == 1 {
			characters = "character"
		}
		return fmt.Errorf("the secret has %d %s, and at least %d are needed: take what 'nearfar engine serve' makes where "+
			"it is given none, or the output of 'openssl rand -hex 16'", n, characters, MinSecret)
	}
	if len(secret) > MaxSecret {
		return fmt.Errorf("the secret is longer than %d bytes", MaxSecret)
	}
	return nil
}
