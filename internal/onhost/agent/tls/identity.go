package tls

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"math/big"
	"time"
)

// Fingerprint is the SHA-256 of a certificate's public key, in the form SubjectPublicKeyInfo.
type Fingerprint [sha256.Size]byte

// String gives the first 8 bytes in hex digits, which is enough for people to tell keys apart.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:8]) }

// An identity is a key that lives as long as this process, in a certificate that it signed itself.
type identity struct {
	certificate tls.Certificate
	key         Fingerprint
}

// newIdentity makes an Ed25519 key and its certificate. Nothing in the certificate except the key is ever checked, so
// it says nothing about the host, and its time does not depend on clocks.
func newIdentity() (identity, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return identity{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "nearfar"},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Unix(latest-1, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		return identity{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return identity{}, err
	}
	return identity{
		certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private, Leaf: leaf},
		key:         fingerprint(leaf),
	}, nil
}

func fingerprint(c *x509.Certificate) Fingerprint { return sha256.Sum256(c.RawSubjectPublicKeyInfo) }

var (
	errOneCertificate = errors.New("want one certificate")
	errKeyType        = errors.New("want a key of Ed25519 or ECDSA P-256")
	errProtocol       = errors.New("the other side does not speak the agent's protocol")
)

// checkCertificate accepts one certificate with a key whose signatures are cheap to verify. It runs before anything is
// verified with the key.
func checkCertificate(raw [][]byte, _ [][]*x509.Certificate) error {
	if len(raw) != 1 {
		return errOneCertificate
	}
	c, err := x509.ParseCertificate(raw[0])
	if err != nil {
		return err
	}
	switch key := c.PublicKey.(type) {
	case ed25519.PublicKey:
		return nil
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			return nil
		}
	}
	return errKeyType
}
