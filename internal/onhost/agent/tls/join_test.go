package tls

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func aJoin() Join {
	return Join{Dials: OwnerDials, Addresses: []string{"192.0.2.1:7770", "[2001:db8::1]:7770", "host-a.example:7770"},
		Key: sha256.Sum256([]byte("key")), Expires: time.Unix(1_800_000_000, 0).UTC(), token: newToken()}
}

func TestJoinIsReadAgain(t *testing.T) {
	for _, dials := range []Dials{OwnerDials, AgentDials} {
		j := aJoin()
		j.Dials = dials
		text := j.Encode()
		const urlSafe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
		if strings.Trim(text, urlSafe) != "" {
			t.Errorf("%s is not URL-safe", text)
		}
		for _, copied := range []string{text, " " + text + "\r\n"} {
			got, err := ParseJoin(copied)
			if err != nil {
				t.Fatal(err)
			}
			if got.Encode() != text || got.Dials != dials || got.Key != j.Key ||
				string(got.token.secret()) != string(j.token.secret()) ||
				!got.Expires.Equal(j.Expires) || strings.Join(got.Addresses, " ") != strings.Join(j.Addresses, " ") {
				t.Errorf("read %v, want %v", got, j)
			}
			if got.Session() != j.Session() || len(got.Session()) != 32 {
				t.Errorf("sessions %q and %q", got.Session(), j.Session())
			}
		}
	}
	if a, b := aJoin(), aJoin(); string(a.token.secret()) == string(b.token.secret()) || a.Session() == b.Session() {
		t.Error("two join strings have the same token")
	}
}

// The longest join string is within the limit.
func TestLongestJoin(t *testing.T) {
	j := aJoin()
	j.Addresses = nil
	for range maxAddresses {
		j.Addresses = append(j.Addresses, strings.Repeat("x", maxAddress-6)+":65535")
	}
	if n := len(j.Encode()); n > maxJoin {
		t.Errorf("%d characters", n)
	}
}

// No way to print a join string shows its token, or data derived from it.
func TestTokenIsHidden(t *testing.T) {
	j := aJoin()
	text := j.Encode()
	document, err := json.Marshal(map[string]any{"agent": j, "pointer": &j})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "join", j, "token", j.token)
	printed := []string{j.String(), string(document), log.String(), fmt.Sprint(j, &j, j.token),
		fmt.Sprint(struct{ J Join }{j}, []any{j.token, &j.token}, struct{ j Join }{j}, struct{ j *Join }{&j})}
	type within struct {
		j Join
		t token
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		printed = append(printed, fmt.Sprintf(verb, j), fmt.Sprintf(verb, &j), fmt.Sprintf(verb, j.token),
			fmt.Sprintf(verb, within{j, j.token}), fmt.Sprintf(verb, &within{j, j.token}))
	}
	secrets := []string{text, text[len(joinPrefix):], j.Session(), fmt.Sprintf("%x", j.token.secret()),
		base64.StdEncoding.EncodeToString(j.token.secret()), fmt.Sprintf("%d", j.token.secret()),
		strings.Trim(fmt.Sprintf("%d", j.token.secret()[:4]), "[]")}
	for _, p := range printed {
		for _, secret := range secrets {
			if strings.Contains(p, secret) {
				t.Errorf("%q shows the token", p)
			}
		}
	}
	for _, want := range []string{"(hidden)", "listens on 192.0.2.1:7770", j.Key.String(), "2027-01-15T08:00:00Z"} {
		if !strings.Contains(j.String(), want) {
			t.Errorf("%s: want %s in it", j, want)
		}
	}
}

// signed makes a join string of any bytes, with a right sum.
func signed(data []byte) string {
	sum := sha256.Sum256(data)
	return joinPrefix + base64.RawURLEncoding.EncodeToString(append(data, sum[:sumBytes]...))
}

