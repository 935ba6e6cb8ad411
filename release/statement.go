package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// The statement says what was built of what. It is an in-toto statement with SLSA's predicate for provenance:
// https://slsa.dev/spec/v1.0/provenance. Signed, it is in an envelope of DSSE:
// https://github.com/secure-systems-lab/dsse.
const (
	statementFile = "provenance.intoto.json"
	envelopeFile  = "provenance.intoto.jsonl"
	payloadType   = "application/vnd.in-toto+json"
)

type statement struct {
	Type          string    `json:"_type"`
	Subject       []subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     predicate `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

type predicate struct {
	Definition struct {
		Type       string            `json:"buildType"`
		Parameters map[string]string `json:"externalParameters"`
		Internal   map[string]string `json:"internalParameters"`
		// Dependencies are the sources.
		Dependencies []subject `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	Details struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

// makeStatement makes the statement, and with a key the signed one.
func (r *release) makeStatement() error {
	names, err := r.files()
	if err != nil {
		return err
	}
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, name := range names {
		sum, err := sumOfFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		s.Subject = append(s.Subject, subject{Name: name, Digest: map[string]string{"sha256": sum}})
	}
	d := &s.Predicate.Definition
	d.Type = r.home() + "/make-release/v1"
	d.Parameters = map[string]string{"VERSION": r.version, "PLACE": r.place}
	d.Internal = map[string]string{"go": runtime.Version()}
	d.Dependencies = []subject{{URI: "git+" + r.home(), Digest: map[string]string{"gitCommit": r.commit}}}
	// Whoever runs make release is the builder: nothing here could prove more.
	s.Predicate.Details.Builder.ID = r.home() + "/make-release"
	text, err := asJSON(s)
	if err != nil {
		return err
	}
	if err := r.write(statementFile, text, 0o644); err != nil || r.key == "" {
		return err
	}
	signed, err := sign(text, r.key)
	if err != nil {
		return fmt.Errorf("%s: %w", r.key, err)
	}
	return r.write(envelopeFile, signed, 0o644)
}

// An envelope is a signed text.
type envelope struct {
	Type       string      `json:"payloadType"`
	Payload    string      `json:"payload"`
	Signatures []signature `json:"signatures"`
}

type signature struct {
	Key       string `json:"keyid"`
	Signature string `json:"sig"`
}

// signedBytes are the bytes that are signed: the type and the text with their lengths.
func signedBytes(text []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(text), text)
}

// sign puts a text into an envelope that a private key signs: PEM, PKCS #8, of Ed25519 or ECDSA.
func sign(text []byte, keyFile string) ([]byte, error) {
	block, err := readPEM(keyFile)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, errors.New("this key cannot sign")
	}
	signed, hash := signedBytes(text), crypto.Hash(0)
	switch parsed.(type) {
	case ed25519.PrivateKey:
	case *ecdsa.PrivateKey:
		sum := sha256.Sum256(signed)
		signed, hash = sum[:], crypto.SHA256
	default:
		return nil, errors.New("the key is neither of Ed25519 nor of ECDSA")
	}
	sig, err := key.Sign(rand.Reader, signed, hash)
	if err != nil {
		return nil, err
	}
	id, err := keyID(key.Public())
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(envelope{
		payloadType, base64.StdEncoding.EncodeToString(text),
		[]signature{{id, base64.StdEncoding.EncodeToString(sig)}},
	})
	return append(line, '\n'), err
}

// keyID is the SHA-256 of a public key.
func keyID(key crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:]), err
}

func readPEM(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("it is no PEM file")
	}
	return block.Bytes, nil
}

// runCheck checks a folder against its statement.
func runCheck(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("release check", flag.ContinueOnError)
	folder := flags.String("folder", "", "the `folder` of the release")
	key := flags.String("key", "", "a `file` with the public key that must have signed the statement")
	if err := flags.Parse(args); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(*folder, statementFile))
	if err != nil {
		return err
	}
	if *key != "" {
		signed, err := signedStatement(filepath.Join(*folder, envelopeFile), *key)
		if err != nil {
			return fmt.Errorf("%s: %w", envelopeFile, err)
		}
		if !bytes.Equal(signed, text) {
			return fmt.Errorf("%s is not what was signed", statementFile)
		}
	}
	commit, n, err := checkSubjects(*folder, text)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d files are what the statement says, and nothing else is there; it says that they were "+
		"made of commit %s\n", n, commit)
	if *key == "" {
		fmt.Fprintln(stdout, "no signature was checked: whoever can replace the files can replace the statement; "+
			"-key FILE checks one")
	}
	return nil
}

// signedStatement is the text in an envelope, if the key has signed it.
func signedStatement(file, keyFile string) ([]byte, error) {
	line, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var e envelope
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, err
	}
	text, err := base64.StdEncoding.DecodeString(e.Payload)
	if err != nil {
		return nil, err
	}
	block, err := readPEM(keyFile)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKIXPublicKey(block)
	if err != nil {
		return nil, err
	}
	signs := func(s signature) bool {
		sig, err := base64.StdEncoding.DecodeString(s.Signature)
		return err == nil && verify(key, signedBytes(text), sig)
	}
	if e.Type != payloadType || !slices.ContainsFunc(e.Signatures, signs) {
		return nil, errors.New("the key did not sign it")
	}
	return text, nil
}

func verify(key crypto.PublicKey, signed, sig []byte) bool {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(key, signed, sig)
	case *ecdsa.PublicKey:
		sum := sha256.Sum256(signed)
		return ecdsa.VerifyASN1(key, sum[:], sig)
	}
	return false
}

// checkSubjects checks that a folder has the files of a statement and no others. It gives the commit and their number.
func checkSubjects(folder string, text []byte) (commit string, n int, err error) {
	var s statement
	if err := json.Unmarshal(text, &s); err != nil {
		return "", 0, fmt.Errorf("%s: %w", statementFile, err)
	}
	names := []string{statementFile, envelopeFile}
	for _, file := range s.Subject {
		if file.Name != filepath.Base(file.Name) {
			return "", 0, fmt.Errorf("the statement names %q, which is no file of the folder", file.Name)
		}
		is, err := sumOfFile(filepath.Join(folder, file.Name))
		if err != nil {
			return "", 0, err
		}
		if is != file.Digest["sha256"] {
			return "", 0, fmt.Errorf("%s has the SHA-256 %s, and the statement says %s", file.Name, is,
				file.Digest["sha256"])
		}
		names = append(names, file.Name)
	}
	there, err := (&release{out: folder}).files()
	if err != nil {
		return "", 0, err
	}
	others := slices.DeleteFunc(there, func(name string) bool { return slices.Contains(names, name) })
	if len(others) > 0 {
		return "", 0, fmt.Errorf("the statement says nothing of %s", strings.Join(others, ", "))
	}
	for _, source := range s.Predicate.Definition.Dependencies {
		commit = source.Digest["gitCommit"]
	}
	if commit == "" || len(s.Subject) == 0 {
		return "", 0, fmt.Errorf("%s names no files or no commit", statementFile)
	}
	return commit, len(s.Subject), nil
}
