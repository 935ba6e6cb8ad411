// Package reach checks whether one host can reach ports of another one, by real connections over TCP and UDP. One side
// serves the ports for some seconds, the other dials them.
//
// Both sides know a secret. A request is a nonce and a code that only a holder of the secret can make; the answer is
// shorter than the request, and other requests get none. So the server cannot be misused as a reflector: an attacker
// who forges the sender of a datagram gets nothing, or, by repeating a recorded request, fewer bytes than were sent.
package reach

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/onhost/host"
)

// Verb is the hidden verb of nearfar that serves and dials.
const Verb = "reach"

const (
	// Lifetime is how long a server runs at most.
	Lifetime = 30 * time.Second
	// Timeout is how long a port may take to answer. It is longer than TCP's first two retransmissions (1 s and 3 s).
	Timeout = 5 * time.Second
	// MaxSockets limits the sockets of one server. It covers a tool that uses a port for each of its connections.
	MaxSockets = 512
)

// Outcome says how an attempt to reach a socket ended.
type Outcome string

// The outcomes.
const (
	Reached     Outcome = "reached"
	Refused     Outcome = "refused"     // the host, or a firewall in its name, says that nothing is there
	TimedOut    Outcome = "timed-out"   // nothing came back
	Unreachable Outcome = "unreachable" // a host or a router says that there is no way
	Foreign     Outcome = "foreign"     // connected, but not with the server that knows the secret
	Taken       Outcome = "taken"       // the server cannot open it: another process holds the port
	Failed      Outcome = "failed"      // anything else
)

// Result is what became of one socket. The server reports Reached for a socket that it holds.
type Result struct {
	host.Socket
	Outcome Outcome `json:"outcome"`
	// Detail is the system's own message; empty for Reached.
	Detail string `json:"detail,omitempty"`
}

// Source is an address from which a server gets requests: the client's, or that of a translation on the way.
type Source struct {
	From netip.Addr `json:"from"`
}

// NewSecret draws the secret of one check: a line of 32 hexadecimal digits.
func NewSecret() []byte {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return []byte(hex.EncodeToString(b[:]) + "\n")
}

// ParseSecret reads what NewSecret makes.
func ParseSecret(line string) ([]byte, error) {
	secret, err := hex.DecodeString(strings.TrimSpace(line))
	if err != nil || len(secret) != 16 {
		return nil, errors.New("standard input: want a secret of 32 hexadecimal digits")
	}
	return secret, nil
}

// Join writes sockets as ParseSockets reads them: "tcp/7777,udp/7777".
func Join(sockets []host.Socket) string {
	var words []string
	for _, s := range sockets {
		words = append(words, s.String())
	}
	return strings.Join(words, ",")
}

// ParseSockets reads a list of sockets: "tcp/7777,udp/7777".
func ParseSockets(text string) ([]host.Socket, error) {
	var sockets []host.Socket
	for word := range strings.SplitSeq(text, ",") {
		protocol, digits, _ := strings.Cut(word, "/")
		port, err := strconv.ParseUint(digits, 10, 16)
		if protocol != "tcp" && protocol != "udp" || err != nil || port == 0 {
			return nil, fmt.Errorf("%.20q: want a socket such as tcp/7777 or udp/7777", word)
		}
		s := host.Socket{Protocol: protocol, Port: int(port)}
		if slices.Contains(sockets, s) {
			return nil, fmt.Errorf("%v is given twice", s)
		}
		sockets = append(sockets, s)
	}
	if len(sockets) > MaxSockets {
		return nil, fmt.Errorf("%d sockets: at most %d", len(sockets), MaxSockets)
	}
	return sockets, nil
}

// The lengths of messages, in bytes.
const (
	nonceLength   = 16
	requestLength = 2 * nonceLength
	answerLength  = 16
)

// newRequest makes a request.
func newRequest(secret []byte) []byte {
	request := make([]byte, nonceLength, requestLength)
	_, _ = rand.Read(request) // never fails
	return append(request, code(secret, "request", request)[:requestLength-nonceLength]...)
}

// answer is the answer to a request; nil if it does not show the secret.
func answer(secret, request []byte) []byte {
	if len(request) != requestLength {
		return nil
	}
	nonce := request[:nonceLength]
	if !hmac.Equal(request[nonceLength:], code(secret, "request", nonce)[:requestLength-nonceLength]) {
		return nil
	}
	return code(secret, "answer", nonce)[:answerLength]
}

func code(secret []byte, what string, nonce []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(what)) // never fails
	mac.Write(nonce)
	return mac.Sum(nil)
}