func TestWrongJoins(t *testing.T) {
	good := aJoin().Encode()
	data, err := base64.RawURLEncoding.DecodeString(good[len(joinPrefix):])
	if err != nil {
		t.Fatal(err)
	}
	data = data[:len(data)-sumBytes]
	change := func(at int, to byte) string {
		changed := append([]byte(nil), data...)
		changed[at] = to
		return signed(changed)
	}
	address := func(a string) string {
		d := append(append([]byte(nil), data[:headBytes-1]...), 1, byte(len(a)))
		return signed(append(d, a...))
	}
	for _, test := range []struct{ text, want string }{
		{"", "not a join string"},
		{"ssh://host", "not a join string"},
		{"nearfar-agent", "not a join string"},
		{"nearfar-agent.", "damaged"},
		{"nearfar-agent.1", "damaged"},
		{"nearfar-agent.x.AAAA", "damaged"},
		{"nearfar-agent.2.AAAA", "of version 2, and this nearfar reads version 1"},
		{"nearfar-agent.1.", "damaged"},
		{"nearfar-agent.1.AAAA", "damaged"},
		{good[:len(good)-1], "damaged"},
		{good + "A", "damaged"},
		{good + "=", "damaged"},
		{strings.Replace(good, good[30:31], "*", 1), "damaged"},
		{good[:40] + "\n" + good[40:], "damaged"},
		{good[:60] + string(rune('A'+(good[60]-'A'+1)%26)) + good[61:], "damaged"},
		{joinPrefix + strings.Repeat("A", maxJoin), "at most 4096 characters"},
		{change(0, 0), "who dials"},
		{change(0, 3), "who dials"},
		{change(1, 0xff), "expires at no time"},
		{change(headBytes-1, 0), "0 addresses"},
		{change(headBytes-1, 9), "9 addresses"},
		{change(headBytes-1, 4), "ends within an address"},
		{change(headBytes-1, 2), "goes on after its addresses"},
		{change(headBytes, 255), "ends within an address"},
		{address(""), "want HOST:PORT"},
		{address("192.0.2.1"), "want HOST:PORT"},
		{address("192.0.2.1:0"), "want a port"},
		{address("192.0.2.1:65536"), "want a port"},
		{address("192.0.2.1:+1"), "want a port"},
		{address("192.0.2.1:http"), "want a port"},
		{address("0.0.0.0:1"), "nobody can dial it"},
		{address("[ff02::1]:1"), "nobody can dial it"},
		{address("[fe80::1%eth0]:1"), "a zone is known on one machine only"},
		{address("a b:1"), "want an IP address or a name"},
		{address("-x:1"), "want an IP address or a name"},
		{address("\x1b[2J:1"), "want"},
		{address(":1"), "want an IP address or a name"},
	} {
		j, err := ParseJoin(test.text)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.80q: %v, %v; want an error with %q", test.text, j, err, test.want)
			continue
		}
		if len(test.text) > 60 && strings.Contains(err.Error(), test.text[40:60]) {
			t.Errorf("%v shows the join string", err)
		}
	}
}

func FuzzParseJoin(f *testing.F) {
	j := aJoin()
	f.Add(j.Encode())
	j.Dials, j.Addresses = AgentDials, j.Addresses[:1]
	f.Add(j.Encode())
	f.Add(joinPrefix)
	f.Add(signed(make([]byte, headBytes)))
	f.Fuzz(func(t *testing.T, text string) {
		j, err := ParseJoin(text)
		if err != nil {
			if len(err.Error()) > 400 {
				t.Errorf("a message of %d bytes", len(err.Error()))
			}
			return
		}
		if j.Encode() != strings.TrimSpace(text) {
			t.Errorf("%q is read as %q", text, j.Encode())
		}
	})
}

// FuzzParseJoinData tries bytes whose sum is right.
func FuzzParseJoinData(f *testing.F) {
	good := aJoin().Encode()
	data, _ := base64.RawURLEncoding.DecodeString(good[len(joinPrefix):])
	f.Add(data[:len(data)-sumBytes])
	f.Fuzz(func(t *testing.T, data []byte) {
		text := signed(data)
		if j, err := ParseJoin(text); err == nil && j.Encode() != text {
			t.Errorf("%q is read as %q", text, j.Encode())
		}
	})
}
