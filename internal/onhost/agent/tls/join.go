package tls

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

const (
	joinName    = "nearfar-agent."
	joinVersion = "1"
	joinPrefix  = joinName + joinVersion + "."
	// maxJoin bounds a join string, in characters. The longest that is made has 8 addresses of 255 bytes.
	maxJoin      = 4096
	maxAddresses = 8
	maxAddress   = 255
	tokenBytes   = 16
	sumBytes     = 4
	// headBytes are Dials, Expires, Key, token, and the number of addresses.
	headBytes = 1 + 8 + sha256.Size + tokenBytes + 1
)

// latest is the first second that Expires cannot be: the year 10000.
const latest = 253402300800

// Dials says which side makes the connections.
type Dials byte

// The sides that can dial.
const (
	OwnerDials Dials = 1 // the agent listens
	AgentDials Dials = 2 // the owner waits at an address
)

// A Join is what a join string says. It holds a secret: every way to print it, except Encode, hides the token.
type Join struct {
	// Dials is the side that makes the connections.
	Dials Dials
	// Addresses are 1 to 8 times HOST:PORT, where the other side listens: the agent's addresses if the owner dials, or
	// else the address where the owner waits, as the agent sees it.
	Addresses []string
	// Key is the fingerprint of the agent's key.
	Key Fingerprint
	// Expires is when the agent stops to accept its first owner, by the agent's clock, in whole seconds.
	Expires time.Time
	token   token
}

// token is the secret of a join string. Whoever proves it first owns the agent. It is behind a function, because fmt
// prints unexported fields of other structs without asking Format.
type token struct{ secret func() []byte }

func newToken() token {
	secret := make([]byte, tokenBytes)
	_, _ = rand.Read(secret) // never fails
	return tokenOf(secret)
}

func tokenOf(secret []byte) token { return token{func() []byte { return secret }} }

// Format hides the token, whatever the verb.
func (token) Format(f fmt.State, _ rune) { fmt.Fprint(f, "(hidden)") }

// key derives a key for one purpose from the token.
func (t token) key(purpose string, length int) []byte {
	key, err := hkdf.Key(sha256.New, t.secret(), nil, "nearfar agent "+joinVersion+" "+purpose, length)
	if err != nil {
		panic(err) // only for lengths of more than 255 hashes
	}
	return key
}

// Session is the secret of the agent's session, in 32 hex digits. Both sides derive it from the token.
func (j Join) Session() string { return hex.EncodeToString(j.token.key("session", 16)) }

// Format prints what String returns, whatever the verb, so that no log shows the token.
func (j Join) Format(f fmt.State, _ rune) { fmt.Fprint(f, j.String()) }

// MarshalText returns what String returns, so that no JSON document holds the token.
func (j Join) MarshalText() ([]byte, error) { return []byte(j.String()), nil }

// String describes the join string without its token.
func (j Join) String() string {
	where := "listens on "
	if j.Dials == AgentDials {
		where = "dials "
	}
	return fmt.Sprintf("%s(hidden): agent %s %s%s, expires %s", joinPrefix, j.Key, where,
		strings.Join(j.Addresses, ", "), j.Expires.UTC().Format(time.RFC3339))
}

// Encode gives the join string: one line of letters, digits and "-", "_", ".". It contains the token. It panics if the
// addresses are not those of a Join that NewAgent or ParseJoin made.
func (j Join) Encode() string {
	b := append(make([]byte, 0, 256), byte(j.Dials))
	b = binary.BigEndian.AppendUint64(b, uint64(j.Expires.Unix())) //nolint:gosec // checked by whoever made it
	b = append(b, j.Key[:]...)
	b = append(b, j.token.secret()...)
	b = append(b, byte(len(j.Addresses)))
	for _, a := range j.Addresses {
		b = append(append(b, byte(len(a))), a...)
	}
	sum := sha256.Sum256(b)
	text := joinPrefix + base64.RawURLEncoding.EncodeToString(append(b, sum[:sumBytes]...))
	if back, err := ParseJoin(text); err != nil || len(back.Addresses) != len(j.Addresses) {
		panic(fmt.Sprintf("a join string that cannot be read: %v", err))
	}
	return text
}

// errJoinDamaged says that characters are missing or different. A join string is never quoted in an error, because it
// is a secret.
var errJoinDamaged = errors.New("the join string is damaged: copy the whole line that 'nearfar agent' printed")

// ParseJoin reads a join string. Its errors never contain any part of it.
func ParseJoin(text string) (Join, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxJoin {
		return Join{}, fmt.Errorf("a join string has at most %d characters, not %d", maxJoin, len(text))
	}
	rest, ok := strings.CutPrefix(text, joinName)
	if !ok {
		return Join{}, fmt.Errorf("not a join string: it is the line that 'nearfar agent' prints, and begins with %s",
			joinPrefix)
	}
	version, body, ok := strings.Cut(rest, ".")
	if _, err := strconv.ParseUint(version, 10, 16); !ok || err != nil {
		return Join{}, errJoinDamaged
	}
	if version != joinVersion {
		return Join{}, fmt.Errorf("a join string of version %s, and this nearfar reads version %s: use the same "+
			"nearfar on both sides", version, joinVersion)
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if err != nil || strings.ContainsAny(body, "\r\n") || len(data) < headBytes+sumBytes {
		return Join{}, errJoinDamaged
	}
	data, sum := data[:len(data)-sumBytes], data[len(data)-sumBytes:]
	if want := sha256.Sum256(data); string(want[:sumBytes]) != string(sum) {
		return Join{}, errJoinDamaged
	}
	return parseJoinData(data)
}

// parseJoinData reads the bytes of a join string with a right checksum: any mistake was made by the program that wrote
// the string.
func parseJoinData(data []byte) (Join, error) {
	j := Join{Dials: Dials(data[0])}
	if j.Dials != OwnerDials && j.Dials != AgentDials {
		return Join{}, fmt.Errorf("the join string does not say who dials: %d", data[0])
	}
	seconds := binary.BigEndian.Uint64(data[1:])
	if seconds == 0 || seconds >= latest {
		return Join{}, errors.New("the join string expires at no time that a clock can show")
	}
	j.Expires = time.Unix(int64(seconds), 0).UTC()
	copy(j.Key[:], data[9:])
	j.token = tokenOf(bytes.Clone(data[9+len(j.Key) : headBytes-1]))
	count, rest := int(data[headBytes-1]), data[headBytes:]
	if count < 1 || count > maxAddresses {
		return Join{}, fmt.Errorf("the join string has %d addresses: want 1 to %d", count, maxAddresses)
	}
	for range count {
		if len(rest) == 0 || len(rest) < 1+int(rest[0]) {
			return Join{}, errors.New("the join string ends within an address")
		}
		a := string(rest[1 : 1+int(rest[0])])
		if err := CheckAddress(a); err != nil {
			return Join{}, fmt.Errorf("the join string: %w", err)
		}
		j.Addresses, rest = append(j.Addresses, a), rest[1+len(a):]
	}
	if len(rest) > 0 {
		return Join{}, errors.New("the join string goes on after its addresses")
	}
	return j, nil
}

// CheckAddress checks HOST:PORT. The host is an IP address without a zone, or a name. The port is not 0.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || len(address) > maxAddress {
		return fmt.Errorf("address %.80q: want HOST:PORT, such as 192.0.2.1:7770", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("address %.80q: want a port of 1 to %d", address, math.MaxUint16)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" {
			return fmt.Errorf("address %.80q: a zone is known on one machine only", address)
		}
		if ip.IsUnspecified() || ip.IsMulticast() {
			return fmt.Errorf("address %.80q: nobody can dial it", address)
		}
		return nil
	}
	if !isName(host) {
		return fmt.Errorf("address %.80q: want an IP address or a name of letters, digits, '.' and '-'", address)
	}
	return nil
}

func isName(host string) bool {
	if host == "" || strings.Trim(host, ".-") != host {
		return false
	}
	const letters = "abcdefghijklmnopqrstuvwxyz"
	// Something is left if any character is another one.
	return strings.Trim(host, letters+strings.ToUpper(letters)+"0123456789.-") == ""
}
